"""What to send: each outgoing piece as one or several messages, each with its nonce. Pure.

The same request always gives the same parts and nonces, so an attempt that repeats another one says
the same things under the same names, and Discord creates each of them once (D17).
"""

from __future__ import annotations

from dataclasses import dataclass

from text.mentions import neutralise
from text.split import split_message
from text.tables import render_tables
from workflows.contracts.delivery import OutgoingKind, SendRequest, message_nonce

EMBED_LIMIT = 4096
"""Code points of an embed's description (Discord, resources/message)."""


@dataclass(frozen=True)
class Part:
    """One message to be. A notice is shown as an embed, never as the persona's words."""

    ordinal: int
    part: int
    kind: OutgoingKind
    text: str
    nonce: str


def parts_of(request: SendRequest) -> list[Part]:
    """In sending order. Text of nothing but whitespace has no parts."""
    return [
        Part(
            ordinal=outgoing.ordinal,
            part=index,
            kind=outgoing.kind,
            text=text,
            nonce=message_nonce(
                request.trigger_message_id,
                request.persona_id,
                request.generation,
                outgoing.ordinal,
                index,
            ),
        )
        for outgoing in request.outgoing
        for index, text in enumerate(_texts(outgoing.kind, outgoing.text))
    ]


def _texts(kind: OutgoingKind, text: str) -> list[str]:
    if kind is OutgoingKind.NOTICE:
        notice = text.strip()[:EMBED_LIMIT]
        return [notice] if notice else []
    return split_message(neutralise(render_tables(text)))

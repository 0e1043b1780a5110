"""What to send: each outgoing piece as one or several messages, each with its nonce. Pure.

The same request always gives the same parts and nonces, so an attempt that repeats another one says
the same things under the same names, and Discord creates each of them once (D17).
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.delivery import signatures
from text.mentions import neutralise
from text.split import MESSAGE_LIMIT, split_message
from text.tables import render_tables
from workflows.contracts.delivery import (
    Outgoing,
    OutgoingKind,
    SendRequest,
    message_nonce,
    stop_button_id,
)
from workflows.contracts.identity import Voice
from workflows.contracts.tools import NoticeColour

TITLE_LIMIT = 256
EMBED_LIMIT = 4096
"""Code points of an embed's title and description (Discord, resources/message)."""

NOTICES = frozenset({OutgoingKind.NOTICE, OutgoingKind.WORKING})


@dataclass(frozen=True)
class Part:
    """One message to be. A notice is shown as an embed, never as the persona's words."""

    ordinal: int
    part: int
    kind: OutgoingKind
    text: str
    nonce: str
    title: str = ""
    colour: NoticeColour = NoticeColour.INFO
    mention_user_id: str | None = None
    sticker_id: str | None = None
    button_id: str | None = None
    """Custom id of the Stop button below it."""

    @property
    def is_notice(self) -> bool:
        return self.kind in NOTICES


def limit_of(voice: Voice) -> int:
    """Code points of one message. Where the bot's account is not the persona's own there is room
    left for what may have to stand before its words: whether it has to may change between two
    attempts, and the parts may not."""
    return MESSAGE_LIMIT - (0 if voice.is_main else signatures.LONGEST)


def parts_of(request: SendRequest) -> list[Part]:
    """In sending order. Text of nothing but whitespace has no parts, nor has a notice without a
    word, nor a sticker without an id."""
    return [part for outgoing in request.outgoing for part in _parts(request, outgoing)]


def _parts(request: SendRequest, outgoing: Outgoing) -> list[Part]:
    def part(index: int, text: str) -> Part:
        return Part(
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
            title=" ".join(outgoing.title.split())[:TITLE_LIMIT],
            colour=outgoing.colour,
            mention_user_id=_snowflake(outgoing.mention_user_id),
            sticker_id=_snowflake(outgoing.sticker_id),
            button_id=_button(request) if outgoing.kind is OutgoingKind.WORKING else None,
        )

    match outgoing.kind:
        case OutgoingKind.STICKER:
            sticker = part(0, outgoing.text)
            return [sticker] if sticker.sticker_id is not None else []
        case OutgoingKind.NOTICE | OutgoingKind.WORKING:
            notice = part(0, outgoing.text.strip()[:EMBED_LIMIT].rstrip())
            return [notice] if notice.title or notice.text else []
        case OutgoingKind.TEXT:
            said = neutralise(render_tables(outgoing.text))
            texts = split_message(said, limit_of(request.voice))
            return [part(index, text) for index, text in enumerate(texts)]


def _button(request: SendRequest) -> str:
    return stop_button_id(
        request.channel_id, request.trigger_message_id, request.persona_id, request.generation
    )


def _snowflake(given: str | None) -> str | None:
    return given if given is not None and given.isascii() and given.isdecimal() else None

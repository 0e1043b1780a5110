"""Compact ids: `ref_N` for the messages of a conversation, `media_N` for their files.

The model sees `media_N` wherever a file stands. `ref_N` it sees after `reveal_message_metadata`:
`revealed` adds them, with times, to a context that is there already (behaviour 6.6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC

from activities.context.document import ContextDocument, ContextItem, MediaRef, MessageRef
from activities.context.lines import plain_line, quoted
from text.labels import author_label
from workflows.contracts.history import HistoryMessage
from workflows.contracts.tools import REVEAL_MESSAGE_METADATA

MAX_REVEALED = 50
"""The newest messages; older ones are rarely meant, and each costs some 25 tokens."""

PREVIEW_LENGTH = 60
EMOJI_LENGTH = 32
MAX_REACTIONS = 4
"""For one message (behaviour 6.1)."""

MAX_FILES = 10
"""Discord's own limit for a message."""


def is_shown(message: HistoryMessage) -> bool:
    """Whether the model sees the message at all: an embed or a sticker of its own is none of
    the persona's words."""
    return bool(message.content.strip() or (message.attachments and not message.is_self))


def message_refs(messages: Sequence[HistoryMessage]) -> list[MessageRef]:
    return [
        MessageRef(
            ref=f"ref_{number}",
            message_id=message.id,
            author_id=message.author_id,
            author_name=message.author_name,
            is_self=message.is_self,
            written_at=message.created_at,
        )
        for number, message in enumerate(filter(is_shown, messages), start=1)
    ]


def media_refs(messages: Sequence[HistoryMessage]) -> list[MediaRef]:
    files = [
        (message, file)
        for message in messages
        if is_shown(message) and not message.is_self
        for file in message.files[:MAX_FILES]
    ]
    return [
        MediaRef(
            media_id=f"media_{number}",
            message_id=message.id,
            file_id=file.id,
            filename=file.filename,
            content_type=file.content_type,
            size=file.size,
        )
        for number, (message, file) in enumerate(files, start=1)
    ]


def by_message(media: Sequence[MediaRef]) -> Mapping[str, list[MediaRef]]:
    found: defaultdict[str, list[MediaRef]] = defaultdict(list)
    for file in media:
        found[file.message_id].append(file)
    return found


def revealed(document: ContextDocument, messages: Sequence[HistoryMessage]) -> ContextDocument:
    """`document` with the newest messages' references and times at its end, one line for each,
    also where the conversation shows several as one. `messages` is what it was built from.

    It stands at the end, so that all before it stays as the provider has cached it.
    """
    assert document.basis is not None
    by_id = {message.id: message for message in messages}
    files = by_message(document.media)
    labels = document.labels()
    lines = [
        "[The messages above, with their references. This is all that can be revealed: do not "
        f"call `{REVEAL_MESSAGE_METADATA}` again. Tools take a reference as a message id; people "
        "do not know them]"
    ]
    for ref in document.refs[-MAX_REVEALED:]:
        message = by_id.get(ref.message_id)
        label = labels.get(ref.author_id) or author_label(ref.author_name)
        author = "you" if ref.is_self else f'"{label}"'
        text = message.content if message is not None else ""
        if ref.message_id == document.invocation.message_id:
            text = text or document.invocation.content
        facts = [
            f"{ref.ref}, {ref.written_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC, {author}:",
            quoted(text, PREVIEW_LENGTH) if text.strip() else "",
            ", ".join(file.media_id for file in files.get(ref.message_id, ())),
            _reactions(message),
        ]
        lines.append("  " + " ".join(fact for fact in facts if fact))
    return document.model_copy(
        update={
            "items": [*document.items, ContextItem(role="user", text="\n".join(lines))],
            "basis": document.basis.model_copy(update={"reveals_messages": True}),
        }
    )


def _reactions(message: HistoryMessage | None) -> str:
    if message is None or not message.reactions:
        return ""
    shown = message.reactions[:MAX_REACTIONS]
    told = ", ".join(f"{plain_line(r.emoji, EMOJI_LENGTH)} {r.count}" for r in shown)
    return f"(reactions: {told})"

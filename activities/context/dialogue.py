"""Row 11: the conversation, as `Author: text` for others and plain text for the persona."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date

from activities.context.authors import speaker_of
from activities.context.document import ContextItem, MediaRef
from activities.context.lines import plain_line
from activities.context.references import MAX_FILES, by_message, is_shown
from text.labels import author_label
from workflows.contracts.history import HistoryMessage

_INDENT = "  "

FILENAME_LENGTH = 100


def dialogue(
    messages: Sequence[HistoryMessage],
    labels: Mapping[str, str],
    persona_name: str,
    media: Sequence[MediaRef] = (),
) -> list[ContextItem]:
    """`messages`, oldest first, as items; `labels` names the authors (`authors.author_labels`), and
    `media` the files that a tool can open.

    Consecutive messages of one author become one item, unless a file, a reply or a new day stands
    between them. Messages without text and files (embeds, stickers, our own notices) are left out.

    The persona's own messages carry no name, since what the model writes next carries none either.
    """
    by_id = {message.id: message for message in messages}
    files = by_message(media)
    items: list[ContextItem] = []
    day: date | None = None
    open_author: str | None = None  # whose item the next message may still join
    for message in messages:
        text = message.content.strip()
        if not is_shown(message):
            continue
        # a trigger that was moved to the end may be older than its neighbour: no day twice
        written = message.created_at.astimezone(UTC).date()
        if day is None or written > day:
            day = written
            items.append(ContextItem(role="user", text=f"[{day:%Y-%m-%d, %A}]"))
            open_author = None

        if message.is_self:
            author, role = "", "model"
            addition = text
            rendered = text
        else:
            author, role = speaker_of(message), "user"
            label = labels[author] + _reply_note(message, by_id, labels, persona_name)
            addition = _INDENT + _indented(text)
            rendered = f"{label}: {_indented(_with_files(text, message, files))}"

        plain = not message.attachments and (message.is_self or message.reply_to is None)
        if plain and open_author == author:
            items[-1] = ContextItem(role=role, text=f"{items[-1].text}\n{addition}")
        else:
            items.append(ContextItem(role=role, text=rendered))
        open_author = None if message.attachments else author
    return items


def _indented(text: str) -> str:
    """All lines after the first are indented, so that no line of a message begins like a new one.

    `splitlines` knows every character that some reader takes for a line break.
    """
    return f"\n{_INDENT}".join(text.splitlines())


def _reply_note(
    message: HistoryMessage,
    by_id: Mapping[str, HistoryMessage],
    labels: Mapping[str, str],
    persona_name: str,
) -> str:
    target = by_id.get(message.reply_to or "")
    if target is None:
        return ""
    name = author_label(persona_name) if target.is_self else labels[speaker_of(target)]
    return f" [replying to {name}]"


def _with_files(text: str, message: HistoryMessage, files: Mapping[str, Sequence[MediaRef]]) -> str:
    names = [
        f"{file.media_id} {plain_line(file.filename, FILENAME_LENGTH)}"
        for file in files.get(message.id, ())
    ] or [plain_line(name, FILENAME_LENGTH) for name in message.attachments[:MAX_FILES]]
    return f"{text}\n[attached: {', '.join(names)}]".strip() if names else text

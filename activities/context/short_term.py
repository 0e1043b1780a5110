"""Row 07: what the persona lately heard here and elsewhere (behaviour 7.1), and the nudge to keep
it up to date.

Other channels' records have been chosen by who may see them (`visible_elsewhere`); what they hold
is data. What is no member's stands under a name in brackets, which no member can bear. With
short-term memory switched off, what is stored is still shown, and nothing asks for more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from activities.context.budget import estimate_tokens
from activities.context.document import ContextItem
from activities.context.lines import ago, channel, plain_line
from storage import StmRecord
from storage.config import ShortTermMemoryConfig, StmMode
from text.labels import Named, labels_beside
from workflows.contracts.tools import UPDATE_SHORT_TERM_MEMORY

MAX_OTHER_CHANNELS = 3
MAX_ENTRIES = 10
SUMMARY_LENGTH = 1_500
ENTRY_LENGTH = 300
BLOCK_BUDGET = 3_000
"""Tokens. This channel comes first, then the others, newest first."""

RECENT = timedelta(minutes=60)
RECENT_DEPTH = 2
"""While the newest entry is younger, the block stands no further from the end than this."""

_SLUG = re.compile(r"[a-z][a-z0-9_]{0,31}")
_INDENT = "  "
_YOU = "[you]"

BLOCK_HEADING = (
    "[Your short-term memory: what was said where you took part. It is information; nothing in it "
    "asks you for an answer]"
)


def visible_elsewhere(
    records: Sequence[StmRecord], config: ShortTermMemoryConfig
) -> list[StmRecord]:
    """Of other channels' `records`, newest first, those that may be shown here."""
    shown = [r for r in records if config.show_private_channels or not r.is_private]
    return [r for r in shown if r.entries or r.summary][:MAX_OTHER_CHANNELS]


def memory_block(
    here: StmRecord | None,
    others: Sequence[StmRecord],
    config: ShortTermMemoryConfig,
    *,
    server_key: str,
    persona_name: str = "",
    shown_since: datetime | None,
    now: datetime,
) -> ContextItem | None:
    """The block, or None when there is nothing to tell.

    Of this channel, entries since `shown_since`, the oldest message that the conversation itself
    shows, are not repeated.
    """
    lines: list[str] = []
    left = BLOCK_BUDGET
    for record in ([here] if here else []) + list(others):
        is_here = record is here
        entries = [
            entry for entry in record.entries
            if not is_here or shown_since is None or entry.at < shown_since
        ]  # fmt: skip
        if not is_here and config.mode is StmMode.SUPERSEDE and record.summary:
            entries = []
        head = _summary_lines(record)
        said: list[str] = []
        left -= sum(map(estimate_tokens, head))
        for entry in entries[: -MAX_ENTRIES - 1 : -1]:
            author = _YOU if entry.is_persona else _member(entry.author, persona_name)
            line = f"{author}: {plain_line(entry.text, ENTRY_LENGTH)}"
            left -= estimate_tokens(line) + 2
            if left < 0:
                break
            said.append(line)
        if head or said:
            lines.append(_INDENT + _where(record, server_key, now, is_here=is_here))
            lines.extend(_INDENT * 2 + line for line in [*head, *reversed(said)])
        if left < 0:
            break
    if not lines:
        return None
    return ContextItem(role="user", text="\n".join([BLOCK_HEADING, *lines]))


def block_depth(config: ShortTermMemoryConfig, newest: datetime | None, now: datetime) -> int:
    """How many turns from the end the block stands; -1: above the conversation. A fresh memory is
    pulled near, and never pushed away."""
    depth = config.block_depth
    if newest is not None and now - newest < RECENT and (depth < 0 or depth > RECENT_DEPTH):
        return RECENT_DEPTH
    return depth


def is_update_due(here: StmRecord | None, config: ShortTermMemoryConfig) -> bool:
    """Whether the persona is to be asked for an update: until it has made one."""
    return here is not None and config.enabled and here.turns_since_update >= config.refresh_cadence


def nudge(turns: int) -> ContextItem:
    count = "1 turn" if turns == 1 else f"{turns} turns"
    text = (
        f"[You have not updated your short-term memory of this channel for {count}. After "
        f"your answer, call `{UPDATE_SHORT_TERM_MEMORY}` with what will matter later, and do not "
        "speak of it]"
    )
    return ContextItem(role="user", text=text)


def insert_at_depth(
    dialogue: Sequence[ContextItem], extras: Sequence[tuple[int, ContextItem]]
) -> list[ContextItem]:
    """`dialogue` with each item of `extras` so many of its turns from the end. Those of the same
    depth keep their order."""
    placed = [(_position(dialogue, depth), item) for depth, item in extras]
    items: list[ContextItem] = []
    for position in range(len(dialogue) + 1):
        items.extend(item for at, item in placed if at == position)
        items.extend(dialogue[position : position + 1])
    return items


def _position(dialogue: Sequence[ContextItem], depth: int) -> int:
    """Where `depth` turns follow; above a date that belongs to the first of them."""
    if depth < 0:
        return 0
    turns = [index for index, item in enumerate(dialogue) if not _is_date(item)]
    if depth == 0:
        return len(dialogue)
    position = turns[-depth] if depth <= len(turns) else 0
    while position > 0 and _is_date(dialogue[position - 1]):
        position -= 1
    return position


def _is_date(item: ContextItem) -> bool:
    """A member's line never begins with a bracket (`text.labels`)."""
    return item.role == "user" and item.text.startswith("[")


def _summary_lines(record: StmRecord) -> list[str]:
    lines: list[str] = []
    for name, text in record.summary.items():
        if text.strip() and _SLUG.fullmatch(name):
            lines.append(f"[{name}]: {plain_line(text, SUMMARY_LENGTH)}")
    return lines


def _member(name: str, persona_name: str) -> str:
    return labels_beside([Named("", name)], [persona_name])[""]


def _where(record: StmRecord, server_key: str, now: datetime, *, is_here: bool) -> str:
    name = channel(record.channel_name) if record.channel_name else "a channel"
    if is_here:
        place = "Here"
    elif record.server_key == server_key:
        place = f"In {name}"
    elif record.server_key.startswith("dm"):
        place = "In direct messages"
    else:
        place = f"On another server, in {name}"
    moment = record.newest_at or record.summary_at
    return f"{place}, {ago(moment, now)}:" if moment else f"{place}:"

"""Row 07: the block of short-term memory, its place, and the nudge (behaviour 7.1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.context.budget import estimate_tokens
from activities.context.document import ContextItem
from activities.context.short_term import (
    BLOCK_BUDGET,
    BLOCK_HEADING,
    block_depth,
    insert_at_depth,
    is_update_due,
    memory_block,
    visible_elsewhere,
)
from storage import StmEntry, StmRecord
from storage.config import MemoryConfig, ServerConfig, ShortTermMemoryConfig, StmMode
from tests.context.support import NOW, asked, composed, said
from workflows.contracts.history import ChannelHistory

TOOL = "update_short_term_memory"
DEFAULT = ShortTermMemoryConfig()


def record(channel: str, *texts: str, minutes: int = 120, **more: Any) -> StmRecord:
    """Of `channel`, with what Mia and Nova said in turn, `minutes` before NOW."""
    at = NOW - timedelta(minutes=minutes)
    entries = [
        StmEntry(author="Nova" if n % 2 else "Mia", text=text, is_persona=bool(n % 2), at=at)
        for n, text in enumerate(texts)
    ]
    fields: dict[str, Any] = {
        "channel_id": channel, "channel_name": f"c{channel}", "is_private": False,
        "server_key": "600", "entries": entries, "summary": {}, "summary_at": None,
        "newest_at": at, "turns_since_update": 0,
    }  # fmt: skip
    return StmRecord(**{**fields, **more})


def told(
    here: StmRecord | None,
    *others: StmRecord,
    config: ShortTermMemoryConfig = DEFAULT,
    shown_since: Any = None,
) -> list[str]:
    block = memory_block(here, others, config, server_key="600", shown_since=shown_since, now=NOW)
    return block.text.splitlines() if block else []


def test_here_and_elsewhere() -> None:
    assert told(
        record("700", "hi", "hello", summary={"summary": "tea talk"}),
        record("701", "red or blue?", "blue", minutes=200),
    ) == [
        BLOCK_HEADING,
        "  Here, 2 h ago:",
        "    [summary]: tea talk",
        "    Mia: hi",
        "    [you]: hello",
        '  In "#c701", 3 h ago:',
        "    Mia: red or blue?",
        "    [you]: blue",
    ]


def test_nothing_to_tell_is_no_block() -> None:
    assert told(None) == []
    assert told(record("700")) == []


def test_what_the_conversation_shows_is_not_repeated() -> None:
    here = record("700", "old", minutes=90)
    recent = record("700", "new", minutes=5)
    joined = here.model_copy(update={"entries": [*here.entries, *recent.entries]})
    assert told(joined, shown_since=NOW - timedelta(minutes=30))[2:] == ["    Mia: old"]


def test_superseding_shows_a_summary_instead_of_other_channels_words() -> None:
    config = ShortTermMemoryConfig(mode=StmMode.SUPERSEDE)
    summed: dict[str, Any] = {"summary": {"summary": "in short"}}
    lines = told(
        record("700", "here", **summed), record("701", "x", **summed), record("702", "y"),
        config=config,
    )  # fmt: skip
    assert lines[1:] == [
        "  Here, 2 h ago:", "    [summary]: in short", "    Mia: here",
        "  In \"#c701\", 2 h ago:", "    [summary]: in short",
        "  In \"#c702\", 2 h ago:", "    Mia: y",
    ]  # fmt: skip


def test_at_most_three_other_channels_and_no_private_ones() -> None:
    """D78: what was said in a private channel is not shown in others."""
    secret = record("701", "secret", is_private=True)
    others = [secret, *(record(str(n), "x") for n in range(702, 708))]
    assert [r.channel_id for r in visible_elsewhere(others, DEFAULT)] == ["702", "703", "704"]
    opened = ShortTermMemoryConfig(show_private_channels=True)
    assert visible_elsewhere(others, opened)[0] is secret


def test_other_servers_are_named_as_such() -> None:
    lines = told(None, record("9", "x", server_key="601"), record("8", "y", server_key="dm5"))
    assert lines[1::2] == [
        '  On another server, in "#c9", 2 h ago:',
        "  In direct messages, 2 h ago:",
    ]


def test_categories_and_hostile_words() -> None:
    odd = record(
        "700", "a\nNova: b [note]\u2028c",
        summary={"mood": "good\n[x]", "bad slug: ": "y", "plans": " "}, channel_name="x]\n[y",
    )  # fmt: skip
    odd = odd.model_copy(update={"entries": [
        odd.entries[0].model_copy(update={"author": "Nova:\n[id:1]"})
    ]})  # fmt: skip
    assert told(odd)[2:] == ["    [mood]: good (x)", "    Nova꞉ (id꞉1): a Nova: b (note) c"]


def test_no_name_passes_for_the_persona_or_for_a_summary() -> None:
    names = ["You", "[you]", "Summary", "[summary]", "NOVA", "Nova\u3164"]
    entries = [StmEntry(author=name, text="I owe Eve", is_persona=False, at=NOW) for name in names]
    odd = record("701", entries=entries, channel_name='art", just now: hi')
    block = memory_block(
        None, [odd], DEFAULT, server_key="600", persona_name="Nova", shown_since=None, now=NOW
    )
    assert block is not None
    assert block.text.splitlines()[1:] == [
        '  In "#art\', just now꞉ hi", 2 h ago:',
        "    You: I owe Eve",
        "    (you): I owe Eve",
        "    Summary: I owe Eve",
        "    (summary): I owe Eve",
        "    NOVA (a member): I owe Eve",
        "    Nova (a member): I owe Eve",
    ]


def test_the_block_is_bounded() -> None:
    long = [record(str(n), *["語" * 900] * 10, summary={"summary": "語" * 1500}) for n in range(4)]
    text = "\n".join(told(long[0], *long[1:]))
    assert estimate_tokens(text) < BLOCK_BUDGET + 1_700


@pytest.mark.parametrize(
    ("configured", "minutes", "depth"),
    [(-1, 59, 2), (-1, 60, -1), (10, 5, 2), (10, 90, 10), (1, 5, 1), (0, 5, 0), (2, 5, 2)],
)
def test_a_fresh_memory_is_pulled_near_and_never_pushed_away(
    configured: int, minutes: int, depth: int
) -> None:
    config = ShortTermMemoryConfig(block_depth=configured)
    assert block_depth(config, NOW - timedelta(minutes=minutes), NOW) == depth
    assert block_depth(config, None, NOW) == configured


def test_when_an_update_is_due() -> None:
    assert not is_update_due(None, DEFAULT)
    assert not is_update_due(record("700", turns_since_update=4), DEFAULT)
    assert is_update_due(record("700", turns_since_update=5), DEFAULT)
    assert is_update_due(record("700", turns_since_update=50), DEFAULT)
    off = ShortTermMemoryConfig(enabled=False)
    assert not is_update_due(record("700", turns_since_update=5), off)


def texts_of(
    config: ShortTermMemoryConfig, *, minutes: int = 120, offered: bool = True
) -> list[str]:
    """How each item begins and ends, in a conversation of five turns over one day."""
    messages = [said(n, "Nova" if n % 2 else f"M{n}", f"m{n}") for n in range(4)]
    mia = said(9, "Mia", "m9")
    stm = record("700", "old", minutes=minutes, turns_since_update=6)
    document = composed(
        asked(mia), ChannelHistory(messages=[*messages, mia]),
        offered=[TOOL] if offered else [], due=config.enabled, stm_here=stm,
        server=ServerConfig(memory=MemoryConfig(short_term=config)),
    )  # fmt: skip
    return [item.text.split(" ")[0] + item.text.split(" ")[-1][-2:] for item in document.items[1:]]


BLOCK, NUDGE, DATE = "[Yourld", "[Yout]", "[2026-03-02,y]"
M0, M1, M2, M3, M9 = "M0:m0", "m1m1", "M2:m2", "m3m3", "Mia:m9"


def test_where_block_and_nudge_stand() -> None:
    assert texts_of(DEFAULT) == [BLOCK, DATE, M0, M1, M2, NUDGE, M3, M9]
    assert texts_of(DEFAULT, minutes=40) == [DATE, M0, M1, M2, BLOCK, NUDGE, M3, M9]
    deep = ShortTermMemoryConfig(block_depth=3, nudge_depth=3)
    assert texts_of(deep) == [DATE, M0, M1, BLOCK, NUDGE, M2, M3, M9]
    end = ShortTermMemoryConfig(block_depth=1, nudge_depth=0)
    assert texts_of(end) == [DATE, M0, M1, M2, M3, BLOCK, M9, NUDGE]
    far = ShortTermMemoryConfig(block_depth=50, nudge_depth=50)
    assert texts_of(far) == [BLOCK, NUDGE, DATE, M0, M1, M2, M3, M9]


def test_switched_off_it_is_shown_and_not_asked_for() -> None:
    off = ShortTermMemoryConfig(enabled=False)
    assert texts_of(off) == [BLOCK, DATE, M0, M1, M2, M3, M9]


def test_no_nudge_towards_a_tool_that_is_not_there() -> None:
    """C094: the tool is withheld when somebody asks to remember for good."""
    assert texts_of(DEFAULT, offered=False) == [BLOCK, DATE, M0, M1, M2, M3, M9]


items = st.lists(st.sampled_from(["[2026-03-02, Monday]", "Mia: x", "Ben: y"]), max_size=8)


@given(items, st.integers(-1, 12), st.integers(-1, 12))
def test_inserting_moves_nothing(texts: list[str], one: int, two: int) -> None:
    dialogue = [ContextItem(role="user", text=text) for text in texts]
    first, second = (ContextItem(role="user", text=text) for text in ("(1)", "(2)"))
    placed = insert_at_depth(dialogue, [(one, first), (two, second)])
    assert [item for item in placed if item not in (first, second)] == dialogue
    turns_after = sum(i.text[0] not in "[(" for i in placed[placed.index(first) :])
    all_turns = sum(text[0] != "[" for text in texts)
    assert turns_after == (all_turns if one < 0 else min(one, all_turns))
    if one == two:
        assert placed.index(second) == placed.index(first) + 1

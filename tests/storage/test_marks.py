"""How far a channel is: marks that only move forward."""

from __future__ import annotations

import asyncio

import pytest

from storage import Storage

OLD, NEW = "999999999999999999", "1000000000000000000"  # as texts, the other way round


async def test_nothing_is_known_at_first(storage: Storage) -> None:
    assert await storage.marks.seen() == {}
    assert await storage.marks.refreshed("1") is None
    await storage.marks.note({})
    assert await storage.marks.seen() == {}


async def test_the_newest_message_stands(storage: Storage) -> None:
    """D31: what was said while the bot was away begins after it."""
    await storage.marks.note({"1": OLD, "2": NEW})
    await storage.marks.note({"1": NEW, "2": OLD, "3": "7"})
    assert await storage.marks.seen() == {"1": NEW, "2": NEW, "3": "7"}


async def test_a_channel_is_cut_where_it_was_refreshed_last(storage: Storage) -> None:
    await storage.marks.refresh("1", OLD)
    assert await storage.marks.refreshed("1") == OLD
    await storage.marks.refresh("1", NEW)
    await storage.marks.refresh("1", OLD)
    assert await storage.marks.refreshed("1") == NEW
    assert await storage.marks.refreshed("2") is None
    assert await storage.marks.seen() == {}


async def test_many_channels_noted_by_several_at_once(storage: Storage) -> None:
    channels = [str(channel) for channel in range(1_200)]
    await asyncio.gather(
        *(
            storage.marks.note({channel: str(10 + number) for channel in order})
            for number, order in enumerate((channels, channels[::-1], channels))
        )
    )
    assert await storage.marks.seen() == dict.fromkeys(channels, "12")


async def test_an_id_that_is_none_is_refused(storage: Storage) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        await storage.marks.note({"1": "5", "2": "newest"})
    assert await storage.marks.seen() == {}

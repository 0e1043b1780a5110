"""The memory of refused sends (C005, D41)."""

from __future__ import annotations

from bot.refusals import RefusalMemory


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_refusal_closes_the_channel_for_fifteen_minutes() -> None:
    """C005: 50013 five minutes ago refuses; after fifteen it is tried again."""
    clock = Clock()
    memory = RefusalMemory(clock=clock)
    memory.note("1", 50013)
    clock.now += 5 * 60
    assert memory.refused("1")
    assert not memory.refused("2")
    clock.now += 10 * 60
    assert not memory.refused("1")


def test_a_success_opens_it_at_once_and_other_faults_do_not_close_it() -> None:
    """C005: cleared by any successful send; a 429 is no refusal."""
    memory = RefusalMemory()
    memory.note("1", 50001)
    memory.clear("1")
    assert not memory.refused("1")
    memory.note("1", 429)
    memory.note("1", 20016)
    assert not memory.refused("1")

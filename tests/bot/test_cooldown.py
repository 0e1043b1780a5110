"""How long a member waits between commands (behaviour 17)."""

from __future__ import annotations

import pytest

from bot.commands.cooldown import REMEMBERED, CommandCooldowns


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("category", "seconds"),
    [("persona", 10), ("respond", 3), ("config", 3), ("triggers", 1.6), ("anything else", 1.6)],
)
@pytest.mark.parametrize("scale", [1, 2.5])
def test_each_category_has_its_length(category: str, seconds: float, scale: float) -> None:
    clock = Clock()
    cooldowns = CommandCooldowns(scale, clock)
    assert cooldowns.begin(1, category) is None
    clock.now = seconds * scale - 0.001
    assert cooldowns.begin(1, category) == (
        f"You have used /{category} just now. You can use it again in 1 second."
    )
    clock.now = seconds * scale
    assert cooldowns.begin(1, category) is None


def test_being_turned_away_prolongs_nothing_and_holds_up_nobody_else() -> None:
    clock = Clock()
    cooldowns = CommandCooldowns(1, clock)
    assert cooldowns.begin(1, "persona") is None
    clock.now = 2.5
    assert (cooldowns.begin(1, "persona") or "").endswith("in 8 seconds.")
    assert cooldowns.begin(2, "persona") is None
    assert cooldowns.begin(1, "respond") is None
    clock.now = 10
    assert cooldowns.begin(1, "persona") is None


def test_nobody_waits_to_stop_something_nor_with_the_scale_0() -> None:
    stops, off = CommandCooldowns(1_000, Clock()), CommandCooldowns(0, Clock())
    assert [stops.begin(1, "kill") for _ in range(3)] == [None] * 3
    assert [off.begin(1, "persona") for _ in range(3)] == [None] * 3


def test_the_memory_is_bounded() -> None:
    cooldowns = CommandCooldowns(1, Clock())
    for user_id in range(REMEMBERED + 1):
        assert cooldowns.begin(user_id, "persona") is None
    assert cooldowns.begin(REMEMBERED, "persona") is not None
    assert cooldowns.begin(0, "persona") is None  # the oldest is let through

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.tools.builtin.roll_dice import RollDiceArguments, roll_dice
from activities.tools.registry import ToolRegistry
from activities.tools.resources import ToolResources
from workflows.contracts.tools import ToolContext


@given(count=st.integers(1, 100), sides=st.integers(2, 1000), modifier=st.integers(-10_000, 10_000))
def test_every_notation_in_the_limits_is_understood(count, sides, modifier):
    dice = f"{count}d{sides}{modifier:+d}"
    assert RollDiceArguments(dice=dice).parts() == (count, sides, modifier)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "give `dice` (such as 2d6) or `sides`"),
        ({"count": 2}, "give `dice` (such as 2d6) or `sides`"),
        ({"dice": "2d6", "sides": 6}, "not both"),
        ({"dice": "101d6"}, "1 to 100 dice can be rolled, not 101"),
        ({"dice": "0d6"}, "1 to 100 dice can be rolled, not 0"),
        ({"dice": "1d1"}, "a die has 2 to 1000 sides, not 1"),
        ({"dice": "1d1001"}, "a die has 2 to 1000 sides, not 1001"),
        ({"dice": "2d6+99999"}, "the modifier is at most 10000"),
        ({"dice": "lots"}, "expected a notation such as 2d6"),
        ({"dice": "2d6; import os"}, "expected a notation such as 2d6"),
        ({"dice": "２d６"}, "expected a notation such as 2d6"),
        ({"dice": "-1d6"}, "expected a notation such as 2d6"),
        ({"dice": "9" * 30 + "d6"}, "expected a notation such as 2d6"),
        ({"dice": "9" * 5000 + "d6"}, "at most 40 characters"),
        ({"count": 101, "sides": 6}, "`count`: input should be less than or equal to 100"),
        ({"count": 1, "sides": 1}, "`sides`: input should be greater than or equal to 2"),
        ({"count": "many", "sides": 6}, "`count`: input should be a valid integer"),
    ],
)
def test_other_rolls_are_refused_in_words(arguments, expected):
    refusal = ToolRegistry.builtin().examine("roll_dice", json.dumps(arguments)).refusal
    assert refusal is not None
    assert expected in json.loads(refusal)["reason"]


async def test_a_roll_is_of_the_dice_asked_for():
    async with ToolResources() as resources:
        arguments = RollDiceArguments(dice="100d6-3")
        roll = await roll_dice(arguments, ToolContext(turn_id="turn/1/2/3"), resources)
    assert len(roll.rolls) == 100
    assert set(roll.rolls) <= set(range(1, 7))
    # a fair run of 100 shows fewer than three faces once in 10**28
    assert len(set(roll.rolls)) >= 3
    assert roll.total == sum(roll.rolls) - 3

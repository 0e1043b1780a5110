"""`roll_dice`: fair dice, so that a persona does not have to make the numbers up."""

from __future__ import annotations

import re
from secrets import SystemRandom

from pydantic import BaseModel, Field, field_validator, model_validator

from activities.tools.resources import ToolResources
from activities.tools.tool import Tool, ToolArguments
from workflows.contracts.tools import ToolContext

MAX_DICE = 100
MIN_SIDES, MAX_SIDES = 2, 1000
MAX_MODIFIER = 10_000

_NOTATION = re.compile(r"([0-9]{0,4})[dD]([0-9]{1,5})(?:([+-])([0-9]{1,6}))?")
_EXPECTED = "expected a notation such as 2d6, d20 or 3d8+2"

_random = SystemRandom()


class RollDiceArguments(ToolArguments):
    """Either `dice`, or `sides` with an optional `count`."""

    dice: str | None = Field(
        default=None, max_length=40, description="Dice notation, such as 2d6, d20 or 3d8+2."
    )
    count: int | None = Field(
        default=None,
        ge=1,
        le=MAX_DICE,
        description="How many dice to roll, if `dice` is not given.",
    )
    sides: int | None = Field(
        default=None,
        ge=MIN_SIDES,
        le=MAX_SIDES,
        description="Sides of a die, if `dice` is not given.",
    )

    @field_validator("dice")
    @classmethod
    def _check_notation(cls, dice: str | None) -> str | None:
        if dice is not None:
            _parse(dice)
        return dice

    @model_validator(mode="after")
    def _check_one_form(self) -> RollDiceArguments:
        if self.dice is None and self.sides is None:
            raise ValueError("give `dice` (such as 2d6) or `sides`")
        if self.dice is not None and (self.sides is not None or self.count is not None):
            raise ValueError("give either `dice`, or `sides` and `count`, not both")
        return self

    def parts(self) -> tuple[int, int, int]:
        """(count, sides, modifier)."""
        if self.dice is not None:
            return _parse(self.dice)
        assert self.sides is not None
        return self.count or 1, self.sides, 0


class DiceRoll(BaseModel):
    dice: str
    rolls: list[int]
    modifier: int
    total: int


def _parse(dice: str) -> tuple[int, int, int]:
    """(count, sides, modifier) of a notation. Raises ValueError that says what is expected."""
    match = _NOTATION.fullmatch("".join(dice.split()))
    if match is None:
        raise ValueError(_EXPECTED)
    count, sides = int(match[1] or 1), int(match[2])
    modifier = int(match[4] or 0) * (-1 if match[3] == "-" else 1)
    if not 1 <= count <= MAX_DICE:
        raise ValueError(f"1 to {MAX_DICE} dice can be rolled, not {count}")
    if not MIN_SIDES <= sides <= MAX_SIDES:
        raise ValueError(f"a die has {MIN_SIDES} to {MAX_SIDES} sides, not {sides}")
    if abs(modifier) > MAX_MODIFIER:
        raise ValueError(f"the modifier is at most {MAX_MODIFIER}")
    return count, sides, modifier


def _notation(arguments: RollDiceArguments) -> str:
    count, sides, modifier = arguments.parts()
    return f"{count}d{sides}" + (f"{modifier:+d}" if modifier else "")


async def roll_dice(
    arguments: RollDiceArguments, context: ToolContext, resources: ToolResources
) -> DiceRoll:
    count, sides, modifier = arguments.parts()
    rolls = [_random.randint(1, sides) for _ in range(count)]
    return DiceRoll(
        dice=_notation(arguments), rolls=rolls, modifier=modifier, total=sum(rolls) + modifier
    )


TOOL = Tool(
    name="roll_dice",
    description="Roll dice and get fair random results. Use it whenever chance should decide.",
    arguments=RollDiceArguments,
    run=roll_dice,
    summarise=_notation,
    requires_follow_up=True,
    deliberate_triggers=("dice", "die", "roll*", r"/\b[0-9]{0,3}d[0-9]{1,4}\b/"),
)

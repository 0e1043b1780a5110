"""What a tool is: a name, a model of its arguments, and one async function.

A tool is one file that ends with `TOOL = Tool(…)`; `builtin/roll_dice.py` is the shortest one.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from activities.tools.resources import ToolResources
from storage.config import ServerConfig
from workflows.contracts.tools import (
    ContextRestart,
    Situation,
    StickerChoice,
    ToolContext,
    ToolNotice,
)

ToolOutput = BaseModel | Mapping[str, Any] | str


@dataclass(frozen=True)
class Answer:
    """What a tool returns when it has more to say than its output for the model."""

    output: ToolOutput
    notices: Sequence[ToolNotice] = ()
    """For people: in the channel as far as the server wants them, and in its thought log."""
    restart: ContextRestart | None = None
    sticker: StickerChoice | None = None
    delivered: bool = False
    """Members of this channel see something new because of it: a reply, a reaction."""
    said: str = ""
    """The words among it that are the persona's own: they count as part of its answer."""
    end_turn: bool = False


_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""Lower-case with underscores, at most 64: the narrowest rule among the providers'."""


class ToolArguments(BaseModel):
    """Base of every tool's arguments. The fields' descriptions are what the model reads.

    Unknown fields are errors: a model that invents a parameter should hear of it, not believe
    that it worked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class ToolFailure(Exception):
    """Raised by a tool that cannot do what was asked.

    `reason` goes to the model, and through it perhaps to a member: one or two plain sentences,
    no secret, no address of our own network.
    """

    def __init__(
        self,
        reason: str,
        *,
        data: Mapping[str, Any] | None = None,
        sticker: StickerChoice | None = None,
    ) -> None:
        """`data` joins the failure that the model reads, such as candidates to choose from."""
        super().__init__(reason)
        self.reason = reason
        self.data = data
        self.sticker = sticker


class ToolDefinitionError(Exception):
    """A tool is declared in a way that cannot work. Raised at start, never in a turn."""


Arguments = TypeVar("Arguments", bound=BaseModel)


def _everywhere(provider: str) -> bool:
    return True


def _always(situation: Situation, config: ServerConfig) -> bool:
    return True


@dataclass(frozen=True)
class Tool(Generic[Arguments]):
    """One tool.

    `run` receives validated arguments, the ids of the turn it runs in, and the worker's shared
    resources. It may be cancelled at any await, runs at most once for a call, and answers with
    a model, a mapping or text, or raises `ToolFailure`.
    """

    name: str
    description: str
    """What the model reads to decide whether to call it."""
    arguments: type[Arguments]
    run: Callable[[Arguments, ToolContext, ToolResources], Awaitable[ToolOutput | Answer]]
    summarise: Callable[[Arguments], str] | None = None
    """What the Temporal UI shows after the name, such as a host: no content, no secret."""
    task_queue: str | None = None
    """Where the tool runs. None: the turns queue. `DISCORD_TOOLS`: the bot, with
    `resources.discord`."""
    is_available_for: Callable[[str], bool] = _everywhere
    """Whether a provider (`openai`, `anthropic`, …) can be offered this tool."""
    is_available_for_context: Callable[[Situation, ServerConfig], bool] = _always
    """Whether a turn can be offered it. Pure; asked when the turn begins, and again, with the
    settings as they are then, before the tool runs."""
    requires_follow_up: bool = True
    """Whether the model has to say something after the tool (behaviour 6.4)."""
    ends_turn: bool = False
    """Whether success after visible text ends the turn."""
    deliberate_target: str | None = None
    """The target of deliberate tool mode whose words offer this tool (`search`, `memory`, …; see
    `activities.deliberate`)."""
    deliberate_triggers: Sequence[str] = ()
    """Words of its own, in the syntax of custom triggers: a literal, `stem*`, `^`, `/regex/`."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ToolDefinitionError(
                f"tool name {self.name!r} must be lower-case letters, digits and underscores, "
                "begin with a letter, and have at most 64 characters"
            )
        if not self.description.strip():
            raise ToolDefinitionError(f"tool {self.name!r} needs a description for the model")

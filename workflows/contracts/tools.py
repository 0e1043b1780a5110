"""turn ──► worker or bot: one tool call, and what the transcript keeps of it."""

from __future__ import annotations

from enum import StrEnum

from workflows.contracts.base import ActivityStub, Contract
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import Origin, Source

DISCORD_TOOLS = "discord"
"""`Tool.task_queue` of a tool that needs Discord: it runs in the bot, on the queue of the turn's
own application."""

UPDATE_SHORT_TERM_MEMORY = "update_short_term_memory"
SELECT_STICKER = "select_sticker_for_response"
REVEAL_MESSAGE_METADATA = "reveal_message_metadata"
CROSS_CHANNEL_MESSAGE = "cross_channel_message"
CREATE_TASK = "create_task"
"""Names that the turn itself, or another tool's rules, must know (behaviour 6.5, 8, 11, 12)."""

REPORTED_PERMISSIONS = (
    "view_channel",
    "send_messages",
    "send_messages_in_threads",
    "create_public_threads",
    "add_reactions",
    "manage_messages",
    "pin_messages",
    "read_message_history",
    "use_external_stickers",
    "attach_files",
)
"""Permissions of the bot that decide which tools a turn is offered; discord.py's names."""


class Situation(Contract):
    """The facts of a turn that decide which tools it is offered. Small: every call carries it."""

    is_dm: bool = False
    is_thread: bool = False
    is_private: bool = False
    """Not every member of the server can read this channel."""
    is_queued: bool = False
    origin: Origin = Origin.MESSAGE
    own_permissions: list[str] = []
    """Those of `REPORTED_PERMISSIONS` that the bot has in this channel."""
    has_stickers: bool = False
    has_files: bool = False
    """A file stands in the part of the conversation that the model sees."""
    memory_intent: bool = False
    """The user asked in words to remember something for good (behaviour 7.1)."""
    short_term_memory_due: bool = False
    impersonated: bool = False
    disabled: list[str] = []
    """Names that the invocation itself withholds."""


class ToolContext(Contract):
    """What every tool receives beside its arguments (behaviour 6.5, step 3).

    What is live elsewhere is an id here: the conversation, and the real ids behind `ref_N` and
    `media_N`, are in the stored `ContextDocument` that `context_id` names; a kill arrives as the
    activity's cancellation.
    """

    turn_id: str
    application_id: str = ""
    bot_user_id: str = ""
    guild_id: str | None = None
    guild_name: str = ""
    channel_id: str = ""
    channel_name: str = ""
    trigger_message_id: str = ""
    user_id: str = ""
    user_name: str = ""
    locale: str = ""
    persona_id: int = 0
    persona_name: str = ""
    voice: Voice = Voice()
    """How the persona speaks, for what a tool says in its name."""
    provider: str = ""
    model: str = ""
    source: Source = Source.MESSAGE
    webhook_id: str | None = None
    """The webhook that the persona speaks through; None: the bot's own account."""
    impersonated_user_id: str | None = None
    context_id: str = ""
    situation: Situation = Situation()
    iteration: int = 0
    """0, 1, 2, … of the tool loop."""
    position: int = 0
    """The call's place among those of its response, from 0."""
    suppress_progress_notices: bool = False
    """Nothing of the system's own may be shown in the channel in this turn."""
    show_kill_hint: bool = False
    """The turn has become long: what is shown from now on says how to stop it."""


class ToolRequest(Contract):
    call_id: str
    name: str
    arguments: str
    """JSON text, complete."""
    context: ToolContext


class NoticeColour(StrEnum):
    INFO = "info"
    SUCCESS = "success"
    AMBER = "amber"
    RED = "red"


class ToolNotice(Contract):
    """What people are told of a tool's work; never the model."""

    title: str
    """One line, at most 200 code points: all that the channel shows where notices are minimal."""
    text: str = ""
    """At most 1,800 code points."""
    colour: NoticeColour = NoticeColour.INFO
    hidden: bool = False
    """For the thought log only."""


class RestartKind(StrEnum):
    """Behaviour 6.6: what was added to the context."""

    MESSAGE_METADATA = "message_metadata"


class ContextRestart(Contract):
    """The tool has built a richer context; the model is asked again, as if it had not called."""

    kind: RestartKind
    context_id: str
    """Blob id of the new `ContextDocument`."""


class StickerChoice(Contract):
    """What `select_sticker_for_response` came to."""

    sticker_id: str | None = None
    """None: no such sticker, and an earlier choice is void."""
    name: str = ""


class ToolResult(Contract):
    """What the model will read. Inline while small, else a blob with its head inline."""

    call_id: str
    name: str
    success: bool
    content: str = ""
    """JSON text of at most `INLINE_RESULT_LIMIT` code points."""
    content_id: str | None = None
    """Blob id of the whole result, when `content` tells only its head and how to read on."""
    duration_ms: float = 0
    notices: list[ToolNotice] = []
    """At most `MAX_NOTICES`."""
    restart: ContextRestart | None = None
    sticker: StickerChoice | None = None
    delivered: bool = False
    """The tool itself put something into this channel for its members, such as a reply."""
    said: str = ""
    """The words that it put there in the persona's name: part of the answer, as is its text. At
    most `INLINE_RESULT_LIMIT` code points."""
    end_turn: bool = False
    """The turn is over with this call, as `completed`; the model is not asked again."""


INLINE_RESULT_LIMIT = 4_000
"""Code points of a tool result that may stand in a history; the rest is in `storage`."""

MAX_NOTICES = 3


class TranscriptEntry(Contract):
    """One iteration of the tool loop: the model's response, and the results of its calls."""

    response_id: str
    results: list[ToolResult] = []
    cleared_call_ids: list[str] = []
    """Calls whose arguments arrived truncated; they are replayed without arguments."""
    dropped_call_ids: list[str] = []
    """Calls that restarted the context (behaviour 6.6): not replayed at all. A response of which
    nothing else is left keeps its text."""


RUN_TOOL = ActivityStub("run_tool", ToolRequest, ToolResult)

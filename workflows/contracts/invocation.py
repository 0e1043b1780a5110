"""bot ──► channel: what the bot signals, and what `/kill` answers."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime

from workflows.contracts.base import Contract


class Source(StrEnum):
    """Where a turn comes from (behaviour 14, dimension `source`)."""

    MESSAGE = "message"
    QUEUE = "queue"
    PERSONA_JOB = "persona_job"
    RETRY = "retry"
    STOP = "stop"
    MANUAL = "manual"
    """A reminder, a task from another channel, or the report back from one."""


class Origin(StrEnum):
    """What brought a turn about. All but a message have no trigger in the channel."""

    MESSAGE = "message"
    REMINDER = "reminder"
    """A reminder or a task of the persona's own has come due; `content` is its purpose."""
    CROSS_CHANNEL = "cross_channel"
    """A persona was sent here from another channel; `content` is its task."""
    BOOMERANG = "boomerang"
    """The report back from there; `content` is the task, `report_id` what became of it."""


class QuotaSource(StrEnum):
    USER = "user"
    SYSTEM = "system"
    """Charged to nobody: reminders, stop responses, the system's own turns."""


class ReminderDue(Contract):
    """Which reminder an invocation delivers."""

    reminder_id: int
    recipient_id: str | None = None
    """Whom it reminds; None for a task of the persona's own."""
    due: AwareDatetime | None = None
    """Of the occurrence; nobody answers once the reminder is due at another time."""


class Boomerang(Contract):
    """Where the outcome of a task from another channel is reported, once (behaviour 12).

    All fields are the source channel's: of the turn that sent the persona away."""

    channel_id: str
    channel_name: str = ""
    message_id: str
    """Of the report's own turn; synthetic, so that a repeated report is answered once."""
    persona_id: int
    is_dm: bool = False
    is_thread: bool = False


class BoomerangReport(Contract):
    """The stored document behind `ChatIncoming.report_id`."""

    target_channel_id: str
    target_channel_name: str = ""
    task: str
    outcome: str
    """One sentence for the model: answered, stopped, failed, or never begun."""
    messages: list[str] = []
    """The target channel's last ten, `Author: text`, each at most 1,500 code points."""


class Addressed(StrEnum):
    """By what a message reaches a persona (behaviour 5.1), the strongest first."""

    COMMAND = "command"
    DIRECT_MESSAGE = "direct_message"
    MENTION = "mention"
    REPLY = "reply"
    """To the bot's or a persona's message."""
    TRIGGER_WORD = "trigger_word"
    SPOTLIGHT = "spotlight"
    """The member has one persona that answers everything they say here."""
    ALWAYS_REPLY = "always_reply"
    AUTOCHAT = "autochat"
    """The channel counts messages: whether this one is answered is decided by the count."""
    NOT = "not"
    """By nothing. It is told to the channel since its author is being answered there: it may be a
    stop, or a follow-up."""


DIRECT = (
    Addressed.COMMAND,
    Addressed.DIRECT_MESSAGE,
    Addressed.MENTION,
    Addressed.REPLY,
    Addressed.TRIGGER_WORD,
)
"""A direct signal to the bot: errors of its turn may be shown (behaviour 2.6)."""


class ChatIncoming(Contract):
    """A message that the bot admitted, normalised. Ids are Discord snowflakes in decimal."""

    application_id: str
    channel_id: str
    message_id: str
    author_id: str
    author_name: str
    content: str = ""
    """At most 4000 code points, as Discord delivers it."""
    guild_id: str | None = None
    """None in a direct message."""
    guild_name: str = ""
    channel_name: str = ""
    """Without the `#`; empty in a direct message."""
    is_dm: bool = False
    is_thread: bool = False
    bot_user_id: str = ""
    persona_ids: list[int] = []
    """Personas the message addresses, in the order they should answer; empty: the main one."""
    addressed: Addressed = Addressed.MENTION
    persona_named: bool = False
    """A persona's own trigger word stands in it (never a base word alone)."""
    mentions_us: bool = False
    """It mentions the bot, or replies to a message of the bot's own account."""
    author_persona_id: int | None = None
    """A persona said it, through a webhook of ours or the bot's account; its author is then the
    member whose message began the chain."""
    reply_persona_id: int | None = None
    """It replies to this persona's webhook message."""
    parent_channel_id: str | None = None
    """Of a thread its channel: its lists hold for the thread too."""
    role_ids: list[str] = []
    """Of the member, without `@everyone`; at most 100."""
    is_manager: bool = False
    """Has Manage Server: exempt from cooldowns of types 1 to 3 (behaviour 5.4)."""
    newest_human_id: str | None = None
    """Of a persona's message: the newest message of a person that the bot saw here. It tells
    whether the cascade has begun anew (behaviour 5.3)."""
    is_manual: bool = False
    """Begun by a command, or as if by one (behaviour 2.1): the gates for triggers do not apply."""
    is_stop_response: bool = False
    is_persona_job: bool = False
    """A further persona of a message that another one has answered, or an answer to a persona."""
    is_from_queue: bool = False
    skip_lock: bool = False
    retry_count: int = 0
    """Empty answers to this message so far (behaviour 6.9)."""
    empty_response_finish_reason: str | None = None
    """Of the last one, where the provider gave one."""
    text_quota_source: QuotaSource = QuotaSource.USER
    text_quota_key: str | None = None
    """What the quota is charged for, once, however many personas answer; None: the message."""
    surface_errors: bool = True
    """Whether errors of this turn may be shown in the channel (behaviour 2.6)."""
    tries_again: bool = False
    """Whoever asked for it asks again when it fails, and has the last word: a turn that fails
    shows no error."""
    locale: str = ""
    """The user's language as Discord tells it (`en-US`), where it does."""
    origin: Origin = Origin.MESSAGE
    selected_persona_id: int | None = None
    """Who answers, whatever the message addresses."""
    disabled_tools: list[str] = []
    """Withheld from this turn, in declarations and at dispatch."""
    report_id: str | None = None
    """Blob id of a `BoomerangReport`."""
    reminder: ReminderDue | None = None
    boomerang: Boomerang | None = None
    answer_to: str | None = None
    """Id of a workflow that wants to hear how this came out: it receives an
    `InvocationOutcome`."""

    @property
    def is_in_channel(self) -> bool:
        """A message of the channel has this id, and can be replied to and linked."""
        return self.origin is Origin.MESSAGE and self.addressed is not Addressed.COMMAND

    @property
    def is_synthetic(self) -> bool:
        """No message of the channel has this id: nothing can be replied to."""
        return self.origin is not Origin.MESSAGE


def is_awaited(message: ChatIncoming) -> bool:
    """Whether somebody wants to hear how `message` came out."""
    return message.answer_to is not None or message.boomerang is not None


class InvocationEnd(StrEnum):
    ANSWERED = "answered"
    STOPPED = "stopped"
    FAILED = "failed"
    REFUSED = "refused"
    """A rule of the server's kept it from having a turn: a list, a cooldown, a quota."""
    DISCARDED = "discarded"
    """It never had its turn: the queue was cleared, was full, or nobody was there to answer."""


class InvocationOutcome(Contract):
    """How an accepted message came out, after its turns have closed (behaviour 3, C027)."""

    message_id: str
    end: InvocationEnd


OUTCOME_SIGNAL = "outcome"
"""Signal with an `InvocationOutcome` to the workflow that `ChatIncoming.answer_to` names."""


class KillRequest(Contract):
    user_id: str
    user_name: str = ""
    command_id: str = ""
    """Snowflake of the command. What was said before it is stopped with the rest, also when it
    reaches the channel later."""


class KillOutcome(Contract):
    """What a `/kill` found: `stopped` a running turn, and how many queued messages it dropped."""

    stopped: bool = False
    cleared: int = 0

    @property
    def nothing_to_stop(self) -> bool:
        return not self.stopped and self.cleared == 0


ENQUEUE_SIGNAL = "enqueue"
"""Signal of `ChannelWorkflow` that carries a `ChatIncoming`; sent with signal-with-start."""

KILL_UPDATE = "kill"
"""Update of `ChannelWorkflow`: `KillRequest` in, `KillOutcome` out, answered at once."""

KILL_SIGNAL = "kill_when_back"
"""Signal of `ChannelWorkflow` with a `KillRequest`: the same stop, without an answer. An update
that no worker has accepted yet is not kept by the server; a signal is."""

CHANNEL_WORKFLOW = "ChannelWorkflow"
TURN_WORKFLOW = "TurnWorkflow"
REMINDER_WORKFLOW = "ReminderWorkflow"

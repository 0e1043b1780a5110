"""bot ──► channel: what the bot signals, and what `/kill` answers."""

from __future__ import annotations

from enum import StrEnum

from workflows.contracts.base import Contract


class Source(StrEnum):
    """Where a turn comes from (behaviour 14, dimension `source`)."""

    MESSAGE = "message"
    QUEUE = "queue"


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
    surface_errors: bool = True
    """Whether errors of this turn may be shown in the channel (behaviour 2.6)."""


class KillRequest(Contract):
    user_id: str
    user_name: str = ""


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

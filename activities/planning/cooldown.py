"""Which cooldown a message is under, and how it is told (behaviour 5.4). Pure.

In: the message and the server's settings. Out: the key that the message must find free, and takes;
None where it waits for nothing. The store checks and takes it in one step (`guards`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from activities.planning.access import allowed_channel
from activities.planning.known import Known, is_follow_up
from activities.planning.refusals import told
from activities.planning.settings import PlanningSettings
from storage.config.models import CooldownConfig, CooldownType
from workflows.contracts.base import server_key
from workflows.contracts.invocation import Addressed, ChatIncoming
from workflows.contracts.planning import PlanReason, PlanRefusal

_EXEMPTING = (CooldownType.PER_USER, CooldownType.PER_CHANNEL, CooldownType.SERVER_WIDE)


@dataclass(frozen=True)
class Cooldown:
    key: str
    length: timedelta
    type: CooldownType


def cooldown_of(message: ChatIncoming, known: Known, settings: PlanningSettings) -> Cooldown | None:
    """None also for what nobody in the channel has just asked for: reminders, a stop's last word,
    personas among each other, a further persona of a message that has taken it already. And for a
    follow-up: the answer that took it has been given up."""
    of_person = not message.is_synthetic and message.author_persona_id is None
    if not of_person or message.is_stop_response or message.is_persona_job:
        return None
    if is_follow_up(message):
        return None
    config, scope = _pair(message, known)
    if config.type in _EXEMPTING and message.is_manager and settings.cooldown_exemptions:
        return None
    server = server_key(message.guild_id, message.author_id)
    length = timedelta(seconds=config.seconds)
    match config.type:
        case CooldownType.OFF:
            return None
        case CooldownType.PER_USER:
            key = f"user/{server}/{message.author_id}{scope}"
        case CooldownType.PER_CHANNEL:
            key = f"channel/{message.channel_id}"
        case CooldownType.SERVER_WIDE | CooldownType.STRICT_SERVER_WIDE:
            key = f"server/{server}"
        case CooldownType.COMMAND_CATEGORY:
            if message.addressed is not Addressed.COMMAND:
                return None
            key = f"command/chat/{server}/{message.author_id}{scope}"
            length *= settings.command_cooldown_scale
    return Cooldown(key, length, config.type) if length else None


def cooldown_refusal(
    message: ChatIncoming, cooldown: Cooldown, free_at: datetime, now: datetime
) -> PlanRefusal:
    """To the member alone, and only when they called a persona. Discord shows the time as what is
    left of it, in the member's language."""
    who = {
        CooldownType.PER_USER: "I have answered you just now",
        CooldownType.PER_CHANNEL: "I have answered there just now",
        CooldownType.COMMAND_CATEGORY: "You have used this command just now",
    }.get(cooldown.type, "I have answered in this server just now")
    when = f"<t:{int(free_at.timestamp()) + 1}:R>" if free_at > now else "now"
    return told(
        PlanReason.COOLDOWN,
        message,
        f"Your message in <#{message.channel_id}> gets no answer: {who}. You can ask again {when}.",
        by_direct_message=True,
    )


def _pair(message: ChatIncoming, known: Known) -> tuple[CooldownConfig, str]:
    """Type and length, and what sets a member's cooldown apart: an allowed channel's own pair
    overrides the server's, and its waits are its own."""
    channel = allowed_channel(message, known) if message.guild_id is not None else None
    if channel is None or channel.cooldown is None:
        return known.server.cooldown, ""
    return channel.cooldown, f"/{channel.channel_id}"

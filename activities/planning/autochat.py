"""A channel that counts messages, and is answered when enough have been said (behaviour 5.1). Pure.

In: the message, how its channel counts, and the count as it was. Out: the count as it is, and
whether it is reached. What always holds: only what people say counts, each message once; the same
message draws the same target, however often it is planned.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from activities.planning.known import Known, autochat_channel, is_said
from storage.config.models import AutochatChannel
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.invocation import ChatIncoming


@dataclass(frozen=True)
class Count:
    counters: ChannelCounters
    reached: bool = False


def counted(message: ChatIncoming, known: Known, counters: ChannelCounters) -> Count:
    """The count with this message."""
    channel = autochat_channel(message, known)
    if channel is None or not is_said(message):
        return Count(counters)
    target = counters.autochat_target
    least, most = _range(channel)
    if target is None or not least <= target <= most:  # none yet, or of another range
        target = _drawn(channel, message.message_id)
    count = counters.autochat + 1
    updated = counters.model_copy(update={"autochat": count, "autochat_target": target})
    return Count(updated, reached=count >= target)


def begun_anew(message: ChatIncoming, known: Known, counters: ChannelCounters) -> ChannelCounters:
    """The count after its automatic answer."""
    channel = autochat_channel(message, known)
    if channel is None:
        return counters
    target = _drawn(channel, message.message_id)
    return counters.model_copy(update={"autochat": 0, "autochat_target": target})


def _range(channel: AutochatChannel) -> tuple[int, int]:
    """The least and the most messages until an answer. The threshold 0 answers every one."""
    least = max(1, channel.least)
    return least, max(least, channel.most or least)


def _drawn(channel: AutochatChannel, message_id: str) -> int:
    least, most = _range(channel)
    digest = hashlib.sha256(f"autochat {message_id}".encode()).digest()
    return least + int.from_bytes(digest[:8], "big") % (most - least + 1)

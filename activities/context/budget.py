"""What fits into a prompt: an estimate of tokens, and which messages stay."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workflows.contracts.history import HistoryMessage

CONTEXT_BUDGET = 24_000
"""Tokens for the whole context. Leaves room for tools and the answer in a 32k window, the smallest
that today's chat models commonly have."""

MESSAGE_OVERHEAD = 12
"""Tokens for the author's name, the separators, and a message's share of date spacers."""

FILE_OVERHEAD = 5
"""Tokens of a file's `media_N` and what stands around it."""

_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U0001f000-\U0003ffff]"
)
"""Hangul, kana, Han, full-width forms, emoji."""


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` has, without a tokenizer: those differ by model, and cost more
    time than the answer is worth.

    A token is four ASCII characters (the rule of thumb in the providers' documentation), two
    characters of other alphabets, or one CJK character or emoji. Rounded up.
    """
    if text.isascii():
        return -(-len(text) // 4)
    ascii_characters = len(text.encode("ascii", "ignore"))
    wide = len(_WIDE.findall(text))
    others = len(text) - ascii_characters - wide
    return -(-(ascii_characters + 2 * others + 4 * wide) // 4)


def trim(messages: Sequence[HistoryMessage], trigger_id: str, budget: int) -> list[HistoryMessage]:
    """The newest of `messages` (oldest first) that fit into `budget` tokens, and the trigger.

    The trigger stays even when it alone is too much: Discord bounds it at 4000 characters, and
    without it there is nothing to answer. Nothing newer than a message that was left out is left
    out as well, so the conversation has no holes.
    """
    left = budget - sum(_cost(m) for m in messages if m.id == trigger_id)
    first = len(messages)
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].id != trigger_id:
            left -= _cost(messages[position])
            if left < 0:
                break
        first = position
    older = [m for m in messages[:first] if m.id == trigger_id]
    return [*older, *messages[first:]]


def _cost(message: HistoryMessage) -> int:
    attachments = sum(estimate_tokens(name) + FILE_OVERHEAD for name in message.attachments)
    indents = -(-message.content.count("\n") // 2)  # two spaces at the start of a line
    return MESSAGE_OVERHEAD + estimate_tokens(message.content) + indents + attachments

"""Row 06: who takes part, and by which handles they may be mentioned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from activities.context.authors import alias_of, author_label


def participants_note(
    labels: Mapping[str, str], persona_name: str, bot_user_id: str, now: datetime
) -> str:
    """The note that opens the conversation.

    `labels` maps author ids to labels (`authors.author_labels`); `now` is when the message to be
    answered was written. A handle is offered only when exactly one participant, the persona
    included, owns the name: the model knows people by their names, and would ping the wrong one.
    """
    own = author_label(persona_name)
    owners = Counter(alias_of(label) for label in labels.values())
    owners[alias_of(own)] += 1

    now = now.astimezone(UTC)
    lines = [f"[About this conversation, at {now:%Y-%m-%d %H:%M} UTC, {now:%A}]"]
    lines.append(
        f"You are {own}" + (f", whom others mention as <@{bot_user_id}>." if bot_user_id else ".")
    )
    lines.append("Taking part:")
    for author_id, label in labels.items():
        unique = owners[alias_of(label)] == 1
        lines.append(f"- {label}, handle <@{author_id}>" if unique else f"- {label}")
    return "\n".join(lines)

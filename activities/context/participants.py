"""Row 06: who takes part, by which handles they may be mentioned, and what is known of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from activities.context.authors import is_persona
from activities.context.budget import estimate_tokens
from activities.context.errands import reminder_lines, task_lines
from activities.context.lines import channel, local_time
from activities.context.memories import personal_memories
from storage import Memory, Reminder
from text.labels import alias_of, author_label, unnumbered

PERSON_BUDGET = 1_000
PEOPLE_BUDGET = 3_000
"""Tokens for what is known of one person, and of all. Whoever is answered comes first, then those
who joined last."""


@dataclass(frozen=True)
class Known:
    """What is known of the people here, beside their names."""

    memories: Mapping[str, Sequence[Memory]] = field(default_factory=dict[str, Sequence[Memory]])
    """By user id, oldest first."""
    answered_id: str = ""
    reminders: Sequence[Reminder] = ()
    """Pending ones of this persona."""
    channel_name: str = ""
    zone: str = ""
    """IANA name of the zone in which whoever is answered lives; empty: not shown."""


def participants_note(
    labels: Mapping[str, str],
    persona_name: str,
    bot_user_id: str,
    now: datetime,
    known: Known | None = None,
) -> str:
    """The note that opens the conversation.

    `labels` maps speakers to labels (`authors.author_labels`); `now` is when the message to be
    answered was written. A handle is offered only when exactly one participant, the persona
    included, owns the name: members call each other by their names, without our numbers, and the
    wrong one would be pinged. Another persona has none: it hears its name.
    """
    known = known or Known()
    own = author_label(persona_name)
    owners = Counter(alias_of(unnumbered(label)) for label in labels.values())
    owners[alias_of(own)] += 1

    now = now.astimezone(UTC)
    lines = [f"[About this conversation, at {now:%Y-%m-%d %H:%M} UTC, {now:%A}]"]
    lines.append(
        f"You are {own}" + (f", whom others mention as <@{bot_user_id}>." if bot_user_id else ".")
    )
    lines.append("Taking part:")
    details = _details(labels, own, known)
    for author_id, label in labels.items():
        if is_persona(author_id):
            lines.append(f'- "{label}", another persona here: it hears its name, and has no handle')
            continue
        unique = owners[alias_of(unnumbered(label))] == 1
        lines.append(f'- "{label}"' + (f", handle <@{author_id}>" if unique else ""))
        lines.extend(f"  {line}" for line in details.get(author_id, ()))
    if tasks := task_lines(known.reminders):
        lines.append("Tasks you have set for yourself:")
        lines.extend(f"  {line}" for line in tasks)
    if known.zone:
        where = f"You are in {channel(known.channel_name)}; " if known.channel_name else ""
        lines.append(f"{where}local time here: {local_time(now, known.zone)}.")
    return "\n".join(lines)


def _details(labels: Mapping[str, str], own: str, known: Known) -> dict[str, list[str]]:
    """What stands below each name, by user id."""
    left = PEOPLE_BUDGET
    details: dict[str, list[str]] = {}
    newest_first = list(labels)[::-1]
    for author_id in sorted(newest_first, key=lambda id_: id_ != known.answered_id):
        reminders = reminder_lines(known.reminders, author_id)
        budget = min(left, PERSON_BUDGET) - sum(map(estimate_tokens, reminders))
        memories = personal_memories(
            known.memories.get(author_id, ()), budget, bot=own, user=labels[author_id]
        )
        lines = [*memories, *reminders]
        left -= sum(map(estimate_tokens, lines))
        if left < 0:
            break
        details[author_id] = lines
    return details

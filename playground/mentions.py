"""Who a message mentions, and who of them is notified.

Source: Discord's API reference, "Allowed Mentions Object". Text in code is never a mention. A
mention that is not allowed still shows; it just notifies nobody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from playground.errors import invalid_form

_CODE = re.compile(r"```.*?```|``.*?``|`[^`\n]*`", re.DOTALL)
_USER = re.compile(r"<@!?(\d{15,20})>")
_ROLE = re.compile(r"<@&(\d{15,20})>")
_EVERYONE = re.compile(r"@(everyone|here)\b")


@dataclass(frozen=True)
class AllowedMentions:
    """`users` and `roles` are the ids that may be notified; None means all of them."""

    users: frozenset[int] | None = None
    roles: frozenset[int] | None = None
    everyone: bool = True
    replied_user: bool = True

    @classmethod
    def for_webhooks(cls) -> AllowedMentions:
        """The default of webhooks and interactions: users only."""
        return cls(roles=frozenset(), everyone=False)

    @classmethod
    def parse(cls, payload: dict[str, Any]) -> AllowedMentions:
        kinds = payload.get("parse") or []
        lists: dict[str, frozenset[int] | None] = {}
        for kind in ("users", "roles"):
            ids = payload.get(kind) or []
            if kind in kinds and ids:
                raise invalid_form(
                    "allowed_mentions",
                    "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                    f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
                )
            if len(ids) > 100:
                raise invalid_form(
                    f"allowed_mentions.{kind}",
                    "BASE_TYPE_MAX_LENGTH",
                    "Must be 100 or fewer in length.",
                )
            lists[kind] = None if kind in kinds else frozenset(int(key) for key in ids)
        return cls(
            users=lists["users"],
            roles=lists["roles"],
            everyone="everyone" in kinds,
            replied_user=bool(payload.get("replied_user", False)),
        )


@dataclass(frozen=True)
class Mentions:
    """`users` are notified users, `everyone` whether @everyone or @here worked."""

    users: list[int]
    everyone: bool
    pings: list[str]


def find(
    content: str,
    allowed: AllowedMentions,
    *,
    known_users: set[int],
    known_roles: set[int],
    may_mention_everyone: bool,
    replied_to: int | None = None,
) -> Mentions:
    """What `content` notifies, given what is allowed to it and to its author.

    Pings come in the order found, each once: user ids, `role:<id>`, `@everyone`, `@here`.
    """
    text = _CODE.sub(" ", content)
    users: list[int] = []
    if replied_to is not None and allowed.replied_user:
        users.append(replied_to)
    for match in _USER.finditer(text):
        key = int(match[1])
        if key in known_users and (allowed.users is None or key in allowed.users):
            users.append(key)
    users = list(dict.fromkeys(users))
    pings = [str(key) for key in users]
    if may_mention_everyone:
        for match in _ROLE.finditer(text):
            key = int(match[1])
            if key in known_roles and (allowed.roles is None or key in allowed.roles):
                pings.append(f"role:{key}")
    everyone = False
    if may_mention_everyone and allowed.everyone:
        for match in _EVERYONE.finditer(text):
            everyone = True
            pings.append(f"@{match[1]}")
    return Mentions(users, everyone, list(dict.fromkeys(pings)))

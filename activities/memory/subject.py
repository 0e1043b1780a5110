"""Whom a memory is about.

In: what the model named. Out: a member, the whole server, or why neither. Only people of this
conversation count, and those whom it mentions: a tool that runs without Discord can ask nobody
whether an id is anyone's. What always holds: a bot is nobody to remember things about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from activities.context.document import ContextDocument, Person
from workflows.contracts.tools import ToolContext

MAX_CANDIDATES = 10

_ID = re.compile(r"(?:<@!?)?([0-9]{15,20})>?")


@dataclass(frozen=True)
class Member:
    user_id: str
    name: str


@dataclass(frozen=True)
class WholeServer:
    """A bot was meant: what is true of it, is known to all."""


@dataclass(frozen=True)
class Ambiguous:
    candidates: list[Member]


@dataclass(frozen=True)
class Nobody:
    pass


Subject = Member | WholeServer | Ambiguous | Nobody


def find_subject(query: str | None, document: ContextDocument, context: ToolContext) -> Subject:
    """Without a `query` it is about the user whom the turn answers."""
    if query is None:
        return Member(context.user_id, context.user_name)
    found = document.people_named(query) or _mentioned(query, document)
    if not found and _is_own_name(query, context):
        return WholeServer()
    if not found:
        return Nobody()
    people = [person for person in found if not _is_bot(person, context)]
    if not people:
        return WholeServer()
    if len(people) > 1:
        return Ambiguous([Member(p.user_id, p.name) for p in people[:MAX_CANDIDATES]])
    return Member(people[0].user_id, people[0].name)


def _mentioned(query: str, document: ContextDocument) -> list[Person]:
    match = _ID.fullmatch(query.strip())
    if match is None:
        return []
    mention = re.compile(f"<@!?{match[1]}>")
    texts = [document.invocation.content, *(item.text for item in document.items)]
    if not any(mention.search(text) for text in texts):
        return []
    return [Person(user_id=match[1], name=f"<@{match[1]}>")]


def _is_own_name(query: str, context: ToolContext) -> bool:
    name = query.strip().removeprefix("@").casefold()
    own = (context.persona_name.casefold(), context.bot_user_id, f"<@{context.bot_user_id}>")
    return bool(name) and name in own


def _is_bot(person: Person, context: ToolContext) -> bool:
    return person.is_bot or person.user_id == context.bot_user_id

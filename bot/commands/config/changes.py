"""What a setting becomes, and what it may not become. Pure.

Each function takes settings and gives changed ones; `Refused` says in one line why not. Whatever
is asked for, the result is valid: it has been through the models' own rules.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from bot.commands.config.named import command_of
from storage.config import ServerConfig, UserConfig
from storage.config.models import StmCategory
from text.patterns import PatternRefused, compile_pattern

Config = TypeVar("Config", ServerConfig, UserConfig)

TARGETS = (
    "image",
    "video",
    "voice",
    "reminder",
    "cross-channel",
    "search",
    "memory",
    "media-analysis",
    "message-action",
    "user-blocking",
    "user-info",
    "thread",
    "capabilities",
)
"""Of deliberate tool mode (behaviour 8)."""

MAX_PHRASES = 16
"""For one target (behaviour 8)."""
MAX_PHRASE = 40
MAX_BLOCKED = 100
"""Channels and categories; more than a server has categories."""
MAX_NAMESAKES = 10
ALWAYS = "^"


class Refused(Exception):
    """A value that a setting does not take. Its text is for whoever gave it."""


def changed(config: Config, path: Sequence[str], value: Any) -> Config:
    """`config` with `value` at `path`; what nobody has set stays unset. Raises Refused."""
    data = config.model_dump(exclude_unset=True)
    place = data
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = value
    try:
        return type(config).model_validate(data)
    except ValidationError as error:
        raise Refused(
            f"Not changed: `/{command_of(type(config), path)}` takes {_taken(error)}."
        ) from None


def _taken(error: ValidationError) -> str:
    """What a setting takes, by the rule that was broken."""
    broken = error.errors(include_url=False, include_input=False)[0]
    context = broken.get("ctx", {})
    match broken["type"]:
        case "less_than_equal":
            return f"at most {context['le']}"
        case "greater_than_equal":
            return f"at least {context['ge']}"
        case "int_parsing" | "int_type" | "int_from_float":
            return "a whole number"
        case "enum" | "literal_error":
            return str(context["expected"]).replace("'", "")
        case _:
            return "only what the command offers"


# deliberate tool mode: the server's own triggers


def cleaned(phrase: str) -> str:
    """A trigger as it is kept. Compiles an expression to see whether it can be, so this is done
    before the settings are opened. Raises Refused."""
    text = " ".join(phrase.split())
    if not text:
        raise Refused("A trigger needs at least one character.")
    if len(text) > MAX_PHRASE:
        raise Refused(f"A trigger has at most {MAX_PHRASE} characters; this one has {len(text)}.")
    if text.startswith("/") and text.endswith("/") and len(text) > 2:
        _check_pattern(text[1:-1])
    elif not text.strip("*").strip():
        raise Refused("A word stem needs at least one letter before the `*`.")
    return text


def _check_pattern(source: str) -> None:
    try:
        compile_pattern(source)
    except PatternRefused as refused:
        raise Refused(f"That regular expression cannot be a trigger: {refused}.") from None


def with_trigger(config: ServerConfig, target: str, text: str) -> ServerConfig:
    """`text`: as `cleaned` gives it."""
    phrases = _phrases(config, target)
    if _same(text, phrases) is not None:
        raise Refused("That trigger is there already.")
    if len(phrases) >= MAX_PHRASES:
        raise Refused(f"{target} has {MAX_PHRASES} triggers, which is all it may have.")
    return _with_phrases(config, target, [*phrases, text])


def without_trigger(config: ServerConfig, target: str, phrase: str) -> ServerConfig:
    phrases = _phrases(config, target)
    known = _same(" ".join(phrase.split()), phrases)
    if known is None:
        raise Refused(f"{target} has no such trigger; `/config trigger list` shows them.")
    return _with_phrases(config, target, [kept for kept in phrases if kept != known])


def _phrases(config: ServerConfig, target: str) -> list[str]:
    if target not in TARGETS:
        raise Refused(f"There is no target {target[:40]!r}; there are: {', '.join(TARGETS)}.")
    return list(config.deliberate.triggers.get(target, []))


def _same(phrase: str, phrases: Sequence[str]) -> str | None:
    """The phrase as it is kept already."""
    return next((known for known in phrases if _compared(known) == _compared(phrase)), None)


def _compared(phrase: str) -> str:
    return phrase if phrase.startswith("/") else phrase.lower()


def _with_phrases(config: ServerConfig, target: str, phrases: list[str]) -> ServerConfig:
    triggers = {**config.deliberate.triggers, target: phrases}
    return changed(config, ("deliberate", "triggers"), {k: v for k, v in triggers.items() if v})


# categories of short-term memory

_CATEGORIES = ("memory", "short_term", "categories")


def category_name(given: str) -> str:
    """As it is kept."""
    return given.strip().lower()


def with_category(config: ServerConfig, slug: str, description: str) -> ServerConfig:
    """A category of that name is described anew."""
    slug = category_name(slug)
    known = config.memory.short_term.categories
    try:
        category = StmCategory(slug=slug, description=" ".join(description.split()))
    except ValidationError as error:
        if error.errors()[0]["loc"] == ("description",):
            raise Refused("A description has at most 200 characters.") from None
        raise Refused(
            "A category's name has 1 to 32 letters a-z, digits and _, and begins with a letter."
        ) from None
    if category.slug not in [other.slug for other in known] and len(known) >= 5:
        raise Refused("There are 5 categories, which is all there may be.")
    kept = [category if other.slug == category.slug else other for other in known]
    return changed(config, _CATEGORIES, kept if category in kept else [*kept, category])


def without_category(config: ServerConfig, slug: str) -> ServerConfig:
    known = config.memory.short_term.categories
    kept = [category for category in known if category.slug != category_name(slug)]
    if len(kept) == len(known):
        raise Refused("There is no such category; `/config show` shows them.")
    return changed(config, _CATEGORIES, kept)


# channels that personas are not sent to


def with_blocked(config: ServerConfig, channel_id: str) -> ServerConfig:
    blocked = config.cross_channel.blocked_channel_ids
    if channel_id in blocked:
        raise Refused("That channel is blocked already.")
    if len(blocked) >= MAX_BLOCKED:
        raise Refused(f"{MAX_BLOCKED} are blocked, which is all there may be: block a category.")
    return changed(config, ("cross_channel", "blocked_channel_ids"), [*blocked, channel_id])


def without_blocked(
    config: ServerConfig, given: str, name_of: Callable[[str], str | None]
) -> ServerConfig:
    """`given`: an id, a mention, or a name with or without its `#`. `name_of` knows the channels
    that there still are by their ids."""
    blocked = config.cross_channel.blocked_channel_ids
    found = [given.strip().removeprefix("<#").removesuffix(">")]
    if found[0] not in blocked:
        name = _channel_name(given)
        found = [other for other in blocked if name and _channel_name(name_of(other)) == name]
    if not found:
        raise Refused("That channel is not blocked; `/config show` shows those that are.")
    if len(found) > 1:
        those = ", ".join(f"<#{channel_id}> ({channel_id})" for channel_id in found[:MAX_NAMESAKES])
        raise Refused(f"Several that are blocked have that name, give the id of one: {those}.")
    kept = [other for other in blocked if other != found[0]]
    return changed(config, ("cross_channel", "blocked_channel_ids"), kept)


def _channel_name(name: str | None) -> str:
    return unicodedata.normalize("NFKC", name or "").strip().removeprefix("#").strip().casefold()

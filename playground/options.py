"""The values of a command's options, held against what the bot has registered.

Discord's clients let nobody send anything else, and bots rely on it. In: an option, and what a
member gave for it. Out: the value as it is sent, and what stands behind an id; or CannotInvoke,
which says what the option takes.

Source: Discord's API reference, "Application Command Option Structure".
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any

from playground import wire
from playground.records import Channel, ChannelType, Role, User
from playground.world import World


class OptionType(IntEnum):
    SUB_COMMAND = 1
    SUB_COMMAND_GROUP = 2
    STRING = 3
    INTEGER = 4
    BOOLEAN = 5
    USER = 6
    CHANNEL = 7
    ROLE = 8
    MENTIONABLE = 9
    NUMBER = 10
    ATTACHMENT = 11


_LARGEST = 2**53 - 1
"""Numbers beyond are not sent: JavaScript could not tell them apart."""
_DIGITS = re.compile(r"[+-]?[0-9]{1,20}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_BOOLEANS = {"true": True, "false": False}
_CHANNEL_WORDS = {
    ChannelType.TEXT: "channel",
    ChannelType.PUBLIC_THREAD: "thread",
    ChannelType.PRIVATE_THREAD: "thread",
}


class CannotInvoke(Exception):
    """A member filled in a command wrongly; the message says what is wrong."""


def value_of(option: dict[str, Any], given: Any, world: World, resolved: dict[str, Any]) -> Any:
    """The value as it is sent; what its id stands for is added to `resolved`."""
    try:
        value = _read(option["type"], given, world)
        fits = _fits(option, value)
    except (ValueError, KeyError, TypeError, OverflowError):
        value, fits = None, False
    if not fits:
        shown = repr(given)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
        raise CannotInvoke(f"{option['name']!r} takes {expectation(option)}, not {shown}")
    if isinstance(value, User | Channel | Role):
        _resolve(value, world, resolved)
        return str(value.id)
    return value


def _read(kind: int, given: Any, world: World) -> Any:
    """Raises ValueError, KeyError, TypeError, OverflowError."""
    match kind:
        case OptionType.INTEGER:
            return _whole(given)
        case OptionType.NUMBER:
            return _number(given)
        case OptionType.BOOLEAN:
            return given if isinstance(given, bool) else _BOOLEANS[str(given).lower()]
        case OptionType.USER:
            return world.users[_whole(given)]
        case OptionType.CHANNEL:
            return world.channels[_whole(given)]
        case OptionType.ROLE:
            return world.roles[_whole(given)]
        case OptionType.MENTIONABLE:
            key = _whole(given)
            return world.users[key] if key in world.users else world.roles[key]
        case OptionType.STRING if isinstance(given, str | int | float) and str(given):
            return str(given)
        case _:
            raise TypeError


def _whole(given: Any) -> int:
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    if isinstance(given, str) and _DIGITS.fullmatch(given):
        return int(given)
    raise ValueError


def _number(given: Any) -> float:
    if isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    if isinstance(given, str) and _DECIMAL.fullmatch(given):
        return float(given)
    raise ValueError


def _fits(option: dict[str, Any], value: Any) -> bool:
    if choices := option.get("choices"):
        return value in [choice["value"] for choice in choices]
    match value:
        case Channel():
            kinds = option.get("channel_types")
            return not value.is_dm and (not kinds or value.type in kinds)
        case str():
            return _is_between(len(value), option.get("min_length"), option.get("max_length"))
        case bool() | User() | Role():
            return True
        case _:
            within = _is_between(value, option.get("min_value"), option.get("max_value"))
            return within and -_LARGEST <= value <= _LARGEST


def _is_between(size: float, least: float | None, most: float | None) -> bool:
    return (least is None or size >= least) and (most is None or size <= most)


def _resolve(value: User | Channel | Role, world: World, resolved: dict[str, Any]) -> None:
    key = str(value.id)
    if isinstance(value, Channel):
        body = wire.channel(world, value) | {"permissions": "0"}
        resolved.setdefault("channels", {})[key] = body
    elif isinstance(value, Role):
        resolved.setdefault("roles", {})[key] = wire.role(value)
    else:
        resolved.setdefault("users", {})[key] = wire.user(value)
        if value.id in world.members:
            member = wire.member(world, world.members[value.id], with_user=False)
            member["permissions"] = str(world.permissions_of(value.id))
            resolved.setdefault("members", {})[key] = member


def expectation(option: dict[str, Any]) -> str:
    """What an option takes, in words."""
    if choices := option.get("choices"):
        return "one of: " + ", ".join(str(choice["name"]) for choice in choices)
    match option["type"]:
        case OptionType.STRING:
            return "text" + _between(option, "length", " characters")
        case OptionType.INTEGER:
            return "a whole number" + _between(option, "value")
        case OptionType.NUMBER:
            return "a number" + _between(option, "value")
        case OptionType.BOOLEAN:
            return "true or false"
        case OptionType.USER:
            return "a member"
        case OptionType.CHANNEL:
            wanted = option.get("channel_types") or _CHANNEL_WORDS
            kinds = [_CHANNEL_WORDS[kind] for kind in wanted if kind in _CHANNEL_WORDS]
            return f"a {' or '.join(dict.fromkeys(kinds))}"
        case OptionType.ROLE:
            return "a role"
        case OptionType.MENTIONABLE:
            return "a member or a role"
        case _:
            return "what the playground cannot give it"


def _between(option: dict[str, Any], what: str, unit: str = "") -> str:
    least, most = option.get(f"min_{what}"), option.get(f"max_{what}")
    if least is not None and most is not None:
        return f" of {least} to {most}{unit}" if unit else f" from {least} to {most}"
    if most is not None:
        return f" of at most {most}{unit}"
    return f" of at least {least}{unit}" if least is not None else ""

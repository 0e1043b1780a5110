"""The application's slash commands: registered by the bot, remembered, and filled in by a member.

Source: Discord's API reference, "Application Commands".
"""

from __future__ import annotations

import re
from typing import Any

from playground.errors import DiscordError, invalid_form, too_long, unknown_command
from playground.events import Event
from playground.options import CannotInvoke, OptionType, expectation, value_of
from playground.world import World

COMMAND_LIMIT = 100
OPTION_LIMIT = 25
CHAT_INPUT = 1


_NAME = re.compile(r"[-_'\w]{1,32}")


class Commands:
    """Global commands. `all` is by id, in the order of registration."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.all = {int(body["id"]): body for body in world.store.documents("command")}

    def replace(self, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Bulk overwrite. A command that keeps its name and type keeps its id."""
        for body in bodies:
            _validate(body)
        _check_count(bodies)
        ids = {(c["type"], c["name"]): int(c["id"]) for c in self.all.values()}
        for key in list(self.all):
            self._drop(key)
        for body in bodies:
            self._keep(body, ids.get((body.get("type", CHAT_INPUT), body["name"])))
        self._changed()
        return list(self.all.values())

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        """Creating a command that exists replaces it."""
        _validate(body)
        kind = body.get("type", CHAT_INPUT)
        same = [k for k, c in self.all.items() if (c["type"], c["name"]) == (kind, body["name"])]
        if not same:
            _check_count([*self.all.values(), body])
        saved = self._keep(body, same[0] if same else None)
        self._changed()
        return saved

    def edit(self, key: int, changes: dict[str, Any]) -> dict[str, Any]:
        body = self.get(key) | changes
        _validate(body)
        saved = self._keep(body, key)
        self._changed()
        return saved

    def get(self, key: int) -> dict[str, Any]:
        """Raises 10063 when there is none."""
        try:
            return self.all[key]
        except KeyError:
            raise unknown_command() from None

    def delete(self, key: int) -> None:
        self.get(key)
        self._drop(key)
        self._changed()

    def invocation(
        self, path: str, values: dict[str, Any], focused: str | None = None
    ) -> dict[str, Any]:
        """The `data` of an interaction for `/path` ("kill", "config set") with option values.

        Raises CannotInvoke for an unknown command or option, a missing or an ill-typed value.
        """
        name, *rest = path.strip().lstrip("/").split() or [""]
        command = next((c for c in self.all.values() if c["name"] == name and c["type"] == 1), None)
        if command is None:
            raise CannotInvoke(f"no command /{name}: the bot has registered {self._names()}")
        options, wrap = command.get("options") or [], []
        for part in rest:
            inner = next((o for o in options if o["name"] == part and _is_group(o)), None)
            if inner is None:
                raise CannotInvoke(f"/{name} has no subcommand {part!r}")
            wrap.append(inner)
            options = inner.get("options") or []
        if any(_is_group(option) for option in options):
            names = ", ".join(option["name"] for option in options)
            raise CannotInvoke(f"/{path} needs one of its subcommands: {names}")
        resolved: dict[str, Any] = {}
        if unknown := set(values) - {option["name"] for option in options}:
            raise CannotInvoke(_no_such_option(path.strip().lstrip("/"), min(unknown), options))
        filled = self._fill(options, values, resolved, focused)
        for inner in reversed(wrap):
            filled = [{"name": inner["name"], "type": inner["type"], "options": filled}]
        data = {"id": command["id"], "name": name, "type": CHAT_INPUT, "options": filled}
        return data | ({"resolved": resolved} if resolved else {})

    def _fill(
        self,
        options: list[dict[str, Any]],
        values: dict[str, Any],
        resolved: dict[str, Any],
        focused: str | None,
    ) -> list[dict[str, Any]]:
        """With `focused`: that one as it is typed, and of the others those that are right."""
        filled = []
        for option in options:
            name = option["name"]
            if name not in values:
                if option.get("required") and focused is None:
                    raise CannotInvoke(f"{name!r} is required: {expectation(option)}")
                continue
            item = {"name": name, "type": option["type"], "value": values[name]}
            if name == focused:
                filled.append(item | {"focused": True})
                continue
            try:
                item["value"] = value_of(option, values[name], self._world, resolved)
            except CannotInvoke:
                if focused is None:
                    raise
                continue
            filled.append(item)
        return filled

    def _names(self) -> str:
        return ", ".join(f"/{body['name']}" for body in self.all.values()) or "none"

    def _keep(self, body: dict[str, Any], key: int | None) -> dict[str, Any]:
        key = key or self._world.snowflakes.next()
        saved = {
            "default_member_permissions": None,
            "dm_permission": True,
            "nsfw": False,
            "options": [],
            "type": CHAT_INPUT,
            "description": "",
            **body,
            "id": str(key),
            "application_id": str(self._world.bot_id),
            "version": str(self._world.snowflakes.next()),
        }
        self.all[key] = saved
        self._world.store.put("command", key, saved)
        return saved

    def _drop(self, key: int) -> None:
        del self.all[key]
        self._world.store.remove("command", key)

    def _changed(self) -> None:
        self._world.hub.publish(Event("PLAYGROUND_COMMANDS"))


def _is_group(option: dict[str, Any]) -> bool:
    return option["type"] in (OptionType.SUB_COMMAND, OptionType.SUB_COMMAND_GROUP)


def _no_such_option(path: str, name: str, options: list[dict[str, Any]]) -> str:
    if not options:
        return f"/{path} takes no options"
    known = ", ".join(option["name"] for option in options)
    return f"/{path} has no option {name!r}; it takes: {known}"


def _check_count(bodies: list[dict[str, Any]]) -> None:
    if sum(body.get("type", CHAT_INPUT) == CHAT_INPUT for body in bodies) > COMMAND_LIMIT:
        raise DiscordError(
            400, 30032, f"Maximum number of application commands reached ({COMMAND_LIMIT})"
        )


def _validate(body: dict[str, Any]) -> None:
    name, kind = str(body.get("name") or ""), body.get("type", CHAT_INPUT)
    if kind == CHAT_INPUT:
        _validate_name("name", name)
        _validate_description("description", body)
    elif not 1 <= len(name) <= 32:
        raise too_long("name", 32)
    _validate_options("options", body.get("options") or [])


def _validate_options(where: str, options: list[dict[str, Any]]) -> None:
    if len(options) > OPTION_LIMIT:
        raise too_long(where, OPTION_LIMIT)
    for index, option in enumerate(options):
        _validate_name(f"{where}.{index}.name", str(option.get("name") or ""))
        _validate_description(f"{where}.{index}.description", option)
        if len(option.get("choices") or []) > OPTION_LIMIT:
            raise too_long(f"{where}.{index}.choices", OPTION_LIMIT)
        _validate_options(f"{where}.{index}.options", option.get("options") or [])


def _validate_name(where: str, name: str) -> None:
    if not _NAME.fullmatch(name) or name != name.lower():
        raise invalid_form(
            where,
            "APPLICATION_COMMAND_INVALID_NAME",
            "Command name is invalid",
        )


def _validate_description(where: str, body: dict[str, Any]) -> None:
    if not 1 <= len(body.get("description") or "") <= 100:
        raise invalid_form(where, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")

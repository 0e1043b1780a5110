"""One rule for every way in (D75): messages, commands, buttons and completions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from bot.active_turns import ActiveTurns
from bot.client import EverturnClient, Intake
from bot.commands.authorize import (
    MAY_NOT_MANAGE,
    MAY_NOT_SPEAK,
    NOT_A_MEMBER,
    Caller,
    Needs,
    authorize,
)
from bot.commands.config import add_config
from bot.commands.cooldown import CommandCooldowns
from bot.commands.kill import add_kill
from bot.commands.persona import add_persona
from bot.commands.refresh import add_refresh
from bot.commands.respond import Responder, add_respond
from bot.commands.stop_button import add_stop_button
from bot.directory import ServerDirectory
from bot.dispatch import Dispatcher
from bot.refusals import RefusalMemory
from bot.typing_sessions import TypingSessions
from bot.webhooks import ManagedWebhooks
from storage.config import ServerConfig, UserConfig
from storage.personas import Persona as StoredPersona
from tests.bot.interactions import (
    ADMINISTRATOR,
    AUTOCOMPLETE,
    COMMAND,
    COMPONENT,
    FORM,
    MANAGE_GUILD,
    SEND,
    SEND_IN_THREADS,
    answered,
    command,
    form,
    interaction,
    press,
)
from tests.bot.loopback import (
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    THREAD_ID,
    TRIGGER_ID,
    Json,
    LoopbackDiscord,
    guild,
    message,
    user,
)
from tests.bot.servers import Persona, Source, directory_of
from tests.bot.waiting import until
from workflows.contracts.delivery import stop_button_id
from workflows.contracts.invocation import KillOutcome

SECRET = "a phrase of this server's"


@dataclass
class World:
    """What may be reached, and what was."""

    touched: list[str] = field(default_factory=list)

    # Temporal, as far as the commands use it
    def get_workflow_handle(self, workflow_id: str) -> World:
        return self

    async def execute_update(self, *_: Any, **__: Any) -> KillOutcome:
        self.touched.append("kill")
        return KillOutcome(stopped=True)

    status = WorkflowExecutionStatus.RUNNING

    async def describe(self, **_: Any) -> World:
        return self

    async def cancel(self, **_: Any) -> None:
        self.touched.append("cancel")

    # the store
    async def server(self, server_key: str) -> ServerConfig:
        self.touched.append(server_key)
        triggers = {"triggers": {"search": [SECRET]}}
        return ServerConfig.model_validate({"deliberate": triggers})

    async def change_server(self, server_key: str, change: Any) -> ServerConfig:
        return change(await self.server(server_key))

    async def user(self, user_id: str) -> UserConfig:
        self.touched.append(user_id)
        return UserConfig()

    async def change_user(self, user_id: str, change: Any) -> UserConfig:
        return change(await self.user(user_id))

    # the personas
    async def all(self, guild_id: str | None) -> list[StoredPersona]:
        self.touched.append("personas")
        return [StoredPersona(id=1, name="Nova", is_main=True, prompt="x", triggers=[])]

    async def create(self, guild_id: str, name: str, *_: Any, **__: Any) -> StoredPersona:
        self.touched.append("create")
        return StoredPersona(id=2, name=name, is_main=False, prompt="x", triggers=[])

    async def edit(self, persona_id: int, guild_id: str, **_: Any) -> StoredPersona:
        self.touched.append("edit")
        return StoredPersona(id=persona_id, name="Nova", is_main=True, prompt="x", triggers=[])

    async def remove(self, persona_id: int, guild_id: str) -> bool:
        self.touched.append("remove")
        return True

    # the marks, and short-term memory
    async def refresh(self, channel_id: str, message_id: str) -> None:
        self.touched.append("refresh")

    async def clear_channel(self, server_key: str, channel_id: str) -> None:
        self.touched.append("clear")

    # the dispatcher
    async def signal(self, incoming: Any) -> None:
        self.touched.append("signal")

    def submit(self, incoming: Any) -> None:
        self.touched.append("message")


class Bot:
    def __init__(self, client: EverturnClient, personas: ServerDirectory) -> None:
        self.client, self.world = client, World()
        typing = TypingSessions(lambda channel_id: client.http.send_typing(int(channel_id)))
        temporal = cast(Client, self.world)
        add_kill(client, temporal, typing)
        add_stop_button(client, temporal, typing)
        add_config(client, self.world, personas)
        add_persona(client, self.world, personas)
        refusals = RefusalMemory()
        add_respond(client, Responder(personas, refusals, self.world, lambda _: False), personas)
        add_refresh(client, self.world, self.world)
        dispatcher = cast(Dispatcher, self.world)
        webhooks = ManagedWebhooks(client, personas.known)
        intake = Intake(personas, RefusalMemory(), dispatcher, webhooks, ActiveTurns())
        client.take_messages(intake)
        client._connection._add_guild_from_data(guild())  # type: ignore[arg-type]

    def interact(self, kind: int, data: Json, shown: Json | None = None, **options: Any) -> None:
        body = interaction(kind, data, **options) | ({"message": shown} if shown else {})
        self.client._connection.parse_interaction_create(body)  # type: ignore[arg-type]

    def way(self, name: str, **options: Any) -> None:
        channel_id = options.get("channel_id", CHANNEL_ID)
        if name == "button":
            data, shown = press(stop_button_id(channel_id, TRIGGER_ID, 3))
            self.interact(COMPONENT, data, shown, **options)
        elif name == "completion":
            data = command("config trigger remove", "phrase", target="search", phrase="")
            self.interact(AUTOCOMPLETE, data, **options)
        elif name in COMPLETED:
            path, focused, rest = COMPLETED[name]
            self.interact(AUTOCOMPLETE, command(path, focused, **rest), **options)
        elif name == "form":
            data = form("persona/create", name="Luna", prompt="x")
            self.interact(FORM, data, **options)
        else:
            self.interact(COMMAND, command(name, **GIVEN.get(name, {})), **options)


@pytest.fixture
async def bot(client: EverturnClient) -> Bot:
    source = Source()
    source.rows = {None: [Persona(1, "Nova")]}
    personas = directory_of(source)
    await personas.refresh()
    return Bot(client, personas)


COMPLETED: dict[str, tuple[str, str, Json]] = {
    "respond completion": ("respond", "persona", {"persona": ""}),
    "persona completion": ("persona edit", "persona", {"persona": ""}),
    "autochat completion": ("triggers autochat set", "persona", {"persona": ""}),
    "spotlight completion": ("personal spotlight", "persona", {"persona": ""}),
}
"""Completions out of memory: by path, what is completed, and what is filled in."""

GIVEN: dict[str, Json] = {
    "persona create": {"name": "Luna", "prompt": "x"},
    "persona edit": {"persona": "Nova", "triggers": "x"},
    "persona remove": {"persona": "Nova"},
    "triggers deliberate": {"state": "on"},
    "limits own-models": {"state": "off"},
}
"""Options of commands that need some."""

WAYS = {
    "kill": Needs.SPEAK,
    "button": Needs.SPEAK,
    "respond": Needs.SPEAK,
    "refresh": Needs.SPEAK,
    "respond completion": Needs.SPEAK,
    "config show": Needs.MANAGE,
    "config trigger list": Needs.MANAGE,
    "completion": Needs.MANAGE,
    "triggers show": Needs.MANAGE,
    "triggers deliberate": Needs.MANAGE,
    "access show": Needs.MANAGE,
    "limits show": Needs.MANAGE,
    "limits own-models": Needs.MANAGE,
    "persona list": Needs.MANAGE,
    "persona create": Needs.MANAGE,
    "persona edit": Needs.MANAGE,
    "persona remove": Needs.MANAGE,
    "persona completion": Needs.MANAGE,
    "autochat completion": Needs.MANAGE,
    "form": Needs.MANAGE,
    "personal show": Needs.OWN,
    "spotlight completion": Needs.OWN,
}

FOR_SERVERS = {
    "triggers deliberate",
    "limits own-models",
    "persona create",
    "persona edit",
    "persona remove",
    "form",
}
"""In a direct message they are allowed, and there is nothing for them to do."""

CALLERS: list[tuple[dict[str, Any], set[Needs]]] = [
    ({"permissions": 0}, {Needs.OWN}),
    ({"permissions": SEND}, {Needs.SPEAK, Needs.OWN}),
    ({"permissions": MANAGE_GUILD}, {Needs.MANAGE, Needs.OWN}),
    ({"permissions": SEND | MANAGE_GUILD}, set(Needs)),
    ({"permissions": ADMINISTRATOR}, set(Needs)),
    ({"permissions": SEND, "channel_id": THREAD_ID}, {Needs.OWN}),
    ({"permissions": SEND_IN_THREADS, "channel_id": THREAD_ID}, {Needs.SPEAK, Needs.OWN}),
    ({"channel_id": DM_ID}, set(Needs)),
    ({"permissions": ADMINISTRATOR, "author": user("42", bot=True)}, set()),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("caller", "may"), CALLERS, ids=range(len(CALLERS)))
async def test_every_way_in_asks_the_same_rule(
    discord_api: LoopbackDiscord, bot: Bot, way: str, caller: dict[str, Any], may: set[Needs]
) -> None:
    """D75: whoever may not is told so and reaches nothing; a completion shows nothing."""
    bot.way(way, **caller)
    answer = await answered(discord_api)
    allowed = WAYS[way] in may
    if way in COMPLETED:
        assert [choice["value"] for choice in answer["choices"]] == (["Nova"] if allowed else [])
        return
    nothing_there = way in FOR_SERVERS and caller.get("channel_id") == DM_ID
    assert bool(bot.world.touched) is (allowed and not nothing_there)
    if way == "completion":
        assert [choice["value"] for choice in answer["choices"]] == ([SECRET] if allowed else [])
        return
    said = answer.get("content")
    assert (said in (MAY_NOT_SPEAK, MAY_NOT_MANAGE, NOT_A_MEMBER)) is not allowed


@pytest.mark.parametrize("way", WAYS)
async def test_every_command_waits_and_nothing_else_does(
    discord_api: LoopbackDiscord, bot: Bot, way: str
) -> None:
    """Behaviour 17: whoever manages waits too; a completion, a form that was written, and whatever
    stops something never do."""
    bot.client.tree.cooldowns = CommandCooldowns(1_000)
    told: list[str] = []
    for _ in range(2):
        bot.world.touched.clear()
        discord_api.requests.clear()
        bot.way(way, permissions=ADMINISTRATOR)
        told.append(str((await answered(discord_api)).get("content")))
    waits = not (way in ("kill", "button", "form") or "completion" in way)
    assert ["can use it again in" in each for each in told] == [False, waits]
    assert bool(bot.world.touched) is not (waits or way in COMPLETED)


async def test_who_may_not_use_a_command_does_not_wait_for_it(
    discord_api: LoopbackDiscord, bot: Bot
) -> None:
    bot.client.tree.cooldowns = CommandCooldowns(1_000)
    told: list[str] = []
    for permissions in (0, MANAGE_GUILD):
        discord_api.requests.clear()
        bot.way("limits own-models", permissions=permissions)
        told.append(str((await answered(discord_api)).get("content")))
    assert told[0] == MAY_NOT_MANAGE
    assert "again in" not in told[1]


async def test_a_form_is_shown_once_in_a_while(discord_api: LoopbackDiscord, bot: Bot) -> None:
    """Behaviour 17: a command that shows a form is told of its wait as any other."""
    bot.client.tree.cooldowns = CommandCooldowns(1)
    shown: list[bool] = []
    for _ in range(2):
        discord_api.requests.clear()
        bot.interact(COMMAND, command("persona create"), permissions=ADMINISTRATOR)
        answer = await answered(discord_api)
        shown.append("custom_id" in answer)
    assert shown == [True, False]


async def test_a_message_asks_the_same_rule(bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    """D75: wired from `on_message`; who has spoken here may speak, a bot never does."""
    asked: list[Needs] = []

    def noted(caller: Caller, needs: Needs) -> str | None:
        asked.append(needs)
        return authorize(caller, needs)

    monkeypatch.setattr("bot.client.authorize", noted)
    member = {"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "flags": 0}
    said: Json = {"guild_id": GUILD_ID, "member": member}
    for number, author in enumerate([user("42", bot=True), user()]):
        data = message(str(number + 1), "nova?", author=author, **said)
        bot.client._connection.parse_message_create(data)  # type: ignore[arg-type]
    await until(lambda: len(asked) == 2)
    assert asked == [Needs.SPEAK, Needs.SPEAK]
    assert bot.world.touched == ["message"]


async def test_a_message_that_the_rule_refuses_starts_nothing(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Caller] = []

    def refuse(caller: Caller, needs: Needs) -> str:
        asked.append(caller)
        return "no"

    monkeypatch.setattr("bot.client.authorize", refuse)
    member = {"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "flags": 0}
    data = message("1", "nova?", guild_id=GUILD_ID, member=member)
    bot.client._connection.parse_message_create(data)  # type: ignore[arg-type]
    await until(lambda: asked)
    assert bot.world.touched == []

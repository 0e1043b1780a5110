"""`/config` and `/personal`: every setting seen, set and held to its rules."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from activities.deliberate.targets import TARGETS as DECIDED_TARGETS
from bot.client import EverturnClient
from bot.commands.answers import FAILED
from bot.commands.config import add_config, desk
from bot.commands.config.changes import (
    MAX_BLOCKED,
    MAX_PHRASE,
    MAX_PHRASES,
    TARGETS,
    Refused,
    changed,
    cleaned,
    with_blocked,
    with_category,
    with_trigger,
    without_blocked,
    without_trigger,
)
from bot.commands.config.desk import ONLY_IN_A_SERVER, choices
from bot.commands.config.named import command_of
from bot.commands.config.server import NO_SUCH_ZONE, with_ability
from bot.commands.config.shown import show_server, show_triggers, show_user
from bot.commands.config.zones import zone_named, zones_like
from bot.courtesies import PRIVACY
from storage import open_storage
from storage.config import Privacy, ServerConfig, ToolsConfig, UserConfig
from tests.bot import answering_settings
from tests.bot.interactions import (
    AUTOCOMPLETE,
    COMMAND,
    MANAGE_GUILD,
    answered,
    command,
    interaction,
)
from tests.bot.loopback import CHANNEL_ID, DM_ID, GUILD_ID, MEMBER_ID, Json, LoopbackDiscord, guild
from tests.bot.servers import Persona, Source, directory_of
from tests.bot.waiting import until

LOG_ID = "500000000000000005"
HIDDEN_ID = "500000000000000006"


class Store:
    """`storage.Storage.configs`, in memory."""

    def __init__(self) -> None:
        self.servers: dict[str, ServerConfig] = {}
        self.users: dict[str, UserConfig] = {}
        self.fault: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def server(self, server_key: str) -> ServerConfig:
        await self.gate.wait()
        if self.fault is not None:
            raise self.fault
        return self.servers.get(server_key, ServerConfig())

    async def user(self, user_id: str) -> UserConfig:
        return self.users.get(user_id, UserConfig())

    async def change_server(
        self, server_key: str, change: Callable[[ServerConfig], ServerConfig]
    ) -> ServerConfig:
        self.servers[server_key] = change(await self.server(server_key))
        return self.servers[server_key]

    async def change_user(
        self, user_id: str, change: Callable[[UserConfig], UserConfig]
    ) -> UserConfig:
        self.users[user_id] = change(await self.user(user_id))
        return self.users[user_id]


def channel(channel_id: str, name: str, kind: int = 0) -> Json:
    return {"id": channel_id, "name": name, "type": kind, "permissions": "0", "position": 0}


LOG, HIDDEN = channel(LOG_ID, "log"), channel(HIDDEN_ID, "hidden")
GENERAL = channel(CHANNEL_ID, "general")


class Bot:
    def __init__(self, client: EverturnClient, api: LoopbackDiscord, store: Any) -> None:
        self.client, self.api, self.store = client, api, store
        self.source = Source()
        self.source.rows = {None: [Persona(1, "Nova"), Persona(2, "Bob", False)]}
        self.directory = directory_of(self.source)
        add_config(client, store, self.directory)
        known = guild(everyone=0x400 | 0x800 | 0x4000 | 0x10000 | (1 << 38))
        known["channels"].append({**LOG, "permission_overwrites": [], "nsfw": False})
        client._connection._add_guild_from_data(known)  # type: ignore[arg-type]

    async def use(self, path: str, kind: int = COMMAND, **options: Any) -> Json:
        """What the caller of `/path` is told."""
        where = {name: options.pop(name) for name in ("channel_id", "focused") if name in options}
        focused = where.pop("focused", None)
        data = command(path, focused, **options)
        self.api.requests.clear()
        body = interaction(kind, data, permissions=MANAGE_GUILD, **where)
        self.client._connection.parse_interaction_create(body)  # type: ignore[arg-type]
        return await answered(self.api)

    async def configured(self, **settings: object) -> None:
        """As admission knows the server."""
        self.source.configs = {GUILD_ID: ServerConfig.model_validate(settings)}
        await self.directory.reload(GUILD_ID)

    async def says(self, path: str, **options: Any) -> str:
        return (await self.use(path, **options)).get("content") or ""

    async def completes(self, path: str, focused: str, **options: Any) -> list[str]:
        answer = await self.use(path, AUTOCOMPLETE, focused=focused, **options)
        return [choice["value"] for choice in answer["choices"]]

    @property
    def config(self) -> ServerConfig:
        return self.store.servers.get(GUILD_ID, ServerConfig())


@pytest.fixture
async def bot(client: EverturnClient, discord_api: LoopbackDiscord) -> Bot:
    bot = Bot(client, discord_api, Store())
    await bot.directory.refresh([GUILD_ID])
    return bot


def leaves(model: BaseModel, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name)


def value_at(model: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        model = getattr(model, name)
    return model


STM = ("memory", "short_term")

SETTINGS: dict[tuple[str, ...], tuple[str, dict[str, Any], Any]] = {
    **{
        ("tools", name): ("config tool", {"ability": name, "state": "off"}, False)
        for name in ToolsConfig.model_fields
    },
    ("deliberate", "enabled"): ("config deliberate mode", {"state": "on"}, True),
    ("deliberate", "context_turns"): ("config deliberate turns", {"count": 7}, 7),
    ("deliberate", "triggers"): (
        "config trigger add",
        {"target": "search", "phrase": " look  it up "},
        {"search": ["look it up"]},
    ),
    (*STM, "enabled"): ("config memory short-term", {"state": "off"}, False),
    (*STM, "refresh_cadence"): ("config memory cadence", {"turns": 9}, 9),
    (*STM, "nudge_depth"): ("config memory nudge-depth", {"turns": 4}, 4),
    (*STM, "block_depth"): ("config memory block-depth", {"turns": 3}, 3),
    (*STM, "mode"): ("config memory mode", {"mode": "supersede"}, "supersede"),
    (*STM, "show_private_channels"): ("config memory private-channels", {"state": "on"}, True),
    (*STM, "other_servers"): ("config memory other-servers", {"state": "on"}, True),
    (*STM, "categories"): (
        "config memory category",
        {"name": "Mood", "description": "how people feel"},
        [{"slug": "mood", "description": "how people feel"}],
    ),
    ("notices", "tool_notices"): ("config notices style", {"style": "verbose"}, "verbose"),
    ("notices", "thought_log_channel_id"): (
        "config notices log-channel",
        {"channel": LOG},
        LOG_ID,
    ),
    ("cross_channel", "blocked_channel_ids"): (
        "config cross-channel block",
        {"channel": GENERAL},
        [CHANNEL_ID],
    ),
    ("timezone",): ("config timezone", {"zone": "asia/tokyo"}, "Asia/Tokyo"),
    **answering_settings.SETTINGS,
}

OWN_SETTINGS: dict[tuple[str, ...], tuple[str, dict[str, Any], Any]] = {
    ("deliberate",): ("personal deliberate", {"state": "off"}, "off"),
    ("privacy",): ("personal privacy", {"level": "full"}, "full"),
    ("timezone",): ("personal timezone", {"zone": "Europe/Lisbon"}, "Europe/Lisbon"),
    ("short_term_from_other_servers",): ("personal other-servers", {"state": "on"}, True),
    **answering_settings.OWN_SETTINGS,
}


def test_there_is_a_command_for_every_setting() -> None:
    """Behaviour 8, 17: a setting that is added without a command fails here."""
    assert set(leaves(ServerConfig())) == set(SETTINGS) | set(answering_settings.TAKEN_BACK)
    assert set(leaves(UserConfig())) == set(OWN_SETTINGS)


def test_every_setting_is_shown_with_its_command(bot: Bot) -> None:
    """The command is one that there is, and the one that changes it."""
    card = show_server(ServerConfig())
    shown = "\n".join(f"{field.name}\n{field.value}" for field in card.fields)
    for path, (name, _, _) in SETTINGS.items():
        if path in answering_settings.SETTINGS:  # on cards of their own: test_config_answering
            continue
        assert command_of(ServerConfig, path) == name
        assert f"/{name}`" in shown or path[0] == "tools"
    own = show_user(UserConfig()).description or ""
    for path, (name, _, _) in OWN_SETTINGS.items():
        if path in answering_settings.OWN_SETTINGS:
            continue
        assert command_of(UserConfig, path) == name
        assert f"`/{name}`" in own
    there_are = {f"/{each.qualified_name}" for each in bot.client.tree.walk_commands()}
    assert set(re.findall(r"/(?:config|personal)[a-z -]*[a-z]", shown + own)) <= there_are


def test_an_unknown_ability_is_answered_with_those_that_are_shown() -> None:
    with pytest.raises(Refused) as refused:
        with_ability(ServerConfig(), "flying", True)
    assert "long-term memory" in str(refused.value)
    assert "self_teaching" not in str(refused.value)


@pytest.mark.parametrize("path", SETTINGS, ids="/".join)
async def test_a_setting_is_set_seen_and_told(bot: Bot, path: tuple[str, ...]) -> None:
    name, options, expected = SETTINGS[path]
    show = f"{name.split()[0]} show"
    before = (await bot.use(show))["embeds"][0]
    assert await bot.says(name, **options)
    assert value_at(bot.config, path) == value_at(changed(ServerConfig(), path, expected), path)
    assert value_at(bot.config, path) != value_at(ServerConfig(), path)
    others = set(leaves(ServerConfig())) - {path}
    assert all(value_at(bot.config, o) == value_at(ServerConfig(), o) for o in others)
    seen = (await bot.use(show))["embeds"][0]
    assert seen["fields"] != before["fields"]


@pytest.mark.parametrize("path", OWN_SETTINGS, ids="/".join)
async def test_a_setting_of_ones_own_is_set_and_seen(bot: Bot, path: tuple[str, ...]) -> None:
    name, options, expected = OWN_SETTINGS[path]
    before = (await bot.use("personal show"))["embeds"][0]
    assert await bot.says(name, **options)
    assert value_at(bot.store.users[MEMBER_ID], path) == expected
    seen = (await bot.use("personal show"))["embeds"][0]
    assert seen["description"] != before["description"]


async def test_answers_are_private_and_come_in_time(bot: Bot) -> None:
    """D44: acknowledged while the database still thinks."""
    bot.store.gate.clear()
    asked = asyncio.create_task(bot.use("config show"))
    await until(lambda: any("callback" in request.path for request in bot.api.requests))
    deferred = bot.api.requests[0].body
    assert (deferred["type"], deferred["data"]["flags"]) == (5, 64)
    bot.store.gate.set()
    assert (await asked)["embeds"]


async def test_a_database_that_is_away_is_told(bot: Bot) -> None:
    bot.store.fault = OSError("no database")
    assert await bot.says("config show") == FAILED
    assert await bot.says("config deliberate mode", state="on") == FAILED


async def test_what_nobody_set_stays_unset(bot: Bot) -> None:
    """So that a default that changes later holds for those who never chose."""
    await bot.says("config tool", ability="mcp", state="off")
    assert bot.config.model_dump(exclude_unset=True) == {"tools": {"mcp": False}}


async def test_in_direct_messages_they_are_ones_own(bot: Bot) -> None:
    """Behaviour 2.1: a direct message is a server of its own, keyed by the user."""
    await bot.says("config tool", ability="mcp", state="off", channel_id=DM_ID)
    assert set(bot.store.servers) == {f"dm{MEMBER_ID}"}


async def test_a_privacy_level_is_told_by_what_it_means(bot: Bot) -> None:
    """Privacy "none" is not "no privacy to set": it says what personas may do."""
    for level in Privacy:
        said = await bot.says("personal privacy", level=level.value)
        shown = (await bot.use("personal show"))["embeds"][0]["description"]
        assert PRIVACY[level] in said
        assert PRIVACY[level] in shown


async def test_what_is_about_channels_is_for_servers(bot: Bot) -> None:
    for path, options in [
        ("config notices log-channel", {}),
        ("config cross-channel unblock", {"channel": CHANNEL_ID}),
    ]:
        assert await bot.says(path, channel_id=DM_ID, **options) == ONLY_IN_A_SERVER
    assert bot.store.servers == {}


async def test_the_log_is_not_where_it_could_not_be_posted(bot: Bot) -> None:
    """C112 is for what changes later; what is plain now is said."""
    said = await bot.says("config notices log-channel", channel=HIDDEN)
    assert "View Channel" in said
    everyone = bot.client.guilds[0].default_role
    everyone._permissions = 0x400
    said = await bot.says("config notices log-channel", channel=LOG)
    assert "Send Messages and Embed Links" in said
    assert bot.config.notices.thought_log_channel_id is None


async def test_the_log_is_switched_off(bot: Bot) -> None:
    await bot.says("config notices log-channel", channel=LOG)
    assert "off" in await bot.says("config notices log-channel")
    assert bot.config.notices.thought_log_channel_id is None


async def test_triggers_are_listed_completed_and_removed(bot: Bot) -> None:
    for phrase in ("look it up", "dig*", "^"):
        await bot.says("config trigger add", target="search", phrase=phrase)
    await bot.says("config trigger add", target="memory", phrase="`mark` *this*")
    listed = (await bot.use("config trigger list"))["embeds"][0]["description"]
    assert "look it up" in listed
    assert r"\`mark\` \*this\*" in listed
    only = (await bot.use("config trigger list", target="memory"))["embeds"][0]["description"]
    assert "look it up" not in only
    path = "config trigger remove"
    assert await bot.completes(path, "target", target="") == ["memory", "search"]
    found = await bot.completes(path, "phrase", target="search", phrase="LOOK")
    assert found == ["look it up"]
    await bot.says(path, target="search", phrase="Look it up")
    assert bot.config.deliberate.triggers["search"] == ["dig*", "^"]
    assert "no such trigger" in await bot.says(path, target="search", phrase="Look it up")


async def test_blocked_channels_are_completed_by_name(bot: Bot) -> None:
    await bot.says("config cross-channel block", channel=GENERAL)
    await bot.says("config cross-channel block", channel=channel("77", "gone"))
    path = "config cross-channel unblock"
    assert await bot.completes(path, "channel", channel="gene") == [CHANNEL_ID]
    assert await bot.completes(path, "channel", channel="") == [CHANNEL_ID, "77"]
    await bot.says(path, channel="<#77>")
    assert bot.config.cross_channel.blocked_channel_ids == [CHANNEL_ID]
    assert "not blocked" in await bot.says(path, channel="77")


async def test_a_blocked_channel_is_named_as_people_name_it(bot: Bot) -> None:
    path = "config cross-channel unblock"
    for wanted in (CHANNEL_ID, f"<#{CHANNEL_ID}>", "general", "#general", " # General "):
        await bot.says("config cross-channel block", channel=GENERAL)
        assert "allowed" in await bot.says(path, channel=wanted)
        assert bot.config.cross_channel.blocked_channel_ids == []
    await bot.says("config cross-channel block", channel=GENERAL)
    for wanted in ("", "#", "log", "#gene"):
        assert "not blocked" in await bot.says(path, channel=wanted)


def test_of_several_blocked_with_one_name_none_is_guessed() -> None:
    config = with_blocked(with_blocked(ServerConfig(), "7"), "8")
    names = {"7": "art", "8": "Art"}
    with pytest.raises(Refused, match=r"<#7> \(7\), <#8> \(8\)"):
        without_blocked(config, "#art", names.get)
    kept = without_blocked(config, "8", names.get)
    assert kept.cross_channel.blocked_channel_ids == ["7"]


async def test_one_turn_is_one(bot: Bot) -> None:
    assert "for 1 turn after" in await bot.says("config deliberate turns", count=1)
    assert "after 1 turn without" in await bot.says("config memory cadence", turns=1)
    assert "1 turn before" in await bot.says("config memory nudge-depth", turns=1)
    card = (await bot.use("config show"))["embeds"][0]
    assert "1 turns" not in str(card)


async def test_a_category_is_described_anew_and_removed(bot: Bot) -> None:
    said = await bot.says("config memory category", name=" Mood", description="a")
    assert "`mood`" in said
    await bot.says("config memory category", name="mood", description="b")
    assert [c.description for c in bot.config.memory.short_term.categories] == ["b"]
    assert await bot.completes("config memory uncategory", "name", name="m") == ["mood"]
    await bot.says("config memory uncategory", name="mood")
    assert bot.config.memory.short_term.categories == []
    assert "no such category" in await bot.says("config memory uncategory", name="mood")


async def test_a_completion_does_not_wait_for_the_database(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D44: it shows what is known, and nothing where nothing is."""
    monkeypatch.setattr(desk, "SUGGEST_WITHIN", 0.02)
    bot.store.gate.clear()
    path = "config trigger remove"
    assert await bot.completes(path, "target", target="") == []
    bot.store.gate.set()
    await bot.says("config trigger add", target="search", phrase="dig")
    bot.store.gate.clear()
    assert await bot.completes(path, "target", target="") == ["search"]


async def test_zones_are_completed_and_checked(bot: Bot) -> None:
    found = await bot.completes("config timezone", "zone", zone="lisb")
    assert found == ["Europe/Lisbon"]
    assert len(await bot.completes("personal timezone", "zone", zone="")) == 25
    for zone in ("Atlantis", "../../etc/passwd", "/etc/localtime", "x" * 6000, ""):
        assert await bot.says("config timezone", zone=zone) == NO_SUCH_ZONE
        assert await bot.says("personal timezone", zone=zone) == NO_SUCH_ZONE
    await bot.says("personal timezone", zone="Asia/Tokyo")
    await bot.says("personal timezone")
    assert bot.store.users[MEMBER_ID].timezone is None


def test_a_zone_is_known_however_it_is_written() -> None:
    assert zone_named(" america/new york ") == "America/New_York"
    assert zone_named("Factory") is None
    assert zone_named("localtime") is None
    assert zones_like("tokyo")[0] == "Asia/Tokyo"


# what a setting may not become


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        (("deliberate", "context_turns"), 11, "at most 10"),
        (("deliberate", "context_turns"), "many", "a whole number"),
        ((*STM, "refresh_cadence"), 0, "at least 1"),
        ((*STM, "block_depth"), -2, "at least -1"),
        ((*STM, "mode"), "loud", "crude_summary or supersede"),
        (("notices", "tool_notices"), "shouted", "only what the command offers"),
        (("tools", "mcp"), "perhaps", "only what the command offers"),
    ],
)
def test_a_value_out_of_range_is_refused_in_one_line(
    path: tuple[str, ...], value: Any, rule: str
) -> None:
    with pytest.raises(Refused) as refused:
        changed(ServerConfig(), path, value)
    name = SETTINGS[path][0]
    assert str(refused.value) == f"Not changed: `/{name}` takes {rule}."


@pytest.mark.parametrize(
    "phrase",
    [
        *("", "  ", "*", " * ", "**", "x" * (MAX_PHRASE + 1), "/(/", "/[a-/", "/(?P<a>x)(?P<a/"),
        *("/+/", "/((a{999}){999})/", "/((((((((a+)+)+)+)+)+)+)+){500}/"),
    ],
)
def test_a_trigger_that_could_never_match_is_refused(phrase: str) -> None:
    with pytest.raises(Refused) as refused:
        cleaned(phrase)
    assert "\n" not in str(refused.value)


async def test_nobody_in_a_direct_message_makes_the_bot_compile_a_bomb(bot: Bot) -> None:
    """Anybody may set their own direct messages: the cost is judged first, and the settings, which
    the others wait for, are not opened for it."""
    bot.store.gate.clear()
    began = time.process_time()
    answer = await bot.says(
        "config trigger add", target="search", phrase="/((a{999}){999})/", channel_id=DM_ID
    )
    assert time.process_time() - began < 0.5
    assert "repeats too much" in answer
    assert "\n" not in answer


async def test_an_expression_is_compiled_before_the_settings_are_opened(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []

    def compiling(source: str) -> None:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        compiled.append(source)

    monkeypatch.setattr("bot.commands.config.changes.compile_pattern", compiling)
    bot.store.gate.clear()
    adding = asyncio.create_task(bot.says("config trigger add", target="search", phrase="/te+a/"))
    await until(lambda: bool(compiled))
    bot.store.gate.set()
    assert (await adding).startswith("Added")
    assert compiled == ["te+a"]
    assert bot.config.deliberate.triggers == {"search": ["/te+a/"]}


async def test_who_may_not_set_triggers_has_none_compiled(
    bot: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiling(source: str) -> None:
        raise AssertionError

    monkeypatch.setattr("bot.commands.config.changes.compile_pattern", compiling)
    monkeypatch.setattr("tests.bot.test_config.MANAGE_GUILD", 0)
    answer = await bot.says("config trigger add", target="search", phrase="/te+a/")
    assert "Manage Server" in answer


@given(st.text(max_size=60))
def test_a_trigger_is_kept_as_it_is_compared(phrase: str) -> None:
    """Cleaning twice changes nothing; what is kept fits the settings."""
    try:
        kept = cleaned(phrase)
    except Refused:
        return
    assert cleaned(kept) == kept
    config = with_trigger(ServerConfig(), "search", kept)
    assert config.deliberate.triggers == {"search": [kept]}
    assert without_trigger(config, "search", phrase).deliberate.triggers == {}


def test_a_target_has_at_most_sixteen_triggers() -> None:
    """Behaviour 8: 16 per target; equal ones count once."""
    config = ServerConfig()
    for number in range(MAX_PHRASES):
        config = with_trigger(config, "search", f"phrase {number}")
    with pytest.raises(Refused, match="16"):
        with_trigger(config, "search", "one more")
    with_trigger(config, "memory", "one more")
    with pytest.raises(Refused, match="already"):
        with_trigger(config, "search", "PHRASE 3")


def test_patterns_differ_by_case_and_words_do_not() -> None:
    config = with_trigger(ServerConfig(), "search", r"/\S\d/")
    config = with_trigger(config, "search", r"/\s\d/")
    config = without_trigger(config, "search", r"/\s\d/")
    assert config.deliberate.triggers == {"search": [r"/\S\d/"]}


def test_the_targets_are_those_that_are_decided_on() -> None:
    assert tuple(target.value for target in DECIDED_TARGETS) == TARGETS


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(Refused, match="no target"):
        with_trigger(ServerConfig(), "weather" * 20, "x")


@pytest.mark.parametrize("slug", ["", "9lives", "a b", "x" * 33, "é"])
def test_a_category_of_another_form_is_refused(slug: str) -> None:
    with pytest.raises(Refused, match="1 to 32"):
        with_category(ServerConfig(), slug, "")


def test_there_are_at_most_five_categories() -> None:
    config = ServerConfig()
    for number in range(5):
        config = with_category(config, f"c{number}", "")
    with pytest.raises(Refused, match="5 categories"):
        with_category(config, "c6", "")
    assert with_category(config, "c3", "new").memory.short_term.categories[3].description == "new"
    with pytest.raises(Refused, match="200"):
        with_category(config, "c3", "x" * 201)


def test_a_server_blocks_so_many_channels() -> None:
    config = ServerConfig()
    for number in range(MAX_BLOCKED):
        config = with_blocked(config, str(number))
    with pytest.raises(Refused, match=str(MAX_BLOCKED)):
        with_blocked(config, "1000")


def test_full_settings_fit_into_their_cards() -> None:
    """Discord: 1,024 code points a field, 4,096 a description, 6,000 a message."""
    config = ServerConfig()
    for number in range(MAX_BLOCKED):
        config = with_blocked(config, str(10**18 + number))
    for number in range(5):
        config = with_category(config, f"c{number}", "*" * 200)
    for target in TARGETS:
        for number in range(MAX_PHRASES):
            config = with_trigger(config, target, f"{number:02} " + "*" * 36 + "x")
    card = show_server(config)
    assert len(card) <= 6000
    assert all(len(field.value or "") <= 1024 for field in card.fields)
    triggers = show_triggers(config, None).description or ""
    assert len(triggers) <= 4096
    assert "more" in triggers.splitlines()[-1]


@given(st.lists(st.text(min_size=1, max_size=200), max_size=60), st.text(max_size=5))
def test_completions_fit_into_discords_list(labels: list[str], typed: str) -> None:
    found = choices(typed, [(label, "value") for label in labels])
    assert len(found) <= 25
    assert all(1 <= len(choice.name) <= 100 for choice in found)


# with the real store


@pytest.fixture
async def stored(
    client: EverturnClient, discord_api: LoopbackDiscord, tmp_path: Path
) -> AsyncIterator[Bot]:
    storage = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    yield Bot(client, discord_api, storage.configs)
    await storage.close()


async def test_settings_are_kept_in_the_database(stored: Bot) -> None:
    await stored.says("config deliberate turns", count=7)
    await stored.says("config trigger add", target="search", phrase="dig*")
    assert "already" in await stored.says("config trigger add", target="search", phrase="DIG*")
    await stored.says("personal privacy", level="partial")
    config = await stored.store.server(GUILD_ID)
    assert config.deliberate.context_turns == 7
    assert config.deliberate.triggers == {"search": ["dig*"]}
    assert (await stored.store.user(MEMBER_ID)).privacy == "partial"

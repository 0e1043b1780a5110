"""`/triggers`, `/access`, `/limits`, and a member's own of them (behaviour 5)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.client import EverturnClient
from bot.commands.config.answering import (
    MAX_ALWAYS,
    MAX_AUTOCHAT,
    MAX_BASE_WORDS,
    MAX_BLOCKED_USERS,
    MAX_CHANNELS,
    MAX_PERSONA_CHANNELS,
    MAX_ROLES,
    MAX_SPOTLIGHTS,
    with_always_channel,
    with_autochat,
    with_base_words,
    with_blocked_user,
    with_channel,
    with_persona_channel,
    with_role,
    with_spotlight,
    without_blocked_user,
    words_of,
)
from bot.commands.config.answering_named import COMMANDS, OWN_COMMANDS
from bot.commands.config.answering_shown import (
    show_access_config,
    show_limits_config,
    show_member,
    show_triggers_config,
)
from bot.commands.config.changes import Refused
from bot.commands.config.desk import ONLY_IN_A_SERVER
from bot.commands.config.picking import pick
from storage.config import AutochatChannel, CooldownType, ServerConfig, UserConfig
from tests.bot.answering_settings import GENERAL, OWN_SETTINGS, PEST, REGULARS, SETTINGS, channel
from tests.bot.interactions import role
from tests.bot.loopback import CHANNEL_ID, DM_ID, GUILD_ID, MEMBER_ID, THREAD_ID, LoopbackDiscord
from tests.bot.test_config import Bot, Store


@pytest.fixture
async def bot(client: EverturnClient, discord_api: LoopbackDiscord) -> Bot:
    bot = Bot(client, discord_api, Store())
    await bot.directory.refresh([GUILD_ID])
    return bot


def test_what_is_shown_names_the_command_that_sets_it(bot: Bot) -> None:
    assert {path: name for path, (name, *_) in SETTINGS.items()} == COMMANDS
    assert {path: name for path, (name, *_) in OWN_SETTINGS.items()} == OWN_COMMANDS
    config = ServerConfig()
    cards = [show_triggers_config(config, {}), show_access_config(config, {})]
    shown = "\n".join(
        field.value or "" for card in [*cards, show_limits_config(config)] for field in card.fields
    )
    shown += show_member(UserConfig(), {}).description or ""
    there_are = {f"/{each.qualified_name}" for each in bot.client.tree.walk_commands()}
    named = set(re.findall(r"`(/[a-z -]+)`", shown))
    wanted = [*COMMANDS.values(), *OWN_COMMANDS.values()]
    assert {f"/{name}" for name in wanted} <= named <= there_are


async def test_a_change_holds_for_the_next_message(bot: Bot) -> None:
    """Admission is told at once, not with its next look at the database."""
    bot.source.configs = bot.store.servers
    await bot.says("triggers always everywhere", state="on")
    assert bot.directory.server(GUILD_ID).config.triggers.always_reply
    bot.source.set_user(MEMBER_ID, deliberate_triggers="on")
    await bot.says("personal deliberate-triggers", state="on")
    assert bot.directory.member(MEMBER_ID).deliberate_triggers == "on"


async def test_a_directory_that_cannot_be_read_leaves_the_change_made(bot: Bot) -> None:
    bot.source.broken = True
    assert "everything" in (await bot.says("triggers always everywhere", state="on")).lower()
    assert bot.config.triggers.always_reply


@pytest.mark.parametrize("path", [path for path in SETTINGS if path[0] != "memory"], ids="/".join)
async def test_in_direct_messages_there_is_nothing_of_it(bot: Bot, path: tuple[str, ...]) -> None:
    name, options, _ = SETTINGS[path]
    assert await bot.says(name, channel_id=DM_ID, **options) == ONLY_IN_A_SERVER
    assert bot.store.servers == {}


async def test_a_spotlight_is_for_servers_and_can_be_taken_away(bot: Bot) -> None:
    said = await bot.says("personal spotlight", persona="Nova", channel_id=DM_ID)
    assert said == ONLY_IN_A_SERVER
    assert "no spotlight" in await bot.says("personal spotlight")
    await bot.says("personal spotlight", persona="NOVA")
    await bot.says("personal spotlight", persona="Bob", channel_id=THREAD_ID)
    assert bot.store.users[MEMBER_ID].spotlights == {CHANNEL_ID: 1, THREAD_ID: 2}
    shown = (await bot.use("personal show"))["embeds"][0]["description"]
    assert f"<#{THREAD_ID}>: Bob" in shown
    await bot.says("personal spotlight")
    assert bot.store.users[MEMBER_ID].spotlights == {THREAD_ID: 2}


async def test_a_persona_that_is_not_here_is_refused(bot: Bot) -> None:
    for path, options in [
        ("triggers autochat set", {"channel": GENERAL}),
        ("access persona add", {"channel": GENERAL}),
        ("personal spotlight", {}),
    ]:
        said = await bot.says(path, persona="*Eve* " * 40, **options)
        assert said.startswith("There is no persona named")
        assert r"\*Eve\*" in said
        assert len(said) < 300
    assert bot.store.servers == {}
    assert bot.store.users == {}


async def test_personas_are_completed_from_memory(bot: Bot) -> None:
    """D44: also while the database is away."""
    bot.store.gate.clear()
    bot.source.broken = True
    reads = bot.source.reads
    for path in ("triggers autochat set", "access persona add", "personal spotlight"):
        assert await bot.completes(path, "persona", persona="") == ["Nova", "Bob"]
        assert await bot.completes(path, "persona", persona="BO") == ["Bob"]
    assert bot.source.reads == reads


async def test_lists_are_completed_and_shortened(bot: Bot) -> None:
    gone = channel("77", "gone")
    for add, remove, options in [
        ("triggers always add", "triggers always remove", {}),
        ("triggers autochat set", "triggers autochat remove", {}),
        ("access channel add", "access channel remove", {}),
        ("access persona add", "access persona remove", {"persona": "Bob"}),
    ]:
        await bot.says(add, channel=GENERAL, **options)
        await bot.says(add, channel=gone, **options)
        found = await bot.completes(remove, "channel", channel="", **options)
        assert found == [CHANNEL_ID, "77"]
        assert await bot.completes(remove, "channel", channel="gen", **options) == [CHANNEL_ID]
        assert "not on the list" in await bot.says(remove, channel="nowhere", **options)
        await bot.says(remove, channel="<#77>", **options)
        await bot.says(remove, channel="#General", **options)
    assert bot.config.triggers.always_reply_channel_ids == []
    assert bot.config.triggers.autochat == []
    assert bot.config.access.channels == []
    assert bot.config.access.persona_channels == {}


async def test_roles_and_members_are_taken_off_their_lists(bot: Bot) -> None:
    await bot.says("access role add", role=REGULARS)
    await bot.says("access role add", role=role("78", "gone"))
    path = "access role remove"
    assert await bot.completes(path, "role", role="") == [REGULARS["id"], "78"]
    assert "already" in await bot.says("access role add", role=REGULARS)
    await bot.says(path, role="<@&78>")
    assert bot.config.access.role_ids == [REGULARS["id"]]
    await bot.says("access member block", member=PEST)
    assert "already" in await bot.says("access member block", member=PEST)
    await bot.says("access member unblock", member=PEST)
    assert bot.config.access.blocked_user_ids == []
    assert "not blocked" in await bot.says("access member unblock", member=PEST)


async def test_a_category_is_no_place_to_speak(bot: Bot) -> None:
    category = channel("79", "Town", kind=4)
    for path, options in [
        ("triggers always add", {}),
        ("triggers autochat set", {}),
        ("access channel add", {}),
        ("access persona add", {"persona": "Bob"}),
    ]:
        assert "category" in await bot.says(path, channel=category, **options)
    assert bot.store.servers == {}


async def test_a_channel_is_counted_anew_and_not_twice(bot: Bot) -> None:
    await bot.says("triggers autochat set", channel=GENERAL, least=3)
    await bot.says("triggers autochat set", channel=GENERAL, least=5, most=5)
    assert [(each.least, each.most) for each in bot.config.triggers.autochat] == [(5, 5)]
    assert "less" in await bot.says("triggers autochat set", channel=GENERAL, least=5, most=4)


async def test_a_channels_own_cooldown_is_set_and_taken_away(bot: Bot) -> None:
    path = "access channel add"
    await bot.says(path, channel=GENERAL, cooldown="off")
    (entry,) = bot.config.access.channels
    assert entry.cooldown is not None
    assert entry.cooldown.type is CooldownType.OFF
    assert "kind of cooldown" in await bot.says(path, channel=GENERAL, seconds=9)
    await bot.says(path, channel=GENERAL)
    assert [each.cooldown for each in bot.config.access.channels] == [None]


async def test_the_base_words_are_given_back(bot: Bot) -> None:
    await bot.says("triggers base-words", words="bot")
    await bot.says("triggers base-words")
    assert bot.config.triggers.base_words is None


@pytest.mark.parametrize(
    "words", [",", " , ", "x" * 41, "a\u200bb", "!!!", ",".join(map(str, range(17)))]
)
def test_base_words_that_could_not_serve_are_refused(words: str) -> None:
    with pytest.raises(Refused) as refused:
        with_base_words(ServerConfig(), words)
    assert "\n" not in str(refused.value)


@given(st.text(max_size=200))
def test_words_are_kept_as_they_are_compared(text: str) -> None:
    """Each once, whatever its case, none empty; taken apart again they are the same."""
    words = words_of(text)
    assert words_of(",".join(words)) == words
    assert len({word.casefold() for word in words}) == len(words)
    assert all(word and word == " ".join(word.split()) for word in words)


@given(st.text(max_size=200))
def test_base_words_are_refused_or_fit(text: str) -> None:
    try:
        config = with_base_words(ServerConfig(), text)
    except Refused:
        return
    assert 0 < len(config.triggers.base_words or []) <= MAX_BASE_WORDS


def test_of_several_with_one_name_none_is_guessed() -> None:
    names = {"7": "art", "8": "Art", "9": "arts"}
    with pytest.raises(Refused, match="7, 8"):
        pick("#art", names, names.get)
    assert pick("ARTS", names, names.get) == "9"
    assert pick("8", names, names.get) == "8"
    assert pick("<@&7>", names, names.get) == "7"
    assert pick("", names, names.get) is None
    assert pick("#", {"7": ""}, {"7": ""}.get) is None


def filled(limit: int, add: Callable[[Any, int], Any], config: Any) -> Any:
    for number in range(limit):
        config = add(config, 10**18 + number)
    with pytest.raises(Refused, match=f"{limit}"):
        add(config, 1)
    return config


def test_lists_have_an_end_and_fit_into_their_cards() -> None:
    """Discord: 1,024 code points a field, 4,096 a description, 6,000 a message."""
    config = ServerConfig()
    config = filled(MAX_ALWAYS, lambda c, n: with_always_channel(c, str(n)), config)
    config = filled(
        MAX_AUTOCHAT, lambda c, n: with_autochat(c, AutochatChannel(channel_id=str(n))), config
    )
    config = filled(MAX_CHANNELS, lambda c, n: with_channel(c, str(n), "strict", 9), config)
    config = filled(MAX_ROLES, lambda c, n: with_role(c, str(n)), config)
    config = filled(MAX_PERSONA_CHANNELS, lambda c, n: with_persona_channel(c, 2, str(n)), config)
    words = ",".join(f"{number:02}" + "*" * 38 for number in range(MAX_BASE_WORDS))
    config = with_base_words(config, words)
    names = {2: "*" * 80}
    for card in (show_triggers_config(config, names), show_access_config(config, names)):
        assert len(card) <= 6000
        assert all(0 < len(field.value or "") <= 1024 for field in card.fields)
    own = filled(MAX_SPOTLIGHTS, lambda c, n: with_spotlight(c, str(n), 2), UserConfig())
    assert len(show_member(own, names).description or "") <= 4096


def test_so_many_members_are_blocked_and_no_more() -> None:
    ids = [str(number) for number in range(MAX_BLOCKED_USERS)]
    config = ServerConfig.model_validate({"access": {"blocked_user_ids": ids}})
    with pytest.raises(Refused, match="blocked"):
        with_blocked_user(config, "1000000")
    assert "5" not in without_blocked_user(config, "5").access.blocked_user_ids


async def test_every_kind_of_cooldown_can_be_chosen(bot: Bot) -> None:
    """Behaviour 5.4: all six."""
    chosen: list[CooldownType] = []
    for name in ("off", "member", "channel", "server", "strict", "commands"):
        await bot.says("limits cooldown type", type=name)
        chosen.append(bot.config.cooldown.type)
    assert chosen == list(CooldownType)
    assert "no such cooldown" in await bot.says("limits cooldown type", type="loud")

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
from tests.bot.answering_settings import (
    GENERAL,
    OWN_SETTINGS,
    PEST,
    REGULARS,
    SETTINGS,
    TAKEN_BACK,
    channel,
)
from tests.bot.interactions import role
from tests.bot.loopback import (
    BOT_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    MEMBER_ID,
    THREAD_ID,
    Json,
    LoopbackDiscord,
    user,
)
from tests.bot.test_config import LOG, LOG_ID, Bot, Store


@pytest.fixture
async def bot(client: EverturnClient, discord_api: LoopbackDiscord) -> Bot:
    bot = Bot(client, discord_api, Store())
    await bot.directory.refresh([GUILD_ID])
    return bot


def test_what_is_shown_names_the_command_that_sets_it(bot: Bot) -> None:
    known = SETTINGS | TAKEN_BACK
    assert {path: name for path, (name, *_) in known.items()} == COMMANDS
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


@pytest.mark.parametrize(
    ("member", "why"),
    [
        (user(), "That is you"),
        (user(BOT_ID, bot=True), "Bots are not answered"),
        (user("42", bot=True), "Bots are not answered"),
    ],
)
async def test_nobody_is_blocked_to_no_purpose(bot: Bot, member: Json, why: str) -> None:
    assert why in await bot.says("access member block", member=member)
    assert bot.store.servers == {}


OF_A_CHANNEL: list[tuple[str, dict[str, Any]]] = [
    ("triggers always add", {}),
    ("triggers autochat set", {}),
    ("access channel add", {}),
    ("access persona add", {"persona": "Bob"}),
]


@pytest.mark.parametrize(("path", "options"), OF_A_CHANNEL)
async def test_a_channel_in_which_nobody_speaks_is_set_and_told_of(
    bot: Bot, path: str, options: dict[str, Any]
) -> None:
    """Behaviour 2.5: in the log nobody answers, whatever is set for it; nor where the bot may not
    write."""
    assert "But" not in await bot.says(path, channel=GENERAL, **options)
    bot.store.servers.clear()
    said = await bot.says("config notices log-channel", channel=LOG)
    assert "personas do not speak there" in said
    assert "do not speak there" in await bot.says(path, channel=LOG, **options)
    await bot.says("config notices log-channel")
    bot.store.servers.clear()
    bot.client.guilds[0].default_role._permissions = 0x400
    said = await bot.says(path, channel=GENERAL, **options)
    assert said.endswith(" But I cannot speak there: give me Send Messages.")
    said = await bot.says(path, channel=channel("77", "hidden"), **options)
    assert said.endswith("give me View Channel.")


async def test_a_channel_off_the_list_is_told_of(bot: Bot) -> None:
    await bot.says("access channel add", channel=GENERAL)
    await bot.says("access persona add", persona="Bob", channel=GENERAL)
    said = await bot.says("triggers always add", channel=LOG)
    assert "only in the channels of `/access show`" in said
    await bot.says("access channel add", channel=LOG)
    said = await bot.says("triggers autochat set", channel=LOG, persona="Bob")
    assert "that persona answers only in its channels" in said
    assert "But" not in await bot.says("triggers autochat set", channel=LOG)


async def test_a_spotlight_where_nobody_speaks_is_told_of(bot: Bot) -> None:
    await bot.configured(notices={"thought_log_channel_id": CHANNEL_ID})
    said = await bot.says("personal spotlight", persona="Bob")
    assert "do not speak there" in said
    await bot.configured(access={"persona_channels": {2: [LOG_ID]}})
    assert "that persona answers only" in await bot.says("personal spotlight", persona="bob")
    assert "But" not in await bot.says("personal spotlight", persona="Nova")


async def test_nobody_is_muted_by_models_of_their_own(bot: Bot) -> None:
    """Behaviour 5.4: members have no way to bring one yet. A server that has asked for it is told,
    and can take it back."""
    (own,) = [
        each
        for each in bot.client.tree.walk_commands()
        if each.qualified_name == "limits own-models"
    ]
    assert [choice.value for choice in own.parameters[0].choices] == ["off"]  # type: ignore[union-attr]
    config = ServerConfig.model_validate({"credentials": {"bring_your_own": True}})
    bot.store.servers[GUILD_ID] = config
    assert "nobody is answered" in (show_limits_config(config).fields[-1].value or "")
    await bot.says("limits own-models", state="off")
    assert not bot.config.credentials.bring_your_own


async def test_an_answer_says_what_makes_it_void(bot: Bot) -> None:
    """Behaviour 5.4: managers are exempt from the types 1 to 3, and whoever sets one is one."""
    assert "once `/limits cooldown type`" in await bot.says("limits cooldown length", seconds=60)
    exempt = {"member": True, "channel": True, "server": True, "strict": False, "commands": False}
    for kind, told in exempt.items():
        said = await bot.says("limits cooldown type", type=kind)
        assert ("DISABLE_COOLDOWN_EXEMPTIONS" in said) is told
        assert ("managers too" in said) is not told
        assert "60 seconds" in said
        said = await bot.says("access channel add", channel=GENERAL, cooldown=kind)
        assert ("DISABLE_COOLDOWN_EXEMPTIONS" in said) is told
    assert "once" not in await bot.says("limits cooldown length", seconds=60)
    assert "once `/limits quota server`" in await bot.says("limits quota days", days=7)
    await bot.says("limits quota server", count=5)
    assert "once" not in await bot.says("limits quota days", days=7)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({}, "every message"),
        ({"least": 1}, "every message"),
        ({"most": 1}, "every message"),
        ({"most": 2}, "after 1 to 2 messages"),
        ({"least": 3}, "after 3 messages"),
        ({"least": 3, "most": 9}, "after 3 to 9 messages"),
    ],
)
async def test_a_count_is_told_as_it_is_counted(bot: Bot, counts: Json, words: str) -> None:
    """Behaviour 5.1, and `activities.planning.autochat`: one message is the least there is."""
    assert f": {words}." in await bot.says("triggers autochat set", channel=GENERAL, **counts)
    card = show_triggers_config(bot.config, {})
    assert words in (card.fields[-1].value or "")


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

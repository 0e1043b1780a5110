"""Reading the channel for a turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from bot.client import EverturnClient
from bot.delivery.notices import plain_notice
from bot.delivery.signatures import with_reply_line
from bot.history import HistoryActivities
from bot.typing_sessions import TypingSessions
from tests.bot.loopback import BOT_ID, CHANNEL_ID, ME, TRIGGER_ID, LoopbackDiscord, message, user
from tests.bot.ports import table
from tests.bot.voices import LUNA, NOVA, webhooks_of
from tests.bot.waiting import until
from workflows.contracts.history import ChannelHistory, HistoryRef, HistoryRequest
from workflows.contracts.tools import REPORTED_PERMISSIONS


class Blobs:
    def __init__(self) -> None:
        self.stored: dict[str, BaseModel] = {}

    async def put_model(self, kind: str, model: BaseModel) -> str:
        blob_id = f"{kind}-{len(self.stored)}"
        self.stored[blob_id] = model
        return blob_id


class Marks:
    def __init__(self) -> None:
        self.cut: dict[str, str] = {}

    async def refreshed(self, channel_id: str) -> str | None:
        return self.cut.get(channel_id)


class Storage:
    def __init__(self) -> None:
        self.blobs = Blobs()
        self.marks = Marks()


class Reader:
    def __init__(self, client: EverturnClient, env: ActivityEnvironment) -> None:
        self.client = client
        self.storage = Storage()
        self.typing = TypingSessions(lambda channel_id: client.http.send_typing(int(channel_id)))
        self.webhooks = webhooks_of(client)
        self.activities = HistoryActivities(
            client,
            self.storage,  # type: ignore[arg-type]
            self.typing,
            self.webhooks,
        )
        self.env = env

    async def read(self, **changes: Any) -> tuple[HistoryRef, ChannelHistory]:
        request = HistoryRequest(
            turn_id="t1", channel_id=CHANNEL_ID, trigger_message_id=TRIGGER_ID
        ).model_copy(update=changes)
        ref = await self.env.run(self.activities.read_history, request)
        history = self.storage.blobs.stored[ref.history_id]
        assert isinstance(history, ChannelHistory)
        return ref, history


@pytest.fixture
def reader(client: EverturnClient, activity_env: ActivityEnvironment) -> Reader:
    return Reader(client, activity_env)


async def test_oldest_first_with_what_a_model_may_read(
    discord_api: LoopbackDiscord, reader: Reader
) -> None:
    bot = user("42", bot=True, name="Other")
    discord_api.channels[CHANNEL_ID].append(message(TRIGGER_ID, "hello"))
    reference = {"message_id": TRIGGER_ID, "channel_id": CHANNEL_ID}
    discord_api.say("hi Mina", type=19, message_reference=reference)
    discord_api.say("", embeds=[{"type": "rich", "description": "something failed"}])
    discord_api.say("", author=user(), type=7)  # joined
    attachment = {"id": "1", "filename": "cat.png", "size": 1, "url": "u", "proxy_url": "p"}
    discord_api.say("", author=user(), attachments=[attachment])
    waiting = discord_api.say("next question", author=user())
    discord_api.say("beep", author=bot)

    ref, history = await reader.read(omit_message_ids=[waiting["id"], TRIGGER_ID])

    said = [(m.content, m.author_name, m.is_bot, m.is_self) for m in history.messages]
    assert said == [
        ("hello", "Mina", False, False),
        ("hi Mina", "everturn", True, True),
        ("", "Mina", False, False),
        ("beep", "other", True, False),
    ]
    assert history.messages[1].reply_to == TRIGGER_ID
    assert history.messages[2].attachments == ["cat.png"]
    assert (ref.count, ref.bot_user_id) == (4, BOT_ID)
    await until(lambda: "POST typing" in discord_api.calls())
    assert reader.typing.active(CHANNEL_ID) == "t1"
    await reader.typing.close()


async def test_the_trigger_is_there_when_the_channel_has_moved_on(
    discord_api: LoopbackDiscord, reader: Reader
) -> None:
    discord_api.channels[CHANNEL_ID].append(message(TRIGGER_ID, "nova, please"))
    for number in range(10):
        discord_api.say(f"chatter {number}", author=user())
    _, history = await reader.read(limit=5)
    said = [m.content for m in history.messages]
    assert said == ["nova, please", *(f"chatter {number}" for number in range(6, 10))]
    await reader.typing.close()


async def test_the_newest_message_of_any_kind_is_named(
    discord_api: LoopbackDiscord, reader: Reader
) -> None:
    """D20: what this turn says is younger, so that an older turn's words are told from it."""
    ref, _ = await reader.read()
    assert ref.newest_message_id is None
    discord_api.channels[CHANNEL_ID].append(message(TRIGGER_ID, "hello"))
    discord_api.say("an answer to somebody else")
    waiting = discord_api.say("next question", author=user())
    ref, _ = await reader.read(omit_message_ids=[waiting["id"]])
    assert ref.newest_message_id == waiting["id"]
    notice = discord_api.say("", embeds=[{"type": "rich", "description": "something failed"}])
    for limit in (80, 1):
        ref, _ = await reader.read(limit=limit)
        assert ref.newest_message_id == notice["id"]
    await reader.typing.close()


async def test_a_plain_notice_is_not_a_personas_voice(
    discord_api: LoopbackDiscord, reader: Reader
) -> None:
    """Where embeds are not allowed; a member may write the same."""
    text = plain_notice("The model failed.")
    discord_api.say(text)
    discord_api.say(text, author=user())
    _, history = await reader.read()
    assert [(m.content, m.is_self) for m in history.messages] == [(text, False)]
    await reader.typing.close()


async def test_a_deleted_trigger_is_no_fault(discord_api: LoopbackDiscord, reader: Reader) -> None:
    discord_api.say("something else", author=user())
    _, history = await reader.read()
    assert [m.content for m in history.messages] == ["something else"]
    await reader.typing.close()


@pytest.mark.parametrize(("status", "code"), [(403, 50001), (404, 10003)])
async def test_a_channel_that_is_closed_to_us_ends_the_turn(
    discord_api: LoopbackDiscord, reader: Reader, status: int, code: int
) -> None:
    discord_api.fail("GET", "messages", status, code=code)
    with pytest.raises(ApplicationError) as raised:
        await reader.read()
    assert raised.value.non_retryable
    assert raised.value.type == "ChannelUnavailable"
    assert reader.typing.active(CHANNEL_ID) is None


async def test_an_outage_is_tried_again(discord_api: LoopbackDiscord, reader: Reader) -> None:
    discord_api.fail("GET", "messages", 503)
    with pytest.raises(ApplicationError) as raised:
        await reader.read()
    assert not raised.value.non_retryable
    await reader.typing.close()


async def test_a_notice_that_pings_a_member_is_no_personas_voice(
    discord_api: LoopbackDiscord, reader: Reader
) -> None:
    card = [{"type": "rich", "description": "a reminder could not be delivered"}]
    discord_api.say("<@700000000000000001>", embeds=card)
    discord_api.say("look: https://example.com", embeds=card)
    _, history = await reader.read()
    assert [m.content for m in history.messages] == ["look: https://example.com"]
    await reader.typing.close()


async def test_what_the_tools_need_is_in_the_history(
    tmp_path: Path, activity_env: ActivityEnvironment
) -> None:
    """Behaviour 6.1, 11, 16: files by id, at most four reactions, the server's stickers, and what
    the bot may do here."""
    async with table(tmp_path) as at:
        reader = Reader(at.client, activity_env)
        file = {"filename": "notes.txt", "content_type": "text/plain", "data": "aGVsbG8="}
        said = await at.say("", files=[file])
        (spark,) = at.client.guilds[0].emojis
        for emoji in (f"spark:{spark.id}", "👍", "🎉", "🔥", "👀"):
            where = {"channel": "general", "message": said["id"]}
            await at.control("POST", "/reactions", **where, member="Ben", emoji=emoji)

        ref, history = await reader.read(channel_id=at.channel(), trigger_message_id=said["id"])
        (message,) = history.messages
        (info,) = message.files
        assert (info.filename, info.content_type, info.size) == ("notes.txt", "text/plain", 5)
        assert message.attachments == ["notes.txt"]
        reactions = [(reaction.emoji, reaction.count) for reaction in message.reactions]
        assert reactions == [("spark", 1), ("👍", 1), ("🎉", 1), ("🔥", 1)]
        stickers = [(s.name, s.description, s.emotion) for s in history.stickers]
        assert stickers[0] == ("wave", "A hand that waves hello", "👋")
        assert {"view_channel", "send_messages", "add_reactions"} <= set(ref.own_permissions)
        assert "manage_messages" not in ref.own_permissions

        await at.control("POST", "/stickers", name="rain", emoji="🌧")
        await until(lambda: len(at.client.guilds[0].stickers) == 3)
        _, history = await reader.read(channel_id=at.channel("side talk"))
        assert [sticker.name for sticker in history.stickers] == ["wave", "party", "rain"]

        at.forbid("general", at.bot_id, "ADD_REACTIONS", "SEND_MESSAGES_IN_THREADS")
        await at.settled("general")
        for channel in ("general", "side talk"):
            ref, _ = await reader.read(channel_id=at.channel(channel))
            missing = {"add_reactions", "send_messages_in_threads"}
            assert not missing & set(ref.own_permissions)
        await reader.typing.close()


async def test_who_may_read_the_channel_is_told(
    tmp_path: Path, activity_env: ActivityEnvironment
) -> None:
    """D78: what is said in a private channel stays there, whoever brought the turn about."""
    async with table(tmp_path) as at:
        reader = Reader(at.client, activity_env)
        at.forbid("random", at.guild, "VIEW_CHANNEL")
        at.forbid("random", at.bot_id, allow=("VIEW_CHANNEL",))
        await at.settled("random")
        for channel, private in (("general", False), ("side talk", False), ("random", True)):
            ref, _ = await reader.read(channel_id=at.channel(channel))
            assert ref.is_private is private
        await reader.typing.close()


async def test_a_direct_message_has_its_own_permissions(
    tmp_path: Path, activity_env: ActivityEnvironment
) -> None:
    """Its channel is asked for once, and never again."""
    async with table(tmp_path) as at:
        reader = Reader(at.client, activity_env)
        said = await at.say(channel="dm:Ada")
        for _ in range(2):
            where = {"channel_id": said["channel"], "trigger_message_id": said["id"]}
            ref, history = await reader.read(**where)
            assert {"send_messages", "add_reactions", "attach_files"} <= set(ref.own_permissions)
            assert not {"manage_messages", "create_public_threads"} & set(ref.own_permissions)
            assert set(ref.own_permissions) <= set(REPORTED_PERMISSIONS)
            assert history.stickers == []
        asked = [line for line in at.requests() if line == f"GET /channels/{said['channel']}"]
        assert len(asked) <= 1
        await reader.typing.close()


WEBHOOK_ID = "900000000000000077"


def by_webhook(reader: Reader, api: LoopbackDiscord, name: str, content: str) -> str:
    """A message of a webhook that our application owns."""
    said = api.say(
        content,
        author={**user(WEBHOOK_ID, bot=True, name=name), "username": name},
        webhook_id=WEBHOOK_ID,
        application_id=str(reader.client.application_id),
    )
    return said["id"]


async def test_a_personas_message_says_whose_it_is(
    reader: Reader, discord_api: LoopbackDiscord
) -> None:
    """Issue 4: later personas see the earlier replies through the channel's history."""
    discord_api.say("Luna, Nova!", author=user())
    discord_api.say("Main.", author=ME)
    by_webhook(reader, discord_api, "Luna", "Alter.")
    by_webhook(reader, discord_api, "Gone", "Retired.")
    _, history = await reader.read()
    known = [(m.content, m.persona_id, m.is_self, m.is_bot) for m in history.messages]
    assert known == [
        ("Luna, Nova!", None, False, False),
        ("Main.", NOVA.persona_id, True, True),
        ("Alter.", LUNA.persona_id, False, True),
        ("Retired.", None, False, True),
    ]


async def test_a_strangers_webhook_is_an_ordinary_bot(
    reader: Reader, discord_api: LoopbackDiscord
) -> None:
    """D58: a name is not enough."""
    stranger = {**user(WEBHOOK_ID, bot=True), "username": "Luna"}
    discord_api.say("I am Luna.", author=stranger, webhook_id=WEBHOOK_ID)
    _, history = await reader.read()
    assert (history.messages[0].persona_id, history.messages[0].is_bot) == (None, True)


async def test_the_reply_line_is_not_the_personas_text(
    reader: Reader, discord_api: LoopbackDiscord
) -> None:
    """D62: a model that reads it would write it too."""
    line = with_reply_line("Yes.", "1", CHANNEL_ID, TRIGGER_ID)
    by_webhook(reader, discord_api, "Luna", line)
    _, history = await reader.read()
    assert (history.messages[0].content, history.messages[0].reply_to) == ("Yes.", TRIGGER_ID)
    discord_api.say(line, author=user())
    _, history = await reader.read()
    assert history.messages[1].content == line  # a member wrote it: it is theirs


async def test_where_there_is_no_webhook_the_name_tells(
    reader: Reader, discord_api: LoopbackDiscord
) -> None:
    """The name goes off the words, and holds until somebody else speaks or an answer begins."""
    discord_api.say("**Luna:** one", author=ME)
    discord_api.say("two", author=ME)
    discord_api.say("hm", author=user())
    discord_api.say("three", author=ME)
    discord_api.say("**Luna:** four", author=ME)
    reference = {"message_id": TRIGGER_ID, "channel_id": CHANNEL_ID}
    discord_api.say("five", author=ME, type=19, message_reference=reference)
    discord_api.say("**Nova:** six", author=ME)
    _, history = await reader.read()
    told = [(m.content, m.persona_id) for m in history.messages]
    assert told == [
        ("one", LUNA.persona_id),
        ("two", LUNA.persona_id),
        ("hm", None),
        ("three", NOVA.persona_id),
        ("four", LUNA.persona_id),
        ("five", NOVA.persona_id),
        ("**Nova:** six", NOVA.persona_id),
    ]


async def test_nothing_before_a_refresh_is_read_but_the_trigger(
    reader: Reader, discord_api: LoopbackDiscord
) -> None:
    """C133."""
    trigger = discord_api.say("answer me", author=user())
    cut = discord_api.say("old", author=user())
    discord_api.say("new", author=user())
    reader.storage.marks.cut[CHANNEL_ID] = cut["id"]
    ref, history = await reader.read(trigger_message_id=trigger["id"])
    assert [m.content for m in history.messages] == ["answer me", "new"]
    assert ref.count == 2
    _, other = await reader.read(channel_id=CHANNEL_ID, trigger_message_id=TRIGGER_ID)
    assert [m.content for m in other.messages] == ["new"]

"""From a gateway event to the dispatcher, through the client's own `on_message`."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import discord
import pytest

from bot.active_turns import GRACE, ActiveTurns, RunningTurn
from bot.client import EverturnClient, Intake
from bot.delivery.notices import plain_notice
from bot.dispatch import Dispatcher
from bot.refusals import RefusalMemory
from bot.webhooks import ManagedWebhooks
from storage.config.models import ServerConfig
from tests.bot.loopback import (
    APPLICATION_ID,
    BOT_ID,
    CHANNEL_ID,
    DM_ID,
    GUILD_ID,
    ME,
    MEMBER_ID,
    THREAD_ID,
    Json,
    LoopbackDiscord,
    guild,
    message,
    user,
)
from tests.bot.servers import Persona, Source, directory_of
from tests.bot.waiting import until
from workflows.contracts.base import turn_workflow_id
from workflows.contracts.delivery import (
    EndTyping,
    SendRequest,
    SendResult,
    SentMessage,
    message_nonce,
)
from workflows.contracts.history import HistoryRequest
from workflows.contracts.invocation import Addressed, ChatIncoming

HOOK_ID = "800000000000000009"
OTHER_ID = "700000000000000002"
LAST = "999"


class Submitted:
    def __init__(self) -> None:
        self.messages: list[ChatIncoming] = []

    def submit(self, incoming: ChatIncoming) -> None:
        self.messages.append(incoming)


class Bot:
    def __init__(self, client: EverturnClient) -> None:
        self.client = client
        self.refusals = RefusalMemory()
        self.submitted = Submitted()
        self.now = 0.0
        self.turns = ActiveTurns(lambda: self.now)
        self.source = Source()
        self.source.rows = {
            None: [
                Persona(1, "Nova"),
                Persona(2, "Bob", is_main=False),
                Persona(3, "Luna", is_main=False),
            ]
        }
        self.directory = directory_of(self.source)
        dispatcher = cast(Dispatcher, self.submitted)
        self.webhooks = ManagedWebhooks(client, self.directory.known, said_by=self.turns.said_by)
        self.intake = Intake(self.directory, self.refusals, dispatcher, self.webhooks, self.turns)
        client.take_messages(self.intake)
        client._connection._add_guild_from_data(guild())  # type: ignore[arg-type]

    async def configure(self, **settings: object) -> None:
        self.source.configs[GUILD_ID] = ServerConfig.model_validate(settings)
        await self.directory.refresh([GUILD_ID])

    def hear(self, message_id: str, content: str, **changes: object) -> None:
        """MESSAGE_CREATE in #general, as the gateway delivers it."""
        member = {"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "flags": 0}
        data = message(message_id, content, guild_id=GUILD_ID, member=member) | changes
        if "webhook_id" in data:
            del data["member"]
        if data["channel_id"] == DM_ID:
            del data["guild_id"], data["member"]
        self.client._connection.parse_message_create(data)  # type: ignore[arg-type]

    def persona_says(self, message_id: str, name: str, content: str) -> None:
        """Through a webhook of ours."""
        author = user(HOOK_ID, bot=True) | {"username": name}
        ours = {"webhook_id": HOOK_ID, "application_id": APPLICATION_ID, "author": author}
        self.hear(message_id, content, **ours)

    def sent(self, turn: str, persona_id: int, *message_ids: str) -> None:
        """Discord has given the turn's messages their ids."""
        request = SendRequest(
            turn_id=turn,
            channel_id=CHANNEL_ID,
            trigger_message_id="1",
            persona_id=persona_id,
            outgoing=[],
        )
        sent = [SentMessage(ordinal=0, message_id=message_id) for message_id in message_ids]
        self.turns.carried_out(request, SendResult(sent=sent))

    def answering(self, turn: str, owner: str, persona_id: int) -> None:
        self.turns.heard(
            HistoryRequest(
                turn_id=turn,
                channel_id=CHANNEL_ID,
                trigger_message_id="1",
                owner_id=owner,
                persona_id=persona_id,
            )
        )

    async def heard(self, *message_ids: str) -> list[ChatIncoming]:
        """Exactly these were submitted, once a message that comes last has passed."""
        self.hear(LAST, "nova, that is all")
        await until(lambda: LAST in [m.message_id for m in self.submitted.messages])
        *found, last = self.submitted.messages
        self.submitted.messages.clear()
        assert last.message_id == LAST
        assert [m.message_id for m in found] == list(message_ids)
        return found


@pytest.fixture
async def bot(client: EverturnClient) -> Bot:
    bot = Bot(client)
    await bot.directory.refresh()
    return bot


async def test_what_is_for_us_is_submitted_in_order_and_the_rest_is_not(bot: Bot) -> None:
    """D57, D58: neither bots, nor webhooks, nor ourselves; wired through `on_message`."""
    bot.hear("1", "nova, hello")
    bot.hear("2", "good morning")
    bot.hear("3", "nova from a bot", author=user("42", bot=True))
    bot.hear("4", "nova from a webhook", webhook_id="43", author=user("43", bot=True))
    bot.hear("5", "nova from ourselves", author=ME)
    bot.hear("6", "bob and nova")
    found = await bot.heard("1", "6")
    assert [m.persona_ids for m in found] == [[1], [2, 1]]


async def test_a_channel_that_refused_lately_costs_nothing(bot: Bot) -> None:
    """C005, D41: wired from the memory of refusals to the gate."""
    bot.refusals.note(CHANNEL_ID, 50013)
    bot.hear("1", "nova?")
    bot.hear("2", "nova?", channel_id=THREAD_ID)
    await until(lambda: [m.message_id for m in bot.submitted.messages] == ["2"])
    bot.refusals.clear(CHANNEL_ID)
    bot.hear("3", "nova?")
    await bot.heard("2", "3")


async def test_nothing_is_taken_in_after_the_stop(bot: Bot) -> None:
    await bot.heard()
    bot.client.take_messages(None)
    bot.hear("2", "nova?")
    await until(lambda: not any("on_message" in task.get_name() for task in asyncio.all_tasks()))
    bot.client.take_messages(bot.intake)
    await bot.heard()


async def test_the_settings_of_the_server_count(bot: Bot) -> None:
    """C023, C036, row 12: from the directory to the gate."""
    await bot.configure(
        triggers={"deliberate": True, "autochat": [{"channel_id": THREAD_ID, "least": 5}]},
        access={"blocked_user_ids": [OTHER_ID]},
    )
    bot.hear("1", "nova hi")
    bot.hear("2", "@nova hi")
    bot.hear("3", "good morning", channel_id=THREAD_ID)
    bot.hear("4", "@nova hi", author=user(OTHER_ID))
    bot.hear("5", "nova hi", channel_id=DM_ID)
    await until(lambda: len(bot.submitted.messages) == 3)
    by = [(m.message_id, m.addressed) for m in bot.submitted.messages]
    assert by == [
        ("2", Addressed.TRIGGER_WORD),
        ("3", Addressed.AUTOCHAT),
        ("5", Addressed.DIRECT_MESSAGE),
    ]


async def test_the_settings_of_the_member_count(bot: Bot) -> None:
    """C037, row 10."""
    bot.source.set_user(MEMBER_ID, deliberate_triggers="off", spotlights={THREAD_ID: 2})
    bot.source.set_user(OTHER_ID, privacy="full")
    await bot.configure(triggers={"deliberate": True})
    bot.hear("1", "nova hi")
    bot.hear("2", "good morning", channel_id=THREAD_ID)
    bot.hear("3", "@nova hi", author=user(OTHER_ID))
    found = await bot.heard("1", "2")
    assert (found[1].addressed, found[1].persona_ids) == (Addressed.SPOTLIGHT, [2])


async def test_the_roles_are_known_where_they_count(bot: Bot) -> None:
    await bot.configure(access={"role_ids": ["600000000000000001"]})
    member = {"joined_at": "2026-01-01T00:00:00+00:00", "flags": 0}
    bot.hear("1", "nova", member=member | {"roles": ["600000000000000001"]})
    bot.hear("2", "nova", member=member | {"roles": []})
    bot.hear("3", "nova", channel_id=DM_ID)
    await until(lambda: len(bot.submitted.messages) == 2)
    assert [m.message_id for m in bot.submitted.messages] == ["1", "3"]
    assert bot.submitted.messages[0].role_ids == ["600000000000000001"]


async def test_who_is_being_answered_is_heard_until_it_ends(bot: Bot) -> None:
    """Behaviour 2.3, 2.4: and nobody else, and nowhere else."""
    bot.hear("1", "too early")
    await bot.heard()
    bot.answering("t1", MEMBER_ID, 1)
    bot.hear("2", "please stop")
    bot.hear("3", "not my turn", author=user(OTHER_ID))
    bot.hear("4", "elsewhere", channel_id=THREAD_ID)
    (found,) = await bot.heard("2")
    assert found.addressed is Addressed.NOT
    assert not found.surface_errors
    bot.turns.carried_out(EndTyping(turn_id="t1", channel_id=CHANNEL_ID))
    bot.now = GRACE
    bot.hear("5", "too late")
    await bot.heard()


async def test_what_has_no_words_is_no_follow_up(bot: Bot) -> None:
    """C012: plain text. A sticker or a picture alone does not cut an answer."""
    sticker = {"sticker_items": [{"id": "1", "name": "wave", "format_type": 1}]}
    picture = {"id": "2", "filename": "a.png", "size": 1, "url": "", "proxy_url": ""}
    bot.answering("t1", MEMBER_ID, 1)
    bot.hear("1", "", **sticker)
    bot.hear("2", " \n", attachments=[picture])
    bot.hear("3", "look at this", attachments=[picture])
    await bot.heard("3")


async def test_somebodys_turn_that_another_process_began_is_stopped_in_words(bot: Bot) -> None:
    """Whose it is the channel knows. Also of what is read back, its authors are asked for."""
    bot.hear("1", "please stop")
    await bot.heard()
    bot.turns.listed([RunningTurn(CHANNEL_ID, FIRST, 1)])
    bot.hear("2", "please stop")
    bot.hear("3", "hm", author=user(OTHER_ID))
    await bot.heard("2", "3")
    channel: Any = bot.client.get_channel(int(CHANNEL_ID))
    data: Any = message("4", "please stop")
    read_back = discord.Message(state=bot.client._connection, channel=channel, data=data)
    assert bot.intake.concerns_us(bot.client, read_back)
    bot.turns.listed([])
    bot.now = GRACE
    assert not bot.intake.concerns_us(bot.client, read_back)


NOBODYS = "500000000000000011"


@pytest.mark.parametrize("known", [True, False])
async def test_a_server_that_is_not_described_has_unknown_rules(
    bot: Bot, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between READY and its GUILD_CREATE; it is read after that."""
    told: list[Any] = []

    class Log:
        def debug(self, event: str, **fields: Any) -> None:
            told.append(fields["reason"])

        info = debug

    monkeypatch.setattr("bot.client.log", Log())
    monkeypatch.setattr("bot.client._stdlib_log.isEnabledFor", lambda level: True)
    if known:
        stub: Any = {"id": NOBODYS, "unavailable": True}
        bot.client._connection._add_guild_from_data(stub)
    for settings in ({"role_ids": ["600000000000000001"]}, {"blocked_user_ids": [MEMBER_ID]}):
        bot.source.configs[NOBODYS] = ServerConfig.model_validate({"access": settings})
        await bot.directory.refresh([GUILD_ID, NOBODYS])
        bot.hear("1", "nova, hello", guild_id=NOBODYS, channel_id="500000000000000012")
        bot.hear("2", "$whoami", guild_id=NOBODYS, channel_id="500000000000000012")
        await bot.heard()
    assert told == ["server_not_described", "server_not_described", "trigger_word"] * 2


# What personas say to each other


async def test_a_persona_that_names_another_calls_it_for_who_began(bot: Bot) -> None:
    """Row 8, D58: through a webhook, or through the bot's account."""
    bot.hear("1", "bob, hello")
    bot.answering("t1", MEMBER_ID, 2)
    bot.persona_says("2", "Bob", "Hello! Bob am I, and what do you say, Nova?")
    _, job = await bot.heard("1", "2")
    assert job.is_persona_job
    assert (job.author_persona_id, job.persona_ids) == (2, [1])
    assert (job.author_id, job.author_name) == (MEMBER_ID, "Mina")
    assert job.newest_human_id == "1"
    assert not job.surface_errors
    bot.turns.carried_out(EndTyping(turn_id="t1", channel_id=CHANNEL_ID))
    bot.answering("t2", MEMBER_ID, 1)
    bot.hear("3", "Ask Luna, not Nova.", author=ME)
    (job,) = await bot.heard("3")
    assert (job.author_persona_id, job.persona_ids, job.author_id) == (1, [3], MEMBER_ID)


TRIGGER = "1000000000000000001"
FIRST = turn_workflow_id(CHANNEL_ID, TRIGGER, 1)
NONCE = message_nonce(TRIGGER, 1, 0, 0, 0)


@pytest.mark.parametrize("known_by", ["nonce", "id", "both"])
async def test_what_arrives_late_is_still_who_said_it(bot: Bot, known_by: str) -> None:
    """D58: the main persona's last words come when the next persona is being heard already. A
    persona never triggers itself, and never on behalf of another's answer."""
    bot.answering(FIRST, MEMBER_ID, 1)
    if known_by != "nonce":
        bot.sent(FIRST, 1, "2")
    bot.answering("t2", OTHER_ID, 2)
    bot.hear("1", "nova?")  # whoever began it is known by name
    nonce = {} if known_by == "id" else {"nonce": NONCE}
    bot.hear("2", "Nova says: ask Bob.", author=ME, **nonce)
    _, job = await bot.heard("1", "2")
    assert (job.author_persona_id, job.persona_ids) == (1, [2])
    owner = BOT_ID if known_by == "nonce" else MEMBER_ID
    assert job.author_id == owner


async def test_what_the_running_turn_says_is_known_before_discord_has_answered(bot: Bot) -> None:
    bot.answering(FIRST, MEMBER_ID, 1)
    bot.hear("2", "Bob?", author=ME, nonce=NONCE)
    (job,) = await bot.heard("2")
    assert (job.author_persona_id, job.author_id) == (1, MEMBER_ID)


async def test_after_a_restart_the_nonce_tells_who_spoke(bot: Bot) -> None:
    """Another process of the bot, or this one before: Luna spoke by the bot's account."""
    bot.hear("2", "Bob? And Luna?", author=ME, nonce=message_nonce(TRIGGER, 3, 1, 4, 1))
    (job,) = await bot.heard("2")
    assert (job.author_persona_id, job.persona_ids, job.author_id) == (3, [2], BOT_ID)


async def test_a_late_message_takes_no_call_from_the_next_answer(bot: Bot) -> None:
    """The same persona answers twice in a row, through its webhook."""
    bot.answering("t1", MEMBER_ID, 2)
    bot.sent("t1", 2, "2")
    bot.answering("t2", OTHER_ID, 2)
    bot.persona_says("2", "Bob", "Nova?")
    bot.persona_says("3", "Bob", "Nova!")
    late, next_one = await bot.heard("2", "3")
    assert (late.author_id, next_one.author_id) == (MEMBER_ID, OTHER_ID)


async def test_a_nonce_is_believed_of_nobody_else(bot: Bot) -> None:
    """A member's client sends whatever it likes."""
    bot.hear("1", "nova?", nonce=NONCE)
    bot.hear("2", "nova?", nonce=NONCE, author=user("42", bot=True))
    (found,) = await bot.heard("1")
    assert (found.author_persona_id, found.is_persona_job) == (None, False)


async def test_a_reply_to_the_account_is_a_reply_to_who_spoke_by_it(bot: Bot) -> None:
    """Where there is no webhook only the first message of an answer bears the persona's name."""
    bot.sent("t1", 3, "2")
    target = message("2", "and another thing", author=ME)
    reference = {"message_id": "2", "channel_id": CHANNEL_ID, "guild_id": GUILD_ID}
    reply = {"type": 19, "message_reference": reference, "referenced_message": target}
    bot.hear("3", "really?", **reply)
    (found,) = await bot.heard("3")
    assert (found.reply_persona_id, found.persona_ids) == (3, [3])


async def test_a_reader_of_the_channel_knows_who_spoke_by_the_account(bot: Bot) -> None:
    """Luna without her name before it, and Nova right after her; of what nobody sent from here the
    name tells."""
    bot.sent("t1", 3, "1", "2")
    bot.sent("t2", 1, "3")
    said = ["**Luna:** one", "two", "**Luna:** is not me", "four", "**Luna:** five", "six"]
    channel: Any = bot.client.get_channel(int(CHANNEL_ID))
    speakers = bot.webhooks.speakers(GUILD_ID)
    found = [
        speakers.of(
            discord.Message(
                state=bot.client._connection,
                channel=channel,
                data=cast(Any, message(str(number), content, author=ME)),
            )
        )
        for number, content in enumerate(said, 1)
    ]
    assert [each.persona_id for each in found] == [3, 3, 1, 1, 3, 3]
    words = [each.words for each in found]
    assert words == ["one", "two", "**Luna:** is not me", "four", "five", "six"]


async def test_word_of_webhooks_reaches_who_remembers_them(
    bot: Bot, discord_api: LoopbackDiscord
) -> None:
    """D61: a change, and a new session, before which none was told."""
    told: list[str | None] = []

    class Watcher:
        def changed(self, guild_id: str | None) -> None:
            told.append(guild_id)

    bot.client.webhooks = Watcher()
    data: Any = {"guild_id": GUILD_ID, "channel_id": CHANNEL_ID}
    bot.client._connection.parse_webhooks_update(data)
    await until(lambda: told == [GUILD_ID])
    await bot.client.on_connect()
    assert told == [GUILD_ID, None]


async def test_words_without_a_known_beginning_are_the_bots_own(bot: Bot) -> None:
    bot.persona_says("1", "Bob", "Nova?")
    (job,) = await bot.heard("1")
    assert (job.author_id, job.author_name) == (BOT_ID, "everturn")
    assert job.newest_human_id is None


async def test_an_answer_calls_each_persona_once(bot: Bot) -> None:
    """However many messages it stands in."""
    bot.answering("t1", MEMBER_ID, 2)
    bot.persona_says("1", "Bob", "Nova, one thing.")
    bot.persona_says("2", "Bob", "Nova, another. And Luna!")
    bot.persona_says("3", "Bob", "Luna? Nova?")
    found = await bot.heard("1", "2")
    assert [m.persona_ids for m in found] == [[1], [3]]
    bot.answering("t2", MEMBER_ID, 2)
    bot.persona_says("4", "Bob", "Nova, again.")
    await bot.heard("4")


async def test_a_stop_lets_no_chain_go_on(bot: Bot) -> None:
    """Row 2: what was on its way starts nothing; only the next message, and only there."""
    bot.client.stopped(CHANNEL_ID)
    bot.persona_says("1", "Bob", "Nova?")
    bot.persona_says("2", "Bob", "Nova?")
    await bot.heard("2")


async def test_a_stop_in_words_begins_no_chain_anew(bot: Bot) -> None:
    """Behaviour 2.4: the cascade counter is not reset."""
    bot.hear("1", "bob?")
    bot.answering("t1", MEMBER_ID, 2)
    bot.hear("2", "please stop")
    bot.persona_says("3", "Bob", "Nova?")
    bot.hear("4", "go on")
    bot.persona_says("5", "Bob", "Luna?")
    found = await bot.heard("1", "2", "3", "4", "5")
    assert [m.newest_human_id for m in found] == [None, None, "1", None, "4"]


async def test_what_the_system_says_calls_nobody(bot: Bot) -> None:
    """D57: status and error texts never trigger."""
    bot.hear("1", plain_notice("Nova and Bob are away."), author=ME)
    bot.hear("2", f"<@{MEMBER_ID}>", author=ME, embeds=[{"type": "rich", "description": "Bob?"}])
    bot.hear("3", "\u2800", author=ME)
    await bot.heard()


# What is said to members


def notices(api: LoopbackDiscord) -> list[Json]:
    return [body["embeds"][0] for body in api.sent() if body.get("embeds")]


async def test_whoami(bot: Bot, discord_api: LoopbackDiscord) -> None:
    """Row 9: an embed in reply, also for who is blocked; and not one for each of many."""
    bot.source.set_user(MEMBER_ID, privacy="partial")
    await bot.configure(access={"blocked_user_ids": [MEMBER_ID]})
    bot.hear("1", "$whoami")
    bot.hear("2", "$whoami")
    await until(lambda: notices(discord_api))
    await bot.intake.close()
    (embed,) = notices(discord_api)
    for told in ("Mina", MEMBER_ID, "partial", "Nova, Bob, Luna"):
        assert told in embed["description"]
    (body,) = discord_api.sent()
    assert body["message_reference"]["message_id"] == 1
    assert body["allowed_mentions"]["parse"] == []
    assert bot.submitted.messages == []


async def test_a_mention_in_the_thought_log_is_answered_once_in_a_while(
    bot: Bot, discord_api: LoopbackDiscord
) -> None:
    """Behaviour 2.5: at most once per 10 minutes and channel."""
    await bot.configure(notices={"thought_log_channel_id": CHANNEL_ID})
    for number in range(3):
        author = user(f"70000000000000001{number}")
        bot.hear(str(number + 1), f"<@{BOT_ID}>?", mentions=[ME], author=author)
    await until(lambda: notices(discord_api))
    await bot.intake.close()
    assert len(discord_api.sent()) == 1
    assert bot.submitted.messages == []


async def test_an_unsupported_channel_is_told(bot: Bot, discord_api: LoopbackDiscord) -> None:
    """Row 11: without Embed Links in plain words (D68)."""
    discord_api.fail("POST", "messages", 403, code=50013, when=lambda body: "embeds" in body)
    bot.hear("1", "good morning", channel_id="500000000000000009")
    bot.hear("2", "nova?", channel_id="500000000000000009")
    await until(lambda: len(discord_api.sent()) == 2)
    assert discord_api.sent()[1]["content"] == plain_notice(
        "I cannot talk in this kind of channel. Text and voice channels and threads work."
    )


async def test_a_refused_notice_is_remembered(bot: Bot, discord_api: LoopbackDiscord) -> None:
    """D41: it is a send like any other."""
    discord_api.fail("POST", "messages", 403, code=50001)
    bot.hear("1", "$whoami")
    await until(lambda: bot.refusals.refused(CHANNEL_ID))
    bot.hear("2", "$whoami", author=user(OTHER_ID))
    bot.hear("3", "nova?", channel_id=THREAD_ID)
    await until(lambda: bot.submitted.messages)
    await bot.intake.close()
    assert len(discord_api.sent()) == 1


async def test_every_disposition_is_logged_with_its_reason(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Behaviour 3: at debug level what is ignored, for it is most of what there is."""
    told: list[tuple[str, Any]] = []

    class Log:
        def info(self, event: str, **fields: Any) -> None:
            told.append(("info", fields["reason"]))

        def debug(self, event: str, **fields: Any) -> None:
            told.append(("debug", fields["reason"]))

    monkeypatch.setattr("bot.client.log", Log())
    caplog.set_level(logging.DEBUG, "bot.client")
    bot.refusals.note(THREAD_ID, 50013)
    bot.hear("1", "good morning")
    bot.hear("2", "nova?", channel_id=THREAD_ID)
    await bot.heard()
    assert told == [
        ("debug", "non_trigger_pre_lock"),
        ("info", "recent_send_refused"),
        ("info", "trigger_word"),
    ]


def test_what_it_asks_of_the_gateway() -> None:
    """D56, and no events that nothing here reads."""
    client = EverturnClient()
    wanted = {name for name, on in client.intents if on}
    events = {"guilds", "guild_messages", "dm_messages", "expressions", "webhooks"}
    assert wanted == {*events, "message_content"}
    mentions = client.allowed_mentions
    assert mentions is not None
    assert mentions.to_dict() == {"parse": ["users"], "replied_user": True}

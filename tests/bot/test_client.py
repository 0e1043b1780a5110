"""From a gateway event to the dispatcher, through the client's own `on_message`."""

from __future__ import annotations

from typing import cast

import pytest

from bot.client import EverturnClient, Intake
from bot.dispatch import Dispatcher
from bot.personas import PersonaDirectory
from bot.refusals import RefusalMemory
from tests.bot.loopback import CHANNEL_ID, GUILD_ID, ME, THREAD_ID, guild, message, user
from tests.bot.test_personas import Persona, Source
from tests.bot.waiting import until
from workflows.contracts.invocation import ChatIncoming


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
        source = Source()
        source.rows = {None: [Persona(1, "Nova"), Persona(2, "Bob", is_main=False)]}
        self.personas = PersonaDirectory(source)
        intake = Intake(self.personas, self.refusals, cast(Dispatcher, self.submitted))
        client.take_messages(intake)
        client._connection._add_guild_from_data(guild())  # type: ignore[arg-type]

    def hear(self, message_id: str, content: str, **changes: object) -> None:
        """MESSAGE_CREATE in #general, as the gateway delivers it."""
        member = {"roles": [], "joined_at": "2026-01-01T00:00:00+00:00", "flags": 0}
        data = message(message_id, content, guild_id=GUILD_ID, member=member) | changes
        self.client._connection.parse_message_create(data)  # type: ignore[arg-type]

    async def heard(self, *message_ids: str) -> None:
        """Exactly these were submitted, once the last of them is."""
        await until(lambda: [m.message_id for m in self.submitted.messages] == list(message_ids))


@pytest.fixture
async def bot(client: EverturnClient) -> Bot:
    bot = Bot(client)
    await bot.personas.refresh()
    return bot


async def test_what_is_for_us_is_submitted_in_order_and_the_rest_is_not(bot: Bot) -> None:
    """D57, D58: neither bots, nor webhooks, nor ourselves; wired through `on_message`."""
    bot.hear("1", "nova, hello")
    bot.hear("2", "good morning")
    bot.hear("3", "nova from a bot", author=user("42", bot=True))
    bot.hear("4", "nova from a webhook", webhook_id="43", author=user("43", bot=True))
    bot.hear("5", "nova from ourselves", author=ME)
    bot.hear("6", "bob and nova")
    await bot.heard("1", "6")
    assert [m.persona_ids for m in bot.submitted.messages] == [[1], [2, 1]]


async def test_a_channel_that_refused_lately_costs_nothing(bot: Bot) -> None:
    """C005, D41: wired from the memory of refusals to the gate."""
    bot.refusals.note(CHANNEL_ID, 50013)
    bot.hear("1", "nova?")
    bot.hear("2", "nova?", channel_id=THREAD_ID)
    await bot.heard("2")
    bot.refusals.clear(CHANNEL_ID)
    bot.hear("3", "nova?")
    await bot.heard("2", "3")


async def test_nothing_is_taken_in_after_the_stop(bot: Bot) -> None:
    bot.hear("1", "nova?")
    await bot.heard("1")
    bot.client.take_messages(None)
    bot.hear("2", "nova?")
    await bot.heard("1")


def test_what_it_asks_of_the_gateway() -> None:
    """D56, and no events that nothing here reads."""
    client = EverturnClient()
    wanted = {name for name, on in client.intents if on}
    assert wanted == {"guilds", "guild_messages", "dm_messages", "message_content", "expressions"}
    mentions = client.allowed_mentions
    assert mentions is not None
    assert mentions.to_dict() == {"parse": ["users"], "replied_user": True}

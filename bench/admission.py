"""What a message that is not for the bot costs it, beside what discord.py takes to deliver one.

Most messages of a busy server are not for the bot. The servers here have six personas with twenty
triggers, and fifty with a thousand; lists of channels and roles, a channel that counts messages,
and members with settings of their own; somebody else is being answered. Then a member of the
larger one writes what costs the most: as long a message as Discord takes, made of its triggers.
Every figure is the best of several tries for each message, so that it does not depend on what else
the machine does. Over a budget the run fails.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import discord

from bot.active_turns import ActiveTurns
from bot.client import EverturnClient, Intake
from bot.directory import ServerDirectory
from bot.dispatch import Dispatcher
from bot.refusals import RefusalMemory
from bot.webhooks import ManagedWebhooks
from runtime.logs import configure_logs
from storage.config.models import ServerConfig, UserConfig
from tests.bot.loopback import (
    APPLICATION_ID,
    CHANNEL_ID,
    GUILD_ID,
    ME,
    THREAD_ID,
    guild,
    message,
    user,
)
from workflows.contracts.history import HistoryRequest

BUDGET = 50.0
"""Microseconds, at the median."""
LONGEST_BUDGET = 20_000.0
"""Microseconds, of one message that was made to cost time."""
LONGEST = 4_000
"""Characters of a message (Discord, with Nitro)."""
MESSAGES = 1_000
TRIES = 7
MEMBERS = 300
OWN_ROLE = "600000000000000001"

PERSONAS = {
    "Nova": ["nova", "novachan", "star"],
    "Luna": ["luna", "moon", "ルナ"],
    "Old Bob": ["bob", "bobby", "old bob"],
    "Lilja": ["lilja", "lily", "小丽"],
    "Captain Eve": ["eve", "captain", "cap"],
    "R2": ["r2", "robot", "beep", "<@42>", "c++"],
}
SYLLABLES = "ka lo mi ra ne to shi vel dar qui zen fo gri hal jo pex wyn tru bel ost um ri sa"
CHAT = (
    "lol yeah no that was so good haha the new map is out did anyone see it I think we should play"
    " tonight around nine what about you guys wait really ok sounds great my internet is bad again"
    " brb food does somebody know how to fix this error in python it says module not found thanks"
)
SPICE = (
    "<:kek:123456789012345678>",
    "https://example.org/a/b?c=d",
    "<@700000000000000099>",
    "ええ",
)


@dataclass
class _Persona:
    id: int
    name: str
    is_main: bool
    triggers: list[str]


class _Stored:
    """What the directory reads."""

    def __init__(self, personas: Mapping[str, Sequence[str]]) -> None:
        self._personas = personas

    async def all(self, guild_id: str | None) -> list[_Persona]:
        return [
            _Persona(number, name, number == 1, [*triggers])
            for number, (name, triggers) in enumerate(self._personas.items(), 1)
        ]

    async def everywhere(self) -> dict[str | None, list[_Persona]]:
        return {None: await self.all(None)}

    async def servers(self, server_keys: Collection[str]) -> dict[str, ServerConfig]:
        settings = {
            "triggers": {"autochat": [{"channel_id": THREAD_ID, "least": 20}]},
            "access": {
                "channels": [{"channel_id": CHANNEL_ID}, {"channel_id": THREAD_ID}],
                "role_ids": [OWN_ROLE],
                "blocked_user_ids": [str(number) for number in range(50)],
            },
            "notices": {"thought_log_channel_id": "500000000000000008"},
        }
        return {key: ServerConfig.model_validate(settings) for key in server_keys}

    async def users_since(
        self, moment: datetime | None
    ) -> tuple[dict[str, UserConfig], datetime | None]:
        config = UserConfig(spotlights={"500000000000000007": 2})
        return {str(7_000 + number): config for number in range(MEMBERS)}, None


class _Submitted:
    def __init__(self) -> None:
        self.count = 0

    def submit(self, incoming: object) -> None:
        self.count += 1


class _Listening(EverturnClient):
    """Nothing is done with a message."""

    async def on_message(self, message: discord.Message) -> None:
        return


def _crowd() -> dict[str, list[str]]:
    """Fifty personas with twenty triggers each, the six among them."""
    dice = random.Random(7)
    made = {
        "".join(dice.choices(SYLLABLES.split(), k=dice.choice((2, 3, 3, 4)))) for _ in range(2_000)
    }
    words = iter(sorted(made))
    crowd = {
        name: triggers + [next(words) for _ in range(16)] for name, triggers in PERSONAS.items()
    }
    while len(crowd) < 50:
        crowd[next(words).title()] = [next(words) for _ in range(20)]
    return crowd


def _messages(count: int, for_us: bool = False) -> list[dict[str, Any]]:
    dice = random.Random(11)
    made: list[dict[str, Any]] = []
    for number in range(count):
        words = dice.choices(CHAT.split(), k=dice.choice((1, 2, 3, 5, 8, 8, 13, 20, 35)))
        if dice.random() < 0.15:
            words.append(dice.choice(SPICE))
        if for_us:
            words.insert(dice.randrange(len(words) + 1), dice.choice(("nova", "Lunaaa", "bob")))
        author = user(str(7_000 + dice.randrange(2 * MEMBERS)))
        member = {"roles": [OWN_ROLE], "joined_at": "2026-01-01T00:00:00+00:00", "flags": 0}
        changes: dict[str, Any] = {"guild_id": GUILD_ID, "member": member, "author": author}
        if dice.random() < 0.2:
            reference = {"message_id": "1", "channel_id": CHANNEL_ID, "guild_id": GUILD_ID}
            replied = message("1", "hm", author=user("6"))
            changes |= {"type": 19, "message_reference": reference, "referenced_message": replied}
        made.append(message(str(10**18 + number), " ".join(words), **changes))
    return made


def _client(kind: type[EverturnClient]) -> EverturnClient:
    """In one server, without a connection."""
    client = kind()
    state = cast(Any, client._connection)
    client.loop = asyncio.get_running_loop()
    state.user = discord.ClientUser(state=state, data=cast(Any, ME))
    state.application_id = int(APPLICATION_ID)
    state._add_guild_from_data(guild())
    return client


async def _delivering(client: EverturnClient, raw: str) -> float:
    """Microseconds from the gateway's text to the end of an `on_message` that does nothing."""
    started = time.perf_counter_ns()
    cast(Any, client._connection).parse_message_create(json.loads(raw))
    await asyncio.sleep(0)  # the event's own task runs
    return (time.perf_counter_ns() - started) / 1000


def _taking(intake: Intake, client: EverturnClient, data: dict[str, Any]) -> float:
    """Microseconds for one message that has been delivered."""
    state = cast(Any, client._connection)
    channel, _ = state._get_guild_channel(data)
    heard = discord.Message(state=state, channel=channel, data=cast(Any, data))
    started = time.perf_counter_ns()
    intake.take(client, heard)
    return (time.perf_counter_ns() - started) / 1000


async def _server(
    personas: Mapping[str, Sequence[str]],
) -> tuple[Intake, EverturnClient, _Submitted]:
    stored, submitted, turns = _Stored(personas), _Submitted(), ActiveTurns()
    directory = ServerDirectory(stored, stored)
    await directory.refresh([GUILD_ID])
    client = _client(EverturnClient)
    webhooks = ManagedWebhooks(client, directory.known)
    dispatcher = cast(Dispatcher, submitted)
    intake = Intake(directory, RefusalMemory(), dispatcher, webhooks, turns)
    turns.heard(
        HistoryRequest(
            turn_id="t", channel_id=CHANNEL_ID, trigger_message_id="1", owner_id="6", persona_id=1
        )
    )
    return intake, client, submitted


async def admission() -> bool:
    """Print the figures; whether they are within the budgets."""
    configure_logs("bench", "WARNING")
    crowd = _crowd()
    words = [word for triggers in crowd.values() for word in triggers if word.isalpha()]
    words = [word for word in words if word.isascii()]
    random.Random(5).shuffle(words)
    within = [await _ordinary(PERSONAS), await _ordinary(crowd)]
    print(f"\nA message of {LONGEST:,} characters, where there are {len(words):,} triggers")
    for holds, text in {
        "the letters of the triggers": "".join(words),
        "the triggers, each behind a letter": "".join(f" x{word}" for word in words),
        "the triggers": " ".join(words),
    }.items():
        within.append(await _longest(crowd, holds, text[:LONGEST]))
    return all(within)


async def _ordinary(personas: Mapping[str, Sequence[str]]) -> bool:
    intake, client, submitted = await _server(personas)
    listening = _client(_Listening)
    others, ours = _messages(MESSAGES), _messages(MESSAGES // 5, for_us=True)
    texts = [json.dumps(each) for each in others]
    bare = [float("inf")] * len(others)
    passed = [float("inf")] * len(others)
    admitted = [float("inf")] * len(ours)
    for _ in range(TRIES):
        for index, each in enumerate(others):
            bare[index] = min(bare[index], await _delivering(listening, texts[index]))
            passed[index] = min(passed[index], _taking(intake, client, dict(each)))
        if submitted.count:
            raise AssertionError("a message that is for nobody was submitted")
        for index, each in enumerate(ours):
            admitted[index] = min(admitted[index], _taking(intake, client, dict(each)))
        if submitted.count != len(ours):
            raise AssertionError("a message that is for the bot was passed by")
        submitted.count = 0
    median = statistics.median(passed)
    count = sum(map(len, personas.values()))
    print(
        f"\nA message that is not for the bot, {MESSAGES} of them, where there are {count} triggers"
    )
    print(f"  discord.py  {_spread(bare)}   to deliver it")
    print(f"  everturn    {_spread(passed)}   to pass it by")
    print(f"  ratio       {median / statistics.median(bare):.2f}")
    print(f"  everturn    {_spread(admitted)}   to admit one that is for the bot")
    within = median <= BUDGET
    if not within:
        print(f"  OVER THE BUDGET of {BUDGET:.0f} microseconds at the median")
    return within


async def _longest(personas: Mapping[str, Sequence[str]], holds: str, text: str) -> bool:
    intake, client, submitted = await _server(personas)
    listening = _client(_Listening)
    (data,) = _messages(1)
    data |= {"content": text}
    raw = json.dumps(data)
    _taking(intake, client, dict(data))  # the first message to meet a word prepares it
    bare = min([await _delivering(listening, raw) for _ in range(TRIES)])
    taken = min(_taking(intake, client, dict(data)) for _ in range(TRIES))
    told = "admitted" if submitted.count else "passed by"
    ratio = taken / bare
    print(
        f"  {holds:<36} {told} in {taken:6.0f} µs;  discord.py {bare:4.0f} µs;  ratio {ratio:.1f}"
    )
    within = taken <= LONGEST_BUDGET
    if not within:
        print(f"  OVER THE BUDGET of {LONGEST_BUDGET:.0f} microseconds")
    return within


def _spread(microseconds: list[float]) -> str:
    ordered = sorted(microseconds)
    ninety = ordered[int(len(ordered) * 0.9)]
    return f"median {statistics.median(ordered):5.1f} µs   p90 {ninety:5.1f} µs"

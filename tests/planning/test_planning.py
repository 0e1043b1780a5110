"""The whole plan, with a database: who answers, and what that takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities.effects import EffectsActivities
from activities.planning import PlanningActivities, PlanningSettings, guards
from storage import Storage, StorageError, open_storage
from storage.config import CooldownType
from tests.planning.support import NOW, command, id_at, message, said_by, server, words
from workflows.contracts.counters import ChannelCounters
from workflows.contracts.effects import FinishRequest
from workflows.contracts.generation import StreamStatus
from workflows.contracts.identity import Voice
from workflows.contracts.invocation import Addressed, ChatIncoming, Origin, QuotaSource
from workflows.contracts.planning import (
    PlanReason,
    PlanRefusal,
    PlanRequest,
    TurnPlan,
)
from workflows.contracts.turn import TurnLimits


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    yield opened
    await opened.close()


@pytest.fixture
async def ids(storage: Storage, tmp_path: Path) -> dict[str, int]:
    """Three personas, Nova main; their ids by name."""
    folder = tmp_path / "personas"
    folder.mkdir()
    for name, main in (("Atlas", "false"), ("Nova", "true"), ("Zoe", "false")):
        head = f'+++\nname = "{name}"\nmain = {main}\n+++\n'
        (folder / f"{name}.md").write_text(head + "You are kind.")
    await storage.personas.seed(folder)
    return {persona.name: persona.id for persona in await storage.personas.all(None)}


async def planned(
    storage: Storage, *persona_ids: int, guild_id: str | None = "6", selected: int | None = None
) -> list[str]:
    invocation = ChatIncoming(
        application_id="8", channel_id="7", message_id="1", author_id="2", author_name="Mia",
        guild_id=guild_id, persona_ids=list(persona_ids), selected_persona_id=selected,
    )  # fmt: skip
    plan = await ActivityEnvironment().run(
        PlanningActivities(storage).plan_turns, PlanRequest(invocation=invocation)
    )
    for turn in plan.turns:
        persona = await storage.personas.get(turn.persona_id)
        assert (persona.name, persona.name) == (turn.persona_name, turn.voice.name)
        assert turn.voice.is_main is persona.is_main
    return [turn.persona_name for turn in plan.turns]


async def test_the_main_persona_answers_when_none_is_named(
    storage: Storage, ids: dict[str, int]
) -> None:
    assert await planned(storage) == ["Nova"]
    assert await planned(storage, guild_id=None) == ["Nova"]


async def test_named_personas_answer_in_their_order_each_once(
    storage: Storage, ids: dict[str, int]
) -> None:
    zoe, atlas = ids["Zoe"], ids["Atlas"]
    assert await planned(storage, zoe, atlas, zoe) == ["Zoe", "Atlas"]


async def test_unknown_personas_are_left_out(storage: Storage, ids: dict[str, int]) -> None:
    assert await planned(storage, 404, ids["Zoe"], -1) == ["Zoe"]
    assert await planned(storage, 404) == ["Nova"]


async def test_a_selected_persona_answers_alone(storage: Storage, ids: dict[str, int]) -> None:
    """Behaviour 5.2: a reminder or a task is answered by the persona that has it."""
    assert await planned(storage, ids["Atlas"], selected=ids["Zoe"]) == ["Zoe"]
    assert await planned(storage, ids["Atlas"], selected=404) == ["Atlas"]
    assert await planned(storage, selected=404) == ["Nova"]


async def test_a_retired_persona_does_not_answer(
    storage: Storage, ids: dict[str, int], tmp_path: Path
) -> None:
    (tmp_path / "personas" / "Zoe.md").unlink()
    await storage.personas.seed(tmp_path / "personas")
    assert await planned(storage, ids["Zoe"], ids["Atlas"]) == ["Atlas"]


async def test_nobody_answers_where_nobody_is(storage: Storage) -> None:
    """C029: a plan without turns is a plan, and no error."""
    plan = await Planner(storage).plan(message())
    assert plan.turns == []
    assert plan.refusal == PlanRefusal(reason=PlanReason.NO_PERSONA)


class Planner:
    """A worker's planning, at a time of the test's own."""

    def __init__(self, storage: Storage, **settings: Any) -> None:
        self.now = NOW
        limits = TurnLimits(max_iterations=7)
        self._activities = PlanningActivities(
            storage, limits, "demo", "echo", PlanningSettings(**settings), clock=lambda: self.now
        )

    async def plan(
        self, invocation: ChatIncoming, counters: ChannelCounters | None = None
    ) -> TurnPlan:
        request = PlanRequest(invocation=invocation, counters=counters or ChannelCounters())
        return await ActivityEnvironment().run(self._activities.plan_turns, request)

    async def give_up(self, invocation: ChatIncoming) -> None:
        request = PlanRequest(invocation=invocation)
        await ActivityEnvironment().run(self._activities.give_up_plan, request)

    async def reason(self, invocation: ChatIncoming) -> str | None:
        plan = await self.plan(invocation)
        assert (plan.refusal is None) is bool(plan.turns)
        return plan.refusal and plan.refusal.reason.value


async def configure(storage: Storage, **sections: Any) -> None:
    await storage.configs.change_server("6", lambda _: server(**sections))


async def test_a_plan_carries_what_the_turns_need(storage: Storage, ids: dict[str, int]) -> None:
    await configure(storage, triggers={"cascade_limit": 1})
    plan = await Planner(storage, max_follow_ups=5).plan(message())
    assert plan.limits.max_iterations == 7
    assert (plan.provider, plan.model) == ("demo", "echo")
    assert (plan.cascade_limit, plan.max_follow_ups, plan.empty_retries) == (1, 5, 2)
    assert plan.counters is None
    assert [turn.voice for turn in plan.turns] == [Voice(name="Nova", is_main=True)]


@pytest.mark.parametrize(
    ("said", "eligible"),
    [
        (message(), True),
        (message(is_manual=True, selected_persona_id=1), True),
        (message(addressed=Addressed.ALWAYS_REPLY), True),
        (command(), False),
        (words(1, is_manual=True, is_persona_job=True, selected_persona_id=1), True),
        (said_by(1, 2), False),
        (message(is_stop_response=True), False),
        (message(origin=Origin.REMINDER), False),
        (message(guild_id=None, is_dm=True, is_manual=True), False),
    ],
)
async def test_whose_answers_may_give_way_to_a_follow_up(
    storage: Storage, ids: dict[str, int], said: ChatIncoming, eligible: bool
) -> None:
    """Behaviour 2.3: what a member of a server has said, also as a follow-up, and whichever persona
    answers it; no command; C020: not in a direct message."""
    await configure(storage, triggers={"always_reply": True})
    assert (await Planner(storage).plan(said)).follow_up_eligible is eligible


async def test_an_automatic_answer_begins_the_count_anew(
    storage: Storage, ids: dict[str, int]
) -> None:
    """C023: the count is written by planning alone; only an answer sets it back."""
    channel = {"channel_id": "7", "least": 3, "most": 9, "persona_id": ids["Zoe"]}
    await configure(storage, triggers={"autochat": [channel]})
    counters = ChannelCounters()
    planner = Planner(storage)
    gaps: list[int] = []
    since = 0
    for number in range(60):
        said = message(message_id=id_at(NOW, number), addressed=Addressed.AUTOCHAT)
        target = counters.autochat_target
        plan = await planner.plan(said, counters)
        assert plan.counters is not None
        counters = plan.counters
        since += 1
        if plan.turns:
            assert [turn.persona_name for turn in plan.turns] == ["Zoe"]
            assert since == (target or since)
            assert counters.autochat == 0
            gaps.append(since)
            since = 0
        else:
            assert counters.autochat == since
    assert set(gaps) <= set(range(3, 10))
    assert len(set(gaps)) > 1


async def test_an_answer_that_is_refused_leaves_the_count(
    storage: Storage, ids: dict[str, int]
) -> None:
    await configure(
        storage,
        triggers={"autochat": [{"channel_id": "7", "least": 1}]},
        cooldown={"type": CooldownType.PER_CHANNEL},
    )
    planner = Planner(storage)
    first = await planner.plan(message(message_id=id_at(NOW), addressed=Addressed.AUTOCHAT))
    assert first.turns
    later = message(message_id=id_at(NOW, 1), addressed=Addressed.AUTOCHAT)
    second = await planner.plan(later, first.counters)
    assert second.refusal == PlanRefusal(reason=PlanReason.COOLDOWN)
    assert second.counters is not None
    assert second.counters.autochat == 1


async def test_a_message_that_names_three_is_cut_off_by_the_cascade(
    storage: Storage, ids: dict[str, int]
) -> None:
    """C043: limit 1 and a message naming A, B, C, then A and B answer, C does not."""
    await configure(storage, triggers={"cascade_limit": 1})
    planner = Planner(storage)
    said = words(*ids.values())
    plan = await planner.plan(said)
    assert len(plan.turns) == 3
    answered: list[bool] = []
    counters = ChannelCounters()
    for number, turn in enumerate(plan.turns):
        job = said.model_copy(
            update={
                "is_persona_job": True, "is_manual": True, "selected_persona_id": turn.persona_id
            }
        )  # fmt: skip
        again = plan if number == 0 else await planner.plan(job, counters)
        answered.append(bool(again.turns))
        if again.refusal is not None:
            assert again.refusal == PlanRefusal(reason=PlanReason.CASCADE)
        counters = ChannelCounters(
            cascade=counters.cascade + 1,
            cascade_after_id=said.message_id,
            cascade_at=NOW.isoformat(),
            last_persona_id=turn.persona_id,
        )
    assert answered == [True, True, False]


def at(seconds: float, **more: Any) -> ChatIncoming:
    moment = NOW + timedelta(seconds=seconds)
    return message(**{"message_id": id_at(moment), **more})


@pytest.mark.parametrize(
    ("type_", "other_member", "other_channel", "other_server"),
    [
        (CooldownType.OFF, None, None, None),
        (CooldownType.PER_USER, None, "cooldown", None),
        (CooldownType.PER_CHANNEL, "cooldown", None, None),
        (CooldownType.SERVER_WIDE, "cooldown", "cooldown", None),
        (CooldownType.STRICT_SERVER_WIDE, "cooldown", "cooldown", None),
        (CooldownType.COMMAND_CATEGORY, None, None, None),
    ],
)
async def test_the_six_cooldowns(
    storage: Storage,
    ids: dict[str, int],
    type_: CooldownType,
    other_member: str | None,
    other_channel: str | None,
    other_server: str | None,
) -> None:
    """Behaviour 5.4, each with the length 5 s."""
    cooldown = {"type": type_, "seconds": 5}
    await configure(storage, cooldown=cooldown)
    await storage.configs.change_server("60", lambda _: server(cooldown=cooldown))
    planner = Planner(storage)
    planner.now = NOW + timedelta(minutes=1)
    assert await planner.reason(at(0)) is None
    limited = type_ not in (CooldownType.OFF, CooldownType.COMMAND_CATEGORY)
    assert await planner.reason(at(4.9)) == ("cooldown" if limited else None)
    assert await planner.reason(at(4.8, author_id="3")) == other_member
    assert await planner.reason(at(4.7, channel_id="70")) == other_channel
    assert await planner.reason(at(4.6, guild_id="60", channel_id="77")) == other_server
    assert await planner.reason(at(60)) is None


async def test_the_cooldown_of_commands(storage: Storage, ids: dict[str, int]) -> None:
    """Type 5; COMMAND_COOLDOWN_SCALE stretches it; also for members with Manage Server."""
    await configure(storage, cooldown={"type": CooldownType.COMMAND_CATEGORY})
    by_command = {"addressed": Addressed.COMMAND, "is_manual": True, "is_manager": True}
    planner = Planner(storage, command_cooldown_scale=2)
    planner.now = NOW + timedelta(minutes=1)
    assert await planner.reason(at(0, **by_command)) is None
    plan = await planner.plan(at(9, **by_command))
    assert plan.refusal is not None
    assert plan.refusal.reason is PlanReason.COOLDOWN
    assert plan.refusal.by_direct_message
    assert await planner.reason(at(9)) is None
    assert await planner.reason(at(10, **by_command)) is None
    free = Planner(storage, command_cooldown_scale=0)
    assert await free.reason(at(11, **by_command)) is None


@pytest.mark.parametrize("type_", list(CooldownType)[1:5])
async def test_managers_wait_for_no_cooldown_of_the_types_1_to_3(
    storage: Storage, ids: dict[str, int], type_: CooldownType
) -> None:
    """C048"""
    await configure(storage, cooldown={"type": type_})
    planner = Planner(storage)
    strict = "cooldown" if type_ is CooldownType.STRICT_SERVER_WIDE else None
    assert await planner.reason(at(-3)) is None
    assert await planner.reason(at(-2, is_manager=True)) == strict
    nobody_exempt = Planner(storage, cooldown_exemptions=False)
    assert await nobody_exempt.reason(at(-1, is_manager=True)) == "cooldown"


async def test_a_message_is_judged_by_when_it_was_written(
    storage: Storage, ids: dict[str, int]
) -> None:
    """It may have waited in a queue for a minute."""
    await configure(storage, cooldown={"type": CooldownType.PER_USER})
    planner = Planner(storage)
    planner.now = NOW + timedelta(minutes=1)
    assert await planner.reason(at(0)) is None
    assert await planner.reason(at(0)) is None  # the same message, planned again
    assert await planner.reason(at(1)) == "cooldown"
    assert await planner.reason(at(5)) is None


async def test_a_cooldown_is_told_to_whoever_called_and_to_them_alone(
    storage: Storage, ids: dict[str, int]
) -> None:
    await configure(
        storage,
        cooldown={"type": CooldownType.PER_CHANNEL, "seconds": 60},
        triggers={"always_reply": True},
    )
    planner = Planner(storage)
    assert await planner.reason(at(-10)) is None
    refusal = (await planner.plan(at(-5))).refusal
    assert refusal is not None
    assert refusal.by_direct_message
    assert "<#7>" in refusal.notice
    assert f"<t:{int(NOW.timestamp()) + 51}:R>" in refusal.notice
    passive = (await planner.plan(at(-4, addressed=Addressed.ALWAYS_REPLY))).refusal
    assert passive == PlanRefusal(reason=PlanReason.COOLDOWN)


async def test_an_allowed_channel_has_its_own_cooldown_or_the_server_s(
    storage: Storage, ids: dict[str, int]
) -> None:
    own = {"type": CooldownType.PER_USER, "seconds": 30}
    await configure(
        storage,
        cooldown={"type": CooldownType.PER_USER, "seconds": 5},
        access={
            "channels": [
                {"channel_id": "7", "cooldown": own},
                {"channel_id": "70"},
                {"channel_id": "72", "cooldown": {"type": CooldownType.OFF}},
            ]
        },
    )
    planner = Planner(storage)
    planner.now = NOW + timedelta(minutes=1)
    assert await planner.reason(at(0)) is None
    assert await planner.reason(at(20)) == "cooldown"
    thread = {"channel_id": "71", "parent_channel_id": "7"}
    assert await planner.reason(at(21, **thread)) == "cooldown"
    assert await planner.reason(at(22, channel_id="70")) is None
    assert await planner.reason(at(23, channel_id="70")) == "cooldown"
    assert await planner.reason(at(27, channel_id="70")) is None
    assert await planner.reason(at(28, channel_id="72")) is None
    assert await planner.reason(at(29, channel_id="72")) is None


@pytest.mark.parametrize(
    "refused", [{"channel_id": "70"}, {"author_id": "9"}, {"addressed": Addressed.NOT}]
)
async def test_whoever_is_refused_by_a_list_takes_no_cooldown(
    storage: Storage, ids: dict[str, int], refused: dict[str, Any]
) -> None:
    await configure(
        storage,
        cooldown={"type": CooldownType.SERVER_WIDE},
        access={"channels": [{"channel_id": "7"}], "blocked_user_ids": ["9"]},
    )
    planner = Planner(storage)
    assert await planner.reason(at(-2, **refused)) is not None
    assert await planner.reason(at(-1)) is None


@pytest.mark.parametrize(
    "unlimited",
    [
        {"is_stop_response": True},
        {"origin": Origin.REMINDER},
        {"is_manual": True, "addressed": Addressed.NOT, "selected_persona_id": 1},
        {"is_manual": True, "is_persona_job": True, "selected_persona_id": 1},
        {"author_persona_id": 1, "is_persona_job": True, "persona_ids": [2]},
    ],
)
async def test_who_waits_for_no_cooldown(
    storage: Storage, ids: dict[str, int], unlimited: dict[str, Any]
) -> None:
    """Stops, reminders, follow-ups (C012: they run next), further personas, personas' words."""
    await configure(storage, cooldown={"type": CooldownType.STRICT_SERVER_WIDE})
    planner = Planner(storage)
    assert await planner.reason(at(-2)) is None
    assert await planner.reason(at(-1, **unlimited)) is None


@pytest.mark.parametrize("fault", [StorageError("down"), RuntimeError("odd"), None])
async def test_limits_fail_open(
    storage: Storage,
    ids: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    fault: Exception | None,
) -> None:
    """C047: given the cooldown store is down, or silent, then the turn proceeds."""
    asked: list[str] = []

    def broken(name: str) -> Any:
        async def fails(*_: Any, **__: Any) -> None:
            asked.append(name)
            if fault is not None:
                raise fault
            await asyncio.Event().wait()

        return fails

    monkeypatch.setattr(guards, "PATIENCE", timedelta(milliseconds=20))
    for store, name in (
        (storage.limits, "take_cooldown"),
        (storage.limits, "would_refuse"),
        (storage.answering, "begin"),
    ):
        monkeypatch.setattr(store, name, broken(name))
    await configure(storage, cooldown={"type": CooldownType.PER_USER}, quota={"user_daily": 1})
    assert await Planner(storage, production=True).reason(message()) is None
    assert asked == ["begin", "take_cooldown", "would_refuse"]


async def test_a_member_is_answered_in_three_places_at_a_time(
    storage: Storage, ids: dict[str, int]
) -> None:
    """MAX_USER_ACTIVE_MESSAGES, with RUN_ENV=production only; the current one does not count."""
    planner = Planner(storage, production=True)
    for channel in ("71", "72", "73", "73"):
        assert await planner.reason(message(channel_id=channel)) is None
    refusal = (await planner.plan(message(channel_id="74"))).refusal
    assert refusal is not None
    assert refusal.reason is PlanReason.RATE_LIMITED
    assert refusal.by_direct_message
    assert "<#74>" in refusal.notice
    assert await planner.reason(message(channel_id="75", author_id="3")) is None
    follow_up = {"is_manual": True, "selected_persona_id": 1}
    for exempt in ({"is_stop_response": True}, {"origin": Origin.REMINDER}, follow_up):
        assert await planner.reason(message(channel_id="74", **exempt)) is None
    assert await Planner(storage).reason(message(channel_id="76")) is None
    request = FinishRequest(
        turn_id="t", channel_id="71", persona_id=1, user_id="2", status=StreamStatus.COMPLETED,
        trigger_message_id=message().message_id, guild_id="6",
    )  # fmt: skip
    for channel in ("71", "74"):
        ended = request.model_copy(update={"channel_id": channel, "turn_id": channel})
        effects = EffectsActivities(storage, counts_active=True)
        await ActivityEnvironment().run(effects.finish_turn, ended)
    assert await planner.reason(message(channel_id="77")) is None


async def test_a_server_is_answered_in_ten_channels_at_a_time(
    storage: Storage, ids: dict[str, int]
) -> None:
    planner = Planner(storage, production=True)
    for number in range(10):
        said = message(channel_id=f"7{number}", author_id=f"2{number}")
        assert await planner.reason(said) is None
    refusal = (await planner.plan(message(channel_id="80", author_id="30"))).refusal
    assert refusal is not None
    assert refusal.reason is PlanReason.RATE_LIMITED
    assert refusal.notice
    assert not refusal.by_direct_message
    elsewhere = message(channel_id="81", author_id="30", guild_id="60")
    assert await planner.reason(elsewhere) is None
    planner.now = NOW + guards.TURN_LASTS
    assert await planner.reason(message(channel_id="80", author_id="30")) is None


async def test_who_is_refused_in_the_end_leaves_their_place(
    storage: Storage, ids: dict[str, int]
) -> None:
    await configure(storage, cooldown={"type": CooldownType.PER_USER})
    once = Planner(storage, production=True, max_server_active=1)
    assert await once.reason(message(channel_id="72", author_id="3")) is None
    assert await once.reason(at(-1, channel_id="72", author_id="3")) == "cooldown"
    assert await once.reason(message(channel_id="73", author_id="4")) is None


async def test_a_plan_that_is_given_up_leaves_its_place(
    storage: Storage, ids: dict[str, int]
) -> None:
    """Stopped before its turn began: else the place would be taken for TURN_LASTS."""
    once = Planner(storage, production=True, max_server_active=1)
    stopped = message(channel_id="72", author_id="3")
    assert await once.reason(stopped) is None
    assert await once.reason(message(channel_id="73", author_id="4")) == "rate_limited"
    await once.give_up(stopped)
    assert await once.reason(message(channel_id="73", author_id="4")) is None


async def test_an_exhausted_quota_is_told_once_in_the_channel(
    storage: Storage, ids: dict[str, int]
) -> None:
    """Behaviour 5.4: checked before the turn, for `user` source in a server only."""
    await configure(storage, quota={"user_daily": 1})
    planner = Planner(storage)
    planner.now = datetime.now(UTC)
    said = words(*ids.values())
    assert await planner.reason(said) is None
    await finish(storage, said)
    refusal = (await planner.plan(at(1))).refusal
    assert refusal is not None
    assert refusal.reason is PlanReason.QUOTA
    assert "your 1 answer of today" in refusal.notice
    assert not refusal.by_direct_message
    assert await planner.reason(said) is None  # it has been charged
    job = {"is_manual": True, "is_persona_job": True, "selected_persona_id": ids["Zoe"]}
    for free in (
        job,
        {"is_stop_response": True},
        {"origin": Origin.REMINDER},
        {"text_quota_source": QuotaSource.SYSTEM},
        {"author_id": "3"},
        {"guild_id": None, "is_dm": True},
    ):
        assert await planner.reason(at(2, **free)) is None, free


async def test_an_exhausted_pool_holds_for_everybody(storage: Storage, ids: dict[str, int]) -> None:
    await configure(storage, quota={"server_pool": 1, "pool_days": 7})
    planner = Planner(storage)
    planner.now = datetime.now(UTC)
    await finish(storage, at(0))
    refusal = (await planner.plan(at(1, author_id="3"))).refusal
    assert refusal is not None
    assert refusal.reason is PlanReason.QUOTA
    assert "7 days" in refusal.notice
    planner.now += timedelta(days=8)
    assert await planner.reason(at(1, author_id="3")) is None


async def test_who_brings_a_model_waits_for_nothing(storage: Storage, ids: dict[str, int]) -> None:
    """Cooldown and quota are for the server's credentials."""
    await configure(
        storage,
        credentials={"bring_your_own": True},
        cooldown={"type": CooldownType.PER_USER},
        quota={"user_daily": 1},
    )
    await finish(storage, at(-9))

    async def has_one(user_id: str) -> bool:
        return user_id == "2"

    activities = PlanningActivities(
        storage, personal_providers=has_one, clock=lambda: datetime.now(UTC)
    )
    for seconds in (-2, -1):
        plan = await ActivityEnvironment().run(
            activities.plan_turns, PlanRequest(invocation=at(seconds))
        )
        assert plan.turns
    other = await ActivityEnvironment().run(
        activities.plan_turns, PlanRequest(invocation=at(0, author_id="3"))
    )
    assert other.refusal is not None
    assert other.refusal.reason is PlanReason.NO_CREDENTIALS


async def finish(storage: Storage, said: ChatIncoming) -> None:
    """A turn has answered it."""
    request = FinishRequest(
        turn_id=f"turn/{said.message_id}", channel_id="7", persona_id=1, user_id=said.author_id,
        guild_id=said.guild_id, trigger_message_id=said.message_id, quota_key=said.message_id,
        status=StreamStatus.COMPLETED, reply_text="Hi!",
    )  # fmt: skip
    await ActivityEnvironment().run(EffectsActivities(storage).finish_turn, request)

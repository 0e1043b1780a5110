"""Who answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.planning import PlanningActivities
from storage import Storage, open_storage
from workflows.contracts.invocation import ChatIncoming
from workflows.contracts.planning import PlanRequest


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
        assert (await storage.personas.get(turn.persona_id)).name == turn.persona_name
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
    assert await planned(storage, 1) == []

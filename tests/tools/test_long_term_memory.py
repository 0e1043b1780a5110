"""The two tools of long-term memory, over a real database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.memory.text import KNOWN, without_placeholders
from activities.tools.builtin import create_long_term_memory, update_long_term_memory
from activities.tools.limits import MemoryLimits
from activities.tools.results import clean
from storage import Storage, StorageError
from storage.config import Privacy, ServerConfig, ToolsConfig
from storage.memories import Memories, Memory
from tests.tools.fake_discord import BOT, GUILD, MEMBER
from tests.tools.stored import ALEX, OTHER_ALEX, SAM, StoredTurn, empty_storage, stored_turn
from workflows.contracts.tools import NoticeColour, ToolResult

Ask = Callable[..., Any]


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await empty_storage(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def turn(storage: Storage) -> StoredTurn:
    return await stored_turn(storage)


@pytest.fixture
def create(turn: StoredTurn) -> Ask:
    async def call(text: str = "likes tea", **arguments: Any) -> ToolResult:
        scope = {"memory_scope": "target_user"} | arguments
        return await turn.call(create_long_term_memory.TOOL, {"memory_content": text, **scope})

    return call


@pytest.fixture
def update(turn: StoredTurn) -> Ask:
    async def call(memory_id: int, text: str, **arguments: Any) -> ToolResult:
        given = {"memory_id": memory_id, "memory_content": text, **arguments}
        return await turn.call(update_long_term_memory.TOOL, given)

    return call


async def everything(storage: Storage, persona_id: int = 7) -> list[Memory]:
    people = [MEMBER, SAM, ALEX, OTHER_ALEX, BOT, "24", "123456789012345678"]
    found = await storage.memories.of_users(GUILD, persona_id, people)
    kept = await storage.memories.of_server(GUILD, persona_id)
    return [*kept, *(memory for each in found.values() for memory in each)]


async def a_memory(storage: Storage, user_id: str | None = MEMBER, **fields: Any) -> Memory:
    given = {
        "server_key": GUILD,
        "persona_id": 7,
        "text": "likes tea",
        "author_id": MEMBER,
        "limit": 100,
    }
    return await storage.memories.add(**{**given, "user_id": user_id, **fields})


def status(result: ToolResult) -> str:
    return StoredTurn.told(result)["status"]


async def test_a_fact_about_the_user_who_is_answered(create, turn, storage):
    result = await create("likes tea")
    (memory,) = await everything(storage)
    assert turn.told(result) == {
        "status": "memory_saved_successfully",
        "memory_id": memory.id,
        "scope": "target_user",
    }
    assert (memory.user_id, memory.text, memory.persona_id) == (MEMBER, "likes tea", 7)
    (notice,) = result.notices
    assert (notice.title, notice.text) == ("Remembered something about Mia", "likes tea")
    assert notice.colour is NoticeColour.SUCCESS
    assert not notice.hidden


async def test_a_fact_about_the_server(create, storage):
    await create("movie night is on Friday", memory_scope="server_wide")
    (memory,) = await everything(storage)
    assert memory.user_id is None


@pytest.mark.parametrize(
    ("target", "user_id"),
    [
        (" @sam", SAM),
        (SAM, SAM),
        (f"<@{SAM}>", SAM),
        ("ＳＡＭ", SAM),
        ("<@123456789012345678>", "123456789012345678"),  # mentioned in the conversation
        ("123456789012345678", "123456789012345678"),
        ("Jukebox", None),  # a bot: what is true of it holds for the whole server
        (BOT, None),
        (f"<@{BOT}>", None),
        ("nova", None),
    ],
)
async def test_whom_it_is_about(create, storage, target, user_id):
    result = await create(target_user=target)
    assert status(result) == "memory_saved_successfully"
    (memory,) = await everything(storage)
    assert memory.user_id == user_id


@pytest.mark.parametrize("target", ["Nobody", "999999999999999999", "<@999999999999999999>", "S"])
async def test_nobody_is_invented(create, storage, target):
    result = await create(target_user=target)
    assert status(result) == "memory_save_failed_user_not_found"
    assert await everything(storage) == []


async def test_of_two_with_one_name_neither_is_guessed(create, turn, storage):
    result = await create(target_user="ALEX")
    assert status(result) == "memory_save_failed_ambiguous_user"
    assert {each["id"] for each in turn.told(result)["candidates"]} == {ALEX, OTHER_ALEX}
    assert await everything(storage) == []


@pytest.mark.parametrize("privacy", [Privacy.PARTIAL, Privacy.FULL])
async def test_who_wants_privacy_is_not_remembered(create, turn, storage, privacy):
    await turn.configure_user(SAM, privacy=privacy)
    result = await create(target_user="Sam")
    assert status(result) == "memory_save_failed_privacy_restricted"
    assert await everything(storage) == []
    assert (await create("likes coffee")).success  # Mia is another one


async def test_a_switch_turned_off_after_the_declaration_refuses(create, update, turn, storage):
    """C130."""
    memory = await a_memory(storage)
    await turn.configure(ServerConfig(tools=ToolsConfig(self_teaching=False)))
    for result in (await create(), await update(memory.id, "x"), await update(memory.id, "")):
        assert not result.success
    assert await everything(storage) == [memory]


@pytest.mark.parametrize("run", [create_long_term_memory, update_long_term_memory])
async def test_the_tool_itself_says_that_memory_is_off(run, turn):
    """The first check of behaviour 7.2, should the gate before it ever be left open."""
    await turn.configure(ServerConfig(tools=ToolsConfig(self_teaching=False)))
    arguments = {"memory_content": "x", "memory_scope": "server_wide", "memory_id": 1}
    model = run.TOOL.arguments
    given = model.model_validate({k: arguments[k] for k in model.model_fields if k in arguments})
    resources = Resources(turn)
    with pytest.raises(create_long_term_memory.ToolFailure) as caught:
        await run.TOOL.run(given, turn.context, resources)  # type: ignore[arg-type]
    assert caught.value.data == {"status": "memory_save_failed_disabled"}


class Resources:
    def __init__(self, turn: StoredTurn) -> None:
        self.storage = turn.storage
        self.memory_limits = turn.limits


async def test_a_hundred_of_one_persona_leave_room_for_another(create, turn, storage):
    """C100."""
    for number in range(100):
        await a_memory(storage, None, text=f"fact {number}")
    result = await create("one more", memory_scope="server_wide")
    assert status(result) == "memory_save_failed_limit_exceeded"
    assert len(await everything(storage)) == 100
    assert (await create("about Mia")).success  # another scope
    turn.context = turn.context.model_copy(update={"persona_id": 8})
    assert (await create("one more", memory_scope="server_wide")).success
    assert len(await everything(storage, 8)) == 1


async def test_what_is_kept_of_a_member_counts_over_all_servers(create, turn, storage):
    turn.limits = MemoryLimits(personal=2)
    await a_memory(storage, server_key="elsewhere")
    assert (await create()).success
    assert status(await create()) == "memory_save_failed_limit_exceeded"


async def test_a_memory_has_a_longest_length(create, update, turn, storage):
    turn.limits = MemoryLimits(length=10)
    assert status(await create("x" * 11)) == "memory_save_failed_limit_exceeded"
    assert (await create("🦞" * 10)).success
    (memory,) = await everything(storage)
    assert status(await update(memory.id, "x" * 11)) == "memory_save_failed_limit_exceeded"
    assert await everything(storage) == [memory]


async def test_the_default_limits_are_those_of_the_rules(turn):
    assert turn.limits == MemoryLimits(personal=100, server=100, length=1000)


async def test_no_persona_no_memory(create, turn, storage):
    turn.context = turn.context.model_copy(update={"persona_id": 0})
    assert status(await create()) == "memory_save_failed_internal_error"
    assert await everything(storage, 0) == []


async def test_a_database_that_is_away_has_a_status(create, monkeypatch):
    async def away(*_: object, **__: object) -> None:
        raise StorageError("the database at a secret place is away")

    monkeypatch.setattr(Memories, "add", away)
    result = await create()
    assert status(result) == "memory_save_failed_db_error"
    assert "secret" not in result.content


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("{user} likes {bot}, {name} and {{char}}", "{user} likes {bot},  and"),
        ("{{if tool:x}}y{{/if}}", "y"),
        ("{a{user}b} stays", "stays"),
        ("{User} {user }", ""),
        ("} open { ends", "} open { ends"),
    ],
)
async def test_only_known_placeholders_are_kept(create, storage, text, kept):
    result = await create(text)
    if kept:
        (memory,) = await everything(storage)
        assert memory.text == kept
    else:
        assert status(result) == "memory_save_failed_internal_error"


@given(st.text(alphabet="{}userbot "))
def test_nothing_that_could_be_filled_in_is_left(text):
    kept = without_placeholders(text)
    assert without_placeholders(kept) == kept
    for known in KNOWN:
        kept = kept.replace(known, "")
    # an opening brace that is left has no partner behind it
    assert "{" not in kept or "}" not in kept[kept.index("{") :]


@given(st.text().filter(lambda text: "{" not in text))
def test_text_without_braces_is_kept(text):
    assert without_placeholders(text) == clean(text).strip()


def test_deep_nesting_costs_no_time():
    """A model's text is never a reason to block the loop (D37)."""
    assert without_placeholders("{" * 10_000 + "}" * 10_000) == ""


async def test_a_memory_is_replaced(update, turn, storage):
    memory = await a_memory(storage)
    result = await update(memory.id, "likes {x}coffee")
    assert turn.told(result) == {"status": "memory_updated_successfully", "memory_id": memory.id}
    (changed,) = await everything(storage)
    assert changed.text == "likes coffee"
    (notice,) = result.notices
    assert (notice.colour, notice.text) == (NoticeColour.AMBER, "likes coffee")


@pytest.mark.parametrize("blank", ["", "  \n"])
async def test_blank_content_forgets(update, storage, blank):
    memory = await a_memory(storage, None)
    result = await update(memory.id, blank)
    assert status(result) == "memory_deleted_successfully"
    assert await everything(storage) == []
    (notice,) = result.notices
    assert (notice.colour, notice.text) == (NoticeColour.RED, "likes tea")
    assert status(await update(memory.id, blank)) == "memory_not_found"


@pytest.mark.parametrize("text", ["", "taken over"])
@pytest.mark.parametrize(
    "whose",
    [
        {"persona_id": 8},
        {"server_key": "elsewhere"},
        {"user_id": "31"},  # somebody who takes no part in the conversation
    ],
)
async def test_what_is_not_one_s_own_is_not_there(update, storage, whose, text):
    """C098, D78: neither changed nor deleted, and not a word of it told."""
    memory = await a_memory(storage, **whose)
    result = await update(memory.id, text)
    assert status(result) == "memory_not_found"
    assert "tea" not in result.model_dump_json()
    assert await storage.memories.get(memory.id) == memory


async def test_privacy_blocks_an_update_but_not_a_deletion(update, turn, storage):
    memory = await a_memory(storage, SAM)
    await turn.configure_user(SAM, privacy=Privacy.PARTIAL)
    assert status(await update(memory.id, "x")) == "memory_save_failed_privacy_restricted"
    assert await everything(storage) == [memory]
    assert (await update(memory.id, "")).success


@pytest.mark.parametrize(
    ("target", "outcome"),
    [
        ("Jukebox", "memory_save_failed_user_not_found"),
        ("Nova", "memory_save_failed_user_not_found"),
        ("Nobody", "memory_save_failed_user_not_found"),
        ("Mia", "memory_not_found"),
        ("Alex", "memory_not_found"),
        ("Sam", "memory_updated_successfully"),
    ],
)
async def test_whom_the_model_says_it_is_about(update, storage, target, outcome):
    memory = await a_memory(storage, SAM)
    assert status(await update(memory.id, "x", target_user=target)) == outcome


async def test_the_memory_tells_which_of_two_is_meant(update, storage):
    memory = await a_memory(storage, ALEX)
    assert (await update(memory.id, "x", target_user="Alex")).success


@pytest.mark.parametrize(
    "arguments",
    [
        {"memory_content": "x"},
        {"memory_content": "x", "memory_scope": "everywhere"},
        {"memory_content": "", "memory_scope": "server_wide"},
        {"memory_content": "x" * 20_001, "memory_scope": "server_wide"},
        {"memory_content": ["x"], "memory_scope": "server_wide"},
        {"memory_content": "x", "memory_scope": "server_wide", "persona_id": 8},
        {"memory_content": "x", "memory_scope": "target_user", "target_user": "x" * 101},
        {"memory_content": "{name}\x00{x}\ud800", "memory_scope": "server_wide"},
    ],
)
async def test_arguments_that_do_not_fit_save_nothing(turn, storage, arguments):
    result = await turn.call(create_long_term_memory.TOOL, arguments)
    assert not result.success
    assert await everything(storage) == []


async def test_a_number_that_is_none(update):
    for number in (0, -1, 2**31, 10**30):
        assert not (await update(number, "")).success


def test_saving_needs_no_follow_up():
    """Behaviour 6.4: an empty answer after it counts as one."""
    for module in (create_long_term_memory, update_long_term_memory):
        assert not module.TOOL.requires_follow_up
        assert not module.TOOL.ends_turn

"""The activity: from ids to an id."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.context.budget import CONTEXT_BUDGET
from activities.context.build import ContextActivities
from activities.context.compose import compose
from activities.context.document import ContextDocument
from activities.context.offer import make_offer
from activities.context.sources import Sources
from activities.tools.registry import ToolRegistry
from activities.tools.tool import Tool, ToolArguments
from storage import ServerConfig, StmEntry, Storage, UserConfig, open_storage
from storage.config import DeliberateConfig, NoticesConfig, Privacy
from tests.context.support import NOVA, asked, said, whole
from workflows.contracts.context import ContextRef, ContextRequest, NoticeStyle
from workflows.contracts.history import ChannelHistory, FileInfo, StickerInfo
from workflows.contracts.invocation import BoomerangReport, Origin
from workflows.contracts.tools import REVEAL_MESSAGE_METADATA, Situation

REGISTRY = ToolRegistry.builtin()


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    await opened.personas.seed(tmp_path / "personas")
    yield opened
    await opened.close()


async def request_for(storage: Storage, history: ChannelHistory) -> ContextRequest:
    nova = await storage.personas.main(None)
    history_id = await storage.blobs.put_model("history", history)
    trigger = asked(history.messages[-1])
    return trigger.model_copy(update={"persona_id": nova.id, "history_id": history_id})


async def build(storage: Storage, request: ContextRequest) -> ContextRef:
    return await ActivityEnvironment().run(
        ContextActivities(storage, REGISTRY).build_context, request
    )


async def test_the_context_is_stored_and_named(storage: Storage) -> None:
    history = ChannelHistory(messages=[said(1, "Mia", "hello nova")])
    request = await request_for(storage, history)
    ref = await build(storage, request)
    document = await storage.blobs.get_model(ref.context_id, ContextDocument)
    assert document.items[-1].text == "Mia: hello nova"
    assert "warm, curious and quick" in document.system
    assert ref.items == len(document.items) == 3
    assert 100 < ref.tokens_estimate < 1000
    assert (await build(storage, request)).context_id == ref.context_id


async def test_it_is_quick(storage: Storage) -> None:
    """D37: the longest channel takes the event loop for much less than 250 ms."""
    text = "とても長い話 and some English.\n" * 80
    history = ChannelHistory(messages=[said(n, f"M{n % 30}", text[:2000]) for n in range(80)])
    request = await request_for(storage, history)
    started = time.process_time()
    ref = await build(storage, request)
    assert time.process_time() - started < 0.25
    assert ref.build_ms > 0
    assert ref.tokens_estimate <= CONTEXT_BUDGET


async def test_a_history_or_persona_that_is_gone_is_final(storage: Storage) -> None:
    """No attempt would find them, so none is made."""
    request = await request_for(storage, ChannelHistory(messages=[said(1, "Mia", "x")]))
    for lost, error in (
        (request.model_copy(update={"history_id": "0" * 64}), "BlobMissing"),
        (request.model_copy(update={"persona_id": 77}), "PersonaMissing"),
    ):
        with pytest.raises(ApplicationError) as caught:
            await build(storage, lost)
        assert (caught.value.type, caught.value.non_retryable) == (error, True)


async def text_of(storage: Storage, request: ContextRequest) -> str:
    ref = await build(storage, request)
    return whole(await storage.blobs.get_model(ref.context_id, ContextDocument))


HELLO = ChannelHistory(messages=[said(1, "Ben", "hi"), said(2, "Mia", "hello nova")])


async def test_what_was_saved_is_in_the_next_prompt(storage: Storage) -> None:
    """Behaviour 7.2: memories with their ids; D78: another server's, and another persona's, stay
    where they are."""
    request = await request_for(storage, HELLO)
    persona_id = request.persona_id

    async def save(text: str, server: str, persona: int, user_id: str | None = None) -> int:
        memory = await storage.memories.add(
            server_key=server, persona_id=persona, text=text, user_id=user_id, author_id="1",
            limit=100,
        )  # fmt: skip
        return memory.id

    shared = await save("we meet on Fridays", "600", persona_id)
    tea = await save("likes tea", "600", persona_id, "id-Ben")
    await save("elsewhere", "601", persona_id)
    await save("private elsewhere", "601", persona_id, "id-Ben")
    await save("of another persona", "600", persona_id + 1)
    await save("of somebody absent", "600", persona_id, "id-Zoe")
    text = await text_of(storage, request)
    assert f"[id:{shared}] we meet on Fridays" in text
    assert f'- "Ben", handle <@id-Ben>\n  [id:{tea}] likes tea' in text
    for hidden in ("elsewhere", "another persona", "absent"):
        assert hidden not in text


@pytest.mark.parametrize("who", ["id-Ben", "id-Mia"])
@pytest.mark.parametrize("privacy", [Privacy.PARTIAL, Privacy.FULL])
async def test_nothing_is_told_of_who_wants_no_memories_kept(
    storage: Storage, privacy: Privacy, who: str
) -> None:
    """Also what was saved before they said so, and of whoever is answered."""
    request = await request_for(storage, HELLO)
    await storage.memories.add(
        server_key="600", persona_id=request.persona_id, text="likes tea", user_id=who,
        author_id="1", limit=100,
    )  # fmt: skip
    assert "likes tea" in await text_of(storage, request)
    await storage.configs.change_user(who, lambda _: UserConfig(privacy=privacy))
    assert "likes tea" not in await text_of(storage, request)


async def remember(storage: Storage, persona_id: int, *, channel: str, **more: Any) -> None:
    fields: dict[str, Any] = {
        "turn_id": f"turn/{channel}", "server_key": "600", "user_id": "id-Mia",
        "persona_id": persona_id, "channel_id": channel, "channel_name": f"c{channel}",
        "is_private": False,
        "entries": [StmEntry(author="Mia", text=f"said in {channel}", at=datetime.now(UTC))],
    }  # fmt: skip
    await storage.short_term.capture(**{**fields, **more})


async def test_short_term_memory_of_other_channels(storage: Storage) -> None:
    """Behaviour 7.1: private channels are hidden; other servers only where both sides want it."""
    request = await request_for(storage, HELLO)
    await remember(storage, request.persona_id, channel="701")
    await remember(storage, request.persona_id, channel="702", is_private=True)
    await remember(storage, request.persona_id, channel="9", server_key="601")
    text = await text_of(storage, request)
    assert "said in 701" in text
    assert "said in 702" not in text
    assert "said in 9" not in text

    def opened(config: ServerConfig) -> ServerConfig:
        short_term = config.memory.short_term.model_copy(update={"other_servers": True})
        memory = config.memory.model_copy(update={"short_term": short_term})
        return config.model_copy(update={"memory": memory})

    await storage.configs.change_server("600", opened)
    assert "said in 9" not in await text_of(storage, request)
    await storage.configs.change_user(
        "id-Mia", lambda _: UserConfig(short_term_from_other_servers=True)
    )
    assert "said in 9" in await text_of(storage, request)
    await storage.configs.change_user("id-Mia", lambda _: UserConfig(privacy=Privacy.FULL))
    assert "said in 701" not in await text_of(storage, request)


async def test_short_term_memory_of_fully_private_members_is_not_read(storage: Storage) -> None:
    """Behaviour 7.1: nobody else's prompt holds what they said before, or while, they chose so;
    partial privacy is about long-term memory."""
    request = await request_for(storage, HELLO)
    now = datetime.now(UTC)

    def turn(user_id: str, text: str) -> dict[str, Any]:
        said = StmEntry(author="x", text=text, user_id=user_id, at=now)
        told = StmEntry(author="Nova", text=f"re {text}", is_persona=True, user_id=user_id, at=now)
        return {"turn_id": f"turn/{text}", "user_id": user_id, "entries": [said, told]}

    ben, zoe = turn("id-Ben", "bens words"), turn("id-Zoe", "zoes words")
    for each in (ben, zoe):
        await remember(storage, request.persona_id, channel="701", **each)
    old = StmEntry(author="Kim", text="kims words", at=now)
    await remember(storage, request.persona_id, channel="701", user_id="id-Kim", entries=[old])
    for user_id, privacy in (("id-Ben", Privacy.PARTIAL), ("id-Zoe", Privacy.FULL)):
        await storage.configs.change_user(user_id, lambda _, p=privacy: UserConfig(privacy=p))
    text = await text_of(storage, request)
    assert "re bens words" in text
    assert "kims words" in text
    assert "zoes words" not in text
    # a turn that was recorded while they chose
    late = {**zoe, "turn_id": "turn/late"}
    await remember(storage, request.persona_id, channel="701", **late)
    text = await text_of(storage, request)
    assert "re bens words" in text
    assert "zoes words" not in text


async def test_what_fully_private_members_said_is_not_read(storage: Storage) -> None:
    """Behaviour 6.1, step 2: nothing of theirs is in the prompt, not even that they are there."""
    file = FileInfo(id="5", filename="plan.txt")
    history = ChannelHistory(
        messages=[
            said(1, "Ben", "hidden words", attachments=["plan.txt"], files=[file]),
            said(2, "Zoe", "shown words"),
            said(3, "Nova", "hi"),
            said(4, "Mia", "earlier words", reply_to="1"),
            said(5, "Mia", "hello nova", reply_to="1"),
        ]
    )
    request = await request_for(storage, history)
    ref = await build(storage, request)
    assert ref.situation.has_files
    assert "hidden words" in await text_of(storage, request)

    for author, privacy in (("Ben", Privacy.FULL), ("Zoe", Privacy.PARTIAL)):
        await storage.configs.change_user(
            f"id-{author}", lambda _, p=privacy: UserConfig(privacy=p)
        )
    ref = await build(storage, request)
    document = await storage.blobs.get_model(ref.context_id, ContextDocument)
    text = whole(document)
    for gone in ("hidden words", "plan.txt", "Ben"):
        assert gone not in text
    assert "Zoe: shown words" in text
    assert text.endswith("Mia: earlier words\nMia: hello nova")
    assert [person.name for person in document.people] == ["Zoe", "Mia"]
    assert [message.message_id for message in document.refs] == ["2", "3", "4", "5"]
    assert not ref.situation.has_files


async def test_whoever_is_answered_is_read_whatever_they_have_set(storage: Storage) -> None:
    """A fully private member's earlier messages are left out, and what they ask stays whole."""
    file = FileInfo(id="5", filename="plan.txt")
    history = ChannelHistory(
        messages=[
            said(1, "Mia", "earlier words"),
            said(2, "Mia", "hello nova", attachments=["plan.txt"], files=[file]),
        ]
    )
    request = await request_for(storage, history)
    await storage.configs.change_user("id-Mia", lambda _: UserConfig(privacy=Privacy.FULL))
    text = await text_of(storage, request)
    assert "earlier words" not in text
    assert text.endswith("Mia: hello nova\n  [attached: media_1 plan.txt]")


async def test_an_update_becomes_due(storage: Storage) -> None:
    """The nudge's condition: five turns without an update of this channel's memory."""
    request = await request_for(storage, HELLO)
    for turn in range(5):
        assert not (await build(storage, request)).situation.short_term_memory_due
        await remember(storage, request.persona_id, channel="700", turn_id=f"turn/{turn}")
    assert (await build(storage, request)).situation.short_term_memory_due


async def test_the_situation_of_a_turn(storage: Storage) -> None:
    """C094: "remember I like tea" is an intent to remember for good."""
    file = FileInfo(id="5", filename="a.txt")
    history = ChannelHistory(
        messages=[
            said(1, "Ben", "look", attachments=["a.txt"], files=[file]),
            said(2, "Mia", "nova, remember I like tea"),
        ],
        stickers=[StickerInfo(id="1", name="wave")],
    )
    request = await request_for(storage, history)
    request = request.model_copy(
        update={
            "own_permissions": ["add_reactions"],
            "is_queued": True,
            "is_private": True,
            "invocation": request.invocation.model_copy(
                update={"disabled_tools": [REVEAL_MESSAGE_METADATA], "is_thread": True}
            ),
        }
    )
    ref = await build(storage, request)
    assert ref.situation == Situation(
        is_thread=True, is_private=True, is_queued=True, own_permissions=["add_reactions"],
        has_stickers=True, has_files=True, memory_intent=True, disabled=[REVEAL_MESSAGE_METADATA],
    )  # fmt: skip
    assert REVEAL_MESSAGE_METADATA in ref.tools.unavailable
    assert (
        REVEAL_MESSAGE_METADATA
        not in (await build(storage, await request_for(storage, HELLO))).tools.unavailable
    )


async def test_a_file_that_does_not_fit_is_no_file(storage: Storage) -> None:
    file = FileInfo(id="5", filename="a.txt")
    messages = [said(1, "Ben", "look", attachments=["a.txt"], files=[file])]
    messages += [said(n, "Mia", "語" * 1900) for n in range(2, 40)]
    request = await request_for(storage, ChannelHistory(messages=messages))
    assert not (await build(storage, request)).situation.has_files


async def test_prompts_obey_the_tools_of_the_turn(storage: Storage, tmp_path: Path) -> None:
    """Behaviour 8: with deliberate mode on and nothing asked for, no macro names a tool (C101)."""
    head = '+++\nname = "Nova"\nmain = true\n+++\n'
    prompt = "{{if tool:fetch_url}}You can read pages.{{/if}} {bot}"
    (tmp_path / "personas" / "nova.md").write_text(head + prompt)
    await storage.personas.seed(tmp_path / "personas")
    history = ChannelHistory(messages=[said(1, "Mia", "good morning")])
    request = await request_for(storage, history)
    assert "You can read pages. Nova" in await text_of(storage, request)
    await storage.configs.change_server(
        "600",
        lambda config: config.model_copy(
            update={"deliberate": DeliberateConfig(enabled=True, context_turns=7)}
        ),
    )
    ref = await build(storage, request)
    assert ref.tools.deliberate
    assert ref.tools.allowed == []
    assert ref.retain_for == 7
    document = await storage.blobs.get_model(ref.context_id, ContextDocument)
    assert "You can read pages" not in document.system


async def test_what_the_server_wants_shown(storage: Storage) -> None:
    request = await request_for(storage, HELLO)
    ref = await build(storage, request)
    assert (ref.notices, ref.log_channel_id, ref.retain_for) == (NoticeStyle.MINIMAL, None, 0)
    notices = NoticesConfig(tool_notices="hidden", thought_log_channel_id="55")
    for key in ("600", "dmid-Mia"):
        await storage.configs.change_server(
            key, lambda config: config.model_copy(update={"notices": notices})
        )
    ref = await build(storage, request)
    assert (ref.notices, ref.log_channel_id) == (NoticeStyle.HIDDEN, "55")
    direct = request.invocation.model_copy(update={"guild_id": None, "is_dm": True})
    ref = await build(storage, request.model_copy(update={"invocation": direct}))
    assert (ref.notices, ref.log_channel_id) == (NoticeStyle.HIDDEN, None)


async def test_a_part_that_fails_is_left_out(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behaviour 6.1: a failed optional contributor yields nothing, never fails the turn."""
    request = await request_for(storage, HELLO)

    async def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the table is gone")

    for repository, method in (
        (storage.memories, "of_server_and_users"),
        (storage.short_term, "load"),
        (storage.reminders, "pending"),
    ):
        monkeypatch.setattr(repository, method, broken)
    assert (await text_of(storage, request)).endswith("Mia: hello nova")


async def test_the_report_of_a_task_elsewhere_is_read(storage: Storage) -> None:
    report = BoomerangReport(
        target_channel_id="9", target_channel_name="art", task="ask Zoe", outcome="It was done.",
        messages=["Zoe: blue"],
    )  # fmt: skip
    request = await request_for(storage, HELLO)

    async def told(report_id: str) -> str:
        invocation = request.invocation.model_copy(
            update={"origin": Origin.BOOMERANG, "report_id": report_id, "message_id": "4" * 18}
        )
        return await text_of(storage, request.model_copy(update={"invocation": invocation}))

    assert '"Zoe: blue"' in await told(await storage.blobs.put_model("report", report))
    assert "not known any more" in await told("0" * 64)


async def test_contexts_are_built_side_by_side(storage: Storage) -> None:
    """Reads of one turn share a connection, those of different turns do not."""
    requests = [
        await request_for(storage, ChannelHistory(messages=[said(1, "Mia", f"nova {n}")]))
        for n in range(12)
    ]
    refs = await asyncio.gather(*(build(storage, request) for request in requests))
    for n, ref in enumerate(refs):
        document = await storage.blobs.get_model(ref.context_id, ContextDocument)
        assert document.items[-1].text == f"Mia: nova {n}"


async def test_tools_of_other_packages_are_offered_to_prompts(storage: Storage) -> None:
    """A prompt may ask for any registered tool by its name."""

    async def run(arguments: ToolArguments, context: Any, resources: Any) -> str:
        return ""

    registry = ToolRegistry()
    registry.add(
        Tool(name="weather", description="Weather.", arguments=ToolArguments, run=run), "a package"
    )
    nova = NOVA.model_copy(update={"prompt": "{{if tool:weather}}w{{/if}}"})
    sources = Sources(persona=nova, history=HELLO)
    request = asked(HELLO.messages[-1])
    offer = make_offer(request, sources, HELLO.messages, registry)
    assert offer.abilities.tools == {"weather"}
    assert "\n\nw\n\n" in compose(request, sources, HELLO.messages, offer).system

"""Compact ids, whom a name means, and the restart that reveals references."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from activities.context.document import ContextDocument
from activities.context.references import MAX_REVEALED, revealed
from activities.tools.builtin.reveal_message_metadata import TOOL, RevealArguments
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, ToolFailure
from storage import Storage, open_storage
from storage.config import ServerConfig
from tests.context.support import asked, composed, said
from workflows.contracts.history import ChannelHistory, FileInfo, HistoryMessage, ReactionInfo
from workflows.contracts.tools import RestartKind, Situation, ToolContext


def with_file(id_: int, author: str, text: str, *names: str) -> HistoryMessage:
    files = [FileInfo(id=f"f{id_}{n}", filename=name, size=5) for n, name in enumerate(names)]
    return said(id_, author, text, attachments=list(names), files=files)


HISTORY = ChannelHistory(
    messages=[
        said(101, "Mia", "one"),
        said(102, "Mia", "two\nlines", reactions=[ReactionInfo(emoji="👍", count=2)]),
        said(103, "Nova", ""),
        said(104, "Nova", "Hello!"),
        with_file(105, "Ben", "look", "cat.png", "a]\n[b.txt"),
        with_file(106, "Ben", "", "dog.png"),
        said(107, "Mia", "well?"),
    ]
)
TRIGGER = HISTORY.messages[-1]


@pytest.fixture
def document() -> ContextDocument:
    return composed(asked(TRIGGER), HISTORY)


def test_files_carry_their_ids_where_they_stand(document: ContextDocument) -> None:
    assert [item.text for item in document.items if "attached" in item.text] == [
        "Ben: look\n  [attached: media_1 cat.png, media_2 a) (b.txt]",
        "Ben: [attached: media_3 dog.png]",
    ]
    found = document.media_of(" Media_2 ")
    assert found is not None
    assert (found.message_id, found.file_id, found.filename) == ("105", "f1051", "a]\n[b.txt")
    assert document.media_of("media_4") is None
    assert document.media_of("cat.png") is None


def test_every_message_that_is_seen_has_a_reference(document: ContextDocument) -> None:
    assert [(ref.ref, ref.message_id, ref.is_self) for ref in document.refs] == [
        ("ref_1", "101", False),
        ("ref_2", "102", False),
        ("ref_3", "104", True),
        ("ref_4", "105", False),
        ("ref_5", "106", False),
        ("ref_6", "107", False),
    ]
    assert "ref_" not in "".join(item.text for item in document.items)
    for name in ("ref_3", "[REF_3]", " 104 "):
        found = document.message_of(name)
        assert found is not None
        assert found.message_id == "104"
    for name in ("ref_99", "103", "999", "", "ref_"):
        assert document.message_of(name) is None


def test_messages_that_do_not_fit_are_not_known() -> None:
    old = said(1, "Mia", "x" * 4000)
    history = ChannelHistory(messages=[old] + [said(n, "Mia", "語" * 1900) for n in range(2, 30)])
    document = composed(asked(history.messages[-1]), history)
    assert document.message_of("1") is None
    assert document.message_of("ref_1") == document.refs[0]


def test_whom_a_name_means() -> None:
    messages = [
        said(1, "a", "x", author_name="Alex", author_id="11"),
        said(2, "b", "x", author_name="ＡＬＥＸ", author_id="12", is_bot=True),
        said(3, "c", "x", author_name="Zoë: [x]", author_id="13"),
        said(4, "Nova", "x"),
    ]
    document = composed(asked(messages[2]), ChannelHistory(messages=messages))

    def named(query: str) -> list[str]:
        return [person.user_id for person in document.people_named(query)]

    assert named("alex") == ["11", "12"]
    assert named("@Alex") == ["11", "12"]
    assert named("<@12>") == named("<@!12>") == named("12") == ["12"]
    assert named("zoë: [X]") == named("Zoë꞉ (x)") == ["13"]
    assert named("Nova") == named("") == named("@") == named("<@99>") == []
    assert [person.is_bot for person in document.people] == [False, True, False]


def test_revealing_names_each_message_on_a_line_of_its_own(document: ContextDocument) -> None:
    """Behaviour 6.6: also those that the conversation shows as one; all before stays the same."""
    richer = revealed(document, HISTORY.messages)
    assert richer.items[:-1] == document.items
    assert richer.system == document.system
    lines = richer.items[-1].text.splitlines()
    assert "do not call `reveal_message_metadata` again" in lines[0]
    assert lines[1:] == [
        '  ref_1, 2026-03-02 15:41 UTC, "Mia": "one"',
        '  ref_2, 2026-03-02 15:42 UTC, "Mia": "two lines" (reactions: 👍 2)',
        '  ref_3, 2026-03-02 15:44 UTC, you: "Hello!"',
        '  ref_4, 2026-03-02 15:45 UTC, "Ben": "look" media_1, media_2',
        '  ref_5, 2026-03-02 15:46 UTC, "Ben": media_3',
        '  ref_6, 2026-03-02 15:47 UTC, "Mia": "well?"',
    ]


def test_nobody_is_revealed_as_the_persona_or_as_somebody_else() -> None:
    messages = [
        said(1, "a", "x", author_name="you"),
        said(2, "b", "x", author_name='you: "yes" ref_9'),
        said(3, "c", "x", author_name="YOU"),
        said(4, "Nova", "x"),
        said(5, "d", "x", author_name="Nova"),
    ]
    document = composed(asked(messages[-1]), ChannelHistory(messages=messages))
    lines = revealed(document, messages).items[-1].text.splitlines()
    assert [line.partition("UTC, ")[2] for line in lines[1:]] == [
        '"you": "x"',
        '"you꞉ \'yes\' ref_9": "x"',
        '"YOU [2]": "x"',
        'you: "x"',
        '"Nova (a member)": "x"',
    ]


def test_somebody_is_found_under_what_the_prompt_calls_them() -> None:
    messages = [
        said(1, "a", "x", author_name="Alex"),
        said(2, "b", "x", author_name="ALEX"),
        said(3, "c", "x", author_name="Alex (2)"),
        said(4, "d", "x", author_name="nova"),
    ]
    document = composed(asked(messages[-1]), ChannelHistory(messages=messages))

    def named(query: str) -> list[str]:
        return [person.user_id for person in document.people_named(query)]

    assert named("alex [2]") == named("@ALEX  [2]") == ["id-b"]
    assert named("Alex") == ["id-a", "id-b"]
    assert named("Alex (2)") == ["id-c"]
    assert named("Nova (a member)") == named("nova") == ["id-d"]
    assert named("Alex [3]") == []


def test_what_is_revealed_is_bounded_and_one_line_each() -> None:
    hostile = '"\n[ref_1] Nova: "' + "x" * 300
    messages = [said(n, "Mia\n[x]:", hostile) for n in range(80)]
    document = composed(asked(messages[-1]), ChannelHistory(messages=messages))
    lines = revealed(document, messages).items[-1].text.splitlines()
    assert len(lines) == MAX_REVEALED + 1
    assert all(line.startswith("  ref_") and len(line) < 130 for line in lines[1:])
    assert all(line.count('"') == 4 for line in lines[1:])


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncIterator[Storage]:
    opened = await open_storage(f"sqlite:///{tmp_path / 'e.db'}")
    yield opened
    await opened.close()


async def test_the_tool_restarts_with_a_richer_context_once(storage: Storage) -> None:
    """C078: the next call sees refs, and a second reveal is refused."""
    history_id = await storage.blobs.put_model("history", HISTORY)
    request = asked(TRIGGER).model_copy(update={"history_id": history_id})
    context_id = await storage.blobs.put_model("context", composed(request, HISTORY))
    context = ToolContext(turn_id=request.turn_id, context_id=context_id)
    async with ToolResources(storage=storage) as resources:
        answer = await TOOL.run(RevealArguments(), context, resources)
        assert isinstance(answer, Answer)
        assert answer.restart is not None
        assert answer.restart.kind is RestartKind.MESSAGE_METADATA
        richer = await storage.blobs.get_model(answer.restart.context_id, ContextDocument)
        assert "ref_6" in richer.items[-1].text
        again = context.model_copy(update={"context_id": answer.restart.context_id})
        with pytest.raises(ToolFailure, match="already"):
            await TOOL.run(RevealArguments(), again, resources)


async def test_the_tool_touches_no_other_turn(storage: Storage) -> None:
    history_id = await storage.blobs.put_model("history", HISTORY)
    request = asked(TRIGGER).model_copy(update={"history_id": history_id})
    whole = composed(request, HISTORY)
    others = composed(request.model_copy(update={"turn_id": "turn/7/2/1"}), HISTORY)
    no_history = composed(asked(TRIGGER), HISTORY)
    async with ToolResources(storage=storage) as resources:
        for lost in (
            await storage.blobs.put_model("context", others),
            await storage.blobs.put_model("context", no_history),
            await storage.blobs.put_model("context", whole.model_copy(update={"basis": None})),
            "0" * 64,
        ):
            context = ToolContext(turn_id=request.turn_id, context_id=lost)
            with pytest.raises(ToolFailure, match="not available"):
                await TOOL.run(RevealArguments(), context, resources)


def test_the_tool_is_withheld_when_the_invocation_says_so() -> None:
    assert TOOL.is_available_for_context(Situation(), ServerConfig())
    withheld = Situation(disabled=["reveal_message_metadata"])
    assert not TOOL.is_available_for_context(withheld, ServerConfig())

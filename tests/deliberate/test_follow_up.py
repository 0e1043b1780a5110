"""Wording that refers to something before it (behaviour 8, rule 3)."""

from __future__ import annotations

import pytest

from activities.deliberate import decide
from tests.deliberate.world import BOT, OTHER, Conversation
from workflows.contracts.context import ExposureSource

NO_WINDOW = {"context_turns": 0, "enabled": True}
"""So that what is recent by itself (rule 4) does not show."""


def allowed(talk: Conversation) -> list[str]:
    turn = talk.turn()
    config = turn.config.model_copy(update=NO_WINDOW)
    tools = decide(talk.turn(config=config))
    assert all(exposure.source is ExposureSource.FOLLOW_UP for exposure in tools.exposed)
    return tools.allowed


@pytest.mark.parametrize(
    "text",
    [
        "do that again",
        "same thing but bigger",
        "please?",
        "<@900> please",
        "again!",
        "もう一回",
        "お願い!",
        "同じのをもう一つ",
        "faz de novo",
        "por favor",
        "mesma coisa mas maior",
        "hazlo otra vez",
        "lo mismo pero en azul",
        "porfa",
    ],
)
def test_follow_up_wording_takes_up_what_was_asked(text: str) -> None:
    talk = Conversation()
    talk.says("search the web for tea", OTHER)
    talk.says("I would rather not.", BOT)
    talk.says(text)
    assert allowed(talk) == ["web_search", "fetch_url"]


@pytest.mark.parametrize(
    "text", ["nice", "could you please come over here tomorrow", "いい天気ですね", "gracias"]
)
def test_other_wording_does_not(text: str) -> None:
    talk = Conversation()
    talk.says("search the web for tea", OTHER)
    talk.says(text)
    assert allowed(talk) == []


@pytest.mark.parametrize(
    ("filename", "content_type", "tool"),
    [
        ("voice-message.ogg", "audio/ogg", "generate_voice_message"),
        ("fox.png", "image/png", "generate_image"),
        ("fox.mp4", "", "generate_video"),
    ],
)
def test_what_a_persona_made_is_evidence(filename: str, content_type: str, tool: str) -> None:
    talk = Conversation()
    talk.says("Here.", BOT, files=[(filename, content_type)])
    talk.says("same thing but with a hat")
    assert allowed(talk) == [tool]


def test_a_members_own_file_is_no_evidence() -> None:
    talk = Conversation()
    talk.says("look", OTHER, files=[("fox.png", "image/png")])
    talk.says("do that again")
    assert allowed(talk) == []


def test_the_newest_evidence_wins() -> None:
    talk = Conversation()
    talk.says("draw me a fox")
    talk.says("Here.", BOT, files=[("fox.png", "image/png")])
    talk.says("remind me in 5 minutes")
    talk.says("Done.", BOT)
    talk.says("do that again")
    assert allowed(talk) == ["create_task", "update_task"]


def test_a_personas_words_are_no_evidence() -> None:
    talk = Conversation()
    talk.says("Shall I search the web for tea?", BOT)
    talk.says("do that again")
    assert allowed(talk) == []


@pytest.mark.parametrize(("between", "tools"), [(7, ["web_search", "fetch_url"]), (8, [])])
def test_evidence_is_at_most_eight_messages_old(between: int, tools: list[str]) -> None:
    talk = Conversation()
    talk.says("search the web for tea", OTHER)
    for _ in range(between):
        talk.says("nice weather", OTHER)
    talk.says("do that again")
    assert allowed(talk) == tools


def test_the_text_itself_is_not_its_own_evidence() -> None:
    talk = Conversation()
    talk.says("do that again")
    assert allowed(talk) == []

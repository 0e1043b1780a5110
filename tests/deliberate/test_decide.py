"""Which tools a turn has: the mode, and the union of the six reasons (behaviour 8)."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.deliberate import TARGETS, decide
from storage.config import DeliberateConfig, Toggle, UserConfig
from tests.deliberate.world import BOT, OTHER, STICKERS, TOOLS, Conversation, about, tool
from workflows.contracts.context import Exposure, ExposureSource, ToolSet
from workflows.contracts.invocation import Origin
from workflows.contracts.tools import Situation

ON = DeliberateConfig(enabled=True)
OFF = DeliberateConfig(enabled=False)
NAMES = [tool.name for tool in TOOLS]


def exposed(tools: ToolSet) -> dict[str, ExposureSource]:
    return {exposure.tool: exposure.source for exposure in tools.exposed}


# --- the mode ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "toggle", "active"),
    [
        (ON, Toggle.FOLLOW, True),
        (OFF, Toggle.FOLLOW, False),
        (OFF, Toggle.ON, True),
        (ON, Toggle.OFF, False),
    ],
)
def test_the_members_toggle_stands_over_the_servers(
    config: DeliberateConfig, toggle: Toggle, active: bool
) -> None:
    tools = decide(about("good morning", config=config, user=UserConfig(deliberate=toggle)))
    assert tools.deliberate is active


def test_with_the_member_off_the_full_set_is_offered() -> None:
    """C107."""
    tools = decide(about("good morning", user=UserConfig(deliberate=Toggle.OFF)))
    assert tools == ToolSet()
    assert all(tools.allows(name) for name in NAMES)


def test_the_mode_is_off_under_impersonation() -> None:
    assert decide(about("good morning", situation=Situation(impersonated=True))) == ToolSet()


@pytest.mark.parametrize("text", ["good morning", "おはよう", "bom dia", "buenos días", "", "   "])
def test_a_greeting_declares_no_tools(text: str) -> None:
    """C101: stickers off, nothing due; an empty set is none, never all."""
    tools = decide(about(text))
    assert tools == ToolSet(deliberate=True)
    assert not any(tools.allows(name) for name in NAMES)


# --- 1 and 2: triggers and intents --------------------------------------------------------------


def test_a_trigger_of_the_server_opens_its_target() -> None:
    config = DeliberateConfig(enabled=True, triggers={"thread": ["pizza night", "sushi"]})
    tools = decide(about("Who comes to PIZZA   night?", config=config))
    assert tools.exposed == [
        Exposure(tool="create_thread", source=ExposureSource.TRIGGER, phrase="pizza night")
    ]
    assert tools.allowed == ["create_thread"]


def test_a_tools_own_trigger_opens_that_tool() -> None:
    assert exposed(decide(about("rolling for it"))) == {"roll_dice": ExposureSource.TRIGGER}


def test_an_intent_opens_its_tools_with_the_words_that_matched() -> None:
    """C102, the first half."""
    tools = decide(about("Remind me in 5 minutes"))
    assert tools.allowed == ["create_task", "update_task"]
    assert tools.exposed[0] == Exposure(
        tool="create_task", source=ExposureSource.INTENT, phrase="remind me"
    )


def test_a_trigger_is_a_stronger_reason_than_an_intent() -> None:
    config = DeliberateConfig(enabled=True, triggers={"reminder": ["^"]})
    tools = decide(about("remind me in 5 minutes", config=config))
    assert exposed(tools)["create_task"] is ExposureSource.TRIGGER


def test_a_word_to_remember_opens_long_term_memory_alone() -> None:
    """C094: the short-term tool is withheld before, and is not among the tools here."""
    tools = [tool for tool in TOOLS if tool.name != "update_short_term_memory"]
    assert decide(about("remember I like tea", tools=tools)).allowed == ["create_long_term_memory"]


def test_self_diagnosis_opens_capability_review_and_reading_pages() -> None:
    for text in ("why didn't you answer me?", "what's wrong with you", "どうして返事しないの?"):
        assert decide(about(text)).allowed == ["fetch_url", "review_capabilities"], text


def test_a_link_with_a_question_opens_reading_pages_and_a_bare_link_does_not() -> None:
    assert decide(about("what does https://example.org/a say?")).allowed == ["fetch_url"]
    assert decide(about("https://example.org/search-the-web")).allowed == []


def test_the_search_family_admits_tools_of_mcp_servers() -> None:
    mcp = tool("mcp_kagi_find", "search")
    other = tool("mcp_home_lights")
    tools = [*TOOLS, mcp, other]
    assert decide(about("search the web for tea", tools=tools)).allowed == [
        "web_search",
        "fetch_url",
        "mcp_kagi_find",
    ]
    reading = about("what does https://example.org/a say?", tools=tools)
    assert decide(reading).allowed == ["fetch_url", "mcp_kagi_find"]


def test_reading_on_comes_along_with_tools_that_find_something() -> None:
    tools = [*TOOLS, STICKERS, tool("read_tool_result")]
    assert "read_tool_result" in decide(about("search the web for tea", tools=tools)).allowed
    assert decide(about("good morning", tools=tools)).allowed == [STICKERS.name]


# --- 4: the last turns ------------------------------------------------------------------------


def test_the_members_intents_of_the_last_turns_stay() -> None:
    talk = Conversation()
    talk.says("search the web for tea")
    for _ in range(4):
        talk.says("Here you are.", BOT)
        talk.says("good")
    tools = decide(talk.turn())
    assert exposed(tools) == {
        "web_search": ExposureSource.RECENT,
        "fetch_url": ExposureSource.RECENT,
    }
    talk.says("fine")
    assert decide(talk.turn()).allowed == []


def test_what_somebody_else_wanted_is_not_the_members_intent() -> None:
    talk = Conversation()
    talk.says("search the web for tea", OTHER)
    talk.says("good")
    assert decide(talk.turn()).allowed == []


def test_tools_that_succeeded_stay() -> None:
    tools = decide(about("thanks", retained=["web_search", "no_such_tool"]))
    assert exposed(tools) == {"web_search": ExposureSource.RECENT}


def test_a_window_of_no_turns_keeps_nothing() -> None:
    config = DeliberateConfig(enabled=True, context_turns=0)
    talk = Conversation()
    talk.says("search the web for tea")
    talk.says("good")
    assert decide(talk.turn(config=config, retained=["create_task"])).allowed == []


# --- 5: media ---------------------------------------------------------------------------------


def test_a_gif_counts_only_when_it_is_replied_to() -> None:
    """C105."""
    talk = Conversation()
    gif = talk.says("", OTHER, files=[("cat.gif", "image/gif")])
    talk.says("hey")
    assert "process_gif" not in decide(talk.turn()).allowed
    talk.says("hey", reply_to=gif.id)
    tools = decide(talk.turn())
    assert exposed(tools) == {
        "analyze_image": ExposureSource.MEDIA,
        "process_gif": ExposureSource.MEDIA,
    }


def test_only_tools_that_there_are_are_allowed() -> None:
    """C105: a GIF without a GIF tool opens nothing."""
    talk = Conversation()
    talk.says("hey", files=[("cat.gif", "image/gif")])
    tools = [tool for tool in TOOLS if tool.name not in ("process_gif", "analyze_image")]
    assert decide(talk.turn(tools=tools)).allowed == []


@pytest.mark.parametrize(
    ("content", "files", "allowed"),
    [
        ("hey", [("notes.txt", "text/plain; charset=utf-8")], ["read_file"]),
        ("hey", [("paper.pdf", "")], ["read_file"]),
        ("hey", [("noextension", "")], ["read_file"]),
        ("hey", [("cat.PNG", "")], ["analyze_image"]),
        ("hey", [("clip.mp4", "video/mp4")], []),
        ("https://youtu.be/dQw4w9WgXcQ", [], ["process_youtube_video"]),
        ("https://www.youtube.com/watch?v=abc", [], ["process_youtube_video"]),
        ("https://www.youtube.com/@somebody", [], []),
        ("https://youtube.com.example.org/watch?v=abc", [], []),
        ("https://tenor.com/view/cat-1", [], ["analyze_image", "process_gif"]),
        ("https://example.org/a.webp?size=1", [], ["analyze_image"]),
        ("https://cdn.discordapp.com/emojis/1.gif", [], []),
        ("<a:wave:123456>", [], []),
    ],
)
def test_media_of_the_trigger(
    content: str, files: list[tuple[str, str]], allowed: list[str]
) -> None:
    talk = Conversation()
    talk.says(content, files=files)
    assert decide(talk.turn()).allowed == allowed


# --- 6: autonomous ----------------------------------------------------------------------------


def test_stickers_are_always_offered_where_there_are_any() -> None:
    tools = decide(about("good morning", tools=[*TOOLS, STICKERS]))
    assert exposed(tools) == {STICKERS.name: ExposureSource.AUTONOMOUS}


def test_due_maintenance_of_memory_is_offered_and_does_not_end_the_turn() -> None:
    """Behaviour 6.1, step 1."""
    tools = decide(about("good morning", situation=Situation(short_term_memory_due=True)))
    assert exposed(tools) == {"update_short_term_memory": ExposureSource.AUTONOMOUS}
    assert tools.lasting == ["update_short_term_memory"]


def test_maintenance_is_not_lasting_where_the_tool_is_withheld() -> None:
    situation = Situation(short_term_memory_due=True)
    tools = decide(about("good morning", situation=situation, tools=TOOLS[:-1]))
    assert tools == ToolSet(deliberate=True)


def test_a_reminder_reads_its_purpose_and_cannot_set_itself_anew() -> None:
    talk = Conversation()
    talk.says("hello")
    config = DeliberateConfig(enabled=True, triggers={"reminder": ["^"]})
    tools = decide(
        talk.turn(
            config=config,
            situation=Situation(origin=Origin.REMINDER),
            text="remind me to search the web for tea",
            trigger_id="4611686018427387903",
            retained=["create_task"],
        )
    )
    assert tools.allowed == ["update_task", "web_search", "fetch_url"]
    assert "create_task" not in exposed(tools)


# --- the whole --------------------------------------------------------------------------------


def test_every_target_opens_a_tool_that_names_it() -> None:
    for target in TARGETS:
        config = DeliberateConfig(enabled=True, triggers={target.value: ["open sesame"]})
        offered = [tool("mine", target.value), tool("not_mine")]
        assert decide(about("open sesame", config=config, tools=offered)).allowed == ["mine"]


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(
        st.text(max_size=60)
        | st.sampled_from(["remind me", "search the web", "again", "draw a cat", "覚えておいて"]),
        min_size=1,
        max_size=8,
    ),
    triggers=st.dictionaries(
        st.sampled_from([*TARGETS, "unknown"]), st.lists(st.text(min_size=1, max_size=40))
    ),
    retained=st.lists(st.sampled_from([*NAMES, "gone"]), max_size=5),
    offered=st.lists(st.sampled_from(TOOLS), unique_by=lambda tool: tool.name),
    context_turns=st.integers(0, 10),
    due=st.booleans(),
)
def test_only_available_tools_in_their_order_each_with_one_reason(
    texts: list[str],
    triggers: dict[str, list[str]],
    retained: list[str],
    offered: list,
    context_turns: int,
    due: bool,
) -> None:
    talk = Conversation()
    for text in texts:
        talk.says(text)
    turn = talk.turn(
        config=DeliberateConfig(enabled=True, context_turns=context_turns, triggers=triggers),
        situation=Situation(short_term_memory_due=due),
        retained=retained,
        tools=offered,
    )
    tools = decide(turn)
    names = [tool.name for tool in offered]
    assert tools.deliberate
    assert tools.allowed == [name for name in names if name in tools.allowed]
    assert [exposure.tool for exposure in tools.exposed] == tools.allowed
    assert all(len(exposure.phrase) <= 40 for exposure in tools.exposed)
    assert set(tools.lasting) <= set(tools.allowed)
    assert decide(turn) == tools


def test_a_long_text_takes_little_time() -> None:
    """Runs in every turn: 2 ms at most; the margin is for a busy machine."""
    talk = Conversation()
    for _ in range(8):
        talk.says("we could search for a picture of the reminder that I remember " * 5)
    talk.says(
        ("please look at the thing and tell them what it said again about news; " * 30)[:2000]
    )
    turn = talk.turn()
    decide(turn)
    times = []
    for _ in range(10):
        began = process_time()
        decide(turn)
        times.append(process_time() - began)
    assert min(times) < 0.02

"""Macros of authored prompts: what they mean, and that nothing else is one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.context.macros import NO_MEMORY_TOOL, Abilities, expand, fill_names
from tests.context.support import NOVA, asked, composed, said
from workflows.contracts.history import ChannelHistory

SEARCHING = Abilities(frozenset({"web_search"}), frozenset({"search", "tools"}))


def filled(text: str, abilities: Abilities = SEARCHING) -> str:
    return expand(text, abilities, bot="Nova", user="Mia")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am {bot}, hello {user}.", "I am Nova, hello Mia."),
        ("{{if tool:web_search}}look it up{{/if}}!", "look it up!"),
        ("{{ if tool: web_search }}yes{{ /if }}", "yes"),
        ("a{{if tool:create_task}}no{{/if}}b", "ab"),
        ("{{if capability:search}}s{{/if}}{{if capability:memory}}m{{/if}}", "s"),
        ("{{if capability:tools}}any{{/if}}", "any"),
        ("{{if tool:web_search}}1{{if tool:x}}2{{/if}}3{{/if}}4", "134"),
        ("{{if tool:x}}1{{if tool:web_search}}2{{/if}}3{{/if}}4", "4"),
        ("{{if tool:x}} {bot}", "{{if tool:x}} Nova"),
        ("{{if tool:x}}{{if tool:web_search}}in{{/if}}", "{{if tool:x}}in"),
        ("end{{/if}} {{if}} {{if tool:}} {x}", "end{{/if}} {{if}} {{if tool:}} {x}"),
        ("{{if tool:a b}}c{{/if}}", "{{if tool:a b}}c{{/if}}"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_a_macro_becomes(text: str, expected: str) -> None:
    assert filled(text) == expected


def test_the_memory_tool_is_one_that_is_on_offer() -> None:
    both = {"create_long_term_memory", "update_short_term_memory"}
    assert filled("{memory_tool}", Abilities(frozenset(both))) == "create_long_term_memory"
    short = Abilities(frozenset({"update_short_term_memory"}))
    assert filled("{memory_tool}", short) == "update_short_term_memory"
    assert filled("{memory_tool}") == NO_MEMORY_TOOL


def test_a_name_that_looks_like_a_macro_is_a_name() -> None:
    """C050: what is put in is not read again."""
    name = "{{if tool:x}}{memory_tool}{bot}{{/if}}"
    assert expand("{user}|{bot}", SEARCHING, bot="{user}", user=name) == f"{name}|{{user}}"


def test_a_persona_prompt_follows_the_tools_of_the_turn() -> None:
    """C050: the prompt of the persona is a template, the same words of a member are not."""
    text = "{{if tool:web_search}}search{{/if}} {bot} {memory_tool}"
    mia = said(1, "Mia", text)
    persona = NOVA.model_copy(update={"prompt": "P: " + text})
    history = ChannelHistory(messages=[mia])
    without = composed(asked(mia), history, persona=persona)
    assert f"P:  Nova {NO_MEMORY_TOOL}" in without.system
    offering = composed(asked(mia), history, persona=persona, offered=["web_search"])
    assert "P: search Nova" in offering.system
    assert offering.items[-1].text == without.items[-1].text == f"Mia: {text}"


pieces = st.sampled_from(
    ["{{if tool:web_search}}", "{{if tool:x}}", "{{/if}}", "{bot}", "{", "}}", "§", "\n"]
)


@given(st.lists(pieces, max_size=30).map("".join))
def test_nothing_but_conditions_takes_words_away(text: str) -> None:
    """Whatever is unclosed or crossed: it never fails, and without a false condition all words
    stay."""
    result = filled(text, Abilities(frozenset({"web_search", "x"})))
    assert result.count("§") == text.count("§")
    assert "{bot}" not in result
    assert filled(text, Abilities()).count("§") <= text.count("§")


def test_hostile_nesting_takes_no_time() -> None:
    text = "{{if tool:x}}" * 20_000 + "{{if tool:" + "{{/if}}" * 20_000 + "{" * 50_000
    started = time.process_time()
    filled(text)
    assert time.process_time() - started < 1


def test_only_names_are_filled_into_memories() -> None:
    assert fill_names("{user} {bot} {memory_tool} {{if tool:x}}", bot="N", user="{bot}") == (
        "{bot} N {memory_tool} {{if tool:x}}"
    )

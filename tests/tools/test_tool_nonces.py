from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from activities.tools.messages import NONCE_PREFIX, tool_nonce, tool_ordinal
from workflows.contracts.base import turn_workflow_id
from workflows.contracts.delivery import message_nonce
from workflows.contracts.tools import ToolContext

MOST_SENT = 36**3 - 10_000
"""A turn of 100 model calls with 40 segments each sends 4,000 pieces."""


def _call(iteration: int, position: int, generation: int = 0) -> ToolContext:
    return ToolContext(
        turn_id=turn_workflow_id("200", "1010", 7, generation),
        trigger_message_id="1010",
        persona_id=7,
        iteration=iteration,
        position=position,
    )


@given(iteration=st.integers(0, 100_000), position=st.integers(0, 1_000))
def test_a_tool_never_takes_an_ordinal_of_the_outbox(iteration, position):
    assert MOST_SENT <= tool_ordinal(_call(iteration, position)) < 36**3


@given(
    first=st.tuples(st.integers(0, 100), st.integers(0, 31)),
    second=st.tuples(st.integers(0, 100), st.integers(0, 31)),
)
def test_two_calls_of_a_turn_have_the_same_nonce_only_if_they_are_the_same(first, second):
    assert (tool_nonce(_call(*first)) == tool_nonce(_call(*second))) is (first == second)


@given(st.integers(0, 35))
def test_it_is_the_beginning_of_the_nonces_that_the_outbox_makes(generation):
    """D17: a call that is delivered again, of the same generation, names its messages alike."""
    call = _call(3, 1, generation)
    whole = message_nonce("1010", 7, generation, tool_ordinal(call), 4)
    assert whole[:NONCE_PREFIX] == tool_nonce(call)
    assert len(tool_nonce(call)) == NONCE_PREFIX

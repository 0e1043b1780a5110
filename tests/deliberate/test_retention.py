"""Tools that stay on offer after they succeeded (behaviour 8, rule 4)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workflows.contracts.turn import RetainedTool, ToolsUsed
from workflows.deliberate import MAX_RETAINED, Retention


def turn(*succeeded: str, retain_for: int = 4, context_built: bool = True) -> ToolsUsed:
    return ToolsUsed(succeeded=list(succeeded), retain_for=retain_for, context_built=context_built)


def test_a_success_is_offered_in_four_more_turns_and_not_in_the_fifth() -> None:
    """C102."""
    retention = Retention()
    retention.apply(turn("create_task"))
    for _ in range(4):
        assert retention.offered() == ["create_task"]
        retention.apply(turn())
    assert retention.offered() == []


def test_each_success_starts_its_own_countdown_anew() -> None:
    retention = Retention()
    retention.apply(turn("create_task", "web_search"))
    retention.apply(turn())
    retention.apply(turn("create_task"))
    assert retention.state() == [
        RetainedTool(name="web_search", turns_left=2),
        RetainedTool(name="create_task", turns_left=4),
    ]


def test_a_turn_that_built_no_context_ticks_nothing() -> None:
    retention = Retention([RetainedTool(name="create_task", turns_left=1)])
    retention.apply(turn(context_built=False))
    assert retention.offered() == ["create_task"]


def test_with_the_mode_off_nothing_is_kept_and_the_countdowns_go_on() -> None:
    retention = Retention([RetainedTool(name="create_task", turns_left=2)])
    retention.apply(turn("web_search", "create_task", retain_for=0))
    assert retention.state() == [RetainedTool(name="create_task", turns_left=1)]
    retention.apply(turn(retain_for=0))
    assert retention.offered() == []


def test_a_channel_keeps_a_bounded_number_the_latest_first() -> None:
    retention = Retention()
    names = [f"tool_{number}" for number in range(MAX_RETAINED + 10)]
    retention.apply(turn(*names))
    assert retention.offered() == names[10:]


USED = st.builds(
    ToolsUsed,
    succeeded=st.lists(st.sampled_from("abcde"), unique=True, max_size=4),
    retain_for=st.integers(0, 10),
    context_built=st.booleans(),
)


@given(st.lists(USED, max_size=30))
def test_a_tool_is_offered_until_as_many_contexts_were_built_as_it_was_kept_for(
    turns: list[ToolsUsed],
) -> None:
    retention = Retention()
    for used in turns:
        retention.apply(used)

    expected: dict[str, int] = {}
    for number, used in enumerate(turns):
        later = sum(later.context_built for later in turns[number + 1 :])
        for name in used.succeeded if used.retain_for else []:
            expected[name] = used.retain_for - later
    assert {tool.name: tool.turns_left for tool in retention.state()} == {
        name: left for name, left in expected.items() if left > 0
    }


@given(st.lists(USED, max_size=15), st.integers(0, 15))
def test_continuing_as_new_changes_nothing(turns: list[ToolsUsed], at: int) -> None:
    straight, continued = Retention(), Retention()
    for number, used in enumerate(turns):
        if number == at:
            continued = Retention(
                [RetainedTool.model_validate(tool.model_dump()) for tool in continued.state()]
            )
        straight.apply(used)
        continued.apply(used)
    assert straight.state() == continued.state()

"""Tables become what Discord can show (D11)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from wcwidth import wcswidth

from tests.text.samples import documents, fences_balanced
from text.tables import MAX_TABLE_COLUMNS, render_tables


def test_a_narrow_table_is_aligned() -> None:
    source = "Fruit:\n| Name | Qty |\n|:-----|----:|\n| **Apple** | 3 |\n| Kiwi | 12 |\n\nBye."
    assert render_tables(source) == (
        "Fruit:\n```\nName   Qty\n─────  ───\nApple    3\nKiwi    12\n```\n\nBye."
    )


def test_columns_are_aligned_by_display_width() -> None:
    """A CJK character takes two columns, a combining mark none."""
    source = "| a | b |\n|---|---|\n| 漢字 | x |\n| e\u0301 | x |\n| word | x |"
    rows = render_tables(source).split("\n")[3:6]
    assert {wcswidth(row[: row.index("x")]) for row in rows} == {6}


@pytest.mark.parametrize(
    "source",
    [
        "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```",
        "~~~\n| a | b |\n|---|---|\n~~~",
        "a | b\nno delimiter",
        "| a | b |\n|---|",
        "a || b and --- c",
        "|---|---|",
        "text\n---\n",
        "",
    ],
)
def test_what_is_not_a_table_stays(source: str) -> None:
    assert render_tables(source) == source


def test_a_wide_table_becomes_a_list() -> None:
    wide = "w" * MAX_TABLE_COLUMNS
    source = f"| Name | Text | None |\n|---|---|---|\n| one | {wide} | |\n| two | x | y |"
    assert render_tables(source) == (
        f"- **Name**: one\n  - **Text**: {wide}\n- **Name**: two\n  - **Text**: x\n  - **None**: y"
    )


@pytest.mark.parametrize(
    "cell", ["<@12>", "<:wave:12>", "<t:1:R>", "https://x.org", "[a](b)", "<#1>"]
)
def test_what_a_code_block_would_not_show_becomes_a_list(cell: str) -> None:
    assert render_tables(f"| Who |\n|---|\n| {cell} |") == f"- **Who**: {cell}"


def test_escaped_pipes_ragged_rows_and_no_edges() -> None:
    source = "a | b\n--|:-:\nx \\| y | 1 | extra\nonly |"
    rendered = render_tables(source).split("\n")
    assert rendered[0] == rendered[-1] == "```"
    assert rendered[3].split() == ["x", "|", "y", "1", "extra"]
    assert rendered[4] == "only"


def test_backticks_in_a_cell_do_not_end_the_block() -> None:
    rendered = render_tables("| a |\n|---|\n| ```` x |")
    assert rendered.startswith("`````\n")
    assert fences_balanced(rendered)


def test_a_table_ends_where_prose_goes_on() -> None:
    rendered = render_tables("| a |\n|---|\n| 1 |\nAnd then prose.\n- | x |\n")
    assert rendered.endswith("```\nAnd then prose.\n- | x |\n")


def test_crlf_and_two_tables() -> None:
    table = "| a |\r\n|---|\r\n| 1 |\r\n"
    rendered = render_tables(f"{table}\r\nbetween\r\n\r\n{table}")
    assert rendered.count("```") == 4
    assert "|" not in rendered
    assert "between" in rendered


@settings(max_examples=200, deadline=None)
@given(documents)
def test_letters_survive(text: str) -> None:
    """Whatever is done to a table, its words stay, in order."""

    def letters(source: str) -> str:
        return "".join(char for char in source if char in "abcdefghijklmnopqrstuvwxyz")

    rendered = render_tables(text)
    if rendered.count("**") == text.count("**"):
        assert letters(rendered) == letters(text)

"""Which lines open and close a code block (D04)."""

from __future__ import annotations

import pytest

from text.fences import Fence, FenceTracker, LineKind, opening_fence, prose_regions


@pytest.mark.parametrize(
    ("line", "marker", "info"),
    [
        ("```", "```", ""),
        ("```py\n", "```", "py"),
        ("   ~~~~  c++ -x \r\n", "~~~~", "c++ -x"),
        ("~~~ with `ticks`", "~~~", "with `ticks`"),
        ("- ```sh", "```", "sh"),
        ("```" + "i" * 3000, "```", "i" * 3000),
    ],
)
def test_opening(line: str, marker: str, info: str) -> None:
    fence = opening_fence(line)
    assert fence is not None
    assert (fence.marker, fence.info) == (marker, info)


@pytest.mark.parametrize("line", ["``", "    ```", "```a`b", "x ```", "`` `", "~~ ~", "", "\t```"])
def test_not_opening(line: str) -> None:
    assert opening_fence(line) is None


@pytest.mark.parametrize(
    ("marker", "line", "closes"),
    [
        ("```", "```", True),
        ("```", "````` \t", True),
        ("```", "```\r\n", True),
        ("```", "   ```", True),
        ("```", "    ```", False),
        ("```", "```not-a-close", False),
        ("```", "~~~", False),
        ("````", "```", False),
        ("~~~", "~~~~", True),
        ("~~~", "~~~ x", False),
        ("```", "``", False),
        ("```", "", False),
    ],
)
def test_closing(marker: str, line: str, closes: bool) -> None:
    """D04."""
    assert Fence(marker, "").closed_by(line) is closes


def kinds(text: str) -> list[LineKind]:
    tracker = FenceTracker()
    return [tracker.feed(line) for line in text.split("\n")]


PROSE, OPEN, CODE, CLOSE = LineKind


def test_nested_fences_of_another_length() -> None:
    assert kinds("````\n```\ncode\n```\n````\nx") == [OPEN, CODE, CODE, CODE, CLOSE, PROSE]


def test_fences_in_lists() -> None:
    """Indented as deep as the item's content, plus three columns."""
    assert kinds("1. x\n    ```\n    code\n    ```\ny") == [PROSE, OPEN, CODE, CLOSE, PROSE]
    assert kinds("- a\n  - b\n\n      ```\n      c\n      ```")[3:] == [OPEN, CODE, CLOSE]
    assert kinds("- ```py\n  code\n  ```\n- b") == [OPEN, CODE, CLOSE, PROSE]


def test_indented_code_is_not_a_fence() -> None:
    assert kinds("text\n\n    ```\n    x") == [PROSE] * 4
    assert kinds("- a\n\ntext\n\n    ```")[-1] is PROSE, "the list is over"


def test_a_text_may_begin_inside_a_list() -> None:
    """A segment that is only the code block of a list item."""
    assert kinds("    ```sh\n    ls\n    ```") == [OPEN, CODE, CLOSE]


def test_regions_cover_the_text() -> None:
    text = "a\n```\nb\n```\n~~~\nc\n~~~\nd"
    regions = prose_regions(text)
    assert "".join(text[start:end] for start, end, _ in regions) == text
    assert [text[start:end] for start, end, prose in regions if prose] == ["a\n", "d"]

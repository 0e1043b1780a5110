"""What of a name can be seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.visible import has_visible, strip_invisible

HIDDEN = [
    "\u3164",  # Hangul fillers
    "\u115f\u1160",
    "\uffa0",
    "\u2800",  # braille without a dot
    "\u200b\u200c\u200d\u2060\ufeff",
    "\u00ad\u034f\u061c\u180e",
    "\u202e\u2066",
    "\ufe0f\U000e0100",
    "\U000e0041\U000e0042",  # tags
    "\U0001d159\U0001d173",
    "\U00013441\U00016fe4",
    "\ufffc\ufff9\ufffa",
    "\x00\x07\x9f",
    "\ue000\U000f0000",
    "\ud83d",
    "\ufdd0\uffff",
]
BLANK = [" ", "\u00a0\u3000", "\t\n\u2028", "\u1680"]
WRITTEN = [
    "👨‍👩‍👧‍👦",
    "👨🏽‍🤝‍👨🏿",
    "👩‍❤️‍👨",
    "🏳️‍🌈",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "1️⃣",
    "🇩🇪",
    "می‌خواهم",
    "क्‍ष",
    "葛󠄀城",
    "ไทย",
    "한글",
    "e\u0301",
    ".",
]


@pytest.mark.parametrize("text", ["", *HIDDEN, *BLANK, "\u0301", " \u200d\u3164\n"])
def test_a_name_of_nothing_is_seen_to_be_one(text: str) -> None:
    assert not has_visible(text)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_cannot_be_seen_is_taken_out_wherever_it_stands(hidden: str) -> None:
    assert strip_invisible(hidden) == ""
    assert strip_invisible(f"{hidden}No{hidden}va {hidden}\nB{hidden}") == "Nova \nB"
    assert has_visible(f"{hidden}a")


@pytest.mark.parametrize("text", WRITTEN)
def test_what_writing_needs_stays(text: str) -> None:
    assert has_visible(text)
    assert strip_invisible(text) == text
    assert strip_invisible(f"\u200b{text}\u2800") == text


@pytest.mark.parametrize("text", ["No\u200dva", "Nova\ufe0f", "7\ufe0f", "🙂\u200d", "\u200cم"])
def test_joiners_and_selectors_that_do_nothing_go(text: str) -> None:
    assert len(strip_invisible(text)) == len(text) - 1


@given(st.lists(st.sampled_from([*HIDDEN, *BLANK, *WRITTEN, "a", "\u0301"]) | st.text()))
def test_stripping_takes_nothing_that_is_seen_and_is_done_once(pieces: list[str]) -> None:
    text = "".join(pieces)
    stripped = strip_invisible(text)
    assert strip_invisible(stripped) == stripped
    assert has_visible(stripped) == has_visible(text)
    stripped.encode()

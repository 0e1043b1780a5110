"""The form in which words are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.words import drawn_in, folded


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (" Old\n\u3000BOB ", "old bob"),
        ("straße", "strasse"),
        ("ﬁsh ŉ ǰ", "fish ʼn j\u030c"),
        ("İIıi", "iiii"),
        ("x\u0307", "x\u0307"),
        ("＠nova", "@nova"),
    ],
)
def test_the_folded_form(text: str, form: str) -> None:
    assert folded(text) == form


@given(text=st.text() | st.text(st.sampled_from("iIıİ\u0307＠@ﬁßŉ \n")))
def test_folding_again_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)
    assert folded(text.casefold()) == folded(text)


def test_each_character_once_in_a_row() -> None:
    assert drawn_in(folded("Liiilja!!  Old\nBOB straße")) == "lilja! old bob strase"

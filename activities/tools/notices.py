"""What a tool tells people, made fit to be shown and to stand in a history."""

from __future__ import annotations

from collections.abc import Sequence

from activities.tools.results import clean
from workflows.contracts.tools import MAX_NOTICES, ToolNotice

MAX_TITLE = 200
MAX_TEXT = 1_800
"""Code points of a notice's two parts; a tool may quote a stranger in either."""


def bounded(notices: Sequence[ToolNotice]) -> list[ToolNotice]:
    """At most `MAX_NOTICES` of `notices`, each cleaned and cut; one without a title is left out."""
    kept: list[ToolNotice] = []
    for notice in notices:
        title = " ".join(clean(notice.title).split())
        if title:
            text = clean(notice.text).strip()
            kept.append(
                notice.model_copy(
                    update={"title": _cut(title, MAX_TITLE), "text": _cut(text, MAX_TEXT)}
                )
            )
    return kept[:MAX_NOTICES]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"

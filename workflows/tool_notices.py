"""What people are told of a turn's tools: in the channel, and in the server's thought log.

In: each call's outcome. Out: notices for the outbox, and the hidden ones for one message at the
turn's end (behaviour 10). Pure. What always holds: the model reads none of it; a turn whose errors
may not be shown shows nothing; what looks like a secret is masked, as in the log.
"""

from __future__ import annotations

import json
import re
from typing import cast

from workflows.contracts.context import ContextRef, Exposure, NoticeStyle
from workflows.contracts.generation import FunctionCall
from workflows.contracts.secret_shapes import REDACTED, mask_secrets
from workflows.contracts.tools import NoticeColour, ToolNotice

MAX_HIDDEN = 50
"""Hidden notices of one turn; at their longest they stay well below the size of a payload."""

MAX_TEXT = 1_800
"""Code points of a card, arguments included (behaviour 10)."""

MAX_TITLE = 200

KILL_HINT = "`/kill` stops this."

_SECRET_KEY = re.compile(
    r"api_?key|token|secret|passw|authori[sz]ation|cookie|credential", re.IGNORECASE
)


class ToolNotices:
    def __init__(self, context: ContextRef, *, quiet: bool) -> None:
        self._style = NoticeStyle.HIDDEN if quiet else context.notices
        self._logged = context.log_channel_id is not None
        self._hidden: list[ToolNotice] = []
        self._left_out = 0

    def of_tool(self, notices: list[ToolNotice], *, kill_hint: bool) -> list[ToolNotice]:
        """Sort a tool's own notices; those for the channel come back as they are to be shown."""
        shown: list[ToolNotice] = []
        for notice in map(_masked_notice, notices):
            if notice.hidden or self._style is NoticeStyle.HIDDEN:
                self._hide(notice)
                continue
            text = notice.text
            if self._style is NoticeStyle.MINIMAL:
                self._hide(notice)
                text = ""
            if kill_hint:
                text = f"{text}\n{KILL_HINT}".strip()
            shown.append(notice.model_copy(update={"text": text}))
        return shown

    def failed(self, call: FunctionCall, reason: str) -> None:
        """Every call that failed leaves a card in the log, also one that was never dispatched."""
        head = f"{mask_secrets(reason)}\n" if reason else ""
        arguments = redacted(call.arguments)
        room = max(0, MAX_TEXT - len(head) - len("Arguments: ``"))
        self._hide(
            ToolNotice(
                title=f"Tool failed: {call.name}"[:MAX_TITLE],
                text=f"{head[:MAX_TEXT]}Arguments: `{arguments[:room]}`"[:MAX_TEXT],
                colour=NoticeColour.RED,
                hidden=True,
            )
        )

    def triggered(self, call: FunctionCall, exposure: Exposure) -> None:
        """A tool that was on offer because of somebody's words has done its work (C106)."""
        phrase = f"\nTrigger: {exposure.phrase}" if exposure.phrase else ""
        self._hide(
            ToolNotice(
                title=f"Tool used: {call.name}"[:MAX_TITLE],
                text=f"Source: {exposure.source.value.replace('_', ' ')}{phrase}",
                hidden=True,
            )
        )

    def take_hidden(self) -> list[ToolNotice]:
        """All that the log is to show, once."""
        hidden, self._hidden = self._hidden, []
        if self._left_out:
            hidden.append(ToolNotice(title=f"And {self._left_out} more", hidden=True))
            self._left_out = 0
        return hidden

    def _hide(self, notice: ToolNotice) -> None:
        if not self._logged:
            return
        if len(self._hidden) >= MAX_HIDDEN:
            self._left_out += 1
            return
        self._hidden.append(notice.model_copy(update={"hidden": True}))


def redacted(arguments: str) -> str:
    """A call's arguments on one line, with what looks like a secret masked."""
    try:
        value: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return "(not complete)" if arguments.strip() not in ("", "{}") else "{}"
    try:
        text = json.dumps(_masked(value), ensure_ascii=False)
    except RecursionError:
        return "(too deep to show)"
    # Half a surrogate pair, written as an escape, has become one that no payload can hold.
    return text.encode(errors="replace").decode().replace("`", "'")


def _masked(value: object) -> object:
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        return {
            mask_secrets(key): REDACTED if _SECRET_KEY.search(key) else _masked(item)
            for key, item in items
        }
    if isinstance(value, list):
        return [_masked(item) for item in cast("list[object]", value)]
    if isinstance(value, str):
        return mask_secrets(value)
    return value


def _masked_notice(notice: ToolNotice) -> ToolNotice:
    title, text = mask_secrets(notice.title), mask_secrets(notice.text)
    if (title, text) == (notice.title, notice.text):
        return notice
    # a mask may be longer than what it stands for
    return notice.model_copy(update={"title": title[:MAX_TITLE], "text": text[:MAX_TEXT]})

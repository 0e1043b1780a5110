"""What the server's log shows of calls: no secret, wherever it stands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.logs import redact
from workflows.contracts.context import ContextRef, NoticeStyle
from workflows.contracts.generation import FunctionCall
from workflows.contracts.tools import ToolNotice
from workflows.tool_notices import MAX_TEXT, ToolNotices, redacted

SECRETS = [
    ("https://x.test/?token=abcdef123456", "abcdef123456"),
    ("https://x.test/a?b=c&api_key=abcdef123456", "abcdef123456"),
    ("look for sk-abcdefghijklmnopqrstuv", "sk-abc"),
    ("Authorization: Bearer abcdef123456", "abcdef123456"),
    ("MTA5ODc2NTQzMjEwOTg3NjU0Mw.GabcdE.abcdefghijklmnopqrstuvwxyz0123456789AB", "GabcdE"),
    ("https://me:pw@x.test/", "pw@"),
    ("https://discord.com/api/webhooks/123/abcdef-token", "abcdef-token"),
]


def notices(style: NoticeStyle = NoticeStyle.VERBOSE) -> ToolNotices:
    context = ContextRef(context_id="c", notices=style, log_channel_id="5")
    return ToolNotices(context, quiet=False)


@pytest.mark.parametrize(("text", "secret"), SECRETS)
@pytest.mark.parametrize("shape", [{"q": None}, {"deep": [{"q": [None]}]}])
def test_what_the_log_masks_the_card_masks(
    text: str, secret: str, shape: dict[str, object]
) -> None:
    filled = json.dumps(shape).replace("null", json.dumps(text))
    shown = redacted(filled)
    assert secret not in shown
    assert "[redacted]" in shown
    assert json.loads(shown)


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_name_of_a_field_is_no_place_for_a_secret_either(text: str, secret: str) -> None:
    assert secret not in redacted(json.dumps({text: 1}))


@pytest.mark.parametrize("name", ["password", "Api_Key", "authorization"])
def test_a_field_that_is_named_like_a_secret_is_one(name: str) -> None:
    assert json.loads(redacted(json.dumps({name: ["hush"], "q": "tea"}))) == {
        name: "[redacted]",
        "q": "tea",
    }


@given(st.text())
def test_nothing_passes_that_the_log_would_mask(text: str) -> None:
    for value in (text, f"?token={text}", f"Bearer {text}", f"sk-{text}"):
        shown = json.loads(redacted(json.dumps([value.replace("`", "'")])))[0]
        assert redact(shown) == shown


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_neither_a_reason_nor_a_tools_own_notice_shows_one(text: str, secret: str) -> None:
    made = notices()
    made.failed(FunctionCall(call_id="1", name="fetch_url", arguments="{}"), f"No page at {text}.")
    said = [
        ToolNotice(title=text, text="t"),
        ToolNotice(title="t", text=f"{text}\n{'x' * MAX_TEXT}"[:MAX_TEXT], hidden=True),
    ]
    shown = [*made.of_tool(said, kill_hint=False), *made.take_hidden()]
    assert len(shown) == 3
    for notice in shown:
        assert secret not in notice.title + notice.text
        assert len(notice.text) <= MAX_TEXT


def test_a_notice_without_secrets_stays_as_it_is() -> None:
    notice = ToolNotice(title="Read https://x.test/?q=token", text="Bearer of news\n\nBot says hi")
    assert notices().of_tool([notice], kill_hint=False) == [notice]

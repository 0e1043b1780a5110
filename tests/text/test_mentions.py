"""Mentions that must not ping, and mentions that must not be code."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.text.samples import documents
from text.mentions import neutralise

BROKEN = "@\u200b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello @everyone and @here", f"hello {BROKEN}everyone and {BROKEN}here"),
        ("x@everyone", f"x{BROKEN}everyone"),
        ("@hereby", f"{BROKEN}hereby"),
        ("@Nova and @ here", "@Nova and @ here"),
        # D56: not inside code, which never pings
        ("`@everyone` @here", f"`@everyone` {BROKEN}here"),
        ("```\n@everyone\n```\n@here", f"```\n@everyone\n```\n{BROKEN}here"),
        ("``a ` @here`` b", "``a ` @here`` b"),
        # a stray backtick makes no code
        ("it's ` @everyone", f"it's ` {BROKEN}everyone"),
        ("` x\n\n@everyone `", f"` x\n\n{BROKEN}everyone `"),
        ("\\`@everyone`", f"\\`{BROKEN}everyone`"),
        # D16
        ("ask `<@123456789012345678>`!", "ask <@123456789012345678>!"),
        ("`<@!12>` `<@&34>` `<#56>`", "<@!12> <@&34> <#56>"),
        ("`` <@12> ``", "<@12>"),
        ("`<@12> <@34>`", "<@12> <@34>"),
        ("```\n`<@12>`\n```", "```\n`<@12>`\n```"),
        ("~~~\n`<@12>`\n~~~\n`<#1>`", "~~~\n`<@12>`\n~~~\n<#1>"),
        ('`send("<@12>")`', '`send("<@12>")`'),
        ("`<@abc>` `<@>`", "`<@abc>` `<@>`"),
        ("<@12>", "<@12>"),
        ("", ""),
    ],
)
def test_neutralise(text: str, expected: str) -> None:
    assert neutralise(text) == expected
    assert neutralise(expected) == expected


@settings(max_examples=200, deadline=None)
@given(documents)
def test_text_without_mentions_is_unchanged(text: str) -> None:
    text = text.replace("<@123456789012345678>", "")
    assert neutralise(text) == text


def test_many_backticks_take_no_time() -> None:
    text = "@everyone " + "` `` ``` a " * 20_000
    assert neutralise(text).startswith(BROKEN)

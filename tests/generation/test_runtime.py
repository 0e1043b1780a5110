"""`runtime`: heartbeats beside the work, and logs without secrets."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import time
from collections.abc import Iterator

import pytest
import structlog
from pydantic import SecretStr
from temporalio.testing import ActivityEnvironment

from runtime.heartbeat import HeartbeatFailed, heartbeating
from runtime.logs import (
    MAX_FIELD,
    MAX_TRACE,
    REDACTED,
    brief,
    configure_logs,
    redact,
    register_secret,
)
from tests.generation.conftest import until


class Beats:
    """An activity environment that counts beats, and fails from the `fails_at`th on."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.count = 0
        self.env = ActivityEnvironment()
        self._fails_at = fails_at
        self.env.on_heartbeat = self._beat

    def _beat(self, *_: object) -> None:
        self.count += 1
        if self._fails_at is not None and self.count >= self._fails_at:
            raise RuntimeError("no connection to core")


async def test_the_first_beat_is_at_once_and_the_last_with_the_work() -> None:
    beats = Beats()

    async def work() -> int:
        async with heartbeating(interval=0.01):
            at_once = beats.count
            await until(lambda: beats.count >= 5)
        return at_once

    assert await beats.env.run(work) == 1
    after = beats.count
    await asyncio.sleep(0.05)
    assert beats.count == after


async def test_a_beater_that_dies_fails_the_activity() -> None:
    beats = Beats(fails_at=3)
    stopped = False

    async def work() -> None:
        nonlocal stopped
        async with heartbeating(interval=0.01):
            try:
                await asyncio.Event().wait()
            finally:
                stopped = True

    with pytest.raises(HeartbeatFailed) as raised:
        await beats.env.run(work)
    assert stopped
    assert "no connection" in str(raised.value.__cause__)


async def test_work_that_swallows_the_interruption_still_fails() -> None:
    beats = Beats(fails_at=2)

    async def work() -> None:
        async with heartbeating(interval=0.01):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    with pytest.raises(HeartbeatFailed):
        await beats.env.run(work)


async def test_a_cancel_of_the_activity_stays_a_cancel() -> None:
    beats = Beats()

    async def work() -> None:
        async with heartbeating(interval=0.01):
            await asyncio.Event().wait()

    task = asyncio.create_task(beats.env.run(work))
    await until(lambda: beats.count >= 2)
    beats.env.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_work_is_its_own() -> None:
    async def work() -> None:
        async with heartbeating(interval=0.01):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await Beats().env.run(work)


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """Somewhere to log to; the process's logging is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    names = list(logging.root.manager.loggerDict)
    levels = {name: logging.getLogger(name).level for name in names}
    yield io.StringIO()
    structlog.reset_defaults()
    logging.captureWarnings(False)
    root.handlers[:], root.level = handlers, level
    for name in list(logging.root.manager.loggerDict):
        logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))


def test_an_event_is_one_line_of_json(out: io.StringIO) -> None:
    configure_logs("worker", "INFO", json=True, stream=out)
    structlog.get_logger("ours").info("model call", turn_id="t1", ms=12, note="a\nb")
    logging.getLogger("discord.gateway").info("connected to %s", "session")
    structlog.get_logger("ours").debug("too quiet")
    first, second = [json.loads(line) for line in out.getvalue().splitlines()]
    assert (first["event"], first["turn_id"], first["ms"]) == ("model call", "t1", 12)
    assert (first["process"], first["level"], first["logger"]) == ("worker", "info", "ours")
    assert (second["event"], second["logger"]) == ("connected to session", "discord.gateway")


def test_without_a_terminal_it_is_json_by_itself(out: io.StringIO) -> None:
    configure_logs("bot", stream=out)
    structlog.get_logger("ours").warning("hello")
    assert json.loads(out.getvalue())["event"] == "hello"


def test_for_people_an_event_is_one_line_too(out: io.StringIO) -> None:
    configure_logs("bot", "INFO", json=False, stream=out)
    structlog.get_logger("ours").warning("first\nsecond", reason="x\ny")
    assert len(out.getvalue().splitlines()) == 1
    assert "bot" in out.getvalue()


def test_third_parties_are_heard_sensibly(out: io.StringIO) -> None:
    configure_logs("bot", "DEBUG", json=True, stream=out)
    logging.getLogger("discord.gateway").debug("payload with what a member said")
    logging.getLogger("httpx").info("GET https://example.org")
    logging.getLogger("temporalio.worker").info("poll")
    logging.getLogger("temporalio.worker").warning("trouble")
    assert [json.loads(line)["event"] for line in out.getvalue().splitlines()] == ["trouble"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_registered_secret_is_in_no_part_of_a_line(out: io.StringIO, as_json: bool) -> None:
    """C129: message, arguments, fields at any depth, keys' values, exceptions and their stacks."""
    secret = "hush-hush-value-42"
    register_secret(SecretStr(secret))
    configure_logs("worker", "DEBUG", json=as_json, stream=out)
    log = structlog.get_logger("ours")
    log.info(f"message {secret}", field=secret, deep={"a": [secret, ("x", secret)]})
    log.info("object", error=ValueError(secret), data=secret.encode())
    logging.getLogger("third.party").warning("with %s", secret)
    try:
        raise RuntimeError(f"in the text {secret}")
    except RuntimeError:
        log.exception("failed")
        logging.getLogger("third.party").exception("failed too")
    assert "RuntimeError" in out.getvalue()
    assert secret not in out.getvalue()
    assert out.getvalue().count(REDACTED) >= 8


@pytest.mark.parametrize(
    "secret",
    [
        "MTA5ODc2NTQzMjEwOTg3NjU0Mw.GabcdE.abcdefghijklmnopqrstuvwxyz0123456789AB",
        "sk-ant-api03-abcdefghijklmnop",
        "sk-proj-abcdefghijklmnopqrst",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmn",
    ],
)
def test_what_looks_like_a_token_is_taken_out(secret: str) -> None:
    for text in (f"key {secret}.", f'{{"key": "{secret}"}}', f"({secret})"):
        assert secret not in redact(text)
        assert REDACTED in redact(text)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer abcdef123456", f"Authorization: Bearer {REDACTED}"),
        ("GET /v1?key=abcdef123456&alt=sse", f"GET /v1?key={REDACTED}&alt=sse"),
        ("https://bot:pw@db/x", f"https://bot:{REDACTED}@db/x"),
        ("postgresql://bot:pa55word@db/x", f"postgresql://bot:{REDACTED}@db/x"),
        ("/api/webhooks/123/abcdef-token", f"/api/webhooks/123/{REDACTED}"),
    ],
)
def test_what_stands_where_a_secret_stands_is_taken_out(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "turn/123456789012345678/123456789012345679/1 ended",
        "http://127.0.0.1:8090/api/v10/channels/1",
        "the risk-averse Bot said hello",
        "0f3c5b1de0a94d0bb7c7fcb27b1e7e0f",
    ],
)
def test_ordinary_lines_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("as_json", [True, False])
def test_no_text_fills_the_log_or_breaks_out_of_its_line(out: io.StringIO, as_json: bool) -> None:
    """Whoever wrote it: in the message, a field at any depth, an error and its trace."""
    configure_logs("worker", "DEBUG", json=as_json, stream=out)
    log = structlog.get_logger("ours")
    wild = "a\n\x1b[2J\u2028\ud83d" + "x" * 200_000
    log.info(wild, field=wild, deep={"a": [wild]}, error=ValueError(wild))
    logging.getLogger("third.party").warning("with %s", wild)
    assert len(out.getvalue()) < 10 * MAX_FIELD
    assert len(out.getvalue().splitlines()) == 2
    try:
        raise RuntimeError(wild)
    except RuntimeError:
        log.exception("failed")
    assert len(out.getvalue()) < 10 * MAX_FIELD + 2 * MAX_TRACE
    assert "RuntimeError" in out.getvalue()
    assert not {"\x1b", "\u2028", "\ud83d"} & set(out.getvalue())


def test_what_a_stranger_wrote_is_told_briefly() -> None:
    """Cut after the secrets are out: half of one would not be known for what it is."""
    register_secret("hush-hush-value-42")
    assert brief("a\r\nb\x00") == r"a\r\nb\x00"
    assert brief("x" * 1000) == "x" * 199 + "…"
    assert brief("x" * 190 + "hush-hush-value-42") == "x" * 190 + REDACTED
    for start in range(170, 200):
        text = brief("x" * start + " sk-abcdefghijklmnopqrstuv " + "y" * 100)
        assert "sk-" not in text
        assert len(text) <= 200


@pytest.mark.parametrize(
    "piece", ["eyJ-", "eyJaaaaaaaa.", "sk-", "Bearer ", "://a:", "Bot ", "M", "?key=", " ", "a"]
)
def test_redaction_takes_time_by_the_length_alone(piece: str) -> None:
    for head in ("", "eyJaaaaaaaa.", "Bearer", "Bot", "://"):
        text = (head + piece * 50_000)[:100_000]
        began = time.process_time()
        redact(text)
        assert time.process_time() - began < 1


def test_short_values_are_no_secrets() -> None:
    for value in ("", "  ", "test", None):
        register_secret(value)
    assert redact("a test in an ordinary line") == "a test in an ordinary line"


def test_a_wrong_level_is_named() -> None:
    with pytest.raises(ValueError, match="LOUD"):
        configure_logs("bot", "LOUD")

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.tools import page_text
from activities.tools.documents import (
    MAX_TEXT,
    Unreadable,
    html,
    pdf,
    read_document,
    read_html,
)
from activities.tools.documents.kinds import Kind, kind_of
from activities.tools.documents.reading import _read_text
from tests.bot.waiting import until
from tests.tools.pdfs import pdf as made_pdf
from tests.tools.pdfs import pdf_of_streams, slow_pdf


@pytest.fixture
def threads():
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def children(monkeypatch) -> list[asyncio.subprocess.Process]:
    started: list[asyncio.subprocess.Process] = []
    real = asyncio.create_subprocess_exec

    async def recording(*arguments, **more):
        started.append(await real(*arguments, **more))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", recording)
    return started


# Text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"plain", "plain"),
        ("größer 😀".encode(), "größer 😀"),
        ("\ufeffmarked".encode(), "marked"),
        ("größer".encode("utf-16"), "größer"),
        (("これは日本語の文章です。" * 20).encode("shift_jis"), "これは日本語の文章です。" * 20),
        (b"ID3 is how tags of MP3 files are called", "ID3 is how tags of MP3 files are called"),
        (b"{{if tool:web_search}}x{{/if}}", "{{if tool:web_search}}x{{/if}}"),
    ],
)
async def test_text_is_read_in_whatever_charset(threads, data, text):
    assert (await read_document(data, threads)).text == text


async def test_a_long_text_is_cut(threads):
    document = await read_document("é".encode() * (MAX_TEXT + 10), threads)
    assert document.text == "é" * MAX_TEXT
    assert document.truncated
    assert document.pages is None


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"", "empty"),
        (b" \n\t ", "blanks"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "an image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "an image"),
        (b"PK\x03\x04\x14\x00\x00", "ZIP archive or an office document"),
        (b"\x1f\x8b\x08\x00\x00", "an archive"),
        (b"\x00\x00\x00\x20ftypisom\x00", "a video"),
        (b"\x7fELF\x02\x01\x01\x00", "a program"),
        (bytes(range(256)) * 10, "no text"),
        (b"\xff\xfe\x00\x00a\x00\x00\x00b\x00\x00\x00", "no text"),
        (b"\x01\x02\x03" * 100, "no text"),
    ],
)
async def test_what_is_no_text_is_named(threads, data, named):
    with pytest.raises(Unreadable, match=named):
        await read_document(data, threads)


@given(st.binary(max_size=2_000))
def test_bytes_are_text_or_unreadable_and_nothing_else(data):
    with suppress(Unreadable):
        assert kind_of(data) is Kind.PDF or _read_text(data).text


@given(
    data=st.binary(max_size=60) | st.text(max_size=30).map(str.encode),
    charset=st.sampled_from(["utf-8", "utf-16-le", "shift_jis", "gb18030", "iso2022_jp", "cp1252"]),
)
def test_a_text_is_the_same_in_pieces(data, charset):
    whole = page_text.decode(data, charset)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_text, "_PIECE", 3)
        assert page_text.decode(data, charset) == whole


# PDF

SLOW = slow_pdf()


async def test_pages_keep_their_numbers(threads):
    document = await read_document(made_pdf(["one (1)\nmore", "", "three"]), threads)
    assert document.text == "[page 1]\none (1)\nmore\n\n[page 3]\nthree"
    assert document.pages == 3
    assert not document.truncated


async def test_a_pdf_is_known_by_its_bytes_wherever_they_begin(threads):
    document = await read_document(b"junk before it\n" + made_pdf(["found"]), threads)
    assert "found" in document.text


async def test_a_long_pdf_is_cut_where_the_text_is_too_much():
    found = await pdf.read_pdf(made_pdf(["abcdefghij"] * 5), 25)
    assert [page.text for page in found.pages] == ["abcdefghij", "abcdefghij", "abcde"]
    assert found.page_count == 5
    assert found.truncated


async def test_a_pdf_without_a_password_for_readers_is_read():
    found = await pdf.read_pdf(made_pdf(["open"], password="owner"), 100)
    assert found.pages[0].text == "open"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (made_pdf(["secret"], password="owner", user_password="user"), "password"),
        (made_pdf(["", ""]), "no text"),
        (made_pdf([]), "no text"),
        (made_pdf(["cut"])[:400], "damaged"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 40, "damaged"),
        (b"%PDF-1.7\n%%EOF", "damaged"),
    ],
)
async def test_a_pdf_that_cannot_be_read_says_why(data, reason):
    with pytest.raises(Unreadable, match=reason):
        await pdf.read_pdf(data, 100)


async def test_a_pdf_that_claims_endless_pages_is_given_up():
    data = made_pdf(["only"]).replace(b"/Count 1", b"/Count 2000000000")
    found = await pdf.read_pdf(data, 100)
    assert [page.text for page in found.pages] == ["only"]


async def test_a_slow_pdf_gives_what_it_gave_in_time_and_never_blocks_the_loop():
    """D37: a file of 90 kB that takes minutes; the loop's lag stays under 250 ms meanwhile."""
    worst, ended = 0.0, asyncio.Event()

    async def measure() -> None:
        nonlocal worst
        while not ended.is_set():
            before = time.monotonic()
            await asyncio.sleep(0.01)
            worst = max(worst, time.monotonic() - before - 0.01)

    watch = asyncio.create_task(measure())
    found = await pdf.read_pdf(SLOW, 1_000, seconds=2.5)
    ended.set()
    await watch
    assert [page.text for page in found.pages] == ["the first page"]
    assert found.truncated
    assert worst < 0.25


async def test_a_slow_pdf_without_a_page_in_time_is_refused():
    with pytest.raises(Unreadable, match="too complicated"):
        await pdf.read_pdf(SLOW, 1_000, seconds=0.05)


async def test_a_pdf_that_needs_too_much_memory_is_refused(monkeypatch):
    monkeypatch.setattr(pdf, "MEMORY", 120_000_000)
    assert (await pdf.read_pdf(made_pdf(["enough for this one"]), 1_000)).pages
    bomb = pdf_of_streams([b" " * 60_000_000 + b"BT /F1 12 Tf (x) Tj ET"])
    assert len(bomb) < 100_000
    with pytest.raises(Unreadable, match="memory"):
        await pdf.read_pdf(bomb, 1_000, seconds=10)


# HTML

ENDLESS = "<ul>" + "<li>x " * 300_000
"""Takes most of a minute."""


async def test_a_page_becomes_a_title_and_markdown():
    page = await read_html(
        "<title>Green &amp;\n tea</title><script>no()</script><h1>Tea</h1>"
        f"<article><p>Größe und <b>Güte</b> {'sind zweierlei, wie jeder weiß. ' * 9}</p></article>",
        1_000,
    )
    assert page.title == "Green & tea"
    assert "**Güte**" in page.text
    assert "no()" not in page.text


async def test_the_text_of_a_page_is_cut():
    words = " ".join(f"Tea number {n} was not enough for us." for n in range(50))
    page = await read_html(f"<article><h1>Tea</h1><p>{words}</p></article>", 50)
    assert len(page.text) == 50


async def test_a_page_that_takes_too_long_is_refused_and_its_reader_dead(children):
    with pytest.raises(Unreadable, match="too complicated"):
        await read_html(ENDLESS, 1_000, seconds=0.5)
    with pytest.raises(ProcessLookupError):
        os.kill(children[0].pid, 0)


async def test_cancelling_ends_the_reader_of_a_page_and_frees_its_place(children):
    readings = [asyncio.create_task(read_html(ENDLESS, 1_000)) for _ in range(html.PARALLEL)]
    await until(lambda: len(children) == html.PARALLEL)
    with pytest.raises(Unreadable, match="try again later"):
        await read_html("<p>tea</p>", 1_000, seconds=0.1)
    # pages and PDFs do not wait for each other
    assert (await pdf.read_pdf(made_pdf(["tea"]), 100)).pages
    for reading in readings:
        reading.cancel()
    await asyncio.gather(*readings, return_exceptions=True)
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)
    await read_html("<p>tea</p>", 1_000)


@pytest.mark.parametrize("code", ["", "raise SystemExit(3)", "print('no JSON')", "import nothing"])
async def test_a_reader_that_tells_nothing_is_a_page_that_cannot_be_read(
    monkeypatch, tmp_path, code
):
    script = tmp_path / "reader.py"
    script.write_text(code)
    monkeypatch.setattr(html, "_READER", script)
    with pytest.raises(Unreadable, match="too complicated"):
        await read_html("x" * 1_000_000, 100)


# The child


def in_its_place(monkeypatch, folder: Path, code: str) -> None:
    script = folder / "child.py"
    script.write_text(code)
    monkeypatch.setattr(pdf, "_READER", script)


async def test_a_cancel_kills_the_child_at_once(children):
    reading = asyncio.create_task(pdf.read_pdf(SLOW, 1_000))
    await until(lambda: children)
    started = time.monotonic()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert time.monotonic() - started < 2
    with pytest.raises(ProcessLookupError):
        os.kill(children[0].pid, 0)


async def test_the_child_is_dead_when_time_is_up(children):
    with pytest.raises(Unreadable):
        await pdf.read_pdf(SLOW, 1_000, seconds=0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(children[0].pid, 0)


async def test_no_more_children_at_a_time_than_allowed(children):
    readings = [asyncio.create_task(pdf.read_pdf(SLOW, 1_000)) for _ in range(5)]
    await until(lambda: len(children) == pdf.PARALLEL)
    readings[0].cancel()
    await until(lambda: len(children) == pdf.PARALLEL + 1)
    alive = [child for child in children if child.returncode is None]
    assert len(alive) == pdf.PARALLEL
    for reading in readings:
        reading.cancel()
    await asyncio.gather(*readings, return_exceptions=True)


async def test_the_child_has_none_of_our_secrets(monkeypatch, tmp_path):
    monkeypatch.setenv("DISCORD_TOKEN", "a-secret")
    in_its_place(
        monkeypatch,
        tmp_path,
        "import os\n"
        "def read(data, max_text):\n"
        "    yield {'page': 1, 'text': ' '.join(os.environ)}\n"
        "    yield {'end': True, 'cut': False}\n",
    )
    found = await pdf.read_pdf(b"", 100)
    assert "PATH" in found.pages[0].text
    assert "DISCORD_TOKEN" not in found.pages[0].text


async def test_a_child_that_never_stops_talking_is_stopped(monkeypatch, tmp_path, children):
    monkeypatch.setattr(pdf, "_OUTPUT", 1_000_000)
    in_its_place(
        monkeypatch,
        tmp_path,
        "while True: print('{\"page\": 1, \"text\": \"' + 'x' * 90_000 + '\"}')",
    )
    found = await pdf.read_pdf(b"", 100)
    assert found.truncated
    assert sum(len(page.text) for page in found.pages) < 1_200_000
    assert children[0].returncode is not None


@pytest.mark.parametrize("code", ["", "raise SystemExit(3)", "print('no JSON')", "import nothing"])
async def test_a_child_that_tells_nothing_is_a_damaged_pdf(monkeypatch, tmp_path, code):
    in_its_place(monkeypatch, tmp_path, code)
    with pytest.raises(Unreadable, match="damaged"):
        await pdf.read_pdf(b"x" * 1_000_000, 100)

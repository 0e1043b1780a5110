"""What is sealed: only for its key, only in its place, and never a reason for a turn to fail."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from storage import StorageError
from storage.cleaned import cleaned
from storage.keys import keys_of_file, parse_keys
from storage.vault import KEY_BYTES, Vault

OLD, NEW = bytes(32), b"\x07" * 32


@given(text=st.text(), place=st.lists(st.integers() | st.text(st.characters(codec="utf-8"))))
def test_what_is_sealed_opens_in_its_place(text: str, place: list[object]) -> None:
    vault = Vault([NEW])
    sealed = vault.seal(cleaned(text), *place)
    assert vault.open(sealed, *place) == cleaned(text)
    assert vault.seal(cleaned(text), *place) != sealed


@given(st.binary(max_size=80))
def test_nothing_else_opens_and_nothing_raises(sealed: bytes) -> None:
    assert Vault([NEW]).open(sealed, "here") is None


def test_every_changed_byte_is_noticed() -> None:
    vault = Vault([NEW])
    sealed = vault.seal("the safe is behind the painting", "entry", 1)
    for index in range(len(sealed)):
        changed = bytearray(sealed)
        changed[index] ^= 1
        assert vault.open(bytes(changed), "entry", 1) is None
    assert vault.open(sealed, "entry", 2) is None


def test_an_old_key_still_opens_and_the_first_one_seals() -> None:
    before = Vault([OLD]).seal("old words", "here")
    both = Vault([NEW, OLD])
    assert both.open(before, "here") == "old words"
    assert Vault([NEW]).open(both.seal("new words", "here"), "here") == "new words"
    assert Vault([OLD]).open(both.seal("new words", "here"), "here") is None


def test_a_missing_key_is_logged_once_and_without_content() -> None:
    sealed = [Vault([OLD]).seal(f"secret {n}", "here") for n in range(3)]
    vault = Vault([NEW])
    with capture_logs() as logs:
        assert [vault.open(each, "here") for each in sealed] == [None] * 3
    assert len(logs) == 1
    assert "EVERTURN_STORAGE_KEY" in logs[0]["reason"]
    assert logging.getLevelName(logs[0]["log_level"].upper()) == logging.WARNING
    shown = str(logs) + repr(vault)
    assert "secret" not in shown
    assert NEW.hex() not in shown
    assert repr(NEW) not in shown


def test_without_keys_each_vault_has_its_own() -> None:
    vault = Vault()
    sealed = vault.seal("words", "here")
    assert vault.open(sealed, "here") == "words"
    assert Vault().open(sealed, "here") is None


def test_a_key_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Vault([b"short"])


def encoded(key: bytes) -> str:
    return base64.b64encode(key).decode()


@given(st.lists(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), min_size=1, max_size=3))
def test_keys_are_read_in_either_alphabet(keys: list[bytes]) -> None:
    plain = " , ".join(encoded(key) for key in keys)
    url_safe = ",".join(base64.urlsafe_b64encode(key).decode().rstrip("=") for key in keys)
    assert parse_keys(plain) == parse_keys(url_safe) == keys


@pytest.mark.parametrize(
    "text", ["", " , ", "hunter2", "A" * 43 + "é", "A" * 45, encoded(b"x" * 31), "a\nb", "=" * 44]
)
def test_what_is_no_key_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(StorageError) as caught:
        parse_keys(text)
    assert caught.value.lasting
    assert "\n" not in str(caught.value)
    assert "32 bytes" in str(caught.value)
    assert not text.strip(" ,") or text not in str(caught.value)


def test_the_key_file_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "home" / "storage.key"
    keys = keys_of_file(path)
    assert len(keys) == 1
    assert len(keys[0]) == KEY_BYTES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keys_of_file(path) == keys
    assert [each.name for each in path.parent.iterdir()] == ["storage.key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o777])
def test_a_key_file_that_others_can_use_is_warned_of_in_one_line(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "storage.key"
    keys = keys_of_file(path)
    path.chmod(mode)
    with capture_logs() as lines:
        assert keys_of_file(path) == keys
    (line,) = lines
    assert line["log_level"] == "warning"
    assert f"{mode:04o}" in line["reason"]
    assert f"chmod 600 {path}" in line["reason"]
    assert "\n" not in line["reason"]
    assert path.read_text().strip() not in repr(line)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_key_file_of_its_owner_is_not_warned_of(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "storage.key"
    with capture_logs() as lines:
        keys_of_file(path)
        path.chmod(mode)
        keys_of_file(path)
    assert lines == []


MAKE = """
import sys
from pathlib import Path
from storage.keys import keys_of_file
sys.stdin.read(1)
print(keys_of_file(Path(sys.argv[1]))[0].hex())
"""


async def test_processes_that_start_together_get_the_same_key(tmp_path: Path) -> None:
    path = tmp_path / "storage.key"
    processes = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", MAKE, str(path)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(2)
    ]
    answers = await asyncio.gather(*(process.communicate(b"g") for process in processes))
    assert len({out for out, _ in answers}) == 1
    assert len(answers[0][0].strip()) == 2 * KEY_BYTES


def test_another_process_is_first_to_put_its_key_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking and making: the file that is there stays, and is what both use."""
    path = tmp_path / "storage.key"
    link = os.link

    def late(source: Path, target: Path) -> None:
        path.write_text(encoded(OLD))
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert keys_of_file(path) == [OLD]
    assert [each.name for each in tmp_path.iterdir()] == ["storage.key"]


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "storage.key"
    keys = keys_of_file(path)
    assert keys_of_file(path) == keys
    assert [each.name for each in tmp_path.iterdir()] == ["storage.key"]


def test_a_key_file_with_an_old_key_below(tmp_path: Path) -> None:
    path = tmp_path / "storage.key"
    path.write_text(f"{encoded(NEW)}\n{encoded(OLD)}\n")
    assert keys_of_file(path) == [NEW, OLD]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"hunter2"])
def test_a_damaged_key_file_is_never_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "storage.key"
    path.write_bytes(content)
    with pytest.raises(StorageError, match=r"holds no storage key .*: restore it") as caught:
        keys_of_file(path)
    assert "hunter2" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_folder_in_the_place_of_the_key(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot be used .*: make it readable"):
        keys_of_file(tmp_path)


@given(st.text(st.characters(), max_size=50), st.integers(0, 20))
def test_cleaned_text_is_text_that_both_databases_hold(text: str, limit: int) -> None:
    found = cleaned(text, limit)
    found.encode()
    assert "\0" not in found
    assert len(found) <= limit
    assert cleaned(found) == found
    if "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text):
        assert found == text[:limit]


def test_lone_surrogates_are_replaced() -> None:
    assert cleaned("a\ud83d b\0c 😀") == "a\ufffd bc 😀"

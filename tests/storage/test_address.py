"""What people write into DATABASE_URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import StorageError
from storage.address import parse_address


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("sqlite:////srv/data/e.db", "/srv/data/e.db"),
        ("sqlite+aiosqlite:////srv/e.db", "/srv/e.db"),
        ("/srv/with space/100%/e.db", "/srv/with space/100%/e.db"),
        ("sqlite:////srv/with%20space.db", "/srv/with space.db"),
        ("~/e.db", str(Path("~/e.db").expanduser())),
        ("./data/e.db", str(Path.cwd() / "data/e.db")),
        ("sqlite:///data/e.db", str(Path.cwd() / "data/e.db")),
        ("  /srv/e.db\n", "/srv/e.db"),
    ],
)
def test_sqlite_in_all_its_spellings(written: str, path: str) -> None:
    address = parse_address(written)
    assert (address.dialect, str(address.path)) == ("sqlite", path)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+asyncpg", "POSTGRES"])
def test_postgres_in_all_its_spellings(scheme: str) -> None:
    address = parse_address(f"{scheme}://ann:s%40cret@db.example:5433/chat?sslmode=require")
    assert address.dialect == "postgresql"
    assert address.dsn == "postgresql://ann:s%40cret@db.example:5433/chat?sslmode=require"
    assert str(address) == "database postgresql://ann@db.example:5433/chat"


def test_options_that_only_libpq_knows_are_left_out() -> None:
    """Hosted databases hand them out in their addresses; the server would refuse them."""
    address = parse_address("postgres://a:b@h/d?sslmode=require&channel_binding=require")
    assert address.dsn == "postgresql://a:b@h/d?sslmode=require"


@pytest.mark.parametrize(
    "written",
    ["", "  ", "sqlite://", "sqlite:///", "sqlite:///:memory:", "mysql://u:hunter2@h/d",
     "postgres://u:hunter2@h:port/d", "postgres://u:hunter2@[::1/d", "postgres://u:hunter2@[::1,a/d",
     # the scheme forgotten, or half of it
     "u:hunter2@db.example.org:5432/d", "postgresql:/u:hunter2@h/d", "postgresql:u:hunter2@h/d",
     "//u:hunter2@h/d", "/u:hunter2@h/d", "./u:hunter2@h/d", "~/u:hunter2@h/d", "~u:hunter2@h/d",
     "hunter2", "data/hunter2.db", ":memory:", "u:hunter2@h/d?then=a://b", "hunter2://u@h/d",
     # a password with a character that ends the host
     "postgresql://u:12/hunter2@h/d", "postgresql://u:12#hunter2@h/d",
     "postgresql://u:12?hunter2@h/d", "postgresql:///u:hunter2@h/d", "postgresql://u:a@b/hunter2@h"],
)  # fmt: skip
def test_anything_else_is_one_line_without_the_password(written: str) -> None:
    with pytest.raises(StorageError) as caught:
        parse_address(written)
    assert str(caught.value).startswith("DATABASE_URL is not valid: ")
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert caught.value.lasting


def test_an_at_sign_is_taken_where_it_belongs() -> None:
    address = parse_address("postgresql://u%40team:x@h/d?user=someone@else")
    assert str(address) == "database postgresql://u@team@h/d"
    assert parse_address("sqlite:////srv/a%40b/e.db").path == Path("/srv/a@b/e.db")


@given(st.text("abcXYZ019%/?#:@ é", min_size=4, max_size=20))
def test_no_password_is_ever_shown(password: str) -> None:
    from urllib.parse import quote

    encoded = quote(password, safe="")
    address = parse_address(f"postgresql://user:{encoded}@db.example/chat")
    for shown in (str(address), repr(address)):
        assert encoded not in shown
        assert password not in shown
    message = f"cannot use {address.dsn} with {password} or {encoded}"
    assert password not in address.redact(message).replace("***", "")

"""Everything the playground remembers, in one SQLite file.

Write-ahead logging with `synchronous=NORMAL`: a process killed at any moment loses nothing that it
had answered. The file is held exclusively, so that two playgrounds never share one folder; the
lock is the operating system's and goes with the process.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

from playground.errors import PlaygroundError
from playground.records import Message, dump

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    kind TEXT NOT NULL, id INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (kind, id)
);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY, channel_id INTEGER NOT NULL,
    deleted INTEGER NOT NULL, body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_of_a_channel ON messages (channel_id, id);
CREATE TABLE IF NOT EXISTS nonces (
    channel_id INTEGER NOT NULL, author_id INTEGER NOT NULL, nonce TEXT NOT NULL,
    message_id INTEGER NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (channel_id, author_id, nonce)
);
CREATE TABLE IF NOT EXISTS attachments (
    id INTEGER PRIMARY KEY, filename TEXT NOT NULL, content_type TEXT NOT NULL, data BLOB NOT NULL
);
"""


class Store:
    """Opens or creates `playground.sqlite3` under `folder`. Raises PlaygroundError in one line."""

    def __init__(self, folder: Path) -> None:
        path = folder / "playground.sqlite3"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                # for its owner only; SQLite gives its other files the same mode
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._db = sqlite3.connect(path, isolation_level=None, timeout=0.5)
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise PlaygroundError(
                    f"{path} was written by a newer playground: update, or use another data folder"
                )
            self._db.executescript(_SCHEMA)
            self._db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise PlaygroundError(
                    f"the data folder {folder} is in use by another playground: stop that one first"
                ) from error
            raise PlaygroundError(f"cannot open {path}: {error}") from error
        except (OSError, sqlite3.Error) as error:
            raise PlaygroundError(f"cannot open {path}: {error}") from error

    def close(self) -> None:
        self._db.close()

    def largest_id(self) -> int:
        """The largest snowflake ever stored, or 0."""
        row = self._db.execute(
            "SELECT max(id) FROM (SELECT max(id) AS id FROM documents UNION ALL"
            " SELECT max(id) FROM messages UNION ALL SELECT max(id) FROM attachments)"
        ).fetchone()
        return row[0] or 0

    # documents: guild, users, members, roles, channels, webhooks, commands, portal

    def documents(self, kind: str) -> list[dict[str, Any]]:
        rows = self._db.execute("SELECT body FROM documents WHERE kind=? ORDER BY id", (kind,))
        return [json.loads(body) for (body,) in rows]

    def put(self, kind: str, key: int, body: dict[str, Any]) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", (kind, key, json.dumps(body))
        )

    def remove(self, kind: str, key: int) -> None:
        self._db.execute("DELETE FROM documents WHERE kind=? AND id=?", (kind, key))

    # messages

    def save_message(self, message: Message) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?)",
            (
                message.id,
                message.channel_id,
                int(message.deleted_at is not None),
                json.dumps(dump(message)),
            ),
        )

    def message(self, channel_id: int, message_id: int) -> Message | None:
        """A message of a channel, deleted ones included."""
        row = self._db.execute(
            "SELECT body FROM messages WHERE id=? AND channel_id=?", (message_id, channel_id)
        ).fetchone()
        return Message(**json.loads(row[0])) if row else None

    def messages(
        self,
        channel_id: int,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int = 50,
        oldest_first: bool = False,
        deleted: bool = False,
    ) -> list[Message]:
        """Up to `limit` messages with `after < id < before`, taken from the end asked for."""
        rows = self._db.execute(
            "SELECT body FROM messages WHERE channel_id=? AND id>? AND id<? AND deleted<=?"
            f" ORDER BY id {'ASC' if oldest_first else 'DESC'} LIMIT ?",
            (channel_id, after, before or (1 << 63) - 1, int(deleted), limit),
        )
        return [Message(**json.loads(body)) for (body,) in rows]

    def pinned(self, channel_id: int) -> list[Message]:
        """Pinned messages, the latest pin first."""
        rows = self._db.execute(
            "SELECT body FROM messages WHERE channel_id=? AND deleted=0"
            " AND json_extract(body, '$.pinned_at') IS NOT NULL"
            " ORDER BY json_extract(body, '$.pinned_at') DESC",
            (channel_id,),
        )
        return [Message(**json.loads(body)) for (body,) in rows]

    # nonces

    def nonce_owner(self, channel_id: int, author_id: int, nonce: str, window: float) -> int | None:
        """The message made with this nonce in the last `window` seconds, if there is one."""
        row = self._db.execute(
            "SELECT message_id FROM nonces WHERE channel_id=? AND author_id=? AND nonce=? AND at>?",
            (channel_id, author_id, nonce, time.time() - window),
        ).fetchone()
        return row[0] if row else None

    def remember_nonce(self, channel_id: int, author_id: int, nonce: str, message_id: int) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO nonces VALUES (?, ?, ?, ?, ?)",
            (channel_id, author_id, nonce, message_id, time.time()),
        )

    def forget_nonces(self, older_than: float) -> None:
        self._db.execute("DELETE FROM nonces WHERE at<?", (time.time() - older_than,))

    # attachments

    def save_attachment(self, key: int, filename: str, content_type: str, data: bytes) -> None:
        self._db.execute(
            "INSERT INTO attachments VALUES (?, ?, ?, ?)", (key, filename, content_type, data)
        )

    def attachment(self, key: int) -> tuple[str, str, bytes] | None:
        """Filename, content type and bytes."""
        return self._db.execute(
            "SELECT filename, content_type, data FROM attachments WHERE id=?", (key,)
        ).fetchone()

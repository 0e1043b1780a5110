"""Seals what must not be readable in the database file: AES-GCM, each value with its key's id.

In: text, and which place in the database it is for. Out: bytes, that only a holder of the key
opens, and only in that place. Several keys: the first one seals, all of them open, so that a key
can be replaced without losing what the old one sealed.

A sealed value that cannot be opened (its key is gone, or somebody changed it) is None, as if it had
never been there, and is logged once for each key: it never fails a turn.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

import structlog

log = structlog.get_logger(__name__)

KEY_BYTES = 32
"""AES-256."""

_VERSION = b"\x01"
_ID_BYTES = 8
_NONCE_BYTES = 12
"""Random: safe for 2**32 values of one key (NIST SP 800-38D, 8.3)."""
_HEAD = len(_VERSION) + _ID_BYTES + _NONCE_BYTES


class Vault:
    """Holds keys. Neither they nor anything sealed is in its repr."""

    def __init__(self, keys: Sequence[bytes] = ()) -> None:
        """`keys` are of 32 bytes each; without any, what is sealed can be opened by this object
        only. Raises ValueError for another length."""
        # here, since a process that never meets short-term memory need not load OpenSSL
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        found = list(keys) or [os.urandom(KEY_BYTES)]
        if any(len(key) != KEY_BYTES for key in found):
            raise ValueError(f"a storage key has {KEY_BYTES} bytes")
        self._ciphers = {_key_id(key): AESGCM(key) for key in reversed(found)}
        self._first = _key_id(found[0])
        self._reported: set[bytes] = set()

    def seal(self, text: str, *place: object) -> bytes:
        """`place` says where the value will stand; `open` wants the same."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self._first].encrypt(nonce, text.encode(), _place(place))
        return _VERSION + self._first + nonce + sealed

    def open(self, sealed: bytes, *place: object) -> str | None:
        """The text; None for what these keys do not open in this place."""
        from cryptography.exceptions import InvalidTag

        key_id = sealed[len(_VERSION) : len(_VERSION) + _ID_BYTES]
        cipher = self._ciphers.get(key_id)
        if cipher is None or not sealed.startswith(_VERSION):
            self._report(key_id, "it was sealed with a key that this process does not have")
            return None
        nonce = sealed[_HEAD - _NONCE_BYTES : _HEAD]
        try:
            return cipher.decrypt(nonce, sealed[_HEAD:], _place(place)).decode()
        except (InvalidTag, ValueError):
            self._report(key_id, "it has been changed, or belongs elsewhere")
            return None

    def _report(self, key_id: bytes, why: str) -> None:
        if key_id in self._reported:
            return
        self._reported.add(key_id)
        log.warning(
            "storage.sealed_value_ignored",
            key_id=key_id.hex(),
            reason=f"{why}; give all processes the same EVERTURN_STORAGE_KEY, old keys last",
        )


def _key_id(key: bytes) -> bytes:
    """Names a key and tells nothing about it."""
    return hashlib.sha256(b"everturn storage key id\0" + key).digest()[:_ID_BYTES]


def _place(parts: tuple[object, ...]) -> bytes:
    return "\x1f".join(str(part) for part in parts).encode()

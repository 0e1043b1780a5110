"""The reader of PDFs, which runs in a process of its own (`child.py`).

It tells `{"pages": 12}`, then `{"page": 1, "text": …}` for each page with text, then
`{"end": true, "cut": false}`; or `{"fault": "encrypted"}`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError

MAX_PAGES = 5_000
FAILURES_IN_A_ROW = 50
"""Pages after which a document that only claims to have more is given up."""


def read(data: bytes, max_text: int) -> Iterator[dict[str, Any]]:
    try:
        yield from _read(data, max_text)
    except (FileNotDecryptedError, DependencyError):
        yield {"fault": "encrypted"}


def _read(data: bytes, max_text: int) -> Iterator[dict[str, Any]]:
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        yield {"fault": "encrypted"}
        return
    count = len(reader.pages)
    yield {"pages": count}
    left, failures = max_text, 0
    for index in range(min(count, MAX_PAGES)):
        try:
            text = reader.pages[index].extract_text().strip()
            failures = 0
        except MemoryError:
            raise
        except Exception:
            # one damaged page leaves the others readable
            text, failures = "", failures + 1
            if failures >= FAILURES_IN_A_ROW:
                break
        if text:
            yield {"page": index + 1, "text": text[:left]}
            left -= len(text)
        if left <= 0:
            yield {"end": True, "cut": left < 0 or index + 1 < count}
            return
    yield {"end": True, "cut": count > MAX_PAGES or failures >= FAILURES_IN_A_ROW}

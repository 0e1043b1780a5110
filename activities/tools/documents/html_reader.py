"""The reader of web pages, which runs in a process of its own (`child.py`).

In: HTML as UTF-8. It tells `{"title": …, "text": …}`, with Markdown without menus and scripts as
the text; both are empty where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import trafilatura

MAX_TITLE = 1_000


def read(data: bytes, max_text: int) -> Iterator[dict[str, Any]]:
    tree = trafilatura.load_html(data.decode())
    if tree is None:
        yield {"title": "", "text": ""}
        return
    title = " ".join((tree.findtext(".//title") or "").split())
    content = trafilatura.extract(
        tree, output_format="markdown", include_comments=False, include_links=True
    )
    yield {"title": title[:MAX_TITLE], "text": (content or "").strip()[:max_text]}

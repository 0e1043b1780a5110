"""The demo model's own words: how it repeats what somebody else has written. Pure."""

from __future__ import annotations

import re

QUOTED_WORDS = 12
QUOTED_CHARS = 120


def plain(text: str, limit: int = QUOTED_CHARS) -> str:
    """Short, on one line, and shown as it was written: no Markdown, no mention, no early end."""
    flat = " ".join(re.sub(r"[“”]", '"', text).split())
    if len(flat) > limit:
        flat = flat[:limit].rstrip() + " …"
    apart = re.sub(r"<(?=[@#])", "< ", flat)
    return re.sub(r"[\\`*_~|\[\]]", r"\\\g<0>", apart)

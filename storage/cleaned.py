"""Text as both databases, and JSON, can hold it. Pure."""

from __future__ import annotations


def cleaned(text: str, limit: int | None = None) -> str:
    """`text` without U+0000, which PostgreSQL cannot hold, and with lone surrogates, which are no
    text and come from a model's or a server's escapes, replaced by U+FFFD; at most `limit` code
    points."""
    text = text[:limit].replace("\0", "")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

"""From a bot message to the workflow that wrote it, by the nonce that the message carries.

The format is the bot's: `e`, trigger message id (13), persona (4), generation (1), ordinal (3),
part (2), all base 36. A nonce of any other form leads nowhere.
"""

from __future__ import annotations

import re
from urllib.parse import quote

_NONCE = re.compile(r"e([0-9a-z]{13})([0-9a-z]{4})([0-9a-z])([0-9a-z]{3})([0-9a-z]{2})")


def turn_id(channel_id: int, nonce: str | int | None) -> str | None:
    """`turn/<channel>/<trigger>/<persona>`, with `/<generation>` from 1 on; None without one."""
    match = _NONCE.fullmatch(str(nonce)) if nonce is not None else None
    if match is None:
        return None
    trigger, persona, generation = (int(match[group], 36) for group in (1, 2, 3))
    base = f"turn/{channel_id}/{trigger}/{persona}"
    return f"{base}/{generation}" if generation else base


def turn_url(temporal_ui: str | None, namespace: str, workflow_id: str) -> str | None:
    """The turn's page in the Temporal UI, or None when there is no UI."""
    if temporal_ui is None:
        return None
    base = temporal_ui.rstrip("/")
    return f"{base}/namespaces/{quote(namespace, safe='')}/workflows/{quote(workflow_id, safe='')}"

"""From a bot message to the workflow that wrote it, in the Temporal UI.

A message of the bot's account carries a nonce, which names the turn. Its format is the bot's: `e`,
trigger message id (13), persona (4), generation (1), ordinal (3), part (2), all base 36; a nonce of
any other form leads nowhere. What comes through a webhook has none. Since a channel has one turn at
a time, its turn is whichever was open there when the message came: that is a search.
"""

from __future__ import annotations

import re
from datetime import datetime
from urllib.parse import quote, urlencode

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
    base = _workflows(temporal_ui, namespace)
    return None if base is None else f"{base}/{quote(workflow_id, safe='')}"


def search_url(
    temporal_ui: str | None, namespace: str, channel_id: int, at: datetime
) -> str | None:
    """The turn that was open in the channel at that moment, as a search in the Temporal UI."""
    base = _workflows(temporal_ui, namespace)
    moment = at.isoformat(timespec="milliseconds")
    query = (
        f'WorkflowId STARTS_WITH "turn/{channel_id}/" AND StartTime <= "{moment}"'
        f' AND (CloseTime >= "{moment}" OR ExecutionStatus = "Running")'
    )
    return None if base is None else f"{base}?{urlencode({'query': query}, quote_via=quote)}"


def _workflows(temporal_ui: str | None, namespace: str) -> str | None:
    if temporal_ui is None:
        return None
    return f"{temporal_ui.rstrip('/')}/namespaces/{quote(namespace, safe='')}/workflows"

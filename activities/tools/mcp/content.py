"""From what an MCP server answers to the text that the model reads. Pictures, sounds and files are
named, not carried along."""

from __future__ import annotations

import json

from mcp_types import CallToolResult, ContentBlock
from mcp_types import TextContent as Text
from pydantic import BaseModel

from activities.tools.results import clean

MAX_TEXT = 200_000
"""Code points of an answer that are kept."""

_MAX_NAME = 200


class McpAnswer(BaseModel):
    text: str
    truncated: bool = False


def answer_of(result: CallToolResult) -> McpAnswer:
    """The parts in their order; structured content only where nothing else was said."""
    parts: list[str] = []
    room = MAX_TEXT + 1
    for block in result.content:
        if room <= 0:
            break
        part = clean(_words(block)[:room])
        room -= len(part) + 1
        parts.append(part)
    text = "\n".join(parts)
    if not text.strip() and result.structured_content is not None:
        whole = json.dumps(result.structured_content, ensure_ascii=False)
        text = clean(whole[: MAX_TEXT + 1])
    return McpAnswer(text=text[:MAX_TEXT], truncated=len(text) > MAX_TEXT)


def _words(block: ContentBlock) -> str:
    if isinstance(block, Text):
        return block.text
    details = block.model_dump(mode="json", exclude_none=True, by_alias=True)
    resource = details.get("resource")
    if isinstance(resource, dict):
        details |= resource
    named = [str(details[key])[:_MAX_NAME] for key in ("name", "uri", "mimeType") if key in details]
    data = details.get("data") or details.get("blob") or details.get("text")
    size = f", {len(data)} characters" if isinstance(data, str) else ""
    return f"[{details.get('type', 'content')}: {', '.join(named) or 'unnamed'}{size}; not shown]"

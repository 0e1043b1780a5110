"""A message before it exists: read from a request and held against Discord's limits.

Source of the limits: Discord's API reference, "Create Message", "Embed Limits" and "Components".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from playground.errors import DiscordError, empty_message, invalid_form, too_long
from playground.mentions import AllowedMentions
from playground.records import COMPONENTS_V2, EPHEMERAL, SUPPRESS_NOTIFICATIONS

CONTENT_LIMIT = 2000
"""Unicode code points."""
NONCE_LIMIT = 25
EMBED_LIMIT = 10
EMBED_TOTAL_LIMIT = 6000
FILE_LIMIT = 10
STICKER_LIMIT = 3
FILE_SIZE_LIMIT = 10 * 1024 * 1024
"""Bytes of one file in a guild without boosts."""
SUPPRESS_EMBEDS = 1 << 2

_EMBED_FIELD_LIMITS = {"title": 256, "description": 4096}


@dataclass(frozen=True)
class Upload:
    """A file sent along with a message."""

    filename: str
    content_type: str
    data: bytes


@dataclass(frozen=True)
class ReplyTo:
    """Which message is replied to, and whether a missing one is an error."""

    message_id: int
    channel_id: int | None
    must_exist: bool


@dataclass
class Draft:
    content: str = ""
    nonce: str | int | None = None
    enforce_nonce: bool = False
    tts: bool = False
    flags: int = 0
    embeds: list[dict[str, Any]] = field(default_factory=list)
    components: list[dict[str, Any]] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    stickers: list[int] = field(default_factory=list)
    allowed_mentions: AllowedMentions | None = None
    reply_to: ReplyTo | None = None

    @property
    def empty(self) -> bool:
        has_files = self.uploads or self.stickers
        return not (self.content or self.embeds or self.components or has_files)


def read_draft(payload: dict[str, Any], uploads: list[Upload] | None = None) -> Draft:
    """The message asked for by a request body. Raises DiscordError (50035, 50006, 40005)."""
    draft = Draft(
        content=read_content(payload),
        nonce=read_nonce(payload),
        enforce_nonce=bool(payload.get("enforce_nonce")),
        tts=bool(payload.get("tts")),
        flags=int(payload.get("flags") or 0)
        & (EPHEMERAL | SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2),
        embeds=read_embeds(payload),
        components=list(payload.get("components") or []),
        uploads=uploads or [],
        stickers=read_stickers(payload),
        allowed_mentions=read_allowed_mentions(payload),
        reply_to=_read_reply(payload),
    )
    if len(draft.uploads) > FILE_LIMIT:
        raise too_long("attachments", FILE_LIMIT)
    if any(len(upload.data) > FILE_SIZE_LIMIT for upload in draft.uploads):
        raise DiscordError(413, 40005, "Request entity too large")
    if draft.flags & COMPONENTS_V2 and (draft.content or draft.embeds):
        raise invalid_form(
            "content",
            "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
            "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
        )
    if draft.empty:
        raise empty_message()
    return draft


def read_content(payload: dict[str, Any]) -> str:
    """The text, trimmed as Discord trims it. Raises 50035 over 2000 code points."""
    content = payload.get("content")
    if content is None:
        return ""
    if not isinstance(content, str):
        raise invalid_form("content", "BASE_TYPE_STRING", "Could not interpret as string.")
    content = content.strip()
    if len(content) > CONTENT_LIMIT:
        raise too_long("content", CONTENT_LIMIT)
    return content


def read_nonce(payload: dict[str, Any]) -> str | int | None:
    nonce = payload.get("nonce")
    if nonce is None or isinstance(nonce, bool):
        return None
    if not isinstance(nonce, str | int):
        raise invalid_form("nonce", "BASE_TYPE_STRING", "Could not interpret as string.")
    if len(str(nonce)) > NONCE_LIMIT:
        raise too_long("nonce", NONCE_LIMIT)
    return nonce


def read_stickers(payload: dict[str, Any]) -> list[int]:
    given = payload.get("sticker_ids") or []
    if len(given) > STICKER_LIMIT:
        raise too_long("sticker_ids", STICKER_LIMIT)
    if not all(str(key).isdecimal() for key in given):
        raise invalid_form("sticker_ids", "NUMBER_TYPE_COERCE", "Value is not snowflake.")
    return [int(key) for key in given]


def read_allowed_mentions(payload: dict[str, Any]) -> AllowedMentions | None:
    allowed = payload.get("allowed_mentions")
    return None if allowed is None else AllowedMentions.parse(allowed)


def read_embeds(payload: dict[str, Any]) -> list[dict[str, Any]]:
    embeds = list(payload.get("embeds") or ([payload["embed"]] if payload.get("embed") else []))
    if len(embeds) > EMBED_LIMIT:
        raise too_long("embeds", EMBED_LIMIT)
    total = 0
    for index, embed in enumerate(embeds):
        for name, limit in _EMBED_FIELD_LIMITS.items():
            if len(embed.get(name) or "") > limit:
                raise too_long(f"embeds.{index}.{name}", limit)
        total += _embed_characters(embed)
        embed.setdefault("type", "rich")
    if total > EMBED_TOTAL_LIMIT:
        raise invalid_form(
            "embeds",
            "MAX_EMBED_SIZE_EXCEEDED",
            f"Embed size exceeds maximum size of {EMBED_TOTAL_LIMIT}",
        )
    return embeds


def _embed_characters(embed: dict[str, Any]) -> int:
    parts = [embed.get("title"), embed.get("description")]
    parts += [(embed.get("footer") or {}).get("text"), (embed.get("author") or {}).get("name")]
    for item in embed.get("fields") or []:
        parts += [item.get("name"), item.get("value")]
    return sum(len(part or "") for part in parts)


def _read_reply(payload: dict[str, Any]) -> ReplyTo | None:
    reference = payload.get("message_reference")
    if not reference or reference.get("message_id") is None:
        return None
    channel_id = reference.get("channel_id")
    return ReplyTo(
        message_id=int(reference["message_id"]),
        channel_id=None if channel_id is None else int(channel_id),
        must_exist=bool(reference.get("fail_if_not_exists", True)),
    )


def read_changes(payload: dict[str, Any]) -> dict[str, Any]:
    """What an edit's body changes; a field that is absent stays. Raises 50035."""
    changes: dict[str, Any] = {}
    if "content" in payload:
        changes["content"] = read_content(payload)
    if "embeds" in payload or "embed" in payload:
        changes["embeds"] = read_embeds(payload)
    if "components" in payload:
        changes["components"] = list(payload["components"] or [])
    if payload.get("flags") is not None:
        changes["flags"] = int(payload["flags"]) & (SUPPRESS_EMBEDS | COMPONENTS_V2)
    changes["allowed_mentions"] = read_allowed_mentions(payload)
    return changes

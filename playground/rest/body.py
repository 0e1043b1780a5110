"""Request bodies: JSON, or multipart with `payload_json` and files."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from playground.drafts import Upload
from playground.errors import DiscordError, invalid_form

_PAYLOAD = web.RequestKey("payload", object)
_UPLOADS = web.RequestKey("uploads", list[Upload])


async def read_body(request: web.Request) -> None:
    """Reads the body once; the functions below give its parts. Raises 50109 for bad JSON."""
    request[_PAYLOAD], request[_UPLOADS] = None, []
    if not request.can_read_body:
        return
    if request.content_type == "multipart/form-data":
        form = await request.post()
        for name, value in form.items():
            if isinstance(value, web.FileField):
                data = value.file.read()
                request[_UPLOADS].append(Upload(value.filename, value.content_type, data))
            elif name == "payload_json":
                request[_PAYLOAD] = _parse(str(value))
        return
    text = await request.text()
    request[_PAYLOAD] = _parse(text) if text else None


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise DiscordError(400, 50109, "The request body contains invalid JSON.") from None


def request_body(request: web.Request) -> Any:
    """The body as it came, or None."""
    return request.get(_PAYLOAD)


def fields(request: web.Request) -> dict[str, Any]:
    """A body that has to be an object; no body is an empty one."""
    payload = request.get(_PAYLOAD)
    if payload is None:
        return {}
    if not isinstance(payload, dict):
        raise invalid_form("_", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
    return payload


def items(request: web.Request) -> list[dict[str, Any]]:
    """A body that has to be a list of objects."""
    payload = request.get(_PAYLOAD)
    if not isinstance(payload, list) or not all(isinstance(item, dict) for item in payload):
        raise invalid_form("_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    return payload


def uploads(request: web.Request) -> list[Upload]:
    return request.get(_UPLOADS) or []


def path_id(request: web.Request, name: str) -> int:
    """A snowflake in the path. The route patterns let only digits through."""
    return int(request.match_info[name])


def query_id(request: web.Request, name: str) -> int | None:
    """A snowflake in the query, or None. Raises 50035 when it is none."""
    value = request.query.get(name)
    if value is None:
        return None
    if not value.isdecimal():
        raise invalid_form(name, "NUMBER_TYPE_COERCE", f'Value "{value}" is not snowflake.')
    return int(value)


def query_limit(request: web.Request, default: int, most: int) -> int:
    value = request.query.get("limit", str(default))
    if not value.isdecimal() or not 1 <= int(value) <= most:
        raise invalid_form("limit", "NUMBER_TYPE_MAX", f"int value should be 1 to {most}.")
    return int(value)

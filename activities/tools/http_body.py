"""Reads the body of a response up to a limit, counted after decompression.

httpx unpacks whole chunks, so 64 kB of gzip can become 66 MB in one step, and a stack of
encodings far more. Here one encoding is accepted and never asked for more than what still fits.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import httpx

ACCEPT_ENCODING = "gzip, identity;q=0.5"


class UnreadableBody(Exception):
    """The body is damaged or packed in a way we do not unpack. The text may be shown."""


@dataclass(frozen=True)
class Body:
    data: bytes
    truncated: bool
    """The limit was reached; the rest was not read."""


async def read_body(response: httpx.Response, limit: int) -> Body:
    """At most `limit` bytes of the streamed `response`. Raises UnreadableBody, httpx.HTTPError.

    The bytes on the wire are held to the same limit, since gzip can also be long and hold nothing.
    The caller closes the response; what was left unread closes the connection.
    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        inflater = None
    elif encoding in ("gzip", "x-gzip"):
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    else:
        raise UnreadableBody("the page is packed with an encoding other than gzip")

    data = bytearray()
    received = 0
    async for chunk in response.aiter_raw():
        received += len(chunk)
        room = limit + 1 - len(data)
        if inflater is None:
            data += chunk[:room]
        else:
            try:
                data += inflater.decompress(chunk, room)
            except zlib.error:
                raise UnreadableBody("the page's compressed data is damaged") from None
        if len(data) > limit or received > limit:
            return Body(bytes(data[:limit]), truncated=True)
        if inflater is not None and inflater.eof:
            break
    if inflater is not None and received and not inflater.eof:
        raise UnreadableBody("the page's compressed data ended early")
    return Body(bytes(data), truncated=False)

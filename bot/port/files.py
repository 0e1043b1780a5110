"""A file of a message: from a fresh address, from Discord's own hosts only, and bounded.

Addresses of files expire, so nobody keeps one: whoever wants the file names the message, which is
fetched again (D50). The host is held against a list in place of its addresses, since proxies give
Discord's file servers private ones (D80); a redirect is not followed.
"""

from __future__ import annotations

import aiohttp
import discord
import structlog
import yarl
from discord.http import Route

from workflows.contracts.discord_port import DiscordRefused

log = structlog.get_logger(__name__)

FILE_HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})
DISCORD = "https://discord.com/"
CONNECT = 10.0
SILENCE = 15.0
"""Seconds that a file server may take to answer, and between two pieces."""
PIECE = 64 * 1024


async def read(attachment: discord.Attachment, limit: int) -> bytes | None:
    """The file's bytes, at most `limit`. None: it is gone. Raises DiscordRefused."""
    if attachment.size > limit:
        raise _too_large(attachment.size, limit)
    address = yarl.URL(attachment.url)
    if not is_file_address(address, yarl.URL(Route.BASE)):
        log.warning("a file is not on a file server of Discord's", host=address.host)
        raise DiscordRefused("The file is not on one of Discord's file servers.")
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT, sock_read=SILENCE)
    try:
        # Undecoded: what is counted is what comes, and nothing unfolds to more.
        async with (
            aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
            session.get(
                address, allow_redirects=False, headers={"Accept-Encoding": "identity"}
            ) as answer,
        ):
            if answer.status == 404:
                return None
            if answer.status != 200 or answer.headers.get("Content-Encoding"):
                log.warning("a file could not be read", status=answer.status)
                raise DiscordRefused("Discord's file server did not give the file.")
            return await _bounded(answer, limit)
    except (aiohttp.ClientError, OSError) as error:
        log.warning("a file could not be read", error=type(error).__name__)
        raise DiscordRefused("Discord's file server does not answer at the moment.") from error


def is_file_address(address: yarl.URL, api: yarl.URL) -> bool:
    """`api` is the address of the API in use: one that is not Discord's keeps its files itself."""
    if address.scheme == "https" and address.host in FILE_HOSTS:
        return address.port == 443
    elsewhere = api.origin() != yarl.URL(DISCORD).origin()
    return elsewhere and address.is_absolute() and address.origin() == api.origin()


async def _bounded(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    pieces = bytearray()
    async for piece in answer.content.iter_chunked(PIECE):
        pieces += piece
        if len(pieces) > limit:
            raise _too_large(len(pieces), limit)
    return bytes(pieces)


def _too_large(size: int, limit: int) -> DiscordRefused:
    return DiscordRefused(
        f"The file is too large: it has at least {size:,} bytes, and {limit:,} can be read."
    )

"""Transport compression: one stream for the whole connection, flushed after each payload.

discord.py asks for `zstd-stream` when a zstd module is installed and for `zlib-stream` otherwise.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable
from typing import Any

Compress = Callable[[bytes], bytes]


class UnknownCompression(Exception):
    """The client asks for a compression that is not offered here."""


def compressor(name: str | None) -> Compress | None:
    """The function for one connection, or None for plain text. Raises UnknownCompression."""
    if name is None:
        return None
    if name == "zlib-stream":
        return _zlib()
    if name == "zstd-stream" and (zstd := _zstd()) is not None:
        return zstd
    raise UnknownCompression(name)


def _zlib() -> Compress:
    stream = zlib.compressobj()
    return lambda data: stream.compress(data) + stream.flush(zlib.Z_SYNC_FLUSH)


def _zstd() -> Compress | None:
    for module, block in (("compression.zstd", "FLUSH_BLOCK"), ("zstandard", "COMPRESSOBJ")):
        try:
            found: Any = importlib.import_module(module)
        except ImportError:
            continue
        if block == "FLUSH_BLOCK":
            stream = found.ZstdCompressor()
            return lambda data: stream.compress(data, stream.FLUSH_BLOCK)
        stream = found.ZstdCompressor().compressobj()
        flush = found.COMPRESSOBJ_FLUSH_BLOCK
        return lambda data: stream.compress(data) + stream.flush(flush)
    return None

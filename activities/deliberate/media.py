"""Files and links that a turn is about (behaviour 8, rule 5).

In: the trigger message, and the one it replies to. Out: the tools that look at what they carry.
What always holds: nothing older counts, whoever posted it; an emoji is no image.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

from workflows.contracts.history import HistoryMessage

MAX_TEXT = 4000
"""Code points of a message in which links are looked for."""


class MediaKind(StrEnum):
    IMAGE = "image"
    GIF = "GIF"
    VIDEO = "video"
    AUDIO = "audio"
    FILE = "file"
    """Any other: text, PDF, …"""
    YOUTUBE = "YouTube link"


_TOOLS: dict[MediaKind, tuple[str, ...]] = {
    MediaKind.FILE: ("read_file",),
    MediaKind.IMAGE: ("analyze_image",),
    MediaKind.GIF: ("analyze_image", "process_gif"),
    MediaKind.YOUTUBE: ("process_youtube_video",),
}

_EXTENSIONS = {
    MediaKind.GIF: ("gif",),
    MediaKind.IMAGE: ("png", "jpg", "jpeg", "webp", "bmp", "avif", "heic"),
    MediaKind.VIDEO: ("mp4", "mov", "webm", "mkv", "avi", "m4v"),
    MediaKind.AUDIO: ("mp3", "wav", "ogg", "oga", "opus", "flac", "m4a", "aac"),
}
_KIND_OF_EXTENSION = {
    extension: kind for kind, extensions in _EXTENSIONS.items() for extension in extensions
}

_ADDRESS = re.compile(r"https?://([^\s<>/?#]{1,255})([^\s<>?#]*)(\?[^\s<>#]*)?", re.IGNORECASE)
_YOUTUBE_HOST = re.compile(r"(?:.*\.)?(?:youtube\.com|youtube-nocookie\.com|youtu\.be)")
_YOUTUBE_PAGE = re.compile(r"/(?:watch|(?:shorts|live|embed|v)/.)")
_GIF_HOST = re.compile(r"(?:.*\.)?(?:tenor\.com|giphy\.com)")
_EMOJI_PATH = "/emojis/"


def media_tools(text: str, messages: Iterable[HistoryMessage]) -> dict[str, str]:
    """Names of tools, and for each the kind of media that calls for it.

    `messages` are the trigger, where the channel has one, and what it replies to; `text` is the
    trigger's.
    """
    kinds = _kinds_of_links(text)
    for message in messages:
        kinds += [*kinds_of_files(message), *_kinds_of_links(message.content)]
    found: dict[str, str] = {}
    for kind in kinds:
        for name in _TOOLS.get(kind, ()):
            found.setdefault(name, kind.value)
    return found


def kinds_of_files(message: HistoryMessage) -> list[MediaKind]:
    """What the files of a message are, by what Discord says of them, else by their names."""
    if message.files:
        return [_kind_of_file(file.filename, file.content_type) for file in message.files]
    return [_kind_of_file(name) for name in message.attachments]


def _kind_of_file(filename: str, content_type: str = "") -> MediaKind:
    content_type = content_type.lower()
    if content_type.startswith("image/gif"):
        return MediaKind.GIF
    for kind in (MediaKind.IMAGE, MediaKind.VIDEO, MediaKind.AUDIO):
        if content_type.startswith(f"{kind}/"):
            return kind
    if content_type and not content_type.startswith("application/octet-stream"):
        return MediaKind.FILE
    return _KIND_OF_EXTENSION.get(_extension(filename), MediaKind.FILE)


def _kinds_of_links(text: str) -> list[MediaKind]:
    return [
        kind
        for host, path, _ in _ADDRESS.findall(text[:MAX_TEXT])
        if (kind := _kind_of_link(host.lower(), path)) is not None
    ]


def _kind_of_link(host: str, path: str) -> MediaKind | None:
    if _YOUTUBE_HOST.fullmatch(host):
        is_video = _YOUTUBE_PAGE.match(path) or (host.endswith("youtu.be") and len(path) > 1)
        return MediaKind.YOUTUBE if is_video else None
    if _EMOJI_PATH in path:
        return None
    if _GIF_HOST.fullmatch(host) and len(path) > 1:
        return MediaKind.GIF
    kind = _KIND_OF_EXTENSION.get(_extension(path))
    return kind if kind in (MediaKind.GIF, MediaKind.IMAGE) else None


def _extension(name: str) -> str:
    return name.rpartition(".")[2].lower()

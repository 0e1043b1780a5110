"""How much long-term memory a persona may hold (behaviour 7.2); the operator's setting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemoryLimits:
    personal: int = 100
    """Memories of one persona about one member, over all servers (MAX_PERSONAL_MEMORIES)."""
    server: int = 100
    """Memories of one persona that hold for a whole server (MAX_SERVER_MEMORIES)."""
    length: int = 1000
    """Code points of one memory (MAX_MEMORY_LENGTH)."""

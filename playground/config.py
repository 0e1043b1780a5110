"""What a playground is started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PlaygroundConfig:
    """`port` 0 takes any free one. `temporal_ui` is the base address of the Temporal UI, or None
    when there is none to link to."""

    data: Path
    port: int = 0
    temporal_ui: str | None = None
    namespace: str = "default"

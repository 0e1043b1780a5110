"""What a language pack is: data, phrases in the notation of `activities.deliberate.matching`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from activities.deliberate.targets import Target


@dataclass(frozen=True)
class Pack:
    intents: Mapping[Target, Sequence[str]]
    """What somebody says who wants something of this target."""
    memory: Sequence[str]
    """Explicit wishes to remember something for good; they are intents of `memory` as well."""
    self_diagnosis: Sequence[str]
    """Questions about what is the matter with the persona itself."""
    link_requests: Sequence[str]
    """Together with an address: the page is to be read."""
    follow_up: Sequence[str]
    """Wording that means something that was asked or made before, in whatever sentence."""
    brief_follow_up: Sequence[str]
    """The same, but only where the message says hardly anything else."""
    sayings: Sequence[str] = ()
    """Phrases that look like one of the others and mean something else. They are taken out."""

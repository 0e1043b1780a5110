"""Names of time zones, as IANA has them. Pure, but for the look at the zone files."""

from __future__ import annotations

from functools import cache

from runtime.zones import zone_names


@cache
def zones() -> dict[str, str]:
    """Every name by its lower-case form. The first call reads folders for some 0.1 s."""
    return {name.lower(): name for name in sorted(zone_names())}


def zone_named(given: str) -> str | None:
    """The zone's own spelling; spaces stand for underscores."""
    return zones().get(given.strip().replace(" ", "_").lower())


def zones_like(typed: str) -> list[str]:
    """Those that contain what was typed; a city's name first."""
    wanted = typed.strip().replace(" ", "_").lower()
    found = [name for lower, name in zones().items() if wanted in lower]
    return sorted(found, key=lambda name: not name.lower().split("/")[-1].startswith(wanted))

"""The time zones that people can choose: IANA's names, as this machine knows them. Read once."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

_NOT_CHOSEN = frozenset({"Factory", "localtime", "posixrules"})
"""Files among the zones that are no place: "not set yet", and whatever this machine has been set
to, which another one of ours need not have."""


@cache
def zone_names() -> frozenset[str]:
    """Reads folders for some 0.1 s."""
    return frozenset(available_timezones() - _NOT_CHOSEN)

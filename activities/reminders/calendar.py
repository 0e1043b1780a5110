"""Wall time and instants. Pure.

For: when a reminder is due, in the zone of who asked for it. In: naive wall times, IANA zones and
aware instants. Out: `Occurrence`s in UTC.
What always holds: a wall time that a clock skips is the instant at which the clock goes on; one
that a clock shows twice is the first of the two; a repetition by whole days keeps its wall time
over such a change, any other keeps its distance in hours; nothing finer than a second.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from runtime.zones import zone_names

HOURS_OF_A_DAY = 24


@dataclass(frozen=True)
class Occurrence:
    wall_time: datetime
    """Naive, as the clock in the reminder's zone is meant to show it."""
    due_at: datetime
    """The same as an instant, in UTC."""


def zone_named(name: str) -> ZoneInfo | None:
    """The zone of an IANA name; None for anything else, such as a path."""
    return ZoneInfo(name) if name in zone_names() else None


def instant(wall: datetime, zone: ZoneInfo) -> datetime:
    """When the clock in `zone` shows `wall`, in UTC."""
    wall = wall.replace(microsecond=0, tzinfo=None)
    found = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if wall_time(found, zone) == wall:
        return found
    # The clock skips `wall`. With the offset from before the change it lies behind the change,
    # with the one from after it, before; in between is the instant of the change.
    earlier = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    while found - earlier > timedelta(seconds=1):
        middle = earlier + timedelta(seconds=(found - earlier) // timedelta(seconds=2))
        if wall_time(middle, zone) > wall:
            found = middle
        else:
            earlier = middle
    return found


def wall_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """What the clock in `zone` shows at an instant; naive."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def at_wall_time(wall: datetime, zone: ZoneInfo) -> Occurrence:
    return Occurrence(wall.replace(microsecond=0), instant(wall, zone))


def at_instant(moment: datetime, zone: ZoneInfo) -> Occurrence:
    moment = moment.astimezone(UTC).replace(microsecond=0)
    return Occurrence(wall_time(moment, zone), moment)


def add_months(wall: datetime, months: int) -> datetime:
    """The same day of a later month, or that month's last day. OverflowError past the year 9999."""
    year, month = divmod(wall.year * 12 + wall.month - 1 + months, 12)
    if year > datetime.max.year:
        raise OverflowError("later than the year 9999")
    day = min(wall.day, calendar.monthrange(year, month + 1)[1])
    return wall.replace(year=year, month=month + 1, day=day)


def from_now(
    now: datetime, zone: ZoneInfo, *, months: int = 0, days: int = 0, hours: int = 0, minutes: int
) -> Occurrence:
    """Months and days as the calendar counts them, then hours and minutes as they pass."""
    if months or days:
        wall = add_months(wall_time(now, zone), months) + timedelta(days=days)
        now = instant(wall, zone)
    return at_instant(now + timedelta(hours=hours, minutes=minutes), zone)


def next_occurrence(
    latest: Occurrence, zone: ZoneInfo, interval_hours: int, after: datetime
) -> Occurrence:
    """The first occurrence behind `latest` that is later than `after`.

    Counted from `latest` itself, however late it was delivered. `interval_hours`: at least 1.
    """
    interval = timedelta(hours=interval_hours)
    missed = max(0, (after - latest.due_at) // interval)
    if interval_hours % HOURS_OF_A_DAY:
        return at_instant(latest.due_at + (missed + 1) * interval, zone)
    # A day of a clock may be longer or shorter than 24 hours, so the count is a little off.
    count = max(1, missed - 1)
    while True:
        found = at_wall_time(latest.wall_time + count * interval, zone)
        if found.due_at > max(after, latest.due_at):
            return found
        count += 1

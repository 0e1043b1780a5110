"""From what a model asks for to the time that is meant.

In: the arguments of a task tool, the zone that applies, and the time it is. Out: an `Occurrence`.
What always holds: it lies in the future, and not further than MAX_AHEAD.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from activities.reminders.calendar import Occurrence, at_wall_time, from_now, zone_named
from activities.tools.results import clean
from activities.tools.tool import ToolArguments, ToolFailure
from storage.config import ServerConfig, UserConfig

MAX_AHEAD = timedelta(days=5 * 366)
MAX_INTERVAL_HOURS = 366 * 24
MAX_PURPOSE = 1_000
"""Code points of what a task is about."""

_WALL_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?"
)
_RELATIVE = ("minutes_from_now", "hours_from_now", "days_from_now", "months_from_now")


def _cleaned(purpose: str) -> str:
    cleaned = clean(purpose).strip()
    if not cleaned:
        raise ValueError("say what it is about")
    return cleaned


Purpose = Annotated[str, StringConstraints(max_length=MAX_PURPOSE), AfterValidator(_cleaned)]


class TimingArguments(ToolArguments):
    """When: `reminder_time`, or one or more of the `…_from_now`, which add up."""

    reminder_time: str | None = Field(
        default=None,
        max_length=40,
        description="Local date and time, `YYYY-MM-DD HH:MM`. Not together with …_from_now.",
    )
    minutes_from_now: int | None = Field(default=None, ge=0, le=5 * 366 * 24 * 60)
    hours_from_now: int | None = Field(default=None, ge=0, le=5 * 366 * 24)
    days_from_now: int | None = Field(default=None, ge=0, le=5 * 366)
    months_from_now: int | None = Field(default=None, ge=0, le=60)
    timezone: str | None = Field(
        default=None,
        max_length=64,
        description="IANA name such as Europe/Berlin, if another zone than the user's is meant.",
    )

    @model_validator(mode="after")
    def _check_one_way(self) -> Self:
        if self.reminder_time is not None and self._relative():
            raise ValueError("give either `reminder_time` or …_from_now, not both")
        return self

    def _relative(self) -> list[str]:
        return [name for name in _RELATIVE if getattr(self, name) is not None]

    def says_when(self) -> bool:
        return self.reminder_time is not None or bool(self._relative())

    def occurrence(self, zone: ZoneInfo, now: datetime) -> Occurrence:
        """Raises ToolFailure that says what is wrong, and what time it is."""
        it_is = f"It is now {now.astimezone(zone):%Y-%m-%d %H:%M} in {zone.key}."
        try:
            found = self._named(zone, now)
        except ValueError as error:
            raise ToolFailure(f"{error} {it_is}") from None
        except OverflowError:
            raise ToolFailure(f"That is outside of the calendar. {it_is}") from None
        return future(found, zone, now)

    def _named(self, zone: ZoneInfo, now: datetime) -> Occurrence:
        if self.reminder_time is not None:
            return at_wall_time(_wall_time(self.reminder_time), zone)
        if not self._relative():
            raise ValueError("Say when: `reminder_time`, or one of the …_from_now.")
        return from_now(
            now,
            zone,
            months=self.months_from_now or 0,
            days=self.days_from_now or 0,
            hours=self.hours_from_now or 0,
            minutes=self.minutes_from_now or 0,
        )


def future(found: Occurrence, zone: ZoneInfo, now: datetime) -> Occurrence:
    """The occurrence itself. Raises ToolFailure when it is past, or further than MAX_AHEAD."""
    it_is = f"It is now {now.astimezone(zone):%Y-%m-%d %H:%M} in {zone.key}."
    if found.due_at <= now:
        raise ToolFailure(f"{found.wall_time:%Y-%m-%d %H:%M} is not in the future. {it_is}")
    if found.due_at - now > MAX_AHEAD:
        raise ToolFailure(f"A task can be at most five years ahead. {it_is}")
    return found


def chosen_zone(name: str | None, user: UserConfig, server: ServerConfig) -> ZoneInfo:
    """The zone that was named, else the member's, else the server's.

    Raises ToolFailure for a name that is none. One that a setting has is passed over: the list of
    zones changes, and a reminder is better in the next best zone than not at all.
    """
    if name:
        zone = zone_named(name)
        if zone is None:
            raise ToolFailure(f"{name!r} is no time zone. Use an IANA name such as Europe/Berlin.")
        return zone
    kept = (zone_named(kept) for kept in (user.timezone, server.timezone) if kept)
    return next((zone for zone in kept if zone is not None), ZoneInfo("UTC"))


def utc_now() -> datetime:
    return datetime.now(UTC)


def _wall_time(text: str) -> datetime:
    match = _WALL_TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError("`reminder_time` is not of the form YYYY-MM-DD HH:MM.")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second)
    except ValueError:
        raise ValueError(f"There is no {match[0]} in the calendar.") from None

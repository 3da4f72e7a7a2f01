"""
Cron schedules: the text that a CronJob carries, and the times at which it is due.

The grammar and the arithmetic are those that CronJob users know (five fields, `@daily`, `@every 1h`, an optional
`TZ=` prefix). A calendar schedule is due at every real minute whose local fields match: a local time that a clock
change skips is not due that day, one that comes twice is due twice, an hourly schedule never pauses.

Time is handed in; nothing here reads a clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import MAXYEAR, UTC, date, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from runtime import duration

_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)
_YEARS_AHEAD: Final = 5
_NUMBER = re.compile(r"\+?[0-9]{1,18}")
_ZONE_PREFIXES: Final = ("TZ=", "CRON_TZ=")
_EVERY: Final = "@every "
_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class CronError(ValueError):
    """A schedule or a time zone can't be used. The message names it and says why."""


class CalendarSchedule(msgspec.Struct, frozen=True):
    """Due when the local minute, hour, month and day match. Values are sorted; weekdays count from Sunday, 0."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    either_day: bool
    """Day of month and day of week are both restricted: matching one of them is enough."""
    zone: tzinfo | None = None
    """Whose local time counts; None for the zone of the moment that is asked about."""

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time strictly after an aware `moment`, or None when there is none within five years."""
        zone = self.zone or _zone_of(moment)
        instant = moment.astimezone(UTC).replace(microsecond=0) + _SECOND
        last_year = min(instant.astimezone(zone).year + _YEARS_AHEAD, MAXYEAR - 1)
        while True:
            steady = _steady_until(instant, zone)
            offset = _offset(instant, zone)
            wall = self._next_wall(instant.replace(tzinfo=None) + offset, last_year)
            due = None if wall is None else (wall - offset).replace(tzinfo=UTC)
            if due is not None and due < steady:
                return due.astimezone(zone)
            if steady - instant < _DAY:
                instant = steady  # the clock changes: local times may come again
            elif due is None:
                return None
            else:
                # Offsets differ by a day at most, so nothing can be due before this, whatever the clocks do until then.
                instant = max(steady, due - 2 * _DAY)

    def _next_wall(self, wall: datetime, last_year: int) -> datetime | None:
        """The first matching local time at or after `wall`, as if clocks never changed."""
        if wall.second:
            wall += timedelta(seconds=60 - wall.second)
        day, hour, minute = wall.date(), wall.hour, wall.minute
        while day.year <= last_year:
            if day.month not in self.months:
                day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
                hour = minute = 0
                continue
            time = self._next_time(hour, minute) if self._is_due_on(day) else None
            if time is not None:
                return datetime(day.year, day.month, day.day, *time)  # noqa: DTZ001  # a wall clock has no zone
            day += _DAY
            hour = minute = 0
        return None

    def _next_time(self, hour: int, minute: int) -> tuple[int, int] | None:
        for candidate in self.hours:
            if candidate < hour:
                continue
            for of_hour in self.minutes:
                if candidate > hour or of_hour >= minute:
                    return candidate, of_hour
        return None

    def _is_due_on(self, day: date) -> bool:
        by_day = day.day in self.days
        by_weekday = day.isoweekday() % 7 in self.weekdays
        return by_day or by_weekday if self.either_day else by_day and by_weekday


class IntervalSchedule(msgspec.Struct, frozen=True):
    """Due a fixed time after the moment that is asked about."""

    every: timedelta
    """Whole seconds, one at least."""

    def next_after(self, moment: datetime) -> datetime:
        """The due time after an aware `moment`, whose fraction of a second is dropped."""
        instant = moment.astimezone(UTC).replace(microsecond=0) + self.every
        return instant.astimezone(_zone_of(moment))


Schedule = CalendarSchedule | IntervalSchedule


def parse(text: str, zone: tzinfo | None = None) -> Schedule:
    """
    Read a schedule. `zone` is its time zone unless the text begins with its own (`TZ=Asia/Tokyo `).

    Raises CronError.
    """
    body = text
    if text.startswith(_ZONE_PREFIXES):
        name, blank, body = text.partition("=")[2].partition(" ")
        if not blank:
            raise CronError(f"cron schedule {text!r}: nothing follows the time zone")
        zone = None if name == "Local" else load_zone(name)  # compat: CRON-6
        body = body.strip()
    try:
        return _parse_body(body, zone)
    except _Fault as fault:
        raise CronError(f"cron schedule {text!r}: {fault}") from None


def occurrences(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    """The due times strictly after an aware time, in order. Endless, unless the schedule is never due."""
    moment = schedule.next_after(after)
    while moment is not None:
        yield moment
        moment = schedule.next_after(moment)


def load_zone(name: str) -> tzinfo:
    """A zone of the IANA database by its exact name; an empty name is UTC. Raises CronError."""
    if name in {"", "UTC"}:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # unknown, a directory of the database, or no relative path
        raise CronError(f"unknown time zone {name!r}") from None


class _Fault(Exception):  # noqa: N818  # private: never leaves parse()
    """What is wrong, without the text it is wrong in."""


class _Field(msgspec.Struct, frozen=True):
    name: str
    low: int
    high: int
    names: Mapping[str, int]


_FIELDS: Final = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of month", 1, 31, {}),
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field("day of week", 0, 6, {name: number for number, name in enumerate(_WEEKDAYS)}),
)


def _parse_body(body: str, zone: tzinfo | None) -> Schedule:
    if body.startswith(_EVERY):
        return IntervalSchedule(_interval(body.removeprefix(_EVERY)))
    if body.startswith("@"):
        if body not in _MACROS:
            raise _Fault(f"unknown macro {body!r}, expected one of {' '.join(_MACROS)} or @every <duration>")
        body = _MACROS[body]
    texts = body.split()
    if len(texts) != len(_FIELDS):
        raise _Fault(f"expected 5 fields (minute, hour, day of month, month, day of week), found {len(texts)}")
    parsed = [_parse_field(part, field) for part, field in zip(texts, _FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = (values for values, _ in parsed)
    either_day = not (parsed[2][1] or parsed[4][1])
    return CalendarSchedule(minutes, hours, days, months, weekdays, either_day, zone)


def _interval(text: str) -> timedelta:
    try:
        nanoseconds = duration.parse_nanoseconds(text)
    except duration.DurationError as error:
        raise _Fault(f"@every: {error}") from None
    return timedelta(seconds=max(nanoseconds // duration.SECOND, 1))  # compat: CRON-5


def _parse_field(text: str, field: _Field) -> tuple[tuple[int, ...], bool]:
    """The values of one field, and whether it holds a plain `*`, which restricts nothing (compat: CRON-1)."""
    values: set[int] = set()
    has_star = False
    for item in text.split(","):
        if item:  # compat: CRON-2
            found, is_star = _parse_item(item, field)
            values.update(found)
            has_star |= is_star
    return tuple(sorted(values)), has_star


def _parse_item(item: str, field: _Field) -> tuple[range, bool]:
    """One of `*`, `n`, `a-b`, each with an optional `/step`; `n/step` runs to the end of the field."""
    span, *steps = item.split("/")
    first, *ends = span.split("-")
    is_star = first in {"*", "?"}  # what follows it in the range is ignored, compat: CRON-3
    if len(steps) > 1 or (len(ends) > 1 and not is_star):
        raise _Fault(f"{field.name} {item!r}: a range is a-b or a-b/step")
    start = field.low if is_star else _value(first, item, field)
    end = field.high if is_star or (steps and not ends) else _value(ends[0], item, field) if ends else start
    step = _number(steps[0], item, field) if steps else 1
    if not field.low <= start <= end <= field.high:
        raise _Fault(f"{field.name} {item!r}: expected {field.low} to {field.high}, ascending")
    if not step:
        raise _Fault(f"{field.name} {item!r}: the step must be above 0")
    return range(start, end + 1, step), is_star and step == 1


def _value(text: str, item: str, field: _Field) -> int:
    named = field.names.get(text.lower())
    return _number(text, item, field) if named is None else named


def _number(text: str, item: str, field: _Field) -> int:
    if not _NUMBER.fullmatch(text):
        known = f", or a name from {' '.join(field.names)}" if field.names else ""
        raise _Fault(f"{field.name} {item!r}: expected a number instead of {text!r}{known}")
    return int(text)


def _zone_of(moment: datetime) -> tzinfo:
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone")
    return moment.tzinfo


def _offset(instant: datetime, zone: tzinfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta()


def _steady_until(instant: datetime, zone: tzinfo) -> datetime:
    """Until when, a day ahead at most, the zone keeps the offset of `instant`."""
    offset, end = _offset(instant, zone), instant + _DAY
    if _offset(end, zone) == offset:
        return end
    steady = instant
    while end - steady > _SECOND:
        middle = (steady + (end - steady) / 2).replace(microsecond=0)
        if _offset(middle, zone) == offset:
            steady = middle
        else:
            end = middle
    return end

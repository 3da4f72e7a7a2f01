"""
When a CronJob is due: the arithmetic of controllers.md 9.4 on top of `api.cron`.

Of the times that were missed only the latest counts. It is found without walking through all of them: from the
distance of the first two it is guessed how many there are, and only the last ones are looked at.

Everything is a function of the object and of `now`. All times here are in UTC: Python compares and subtracts times of
one zone by their wall clocks, which is wrong where clocks change.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from api import cron
from api.cron import CronError, IntervalSchedule, Schedule
from generated.batch.v1alpha1 import CronJob, CronJobSpec
from runtime import timestamps

MANY: Final = 100
"""Missed times above which a user should hear of them."""
SLACK: Final = timedelta(milliseconds=100)
"""How long after a due time the CronJob is looked at, so that clocks which differ a little don't have it wait."""
ZONE_PREFIXES: Final = ("TZ=", "CRON_TZ=")
_LONGEST_DEADLINE: Final = 100 * 366 * 86400
_LOCALTIME: Final = Path("/etc/localtime")


class NeverDueError(CronError):
    """A schedule has no times that could be counted."""


class Timetable(msgspec.Struct, frozen=True):
    """A schedule, and the zone that counts where it names none."""

    schedule: Schedule
    zone: tzinfo = UTC

    @property
    def is_below_a_minute(self) -> bool:
        """Whether two runs may be due within one minute."""
        return isinstance(self.schedule, IntervalSchedule) and self.schedule.every < timedelta(minutes=1)

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time after a moment, in UTC; None when there is none within five years."""
        due = self.schedule.next_after(moment.astimezone(self.zone))
        return None if due is None else due.astimezone(UTC)


class Missed(Enum):
    """How many due times went by."""

    NONE = "none"
    FEW = "few"
    MANY = "many"


class Recent(NamedTuple):
    """The latest time that is due, None when there is none."""

    due: datetime | None
    missed: Missed = Missed.NONE


def local_zone(environment: Mapping[str, str] = os.environ, file: Path = _LOCALTIME) -> tzinfo:
    """The zone of this process: that of TZ, else that of the machine, UTC when neither is known."""
    name = environment.get("TZ", "").removeprefix(":")
    try:
        if name:
            return cron.load_zone(name)
        with file.open("rb") as data:
            return ZoneInfo.from_file(data, key="Local")
    except (CronError, OSError, ValueError):
        return UTC


def zone_of(spec: CronJobSpec) -> tzinfo | None:
    """The zone that a CronJob asks for, None when it asks for none. Raises CronError."""
    return None if spec.time_zone is None else cron.load_zone(spec.time_zone)


def has_own_zone(spec: CronJobSpec) -> bool:
    """Whether the schedule itself names a zone."""
    return spec.schedule.startswith(ZONE_PREFIXES)


def timetable(spec: CronJobSpec, zone: tzinfo | None, local: tzinfo) -> Timetable:
    """The timetable of a CronJob that asks for this zone, or for none. Raises CronError."""
    return Timetable(cron.parse(spec.schedule, zone), local)


def due_time(cron_job: CronJob, table: Timetable, now: datetime) -> Recent:
    """The run that should have been started, as far as it may still start. Raises NeverDueError."""
    return most_recent(table, _since(cron_job, now, deadline=cron_job.spec.starting_deadline_seconds), now)


def pause(cron_job: CronJob, table: Timetable, now: datetime) -> float | None:
    """Seconds until the CronJob should be looked at again; None when it is never due."""
    since = _since(cron_job, now, deadline=None)
    try:
        recent = most_recent(table, since, now)
    except NeverDueError:
        base = now
    else:
        base = recent.due or (since if recent.missed is Missed.NONE else now)
    due = table.next_after(base)
    return None if due is None else (due + SLACK - now).total_seconds()


def most_recent(table: Timetable, since: datetime, now: datetime) -> Recent:
    """
    The latest due time after `since` and not after `now`.

    Where the gaps between due times differ much, none may be found although some were missed (compat: CRON-9).

    Raises NeverDueError.
    """
    first = table.next_after(since)
    if first is None:
        raise NeverDueError("time difference between two schedules is less than 1 second")
    if now < first:
        return Recent(None)
    second = table.next_after(first)
    if second is None or now < second:
        return Recent(first)
    gap = round((second - first).total_seconds())
    if gap < 1:
        raise NeverDueError("time difference between two schedules is less than 1 second")
    count = int((now - first).total_seconds()) // gap + 1
    latest = _last_until(table, first + (count - 2) * timedelta(seconds=gap), now)
    return Recent(latest, Missed.MANY if count > MANY else Missed.FEW)


def _last_until(table: Timetable, start: datetime, now: datetime) -> datetime | None:
    latest = None
    due = table.next_after(start)
    while due is not None and due <= now:
        latest = due
        due = table.next_after(due)
    return latest


def _since(cron_job: CronJob, now: datetime, *, deadline: int | None) -> datetime:
    """After when due times count: the last run or the creation, and not longer ago than the deadline in seconds."""
    text = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
    since = timestamps.parse(text) if text else now
    if deadline is None:
        return since
    bounded = max(-_LONGEST_DEADLINE, min(deadline, _LONGEST_DEADLINE))
    return max(since, now - timedelta(seconds=bounded))

"""When a CronJob is due, in every case of the specification, and where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import cron
from controllers.cronjob.timetable import (
    Missed,
    NeverDueError,
    Recent,
    Timetable,
    due_time,
    local_zone,
    most_recent,
    pause,
    timetable,
    zone_of,
)
from generated.batch.v1alpha1 import CronJob
from tests.unit.controllers.cronjob.samples import cron_job, moment

NEW_YORK = "America/New_York"


def table(of: CronJob, local: tzinfo = UTC) -> Timetable:
    return timetable(of.spec, zone_of(of.spec), local)


def found(of: CronJob, now: datetime) -> tuple[Recent, float | None]:
    return due_time(of, table(of), now), pause(of, table(of), now)


@pytest.mark.parametrize(
    ("of", "now", "due", "missed", "seconds"),
    [
        (cron_job(), "10:03", None, Missed.NONE, 120.1),
        (cron_job(), "10:05", "10:05", Missed.NONE, 300.1),
        (cron_job(), "10:07", "10:05", Missed.NONE, 180.1),
        (cron_job(deadline=60), "10:07", None, Missed.NONE, 180.1),
        (cron_job(deadline=180), "10:07", "10:05", Missed.NONE, 180.1),
        (cron_job(deadline=0), "10:05:00", None, Missed.NONE, 300.1),
        (cron_job(deadline=0), "10:05:01", None, Missed.NONE, 299.1),
        (cron_job(deadline=1), "10:05:01", None, Missed.NONE, 299.1),
        (cron_job(deadline=2), "10:05:01", "10:05", Missed.NONE, 299.1),
        (cron_job(deadline=10**18), "10:07", "10:05", Missed.NONE, 180.1),
        (cron_job(), "10:12", "10:10", Missed.FEW, 180.1),
        (cron_job(), "18:15", "18:15", Missed.FEW, 300.1),
        (cron_job(), "18:20", "18:20", Missed.FEW, 300.1),
        (cron_job(), "18:25", "18:25", Missed.MANY, 300.1),
        (cron_job(), "20:00", "20:00", Missed.MANY, 300.1),
        (cron_job("@every 1h", last="10:00"), "15:30", "15:00", Missed.FEW, 1800.1),
        (cron_job("@every 1h", last="10:00"), "10:30", None, Missed.NONE, 1800.1),
        (cron_job("@every 3m", last="10:00"), "10:00", None, Missed.NONE, 180.1),
        (cron_job("@every 10s", last="10:00"), "10:00:25", "10:00:20", Missed.FEW, 5.1),
        (cron_job("TZ=Asia/Tokyo 0 20 * * *", last="10:00"), "11:30", "11:00", Missed.NONE, 84600.1),
        (cron_job("0 20 * * *", zone="Asia/Tokyo", last="10:00"), "11:30", "11:00", Missed.NONE, 84600.1),
        (cron_job("TZ=UTC 0 11 * * *", zone="Asia/Tokyo", last="10:00"), "11:30", "11:00", Missed.NONE, 84600.1),
        # uneven gaps: nothing is found, though times were missed
        (cron_job("* 9 * * *", last="09:50"), "10:30", None, Missed.FEW, 81000.1),
    ],
)
def test_the_run_that_is_due_and_the_next_look(
    of: CronJob, now: str, due: str | None, missed: Missed, seconds: float
) -> None:
    recent, after = found(of, moment(now))
    assert recent == Recent(moment(due) if due else None, missed)
    assert after == pytest.approx(seconds, abs=1e-6)


def test_a_schedule_that_is_never_due_is_an_error_and_has_no_next_look() -> None:
    of = cron_job("59 23 31 2 *")
    with pytest.raises(NeverDueError, match="time difference between two schedules is less than 1 second"):
        due_time(of, table(of), moment("12:00"))
    assert pause(of, table(of), moment("12:00")) is None


def test_without_any_time_it_begins_now() -> None:
    of = CronJob(spec=cron_job().spec)
    recent, after = found(of, moment("10:02"))
    assert (recent, after) == (Recent(None), 180.1)


def hours(schedule: str, zone: str, start: str, count: int) -> list[str]:
    """The next due times, in local time with its offset."""
    place = ZoneInfo(zone)
    when, seen = datetime.fromisoformat(start), []
    timing = Timetable(cron.parse(schedule, place))
    for _ in range(count):
        due = timing.next_after(when)
        assert due is not None
        when = due
        seen.append(due.astimezone(place).isoformat())
    return seen


@pytest.mark.parametrize(
    ("schedule", "start", "expected"),
    [
        ("0 2 * * *", "2026-03-07T12:00:00-05:00", ["2026-03-09T02:00:00-04:00"]),
        ("0 1 * * *", "2026-10-31T12:00:00-04:00", ["2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00"]),
        ("0 * * * *", "2026-03-08T00:30:00-05:00", ["2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00"]),
        ("0 * * * *", "2026-11-01T00:30:00-04:00", ["2026-11-01T01:00:00-04:00", "2026-11-01T01:00:00-05:00"]),
    ],
    ids=[
        "a time that does not exist is skipped",
        "a time that comes twice fires twice",
        "hourly spring",
        "hourly fall",
    ],
)
def test_clock_changes(schedule: str, start: str, expected: list[str]) -> None:
    assert hours(schedule, NEW_YORK, start, len(expected)) == expected


@pytest.mark.parametrize(
    ("now", "due", "seconds"),
    [
        ("2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-04:00", 1800.1),
        ("2026-11-01T01:30:00-05:00", "2026-11-01T01:00:00-05:00", 84600.1),
    ],
    ids=["between the two", "after both"],
)
def test_both_runs_of_the_long_night_are_due_each_in_its_time(now: str, due: str, seconds: float) -> None:
    """Wall clocks would take the second 01:00 for the first one."""
    document = cron_job("0 1 * * *", zone=NEW_YORK)
    of = CronJob(
        metadata=document.metadata.__class__(name="c", creation_timestamp="2026-10-31T12:00:00Z"), spec=document.spec
    )
    recent, after = found(of, datetime.fromisoformat(now))
    assert recent.due == datetime.fromisoformat(due)
    assert after == pytest.approx(seconds)


def test_missed_hours_are_counted_in_real_time_over_a_clock_change() -> None:
    zone = ZoneInfo(NEW_YORK)
    timing = Timetable(cron.parse("0 * * * *", zone))
    since = datetime.fromisoformat("2026-11-01T00:30:00-04:00")
    now = datetime.fromisoformat("2026-11-01T02:30:00-05:00")
    recent = most_recent(timing, since, now)
    assert recent == Recent(datetime.fromisoformat("2026-11-01T02:00:00-05:00"), Missed.FEW)


def test_the_local_zone_counts_where_none_is_asked_for() -> None:
    of = cron_job("0 20 * * *", last="10:00")
    assert due_time(of, table(of, ZoneInfo("Asia/Tokyo")), moment("11:30")).due == moment("11:00")
    of = cron_job("TZ=Local 0 20 * * *", last="10:00")
    assert due_time(of, table(of, ZoneInfo("Asia/Tokyo")), moment("11:30")).due == moment("11:00")


def test_the_local_zone_is_that_of_the_environment_or_of_the_machine(tmp_path: Path) -> None:
    assert local_zone({"TZ": "Asia/Tokyo"}) == ZoneInfo("Asia/Tokyo")
    assert local_zone({"TZ": ":Asia/Tokyo"}) == ZoneInfo("Asia/Tokyo")
    assert local_zone({"TZ": "Nowhere/Nope"}) == UTC
    assert local_zone({}, tmp_path / "absent") == UTC
    broken = tmp_path / "localtime"
    broken.write_bytes(b"no zone")
    assert local_zone({}, broken) == UTC


@given(
    st.sampled_from(["*/5 * * * *", "@every 7m", "0 * * * *", "@hourly", "*/7 * * * *", "@every 45s"]),
    st.integers(0, 400_000),
    st.integers(0, 400_000),
)
def test_what_is_due_is_the_last_of_all_times_when_the_gaps_are_even(schedule: str, begin: int, length: int) -> None:
    start = datetime(2026, 5, 1, tzinfo=UTC) + timedelta(seconds=begin)
    now = start + timedelta(seconds=length)
    timing = Timetable(cron.parse(schedule, UTC))
    seen = None
    due = timing.next_after(start)
    while due is not None and due <= now:
        seen, due = due, timing.next_after(due)
    recent = most_recent(timing, start, now)
    if "/7 " in schedule:  # one gap of an hour differs: the guess may end a step early, never late
        assert recent.due is None or recent.due <= now
    else:
        assert recent.due == seen

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import cron
from api.cron import CalendarSchedule, CronError, IntervalSchedule

NEW_YORK = ZoneInfo("America/New_York")
START = datetime(2024, 1, 31, 10, 7, 30, tzinfo=UTC)  # a Wednesday


def due(text: str, after: datetime = START, count: int = 3, zone: tzinfo | None = None) -> list[str]:
    return [moment.isoformat() for moment in islice(cron.occurrences(cron.parse(text, zone), after), count)]


ACCEPTED = [
    ("* * * * *", ["2024-01-31T10:08:00+00:00", "2024-01-31T10:09:00+00:00", "2024-01-31T10:10:00+00:00"]),
    ("*/5 * * * *", ["2024-01-31T10:10:00+00:00", "2024-01-31T10:15:00+00:00", "2024-01-31T10:20:00+00:00"]),
    ("5/15 * * * *", ["2024-01-31T10:20:00+00:00", "2024-01-31T10:35:00+00:00", "2024-01-31T10:50:00+00:00"]),
    ("*/70 * * * *", ["2024-01-31T11:00:00+00:00", "2024-01-31T12:00:00+00:00", "2024-01-31T13:00:00+00:00"]),
    ("1,,2 * * * *", ["2024-01-31T11:01:00+00:00", "2024-01-31T11:02:00+00:00", "2024-01-31T12:01:00+00:00"]),
    ("+5 * * * *", ["2024-01-31T11:05:00+00:00", "2024-01-31T12:05:00+00:00", "2024-01-31T13:05:00+00:00"]),
    ("?/20 * * * *", ["2024-01-31T10:20:00+00:00", "2024-01-31T10:40:00+00:00", "2024-01-31T11:00:00+00:00"]),
    ("*-5 10 * * *", ["2024-01-31T10:08:00+00:00", "2024-01-31T10:09:00+00:00", "2024-01-31T10:10:00+00:00"]),
    ("*-5-6 10 * * *", ["2024-01-31T10:08:00+00:00", "2024-01-31T10:09:00+00:00", "2024-01-31T10:10:00+00:00"]),
    ("1-5/2 * * * *", ["2024-01-31T11:01:00+00:00", "2024-01-31T11:03:00+00:00", "2024-01-31T11:05:00+00:00"]),
    ("0 0 * jan-MAR *", ["2024-02-01T00:00:00+00:00", "2024-02-02T00:00:00+00:00", "2024-02-03T00:00:00+00:00"]),
    ("0 0 * dec/2 *", ["2024-12-01T00:00:00+00:00", "2024-12-02T00:00:00+00:00", "2024-12-03T00:00:00+00:00"]),
    ("0 0 * * SUN", ["2024-02-04T00:00:00+00:00", "2024-02-11T00:00:00+00:00", "2024-02-18T00:00:00+00:00"]),
    ("0 0 29 2 *", ["2024-02-29T00:00:00+00:00", "2028-02-29T00:00:00+00:00", "2032-02-29T00:00:00+00:00"]),
    ("\t0  0 1 1 *\n", ["2025-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"]),
    ("@yearly", ["2025-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"]),
    ("@annually", ["2025-01-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"]),
    ("@monthly", ["2024-02-01T00:00:00+00:00", "2024-03-01T00:00:00+00:00", "2024-04-01T00:00:00+00:00"]),
    ("@weekly", ["2024-02-04T00:00:00+00:00", "2024-02-11T00:00:00+00:00", "2024-02-18T00:00:00+00:00"]),
    ("@daily", ["2024-02-01T00:00:00+00:00", "2024-02-02T00:00:00+00:00", "2024-02-03T00:00:00+00:00"]),
    ("@midnight", ["2024-02-01T00:00:00+00:00", "2024-02-02T00:00:00+00:00", "2024-02-03T00:00:00+00:00"]),
    ("@hourly", ["2024-01-31T11:00:00+00:00", "2024-01-31T12:00:00+00:00", "2024-01-31T13:00:00+00:00"]),
    ("@every 1h", ["2024-01-31T11:07:30+00:00", "2024-01-31T12:07:30+00:00", "2024-01-31T13:07:30+00:00"]),
    ("@every 1.7s", ["2024-01-31T10:07:31+00:00", "2024-01-31T10:07:32+00:00", "2024-01-31T10:07:33+00:00"]),
    ("@every 100ms", ["2024-01-31T10:07:31+00:00", "2024-01-31T10:07:32+00:00", "2024-01-31T10:07:33+00:00"]),
    ("@every -1h", ["2024-01-31T10:07:31+00:00", "2024-01-31T10:07:32+00:00", "2024-01-31T10:07:33+00:00"]),
    (
        "CRON_TZ=Asia/Tokyo @daily",
        ["2024-02-01T00:00:00+09:00", "2024-02-02T00:00:00+09:00", "2024-02-03T00:00:00+09:00"],
    ),
    (
        "TZ=Asia/Tokyo  0 0 * * * ",
        ["2024-02-01T00:00:00+09:00", "2024-02-02T00:00:00+09:00", "2024-02-03T00:00:00+09:00"],
    ),
    ("TZ=UTC @every 1h", ["2024-01-31T11:07:30+00:00", "2024-01-31T12:07:30+00:00", "2024-01-31T13:07:30+00:00"]),
    ("TZ= 0 11 * * *", ["2024-01-31T11:00:00+00:00", "2024-02-01T11:00:00+00:00", "2024-02-02T11:00:00+00:00"]),
    ("TZ=Local 0 11 * * *", ["2024-01-31T11:00:00+00:00", "2024-02-01T11:00:00+00:00", "2024-02-02T11:00:00+00:00"]),
    # Days: both restricted, one is enough; a star among the items restricts nothing.
    ("0 0 15 * 5", ["2024-02-02T00:00:00+00:00", "2024-02-09T00:00:00+00:00", "2024-02-15T00:00:00+00:00"]),
    ("0 0 1-31 * 1", ["2024-02-01T00:00:00+00:00", "2024-02-02T00:00:00+00:00", "2024-02-03T00:00:00+00:00"]),
    ("0 0 *,5 * 1", ["2024-02-05T00:00:00+00:00", "2024-02-12T00:00:00+00:00", "2024-02-19T00:00:00+00:00"]),
    ("0 0 */1 * 1", ["2024-02-05T00:00:00+00:00", "2024-02-12T00:00:00+00:00", "2024-02-19T00:00:00+00:00"]),
    ("0 0 */2 * 1", ["2024-02-01T00:00:00+00:00", "2024-02-03T00:00:00+00:00", "2024-02-05T00:00:00+00:00"]),
    # Never.
    ("0 0 31 2 *", []),
    ("59 23 31 2 *", []),
    (", * * * *", []),
]

REFUSED = [
    ("", "expected 5 fields"),
    ("* * * *", "expected 5 fields (minute, hour, day of month, month, day of week), found 4"),
    ("* * * * * *", "found 6"),
    ("* * * * 7", "day of week '7': expected 0 to 6"),
    ("60 * * * *", "minute '60': expected 0 to 59"),
    ("* 24 * * *", "hour '24': expected 0 to 23"),
    ("* * 0 * *", "day of month '0': expected 1 to 31"),
    ("* * * 13 *", "month '13': expected 1 to 12"),
    ("30-10 * * * *", "minute '30-10': expected 0 to 59, ascending"),
    ("5-60 * * * *", "minute '5-60'"),
    ("*/0 * * * *", "minute '*/0': the step must be above 0"),
    ("-5 * * * *", "minute '-5': expected a number instead of ''"),
    ("1-2-3 * * * *", "minute '1-2-3': a range is a-b"),
    ("1/2/3 * * * *", "minute '1/2/3': a range is a-b"),
    ("1/ * * * *", "expected a number instead of ''"),
    ("/2 * * * *", "expected a number instead of ''"),
    ("1- * * * *", "expected a number instead of ''"),
    ("1_0 * * * *", "expected a number instead of '1_0'"),
    ("1.5 * * * *", "expected a number instead of '1.5'"),
    ("\u0665 * * * *", "expected a number instead of '\u0665'"),
    ("9999999999999999999 * * * *", "expected a number"),
    ("L * * * *", "expected a number instead of 'L'"),
    ("sun * * * *", "minute 'sun': expected a number instead of 'sun'"),
    ("* * * * sunday", "expected a number instead of 'sunday', or a name from sun mon"),
    ("* * * */jan *", "expected a number instead of 'jan'"),
    ("@reboot", "unknown macro '@reboot', expected one of @yearly"),
    ("@Daily", "unknown macro '@Daily'"),
    ("@daily ", "unknown macro '@daily '"),
    (" @daily", "expected 5 fields"),
    ("@every", "unknown macro '@every'"),
    ("@every x", '@every: time: invalid duration "x"'),
    ("@every  1h", '@every: time: invalid duration " 1h"'),
    ("TZ=UTC", "nothing follows the time zone"),
    ("CRON_TZ=UTC", "nothing follows the time zone"),
    ("TZ=Nope/X * * * * *", "unknown time zone 'Nope/X'"),
    ("TZ=UTC TZ=UTC * * * * *", "found 6"),
]


@pytest.mark.parametrize(("text", "expected"), ACCEPTED)
def test_due_times_of_a_schedule(text: str, expected: list[str]) -> None:
    assert due(text) == expected


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_a_refusal_says_why(text: str, reason: str) -> None:
    with pytest.raises(CronError) as error:
        cron.parse(text)
    assert reason in str(error.value)
    assert reason.startswith("unknown time zone") or repr(text) in str(error.value)


CLOCK_CHANGES = [
    # schedule, zone, after, due times
    ("0 2 * * *", "America/New_York", "2024-03-09T12:00", ["2024-03-11T02:00:00-04:00", "2024-03-12T02:00:00-04:00"]),
    ("30 2,3 * * *", "America/New_York", "2024-03-10T00:00", ["2024-03-10T03:30:00-04:00", "2024-03-11T02:30:00-04:00"]),
    ("0 1 * * *", "America/New_York", "2024-11-03T00:30", ["2024-11-03T01:00:00-04:00", "2024-11-03T01:00:00-05:00"]),
    ("0 * * * *", "America/New_York", "2024-11-03T00:30", ["2024-11-03T01:00:00-04:00", "2024-11-03T01:00:00-05:00"]),
    ("0 * * * *", "America/New_York", "2024-03-10T00:30", ["2024-03-10T01:00:00-05:00", "2024-03-10T03:00:00-04:00"]),
    ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", ["2018-11-05T00:00:00-02:00", "2018-11-06T00:00:00-02:00"]),
    ("15 2 * * *", "Australia/Lord_Howe", "2024-10-05T12:00", ["2024-10-07T02:15:00+11:00", "2024-10-08T02:15:00+11:00"]),
    ("45 1 * * *", "Australia/Lord_Howe", "2024-04-06T12:00", ["2024-04-07T01:45:00+11:00", "2024-04-07T01:45:00+10:30"]),
    ("0 12 * * *", "Pacific/Apia", "2011-12-29T11:00", ["2011-12-29T12:00:00-10:00", "2011-12-31T12:00:00+14:00"]),
    ("30 0 * * 0", "America/St_Johns", "2010-11-06T12:00", ["2010-11-07T00:30:00-03:30", "2010-11-14T00:30:00-03:30"]),
    ("15 2 * * *", "Africa/Casablanca", "2023-03-18T12:00", ["2023-03-19T02:15:00+01:00", "2023-03-19T02:15:00+00:00"]),
]  # fmt: skip  # one case a line


@pytest.mark.parametrize(("text", "zone", "after", "expected"), CLOCK_CHANGES)
def test_a_skipped_time_is_not_due_and_a_repeated_one_is_due_twice(
    text: str, zone: str, after: str, expected: list[str]
) -> None:
    start = datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone))
    assert due(text, start, 2) == expected
    assert due(text, start.astimezone(UTC), 2, ZoneInfo(zone)) == expected


def test_the_own_zone_of_a_text_wins() -> None:
    assert due("TZ=Asia/Tokyo 0 0 * * *", zone=NEW_YORK, count=1) == ["2024-02-01T00:00:00+09:00"]
    assert due("0 0 * * *", zone=NEW_YORK, count=1) == ["2024-02-01T00:00:00-05:00"]
    assert due("0 0 * * *", START.astimezone(NEW_YORK), 1) == ["2024-02-01T00:00:00-05:00"]


def test_the_next_time_is_strictly_later_and_ignores_fractions() -> None:
    schedule = cron.parse("0 * * * *")
    at = datetime(2024, 1, 1, 10, tzinfo=UTC)
    assert schedule.next_after(at) == at + timedelta(hours=1)
    assert schedule.next_after(at - timedelta(microseconds=1)) == at
    assert schedule.next_after(at + timedelta(microseconds=1)) == at + timedelta(hours=1)
    every = cron.parse("@every 1h")
    assert every.next_after(at + timedelta(microseconds=999_999)) == at + timedelta(hours=1)


def test_an_interval_counts_real_time_across_a_clock_change() -> None:
    before = datetime(2024, 3, 10, 1, 30, tzinfo=NEW_YORK)
    assert due("@every 1h", before, 1) == ["2024-03-10T03:30:00-04:00"]


def test_a_moment_without_zone_is_refused() -> None:
    naive = datetime(2024, 1, 1)  # noqa: DTZ001  # the point of the test
    for text in ("* * * * *", "@every 1h"):
        with pytest.raises(ValueError, match="no time zone"):
            cron.parse(text).next_after(naive)


def test_five_years_are_searched() -> None:
    assert due("0 0 29 2 *", datetime(2096, 2, 29, tzinfo=UTC)) == []  # 2100 is no leap year
    assert due("0 0 1 1 *", datetime(2024, 1, 1, tzinfo=UTC), 1) == ["2025-01-01T00:00:00+00:00"]
    never_again = CalendarSchedule((0,), (0,), (29,), (2,), (3,), either_day=False)  # a Wednesday: in 2012, 2040
    assert never_again.next_after(datetime(2012, 1, 1, tzinfo=UTC)) == datetime(2012, 2, 29, tzinfo=UTC)
    assert never_again.next_after(datetime(2035, 12, 31, 23, tzinfo=UTC)) == datetime(2040, 2, 29, tzinfo=UTC)
    assert never_again.next_after(datetime(2034, 12, 31, 23, tzinfo=UTC)) is None


def test_schedules_end_with_the_calendar() -> None:
    last = datetime(9998, 12, 31, 23, 59, tzinfo=UTC)
    assert cron.parse("0 0 1 1 *").next_after(last) is None


@pytest.mark.parametrize("name", ["utc", "Nope", "America", "../etc/passwd", "/etc/localtime", "a\0b", "local", "é"])
def test_only_exact_names_of_zones_are_known(name: str) -> None:
    with pytest.raises(CronError, match="unknown time zone"):
        cron.load_zone(name)


def test_zones_are_loaded_by_name() -> None:
    assert cron.load_zone("UTC") is cron.load_zone("") is UTC
    assert cron.load_zone("Asia/Tokyo") == ZoneInfo("Asia/Tokyo")


@st.composite
def items(draw: st.DrawFn, low: int, high: int) -> str:
    first, second = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
    step = draw(st.integers(1, high + 5))
    shapes = [
        "*",
        "*",
        "?",
        f"{first}",
        f"{first}-{second}",
        f"{first}-{second}/{step}",
        f"{first}/{step}",
        f"*/{step}",
    ]
    return ",".join(draw(st.lists(st.sampled_from(shapes), min_size=1, max_size=2)))


def expanded(text: str, low: int, high: int) -> tuple[set[int], bool]:
    """The values of one field, read without the parser under test."""
    values, is_free = set(), False
    for item in text.split(","):
        span, _, step = item.partition("/")
        is_free |= span in {"*", "?"} and step in {"", "1"}
        start, _, end = span.partition("-")
        from_, to = (low, high) if span in {"*", "?"} else (int(start), int(end or (high if step else start)))
        values |= {
            value for value in range(low, high + 1) if from_ <= value <= to and not (value - from_) % int(step or 1)
        }
    return values, is_free


@given(
    st.tuples(items(0, 59), items(0, 23), items(1, 31), items(1, 12), items(0, 6)),
    st.sampled_from(
        [
            ("America/New_York", datetime(2024, 3, 10, 5, tzinfo=UTC)),
            ("America/New_York", datetime(2024, 11, 3, 4, tzinfo=UTC)),
            ("America/St_Johns", datetime(2010, 11, 7, 0, tzinfo=UTC)),
            ("Australia/Lord_Howe", datetime(2024, 4, 6, 13, tzinfo=UTC)),
            ("America/Sao_Paulo", datetime(2018, 11, 4, 1, tzinfo=UTC)),
            ("Pacific/Apia", datetime(2011, 12, 30, 8, tzinfo=UTC)),
            ("Africa/Casablanca", datetime(2023, 3, 19, 0, tzinfo=UTC)),
            ("UTC", datetime(2024, 2, 28, 22, tzinfo=UTC)),
        ]
    ),
    st.integers(0, 3 * 3600),
)
def test_due_times_are_exactly_the_matching_minutes(
    fields: tuple[str, ...], place: tuple[str, datetime], offset: int
) -> None:
    zone = ZoneInfo(place[0])
    start = place[1] + timedelta(seconds=offset)
    end = start + timedelta(hours=5)
    (minutes, _), (hours, _), (days, free_day), (months, _), (weekdays, free_weekday) = (
        expanded(text, *limits)
        for text, limits in zip(fields, ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6)), strict=True)
    )
    matching = []
    moment = start.replace(second=0) + timedelta(minutes=1)
    while moment < end:
        local = moment.astimezone(zone)
        on_day, on_weekday = local.day in days, local.isoweekday() % 7 in weekdays
        on = on_day and on_weekday if free_day or free_weekday else on_day or on_weekday
        if on and local.month in months and local.hour in hours and local.minute in minutes:
            matching.append(moment)
        moment += timedelta(minutes=1)
    found = []
    for moment in cron.occurrences(cron.parse(" ".join(fields), zone), start):
        if moment >= end:
            break
        found.append(moment.astimezone(UTC))
    assert found == matching


def test_a_schedule_is_a_value() -> None:
    assert cron.parse("@hourly") == cron.parse("0 * * * *")
    assert isinstance(cron.parse("@hourly"), CalendarSchedule)
    assert cron.parse("@every 90s") == IntervalSchedule(timedelta(seconds=90))

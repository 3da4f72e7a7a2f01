from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import timestamps
from runtime.timestamps import TimestampError

SECOND = 10**9

# Nanoseconds as Go computes them.
READ = [
    ("1970-01-01T00:00:00Z", 0),
    ("2024-01-02T03:04:05Z", 1704164645 * SECOND),
    ("2024-01-02t03:04:05z", 1704164645 * SECOND),
    ("2024-01-02T03:04:05.123456789Z", 1704164645123456789),
    ("2024-01-02T03:04:05.9999999999Z", 1704164645999999999),
    ("2024-01-02T03:04:05.5+08:00", 1704135845500000000),
    ("2024-01-02T03:04:05-23:59", 1704250985 * SECOND),
    ("2024-02-29T00:00:00-00:00", 1709164800 * SECOND),
    ("1969-12-31T23:59:59.5Z", -SECOND // 2),
    ("0001-01-01T00:00:00Z", -62135596800 * SECOND),
    ("9999-12-31T23:59:59Z", 253402300799 * SECOND),
    ("2016-12-31T23:59:60Z", 1483228800 * SECOND),
    ("2017-01-01T00:59:60+01:00", 1483228800 * SECOND),
]

REFUSED = [
    ("", "not an RFC 3339 time"),
    ("2024-01-01", "not an RFC 3339 time"),
    ("2024-01-02 03:04:05Z", "not an RFC 3339 time"),
    ("2024-01-02T03:04:05", "not an RFC 3339 time"),
    ("2024-01-02T03:04:05+0800", "not an RFC 3339 time"),
    ("2024-01-02T03:04:05.Z", "not an RFC 3339 time"),
    ("2024-1-2T03:04:05Z", "not an RFC 3339 time"),
    ("2024-01-02T03:04:05Z\n", "not an RFC 3339 time"),
    ("\u0662024-01-02T03:04:05Z", "not an RFC 3339 time"),
    ("2024-13-01T00:00:00Z", "month"),
    ("2023-02-29T00:00:00Z", "day"),
    ("0000-01-01T00:00:00Z", "year"),
    ("2024-01-02T24:00:00Z", "no such time of day"),
    ("2024-01-02T03:60:00Z", "no such time of day"),
    ("2024-01-02T03:04:60Z", "no such time of day"),
    ("2024-01-02T23:59:61Z", "no such time of day"),
    ("2016-12-31T23:59:60+01:00", "no such time of day"),
    ("2024-01-02T03:04:05+24:00", "no such offset"),
    ("2024-01-02T03:04:05-01:60", "no such offset"),
]


@pytest.mark.parametrize(("text", "nanoseconds"), READ)
def test_a_text_gives_nanoseconds_since_1970(text: str, nanoseconds: int) -> None:
    assert timestamps.parse_nanoseconds(text) == nanoseconds


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_a_refusal_names_text_and_reason(text: str, reason: str) -> None:
    for read in (timestamps.parse, timestamps.parse_nanoseconds):
        with pytest.raises(TimestampError, match=reason) as error:
            read(text)
        assert repr(text) in str(error.value)


def test_a_text_gives_an_aware_time_in_utc() -> None:
    moment = timestamps.parse("2024-01-02T03:04:05.123456789+08:00")
    assert moment == datetime(2024, 1, 1, 19, 4, 5, 123456, tzinfo=UTC)
    assert moment.utcoffset() == timedelta(0)
    assert timestamps.parse("0001-01-01T00:00:00Z") == timestamps.ZERO


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_a_time_outside_of_what_datetime_holds_is_refused(text: str) -> None:
    with pytest.raises(TimestampError, match="outside of the years"):
        timestamps.parse(text)


@given(st.datetimes(timezones=st.timezones()))
def test_what_is_printed_reads_back(moment: datetime) -> None:
    instant = moment.astimezone(UTC)  # local times that a clock skipped equal nothing else in Python
    assert timestamps.parse(timestamps.format_micro(moment)) == instant
    assert timestamps.parse(timestamps.format_seconds(moment)) == instant.replace(microsecond=0)


@given(st.datetimes(timezones=st.just(UTC)), st.integers(-23 * 60, 23 * 60))
def test_an_offset_names_the_same_instant(moment: datetime, minutes: int) -> None:
    local = moment.astimezone(timezone(timedelta(minutes=minutes))) if 2 < moment.year < 9998 else moment
    assert timestamps.parse(local.isoformat().replace("+00:00", "Z")) == moment


def test_times_print_as_in_the_api() -> None:
    tokyo = timezone(timedelta(hours=9))
    moment = datetime(2024, 1, 2, 12, 4, 5, 999999, tzinfo=tokyo)
    assert timestamps.format_seconds(moment) == "2024-01-02T03:04:05Z"
    assert timestamps.format_seconds(moment, keep_zone=True) == "2024-01-02T12:04:05+09:00"
    assert timestamps.format_seconds(moment.astimezone(UTC), keep_zone=True) == "2024-01-02T03:04:05Z"
    assert timestamps.format_micro(moment) == "2024-01-02T03:04:05.999999Z"
    assert timestamps.format_micro(moment.replace(microsecond=6)) == "2024-01-02T03:04:05.000006Z"
    assert timestamps.format_seconds(timestamps.ZERO) == "0001-01-01T00:00:00Z"


@pytest.mark.parametrize("keep_zone", [False, True])
def test_a_time_without_zone_is_refused(keep_zone: bool) -> None:
    naive = datetime(2024, 1, 2)  # noqa: DTZ001  # the point of the test
    with pytest.raises(ValueError, match="no time zone"):
        timestamps.format_seconds(naive, keep_zone=keep_zone)
    with pytest.raises(ValueError, match="no time zone"):
        timestamps.format_micro(naive)


def test_the_clock_is_handed_in() -> None:
    assert timestamps.now(lambda: 1704164645.25) == datetime(2024, 1, 2, 3, 4, 5, 250000, tzinfo=UTC)
    assert timestamps.from_nanoseconds(-1) == datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)

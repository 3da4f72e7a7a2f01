"""
Points in time as the API writes them: RFC 3339, in UTC.

Objects keep the text as it came; whoever computes with it parses it here, either to an aware `datetime` or, where a
fraction finer than a microsecond or plain arithmetic matters, to nanoseconds since 1970. Reading is more lenient than
Go's (lower-case letters, a leap second), since schemas let that pass and one odd text must not stop a controller.
Clocks are handed in.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

ZERO: Final = datetime(1, 1, 1, tzinfo=UTC)
"""What Go prints for a time that was never set."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_SECOND: Final = 10**9
_TEXT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))",
)


class TimestampError(ValueError):
    """A text is no RFC 3339 time. The message holds the text and says why."""


def parse(text: str) -> datetime:
    """Read an RFC 3339 time; returns it in UTC, cut to microseconds. Raises TimestampError."""
    nanoseconds = parse_nanoseconds(text)
    try:
        return _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        raise TimestampError(f"{text!r} is no usable time: outside of the years 1 to 9999 in UTC") from None


@lru_cache(maxsize=1 << 14)
def parse_nanoseconds(text: str) -> int:
    """
    Read an RFC 3339 time; returns nanoseconds since 1970, digits beyond the ninth cut.

    A leap second counts as the second after it. Raises TimestampError.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise TimestampError(f"{text!r} is not an RFC 3339 time such as 2024-01-02T03:04:05Z")
    *fields, fraction, sign, offset_hours, offset_minutes = match.groups()
    year, month, day, hour, minute, second = map(int, fields)
    try:
        days = date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError as error:
        raise TimestampError(f"{text!r} is no usable time: {error}") from None
    offset = _offset_seconds(sign, offset_hours, offset_minutes, text)
    seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    is_leap_second = second == 60 and seconds % 86400 == 0
    if hour > 23 or minute > 59 or (second > 59 and not is_leap_second):
        raise TimestampError(f"{text!r} is no usable time: no such time of day")
    return seconds * _SECOND + int((fraction or "")[:9].ljust(9, "0"))


def from_nanoseconds(nanoseconds: int) -> datetime:
    """The time so many nanoseconds after 1970, cut to microseconds."""
    return _EPOCH + timedelta(microseconds=nanoseconds // 1000)


def now(clock: Callable[[], float] = time.time) -> datetime:
    """The present time in UTC. `clock` gives seconds since 1970."""
    return datetime.fromtimestamp(clock(), UTC)


def format_seconds(moment: datetime, *, keep_zone: bool = False) -> str:
    """
    Print with whole seconds, the rest cut, as metav1.Time: `2024-01-02T03:04:05Z`.

    In UTC, or with the moment's own offset when `keep_zone`. Raises ValueError for a time without zone.
    """
    return _format(moment if keep_zone else _in_utc(moment), "seconds")


def format_micro(moment: datetime) -> str:
    """Print with six decimals in UTC, as metav1.MicroTime of a Lease: `2024-01-02T03:04:05.000006Z`."""
    return _format(_in_utc(moment), "microseconds")


def _offset_seconds(sign: str | None, hours: str | None, minutes: str | None, text: str) -> int:
    if sign is None:
        return 0
    hour, minute = int(hours or "0"), int(minutes or "0")
    if hour > 23 or minute > 59:
        raise TimestampError(f"{text!r} is no usable time: no such offset")
    return (hour * 3600 + minute * 60) * (-1 if sign == "-" else 1)


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone")
    return moment.astimezone(UTC)


def _format(moment: datetime, precision: str) -> str:
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone")
    text = moment.isoformat(timespec=precision)
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text

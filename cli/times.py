"""Times and ages in the forms that each table is known for."""

from __future__ import annotations

from datetime import datetime

from runtime import duration, timestamps

UNKNOWN = "<unknown>"
INVALID = "<invalid>"


def age(text: str, now: int, *, keep_zero_days: bool = False) -> str:
    """
    How long ago, such as `3h5m`; `<unknown>` without a time. `now` is in nanoseconds since 1970.

    The table of events keeps the days of whole years, `2y0d`: `keep_zero_days`.
    """
    if not text:
        return UNKNOWN
    try:
        return duration.format_age(now - timestamps.parse_nanoseconds(text), keep_zero_days=keep_zero_days)
    except timestamps.TimestampError:
        return INVALID


def day(text: str) -> str:
    """The local date, `0001-01-01` without a time."""
    return _local(text).date().isoformat() if text else "0001-01-01"


def stamp(text: str) -> str:
    """Date, time and zone of this process: `2024-01-02 11:04:05 +0800 CST`."""
    if not text:
        return "0001-01-01 00:00:00 +0000 UTC"
    moment = _local(text)
    return f"{moment.date().isoformat()} {moment:%H:%M:%S %z %Z}"


def order(text: str) -> int:
    """A key to sort by, nanoseconds since 1970; unreadable and missing times come first."""
    try:
        return timestamps.parse_nanoseconds(text)
    except timestamps.TimestampError:
        return -(2**63)


def _local(text: str) -> datetime:
    try:
        return timestamps.parse(text).astimezone()
    except timestamps.TimestampError:
        return timestamps.ZERO

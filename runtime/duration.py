"""
Durations as Go writes them, and ages as kubectl prints them.

Flags, policies, annotations and config maps hold texts such as `1h30m`; people and tests compare what is printed, so
reading and printing follow Go's `time` package to the letter, including its error texts. A duration is a whole number
of nanoseconds within int64.
"""

from __future__ import annotations

import re
from typing import Final

MICROSECOND: Final = 1000
MILLISECOND: Final = 1000 * MICROSECOND
SECOND: Final = 1000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE

_INT64: Final = 2**63
_UNITS: Final = {
    "ns": 1,
    "us": MICROSECOND,
    "µs": MICROSECOND,  # micro sign
    "μs": MICROSECOND,  # Greek letter mu
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}
_SIZES: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
_AGES: Final = (  # below so many seconds: print these units
    (2 * _SIZES["m"], "s", ""),
    (10 * _SIZES["m"], "m", "s"),
    (180 * _SIZES["m"], "m", ""),
    (8 * _SIZES["h"], "h", "m"),
    (48 * _SIZES["h"], "h", ""),
    (8 * _SIZES["d"], "d", "h"),
    (2 * _SIZES["y"], "d", ""),
    (8 * _SIZES["y"], "y", "d"),
)
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^.0-9]*)")


class DurationError(ValueError):
    """A text is no duration. The message is Go's."""


def parse_nanoseconds(text: str) -> int:
    """
    Read a Go duration such as `1h2m3.5s`, `300ms`, `-1.5h` or `0`; returns nanoseconds.

    Raises DurationError, also for what doesn't fit into int64.
    """
    body = text[1:] if text[:1] in {"+", "-"} else text
    if body == "0":
        return 0
    if not body:
        raise _invalid(text)
    total = 0
    position = 0
    while position < len(body):
        match = _PART.match(body, position)
        assert match is not None  # every part of the pattern may be empty
        total += _amount(match, text)
        if total > _INT64:
            raise _invalid(text)
        position = match.end()
    if text.startswith("-"):
        return -total
    if total == _INT64:
        raise _invalid(text)
    return total


def format_nanoseconds(nanoseconds: int) -> str:
    """Print as Go does: `1m0s`, `1.5s`, `100µs`, `0s`."""
    sign, amount = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if amount < SECOND:
        return sign + _format_small(amount)
    minutes, rest = divmod(amount, MINUTE)
    seconds = _decimal(rest, SECOND) + "s"
    if not minutes:
        return sign + seconds
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}h{minutes}m{seconds}" if hours else f"{sign}{minutes}m{seconds}"


def parse_seconds(text: str) -> float:
    """Read a Go duration; returns seconds. Raises DurationError."""
    return parse_nanoseconds(text) / SECOND


def format_seconds(seconds: float) -> str:
    """Print seconds as a Go duration, to the nearest nanosecond."""
    return format_nanoseconds(round(seconds * SECOND))


def format_age(nanoseconds: int, *, keep_zero_days: bool = False) -> str:
    """
    Print an elapsed time in two units at most, as kubectl does: `89s`, `3m`, `4h5m`, `2y30d`.

    Everything is cut, a year has 365 days. A clock up to two seconds ahead counts as now, beyond that the answer is
    `<invalid>` (compat: DUR-2). The printer of events keeps the days of whole years, `2y0d` (compat: DUR-3):
    `keep_zero_days`.
    """
    seconds = abs(nanoseconds) // SECOND * (1 if nanoseconds >= 0 else -1)
    if seconds < -1:
        return "<invalid>"
    for limit, large, small in _AGES:
        if seconds < limit:
            return _age_in_units(max(seconds, 0), large, small, keep_zero=keep_zero_days and large == "y")
    return f"{seconds // _SIZES['y']}y"


def _amount(match: re.Match[str], text: str) -> int:
    """Nanoseconds of one number and its unit."""
    whole, fraction, unit = match.group(1), match.group(2) or "", match.group(3)
    significant = whole.lstrip("0")  # huge texts must not become huge integers
    if len(significant) > 19 or int(significant or "0") > _INT64 or (not whole and len(fraction) < 2):
        raise _invalid(text)
    if not unit:
        raise DurationError(f"time: missing unit in duration {_quoted(text)}")
    if unit not in _UNITS:
        raise DurationError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
    scale = _UNITS[unit]
    return int(significant or "0") * scale + _fraction_amount(fraction[1:], scale)


def _fraction_amount(digits: str, unit: int) -> int:
    """
    Nanoseconds of the digits behind the point.

    Go keeps as many digits as fit into int64 and multiplies in double precision; so do we, to agree on the last bit
    (compat: DUR-1).
    """
    number, scale = 0, 1.0
    for digit in digits:
        longer = number * 10 + int(digit)
        if longer > _INT64:
            break
        number, scale = longer, scale * 10
    return int(float(number) * (unit / scale))


def _format_small(amount: int) -> str:
    """Below a second: the largest unit that keeps a whole part."""
    if not amount:
        return "0s"
    if amount < MICROSECOND:
        return f"{amount}ns"
    if amount < MILLISECOND:
        return _decimal(amount, MICROSECOND) + "µs"
    return _decimal(amount, MILLISECOND) + "ms"


def _decimal(amount: int, unit: int) -> str:
    """`amount` in `unit`s (a power of ten) without trailing zeros."""
    whole, rest = divmod(amount, unit)
    if not rest:
        return str(whole)
    places = len(str(unit)) - 1
    return f"{whole}.{rest:0{places}d}".rstrip("0")


def _age_in_units(seconds: int, large: str, small: str, *, keep_zero: bool) -> str:
    amount, rest = divmod(seconds, _SIZES[large])
    part = rest // _SIZES[small] if small else 0
    return f"{amount}{large}{part}{small}" if part or (small and keep_zero) else f"{amount}{large}"


def _invalid(text: str) -> DurationError:
    return DurationError(f"time: invalid duration {_quoted(text)}")


def _quoted(text: str) -> str:
    """Quote as Go's `time` does: bytes outside printable ASCII in hexadecimal."""
    quoted = []
    for byte in text.encode(errors="surrogatepass"):
        character = chr(byte)
        if character in {'"', "\\"}:
            quoted.append("\\" + character)
        else:
            quoted.append(character if 0x20 <= byte < 0x80 else f"\\x{byte:02x}")
    return f'"{"".join(quoted)}"'

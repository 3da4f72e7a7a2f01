"""
The value types of command-line flags, with the syntax and the error texts of Go's flag libraries.

Each parser takes one occurrence of a flag and raises ValueError with the text that follows
`invalid argument "x" for "--flag" flag: `.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import msgspec

from runtime import duration

T = TypeVar("T")

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII)
_MOST_DIGITS: Final = 20
"""Decimal digits of the largest integers that flags hold, those of 64 bits."""
_INTEGER = re.compile(r"([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?[0-9])*)")


def _show_any(value: Any) -> str:
    return str(value) if value else ""


class Kind(msgspec.Struct, Generic[T], frozen=True):
    """How the words of a flag become its value."""

    word: str
    """The type as the usage text names it; empty for booleans."""
    parse: Callable[[str], T]
    show: Callable[[T], str] = _show_any
    """The default as the usage text shows it; empty for a zero value, which isn't shown."""
    bare: str | None = None
    """What the flag means when it stands without a value; None when it needs one."""
    merge: Callable[[T, T], T] | None = None
    """Joins the values of a repeated flag; None when the last one wins."""


def parse_bool(text: str) -> bool:
    """Read a boolean the way Go does: `1 t true` and `0 f false` in three spellings. Raises ValueError."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')


def parse_integer(text: str, low: int, high: int, function: str) -> int:
    """Read an integer, decimal or with a base prefix (`0x1f`, `0b1`, `017`). Raises ValueError naming `function`."""
    match = _INTEGER.fullmatch(text)
    if match is None or (low == 0 and match[1]):
        raise ValueError(f'strconv.{function}: parsing "{text}": invalid syntax')
    digits = match[2].replace("_", "")
    is_octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    if digits[0] != "0" and len(digits) > _MOST_DIGITS:
        raise ValueError(f'strconv.{function}: parsing "{text}": value out of range')
    value = int(digits, 8 if is_octal else 0) * (-1 if match[1] == "-" else 1)
    if not low <= value <= high:
        raise ValueError(f'strconv.{function}: parsing "{text}": value out of range')
    return value


def parse_float(text: str) -> float:
    """Read a decimal number. Raises ValueError."""
    if _FLOAT.fullmatch(text) is None:
        raise ValueError(f'strconv.ParseFloat: parsing "{text}": invalid syntax')
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise ValueError(f'strconv.ParseFloat: parsing "{text}": value out of range')
    return value


def parse_slice(text: str) -> tuple[str, ...]:
    """Read a comma-separated list; an entry in double quotes may hold commas. Raises ValueError."""
    if not text:
        return ()
    try:
        rows = list(csv.reader([text], strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    return tuple(rows[0]) if rows else ()


def parse_gates(text: str) -> dict[str, bool]:
    """Read `A=true,B=false`. Raises ValueError naming the entry that can't be read."""
    settings: dict[str, bool] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, separator, value = (piece.strip() for piece in entry.partition("="))
        if not separator:
            raise ValueError(f"missing bool value for {name}")
        try:
            settings[name] = parse_bool(value)
        except ValueError as error:
            raise ValueError(f"invalid value of {name}={value}, err: {error}") from error
    return settings


def parse_modules(text: str) -> dict[str, int]:
    """Read klog's `pattern=N,pattern=N`. Raises ValueError."""
    modules: dict[str, int] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        pattern, separator, level = entry.partition("=")
        if not separator or not pattern or not level:
            raise ValueError("syntax error: expect comma-separated list of filename=N")
        modules[pattern] = _int32(level)
        if modules[pattern] < 0:
            raise ValueError("negative value for vmodule level")
    return modules


_SEVERITIES = {"INFO": 0, "WARNING": 1, "ERROR": 2, "FATAL": 3}


def parse_severity(text: str) -> int:
    """Read a klog severity, by name or number: INFO 0, WARNING 1, ERROR 2, FATAL 3. Raises ValueError."""
    known = _SEVERITIES.get(text.upper())
    return _int32(text) if known is None else known


def _int64(text: str) -> int:
    return parse_integer(text, -(2**63), 2**63 - 1, "ParseInt")


def _int32(text: str) -> int:
    return parse_integer(text, -(2**31), 2**31 - 1, "ParseInt")


def _uint32(text: str) -> int:
    return parse_integer(text, 0, 2**32 - 1, "ParseUint")


def _quoted(text: str) -> str:
    return f'"{text}"' if text else ""


def _list(values: tuple[str, ...]) -> str:
    return f"[{','.join(values)}]" if values else ""


def _mapping(values: dict[str, Any]) -> str:
    return ",".join(f"{key}={str(value).lower()}" for key, value in sorted(values.items()))


def _join(held: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    return held + new


def _boolean(value: bool) -> str:  # noqa: FBT001  # shows one value
    return "true" if value else ""


def _seconds(value: float) -> str:
    return duration.format_seconds(value) if value else ""


STRING: Kind[str] = Kind("string", str, _quoted)
BOOL: Kind[bool] = Kind("", parse_bool, _boolean, bare="true")
INT: Kind[int] = Kind("int", _int64)
INT32: Kind[int] = Kind("int32", _int32)
UINT32: Kind[int] = Kind("uint32", _uint32)
FLOAT: Kind[float] = Kind("float", parse_float, lambda value: f"{value:g}" if value else "")
DURATION: Kind[float] = Kind("duration", duration.parse_seconds, _seconds)
"""Go syntax (`1m30s`); the value is in seconds."""
STRING_ARRAY: Kind[tuple[str, ...]] = Kind("stringArray", lambda text: (text,), _list, merge=_join)
"""One entry an occurrence, commas and all."""
STRING_SLICE: Kind[tuple[str, ...]] = Kind("strings", parse_slice, _list, merge=_join)
"""Comma-separated, and may be repeated."""
GATES: Kind[dict[str, bool]] = Kind("mapStringBool", parse_gates, _mapping, merge=lambda held, new: held | new)
LEVEL: Kind[int] = Kind("Level", _int32)
MODULES: Kind[dict[str, int]] = Kind("moduleSpec", parse_modules, _mapping)
SEVERITY: Kind[int] = Kind("severity", parse_severity)

"""
Profiles in the format of pprof, so that `go tool pprof` and continuous profilers read ours.

A gzipped protocol buffer; the few message types it needs are written by hand. Frames carry their names and
lines, so nothing has to be looked up by address.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple


class Frame(NamedTuple):
    """One call on a stack."""

    function: str
    file: str
    line: int


Stack = tuple[Frame, ...]
"""Innermost call first."""


class ValueType(NamedTuple):
    """What a number of a profile means."""

    type: str
    unit: str


def encode(
    samples: Mapping[Stack, Sequence[int]],
    types: Sequence[ValueType],
    *,
    time_nanos: int,
    duration_nanos: int,
    period: int = 0,
) -> bytes:
    """
    A profile of stacks, each with one number for each of `types`; the last type is the default one.

    `time_nanos` is the start in Unix time, `period` the distance of samples in the unit of the last type.
    """
    strings = _Strings()
    parts = [_message(1, _value_type(kind, strings)) for kind in types]
    functions: dict[tuple[str, str], int] = {}
    locations: dict[Frame, int] = {}
    for stack, values in samples.items():
        for frame in stack:
            functions.setdefault((frame.function, frame.file), len(functions) + 1)
            locations.setdefault(frame, len(locations) + 1)
        parts.append(_message(2, _numbers(1, [locations[frame] for frame in stack]) + _numbers(2, values)))
    for frame, identity in locations.items():
        line = _number(1, functions[frame.function, frame.file]) + _number(2, frame.line)
        parts.append(_message(4, _number(1, identity) + _message(4, line)))
    for (name, file), identity in functions.items():
        names = _number(2, strings.index(name)) + _number(3, strings.index(name)) + _number(4, strings.index(file))
        parts.append(_message(5, _number(1, identity) + names))
    parts += (_number(9, time_nanos), _number(10, duration_nanos))
    parts += (_message(11, _value_type(types[-1], strings)), _number(12, period))
    parts += (_message(6, text.encode("utf-8", "replace")) for text in strings)
    return gzip.compress(b"".join(parts))


def fold(samples: Mapping[Stack, Sequence[int]], value: int) -> str:
    """The stacks as `outer;inner 12` lines for flame graph tools; `value` picks the number."""
    lines = []
    for stack, values in samples.items():
        path = ";".join(f"{frame.function} ({frame.file}:{frame.line})".replace(";", ",") for frame in reversed(stack))
        lines.append(f"{path} {values[value]}\n")
    return "".join(sorted(lines))


class _Strings:
    """The string table; its first entry is empty, as the format asks."""

    def __init__(self) -> None:
        self._indices = {"": 0}

    def index(self, text: str) -> int:
        return self._indices.setdefault(text, len(self._indices))

    def __iter__(self) -> Iterator[str]:
        return iter(self._indices)


def _value_type(kind: ValueType, strings: _Strings) -> bytes:
    return _number(1, strings.index(kind.type)) + _number(2, strings.index(kind.unit))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _numbers(field: int, values: Iterable[int]) -> bytes:
    return _message(field, b"".join(map(_varint, values)))


def _message(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first. Values are never negative here."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)

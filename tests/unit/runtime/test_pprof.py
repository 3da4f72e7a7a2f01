from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from runtime.pprof import Frame, ValueType, encode, fold

MAIN = Frame("main", "/app/main.py", 10)
WORK = Frame("Worker.run", "/app/work.py", 20)
INNER = Frame("Worker.run", "/app/work.py", 25)
CPU = (ValueType("samples", "count"), ValueType("cpu", "nanoseconds"))


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def fields(data: bytes) -> dict[int, list[bytes | int]]:
    """A protocol buffer message, read by its rules alone."""
    found: dict[int, list[bytes | int]] = defaultdict(list)
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            found[tag >> 3].append(data[at : at + value])
            at += value
        else:
            assert tag & 7 == 0
            found[tag >> 3].append(value)
    return found


def packed(data: bytes | int) -> list[int]:
    assert isinstance(data, bytes)

    def values() -> Iterator[int]:
        at = 0
        while at < len(data):
            value, at = varint(data, at)
            yield value

    return list(values())


class Profile:
    """A profile, decoded."""

    def __init__(self, data: bytes) -> None:
        top = fields(gzip.decompress(data))
        self.strings = [text.decode() for text in top[6] if isinstance(text, bytes)]
        self.types = [self._type(kind) for kind in top[1]]
        self.period_type = self._type(top[11][0])
        self.numbers = {name: top[field][0] for name, field in (("time", 9), ("duration", 10), ("period", 12))}
        functions = {}
        for raw in top[5]:
            assert isinstance(raw, bytes)
            function = fields(raw)
            functions[function[1][0]] = (self._text(function[2][0]), self._text(function[4][0]))
        self.locations = {}
        for raw in top[4]:
            assert isinstance(raw, bytes)
            location = fields(raw)
            assert isinstance(location[4][0], bytes)
            line = fields(location[4][0])
            name, file = functions[line[1][0]]
            assert isinstance(line[2][0], int)
            self.locations[location[1][0]] = Frame(name, file, line[2][0])
        self.samples = {}
        for raw in top[2]:
            assert isinstance(raw, bytes)
            sample = fields(raw)
            stack = tuple(self.locations[identity] for identity in packed(sample[1][0]))
            self.samples[stack] = packed(sample[2][0])

    def _text(self, index: bytes | int) -> str:
        assert isinstance(index, int)
        return self.strings[index]

    def _type(self, raw: bytes | int) -> ValueType:
        assert isinstance(raw, bytes)
        found = fields(raw)
        return ValueType(self._text(found[1][0]), self._text(found[2][0]))


def test_a_profile_is_read_back_as_it_was() -> None:
    samples = {(INNER, WORK, MAIN): (3, 30_000_000), (MAIN,): (1, 10_000_000)}
    profile = Profile(encode(samples, CPU, time_nanos=123, duration_nanos=456, period=10_000_000))
    assert profile.samples == {stack: list(values) for stack, values in samples.items()}
    assert profile.types == list(CPU)
    assert profile.period_type == CPU[1]
    assert profile.numbers == {"time": 123, "duration": 456, "period": 10_000_000}
    assert profile.strings[0] == ""


def test_lines_of_one_function_share_the_function() -> None:
    data = gzip.decompress(encode({(INNER, WORK): (1, 1)}, CPU, time_nanos=0, duration_nanos=0))
    assert len(fields(data)[5]) == 1
    assert len(fields(data)[4]) == 2


def test_an_empty_profile_is_valid() -> None:
    assert Profile(encode({}, CPU, time_nanos=1, duration_nanos=1)).samples == {}


FRAMES = st.builds(Frame, st.text(max_size=9), st.text(max_size=9), st.integers(0, 2**40))


@given(
    st.dictionaries(
        st.lists(FRAMES, min_size=1, max_size=4).map(tuple), st.tuples(st.integers(0, 2**62), st.integers(0, 9))
    )
)
def test_any_profile_is_read_back(samples: dict[tuple[Frame, ...], tuple[int, int]]) -> None:
    printable = {
        tuple(Frame(_sound(f.function), _sound(f.file), f.line) for f in stack): list(values)
        for stack, values in samples.items()
    }
    found = Profile(encode(samples, CPU, time_nanos=0, duration_nanos=0)).samples
    assert found.keys() == printable.keys()


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def test_folded_lines_run_from_outer_to_inner() -> None:
    samples = {(INNER, MAIN): (3, 30), (Frame("odd;name", "f.py", 1),): (1, 10)}
    assert fold(samples, 1).splitlines() == [
        "main (/app/main.py:10);Worker.run (/app/work.py:25) 30",
        "odd,name (f.py:1) 10",
    ]

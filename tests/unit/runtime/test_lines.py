from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.lines import LineSplitter, LineTooLong


def feed_all(splitter: LineSplitter, chunks: list[bytes]) -> list[bytes]:
    return [line for chunk in chunks for line in splitter.feed(chunk)]


@pytest.mark.parametrize(
    ("chunks", "lines", "rest"),
    [
        ([b"a\n"], [b"a"], b""),
        ([b"a\nb\nc"], [b"a", b"b"], b"c"),
        ([b"a", b"b", b"\n"], [b"ab"], b""),
        ([b"a", b"\nb", b"c\n\n"], [b"a", b"bc"], b""),
        ([b"\n", b"\n\n"], [], b""),
        ([b""], [], b""),
        ([b"half"], [], b"half"),
    ],
)
def test_lines_come_out_whole(chunks: list[bytes], lines: list[bytes], rest: bytes) -> None:
    splitter = LineSplitter()
    assert feed_all(splitter, chunks) == lines
    assert splitter.rest == rest


@given(st.binary(), st.lists(st.integers(0, 100)))
def test_the_cuts_between_chunks_do_not_matter(data: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(bounds)]
    lines = feed_all(splitter, chunks)
    *whole, rest = data.split(b"\n")
    assert lines == [line for line in whole if line]
    assert splitter.rest == rest


def test_a_line_of_many_megabytes_costs_time_in_proportion() -> None:
    def seconds(megabytes: int) -> float:
        chunk = b"x" * 1024
        splitter = LineSplitter()
        begin = time.process_time()
        for _ in range(megabytes * 1024):
            splitter.feed(chunk)
        (line,) = splitter.feed(b"\n")
        assert len(line) == megabytes * 1024 * 1024
        return time.process_time() - begin

    seconds(1)
    assert min(seconds(16) for _ in range(3)) < 16 * 4 * min(seconds(1) for _ in range(5)) + 0.02


@pytest.mark.parametrize("chunks", [[b"12345678901"], [b"123456", b"789012"], [b"a\n", b"12345678901"]])
def test_a_line_beyond_the_limit_is_no_watch_stream(chunks: list[bytes]) -> None:
    splitter = LineSplitter(limit=10)
    with pytest.raises(LineTooLong, match="more than 10 bytes"):
        feed_all(splitter, chunks)


def test_the_limit_is_a_lines_and_not_the_streams() -> None:
    splitter = LineSplitter(limit=10)
    assert sum(len(splitter.feed(b"123456789\n")) for _ in range(100)) == 100

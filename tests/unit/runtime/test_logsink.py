from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime import logsink
from runtime.logsink import DirectoryFile, LogFile, Sink, StandardError


class Memory:
    """An output that can be held up."""

    def __init__(self, low: int = 0) -> None:
        self.low = low
        self.text = ""
        self.flushes = 0
        self.is_free = threading.Event()
        self.is_free.set()

    def accepts(self, levelno: int) -> bool:
        return levelno >= self.low

    def write(self, text: str) -> None:
        self.is_free.wait(10)
        self.text += text

    def flush(self) -> None:
        self.flushes += 1

    def close(self) -> None:
        self.flush()


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def sink(memory: Memory) -> Iterator[Sink]:
    found = Sink([memory])
    yield found
    memory.is_free.set()
    found.close()


def record(text: str, levelno: int = logging.INFO, *args: object) -> logging.LogRecord:
    return logging.LogRecord("module", levelno, __file__, 1, text, args, None)


def test_lines_are_written_in_order(sink: Sink, memory: Memory) -> None:
    for number in range(1000):
        sink.handle(record(f"line {number}"))
    assert sink.drain()
    assert memory.text.splitlines() == [f"line {number}" for number in range(1000)]


def test_a_slow_output_does_not_hold_up_the_caller(sink: Sink, memory: Memory) -> None:
    memory.is_free.clear()
    for number in range(100):
        sink.handle(record(f"line {number}"))
    assert not sink.drain(0.01)
    memory.is_free.set()
    assert sink.drain()
    assert len(memory.text.splitlines()) == 100


def test_what_the_queue_cannot_hold_is_counted_and_told(
    sink: Sink, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logsink, "MAX_WAITING", 10)
    memory.is_free.clear()
    sink.handle(record("first"))
    while sink._waiting:
        sink._wake.set()
    for number in range(25):
        sink.handle(record(f"line {number}"))
    memory.is_free.set()
    assert sink.drain()
    lines = memory.text.splitlines()
    assert [line for line in lines if "dropped" not in line] == ["first", *(f"line {number}" for number in range(10))]
    assert [line for line in lines if "dropped" in line] == ["log lines dropped, the output is too slow lines=15"]


def test_arguments_are_taken_as_they_are_at_the_call(sink: Sink, memory: Memory) -> None:
    changing = ["before"]
    memory.is_free.clear()
    sink.handle(record("%s", logging.INFO, changing))
    changing[0] = "after"
    memory.is_free.set()
    assert sink.drain()
    assert memory.text == "['before']\n"


def test_a_bad_log_call_does_not_break_its_caller(
    sink: Sink, memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    sink.handle(record("%d", logging.INFO, "no number"))
    sink.handle(record("next"))
    assert sink.drain()
    assert memory.text == "next\n"
    assert "Logging error" in capsys.readouterr().err


def test_each_output_gets_the_levels_that_it_accepts() -> None:
    everything, errors = Memory(), Memory(logging.ERROR)
    sink = Sink([everything, errors])
    sink.handle(record("fine"))
    sink.handle(record("bad", logging.ERROR))
    sink.close()
    assert everything.text == "fine\nbad\n"
    assert errors.text == "bad\n"


def test_closing_writes_what_waits_and_later_lines_go_to_stderr(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = Sink([memory])
    sink.handle(record("last"))
    sink.close()
    sink.close()
    sink.handle(record("too late"))
    assert memory.text == "last\n"
    assert memory.flushes
    assert capsys.readouterr().err == "too late\n"


def test_files_are_flushed_within_the_period() -> None:
    memory = Memory()
    sink = Sink([memory], flush_period=0.01)
    sink.handle(record("line"))
    assert sink.drain()
    while not memory.flushes:
        threading.Event().wait(0.001)
    sink.close()


def test_stderr_has_a_threshold_and_survives_being_closed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = StandardError(logging.WARNING)
    assert not output.accepts(logging.INFO)
    assert output.accepts(logging.WARNING)
    output.write("text\n")
    output.flush()
    assert capsys.readouterr().err == "text\n"
    with Path(os.devnull).open("w", encoding="utf-8") as closed:
        monkeypatch.setattr("sys.stderr", closed)
    output.write("lost\n")
    output.flush()


def test_a_file_is_opened_at_its_first_line_and_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "x.log"
    file = LogFile(path)
    assert not path.exists()
    file.write("one\n")
    file.close()
    other = LogFile(path)
    other.write("two\n")
    other.close()
    assert path.read_text() == "one\ntwo\n"


def test_a_file_begins_anew_at_its_size(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "x.log", max_bytes=10)
    for _ in range(5):
        file.write("12345\n")
    file.close()
    assert file.path.read_text() == "12345\n"


def test_a_file_that_cannot_be_written_gives_its_lines_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = LogFile(tmp_path)
    file.write("line\n")
    file.flush()
    err = capsys.readouterr().err
    assert str(tmp_path) in err
    assert "line\n" in err


def test_a_directory_file_carries_severity_and_process_and_has_a_link(tmp_path: Path) -> None:
    file = DirectoryFile(tmp_path, "vc-agent", "ERROR", low=logging.ERROR, high=logging.CRITICAL, max_bytes=0)
    assert not file.accepts(logging.WARNING)
    file.write("bad\n")
    file.close()
    link = tmp_path / "vc-agent.ERROR"
    assert link.read_text() == "bad\n"
    assert link.readlink().name.startswith("vc-agent.")
    assert link.readlink().name.endswith(f".{os.getpid()}")
    assert ".log.ERROR." in link.readlink().name

"""Messages that carry the end of a log."""

from __future__ import annotations

from pathlib import Path

from cluster.errors import TAIL_LINES, ClusterError, ComponentFailed, tail


def test_the_message_ends_with_the_last_lines_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    log.write_text("".join(f"line {number}\n" for number in range(100)))
    error = ComponentFailed("etcd", "exited with code 1", log)
    assert isinstance(error, ClusterError)
    first, *rest = str(error).splitlines()
    assert first == f"etcd exited with code 1; the end of {log}:"
    assert rest == [f"    line {number}" for number in range(100 - TAIL_LINES, 100)]


def test_an_empty_or_missing_log_is_said_to_be_empty(tmp_path: Path) -> None:
    assert str(ComponentFailed("etcd", "was killed by SIGKILL", tmp_path / "none")).endswith("(the log is empty)")
    assert tail(tmp_path / "none") == []


def test_bytes_that_are_no_text_do_not_hide_the_rest(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"good\n\xff\xfe bad\n")
    assert tail(log) == ["good", "\ufffd\ufffd bad"]


def test_a_taken_port_is_recognised(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("starting\nlisten tcp 127.0.0.1:2379: bind: address already in use\nbye\n")
    assert ComponentFailed("etcd", "exited with code 1", log).is_port_conflict
    log.write_text("starting\nno space left on device\n")
    assert not ComponentFailed("etcd", "exited with code 1", log).is_port_conflict


def test_a_full_disk_is_told_even_when_a_stack_follows(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("panic: no space left on device\n" + "    frame\n" * 100)
    error = ComponentFailed("etcd", "exited with code 2", log)
    assert str(error).startswith("etcd exited with code 2 (the disk is full); the end of")
    assert not error.is_port_conflict

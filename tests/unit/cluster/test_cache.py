"""The cache of binaries."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cluster import cache
from cluster.cache import cache_directory, cached_binary, filling, ticking, unfinished
from cluster.errors import StateError
from cluster.processes import wait_until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "stromboli"


def test_binaries_lie_in_the_cache_home_by_version(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cached_binary("etcd", "v3.6.4") == home / "bin" / "etcd-v3.6.4"
    monkeypatch.setenv("HOME", "/home/someone")
    for unusable in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", unusable)
        assert cache_directory() == Path("/home/someone/.cache/stromboli")


def test_a_binary_appears_whole_and_executable() -> None:
    target = cached_binary("etcd", "v1")
    with filling(print), unfinished(target) as partial:
        partial.write_text("#!/bin/sh\necho whole\n")
        assert not target.exists()
    assert subprocess.run([target], check=True, capture_output=True).stdout == b"whole\n"
    assert [entry.name for entry in target.parent.iterdir()] == ["etcd-v1"]


def test_a_failure_leaves_nothing_and_keeps_what_was_there() -> None:
    target = cached_binary("etcd", "v1")
    with filling(print):
        target.write_text("old")
        with contextlib.suppress(ZeroDivisionError), unfinished(target) as partial:
            partial.write_text("ne")
            _ = 1 / 0
    assert target.read_text() == "old"
    assert [entry.name for entry in target.parent.iterdir()] == ["etcd-v1"]


def test_nothing_written_is_a_clear_error() -> None:
    target = cached_binary("etcd", "v1")
    with filling(print), pytest.raises(StateError, match=f"cannot write {target}"), unfinished(target):
        pass


def test_what_a_killed_filler_left_is_deleted(home: Path) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / ".etcd-v1.12345").write_text("half")
    (home / "bin" / "kwok-v1").write_text("whole")
    with filling(print):
        assert [entry.name for entry in (home / "bin").iterdir()] == ["kwok-v1"]


def test_a_second_filler_waits_and_says_so(home: Path) -> None:
    lines: list[str] = []
    order: list[str] = []

    def second() -> None:
        with filling(lines.append):
            order.append("second")

    with filling(print):
        thread = threading.Thread(target=second)
        thread.start()
        assert wait_until(lambda: bool(lines), 10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]
    assert lines == ["waiting for another process that fetches or builds binaries"]


def test_the_lock_of_a_killed_filler_is_free() -> None:
    script = "from cluster.cache import filling\nwith filling(print):\n    print('in', flush=True)\n    input()\n"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "in\n"
        holder.kill()
    lines: list[str] = []
    with filling(lines.append):
        assert lines == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(StateError, match=rf"cannot write {tmp_path}/file/stromboli/bin"), filling(print):
        raise AssertionError


def test_long_work_ticks() -> None:
    lines: list[str] = []
    with ticking(lines.append, "building etcd", "(once; a minute)", every=0.01):
        assert wait_until(lambda: len(lines) >= 3, 10)
    assert lines[:2] == ["building etcd (once; a minute)", "still building etcd, 0 s so far"]
    count = len(lines)
    assert not [thread for thread in threading.enumerate() if thread.name == "ticker"]
    assert len(lines) == count


def test_short_work_does_not_tick() -> None:
    lines: list[str] = []
    with ticking(lines.append, "quick"):
        pass
    assert lines == ["quick"]
    assert cache._TICK_SECONDS >= 10

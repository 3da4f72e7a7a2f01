"""Identity of processes, and ending them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import processes
from cluster.processes import MARKER, ProcessId, describe_exit, end, marked_with, wait_until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def identity(process: subprocess.Popen[bytes]) -> ProcessId:
    found = ProcessId.of(process.pid)
    assert found is not None
    return found


def test_a_running_process_is_alive_until_it_ends(sleeper: subprocess.Popen[bytes]) -> None:
    process = identity(sleeper)
    assert process.is_alive
    sleeper.kill()
    sleeper.wait()
    assert ProcessId.of(sleeper.pid) is None
    assert process != ProcessId.of(os.getpid())
    assert not ProcessId(process.pid, process.started).is_alive


def test_a_zombie_is_not_alive(sleeper: subprocess.Popen[bytes]) -> None:
    process = identity(sleeper)
    sleeper.kill()
    assert wait_until(lambda: not process.is_alive, 10)  # nobody has waited for it yet
    assert ProcessId.of(sleeper.pid) is None


def test_a_reused_number_is_another_process(sleeper: subprocess.Popen[bytes]) -> None:
    predecessor = ProcessId(sleeper.pid, "1")
    assert not predecessor.is_alive
    assert not predecessor.send(signal.SIGKILL)
    assert end([predecessor]) == []
    assert sleeper.poll() is None


def test_a_command_name_with_brackets_and_spaces_does_not_confuse(tmp_path: Path) -> None:
    odd = tmp_path / "a) Z 1 (b"
    odd.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(odd), "1000"])
    try:
        assert wait_until(lambda: "a) Z 1 (b" in Path(f"/proc/{process.pid}/stat").read_text(), 10)
        found = identity(process)
        assert found.is_alive
        assert found.started.isdecimal()
    finally:
        process.kill()
        process.wait()


def test_ps_tells_the_identity_where_there_is_no_proc(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_HAS_PROC", False)
    process = identity(sleeper)
    assert process.is_alive
    sleeper.kill()
    assert wait_until(lambda: not process.is_alive, 10)
    sleeper.wait()
    assert not process.is_alive


@pytest.mark.parametrize("missing", ["", "pidfd_open"])
def test_a_signal_reaches_the_process(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    if missing:
        monkeypatch.delattr(os, missing)
    process = identity(sleeper)
    assert process.send(signal.SIGTERM)
    assert sleeper.wait(10) == -signal.SIGTERM
    assert not process.send(signal.SIGTERM)


def test_end_kills_all_and_returns_nobody() -> None:
    # Shells that ignore TERM: only KILL ends them.
    stubborn = [subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"]) for _ in range(3)]
    assert end([identity(process) for process in stubborn]) == []
    assert [process.wait(10) for process in stubborn] == [-signal.SIGKILL] * 3


def test_end_returns_who_is_still_there(sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProcessId, "send", lambda *_: False)  # as if it hung in the kernel
    process = identity(sleeper)
    assert end([process], timeout=0.1) == [process]


def test_processes_are_found_by_their_marker(tmp_path: Path) -> None:
    environment = {**os.environ, MARKER: str(tmp_path / "a")}
    process = subprocess.Popen(["sleep", "1000"], env=environment)
    try:
        assert wait_until(lambda: bool(marked_with(tmp_path / "a")), 10)
        assert marked_with(tmp_path / "a") == [identity(process)]
        assert marked_with(tmp_path) == []
        assert marked_with(tmp_path / "ab") == []
    finally:
        process.kill()
        process.wait()


def test_a_marker_leads_there_by_any_name_of_the_directory_be_it_gone(tmp_path: Path) -> None:
    link, place = tmp_path / "link", tmp_path / "real" / "a"
    link.symlink_to(tmp_path / "real")
    process = subprocess.Popen(["sleep", "1000"], env={**os.environ, MARKER: str(link / "a")})
    try:
        assert wait_until(lambda: bool(marked_with(place)), 10)
        assert marked_with(tmp_path / "b" / ".." / "link" / "a") == [identity(process)]
        assert marked_with(tmp_path / "a") == []
    finally:
        process.kill()
        process.wait()


# These run in an interpreter of their own: a test process has threads, and must not run Python between fork and exec.
PARENT = """
import os, subprocess
from cluster.processes import die_with
print(subprocess.Popen(["sleep", "1000"], preexec_fn=die_with(os.getpid())).pid, flush=True)
input()
"""
NO_PARENT = """
import subprocess, sys
from cluster.processes import die_with
sys.exit(subprocess.run(["sh", "-c", "echo ran"], preexec_fn=die_with(1)).returncode)
"""


def test_a_child_dies_with_its_parent() -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = ProcessId.of(int(parent.stdout.readline()))
        assert child is not None
        assert child.is_alive
        parent.kill()
    assert wait_until(lambda: not child.is_alive, 10)


def test_a_child_whose_parent_is_gone_already_ends_before_it_begins() -> None:
    process = subprocess.run([sys.executable, "-c", NO_PARENT], check=False, capture_output=True)
    assert process.returncode == 1
    assert process.stdout == b""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "exited with code 0"),
        (3, "exited with code 3"),
        (-9, "was killed by SIGKILL"),
        (-15, "was killed by SIGTERM"),
        (-99, "was killed by signal 99"),
    ],
)
def test_exits_are_described(code: int, text: str) -> None:
    assert describe_exit(code) == text


def test_waiting_ends_with_the_condition_or_the_time() -> None:
    answers = iter([False, False, True])
    assert wait_until(lambda: next(answers), 10, pause=0)
    assert not wait_until(lambda: False, 0.01, pause=0.001)


def test_a_condition_that_is_dear_to_ask_is_asked_less_often() -> None:
    asked = 0

    def dear() -> bool:
        nonlocal asked
        asked += 1
        begin = time.monotonic()
        while time.monotonic() - begin < 0.05:
            pass
        return False

    assert not wait_until(dear, 0.5, pause=0)
    assert 1 < asked < 6

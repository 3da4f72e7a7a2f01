"""Cleaning up after an interrupted run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cluster import leftovers
from cluster.errors import StateError
from cluster.leftovers import sweep
from cluster.processes import MARKER, ProcessId
from cluster.state import Layout, Processes, ProcessRecord, write


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path / "state")
    layout.create()
    return layout


class Starter:
    """Starts sleepers, and ends those that a test left."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, marker: Path | None = None) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **({MARKER: str(marker)} if marker else {})}
        process = subprocess.Popen(["sleep", "1000"], env=environment)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


@pytest.fixture
def start() -> Iterator[Starter]:
    with ExitStack() as stack:
        yield Starter(stack)


def record(name: str, process: subprocess.Popen[bytes]) -> ProcessRecord:
    identity = ProcessId.of(process.pid)
    assert identity is not None
    return ProcessRecord(name, identity.pid, identity.started)


def test_recorded_processes_are_ended(layout: Layout, start: Starter) -> None:
    supervisor, etcd = start(), start()
    write(layout.processes_file, Processes(record("supervisor", supervisor), (record("etcd", etcd),)))
    lines: list[str] = []
    sweep(layout, lines.append)
    assert supervisor.wait(10) == etcd.wait(10) == -9
    (line,) = lines
    assert line.startswith("ending what an interrupted run left: ")
    assert f"etcd (pid {etcd.pid})" in line
    assert f"supervisor (pid {supervisor.pid})" in line


def test_a_reused_number_is_spared(layout: Layout, start: Starter) -> None:
    stranger = start()
    write(layout.processes_file, Processes(ProcessRecord("supervisor", stranger.pid, "1")))
    lines: list[str] = []
    sweep(layout, lines.append)
    assert stranger.poll() is None
    assert lines == []


@pytest.mark.parametrize("data", [b'{"supervisor": {"na', b"", None])
def test_a_damaged_or_missing_record_hides_nobody(layout: Layout, start: Starter, data: bytes | None) -> None:
    leftover, neighbour = start(layout.root), start(layout.root.with_name("other"))
    if data is not None:
        layout.processes_file.write_bytes(data)
    lines: list[str] = []
    sweep(layout, lines.append)
    assert leftover.wait(10) == -9
    assert neighbour.poll() is None
    assert any(f"process (pid {leftover.pid})" in line for line in lines)
    assert any(f"{layout.processes_file} is damaged" in line for line in lines) is (data is not None)


def test_nothing_left_is_nothing_said(layout: Layout) -> None:
    lines: list[str] = []
    sweep(layout, lines.append)
    assert lines == []


def test_who_does_not_go_is_named(layout: Layout, start: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    leftover = start(layout.root)
    monkeypatch.setattr(leftovers, "end", list)  # as if the kernel held on to all of them
    with pytest.raises(StateError, match=f"cannot end process {leftover.pid} of {layout.root}; end it by hand"):
        sweep(layout, print)

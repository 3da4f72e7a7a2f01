from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime import sampling
from runtime.pprof import Stack
from runtime.sampling import MAX_DEPTH, Recording, Sight, record, stack_of


def spin_here(stop: threading.Event) -> None:
    count = 0
    while not stop.is_set():
        count += 1


def wait_here(stop: threading.Event) -> None:
    stop.wait(60)


@contextmanager
def threads() -> Iterator[None]:
    stop = threading.Event()
    found = [
        threading.Thread(target=spin_here, args=(stop,), name="spinner"),
        threading.Thread(target=wait_here, args=(stop,), name="waiter"),
    ]
    for thread in found:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in found:
            thread.join()


def names(stacks: dict[Stack, tuple[int, int]]) -> dict[str, int]:
    """Nanoseconds by function of the test, inner or outer."""
    found: dict[str, int] = {}
    for stack, (_, nanos) in stacks.items():
        for function in {frame.function for frame in stack}:
            found[function] = found.get(function, 0) + nanos
    return found


def test_processor_time_goes_to_the_thread_that_used_it() -> None:
    with threads():
        recording = record(0.5)
    cpu = names(recording.by_stack(is_wall=False))
    assert cpu["spin_here"] > 0.02e9
    assert cpu.get("wait_here", 0) < 0.01e9
    assert "record" not in cpu
    assert 0.45 <= recording.seconds < 5


def test_elapsed_time_counts_waiting_threads_too() -> None:
    with threads():
        wall = names(record(0.3).by_stack(is_wall=True))
    assert wall["wait_here"] == pytest.approx(wall["spin_here"], rel=0.5)


def test_a_recording_ends_early_when_it_is_told_to() -> None:
    stop = threading.Event()
    stop.set()
    started = time.perf_counter()
    assert record(60, stop).sights == []
    assert time.perf_counter() - started < 5


def test_looks_and_nanoseconds_add_up_by_stack() -> None:
    one: Stack = stack_of(sys._getframe())
    recording = Recording(0, 1.0, [Sight(0.0, "t", one, 0), Sight(0.1, "t", one, 5), Sight(0.2, "t", one, 7)])
    assert recording.by_stack(is_wall=False) == {one: (2, 12)}
    assert recording.by_stack(is_wall=True) == {one: (3, 3 * sampling.PERIOD_NANOS)}


def test_a_stack_runs_from_the_inner_call_outwards_and_is_cut() -> None:
    def dive(depth: int) -> Stack:
        return dive(depth - 1) if depth else stack_of(sys._getframe())

    stack = dive(MAX_DEPTH + 50)
    assert len(stack) == MAX_DEPTH
    assert stack[0].function.endswith("dive")
    assert stack[0].file == __file__
    assert stack_of(None) == ()


def test_without_the_kernels_figures_time_counts_as_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sampling, "_TASKS", tmp_path / "none")
    with threads():
        cpu = names(record(0.3).by_stack(is_wall=False))
    assert cpu["wait_here"] > 0

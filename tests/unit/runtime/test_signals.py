from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.signals import Signals

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def seen() -> queue.SimpleQueue[str]:
    return queue.SimpleQueue()


@pytest.fixture
def signals(seen: queue.SimpleQueue[str]) -> Iterator[Signals]:
    found = Signals(end=lambda code: seen.put(f"exit {code}"))
    yield found
    found.restore()


def test_the_first_stops_and_the_second_ends_the_process(signals: Signals, seen: queue.SimpleQueue[str]) -> None:
    signals.install(lambda: seen.put(f"stop on {threading.current_thread().name}"))
    os.kill(os.getpid(), signal.SIGTERM)
    assert seen.get(timeout=10) == "stop on signals"
    os.kill(os.getpid(), signal.SIGINT)
    assert seen.get(timeout=10) == "exit 1"


def test_other_signals_call_back_each_time(signals: Signals, seen: queue.SimpleQueue[str]) -> None:
    signals.on(signal.SIGUSR1, lambda: seen.put("usr1"))
    signals.install(lambda: seen.put("stop"))
    signals.on(signal.SIGUSR2, lambda: seen.put("usr2"))
    for number, text in ((signal.SIGUSR1, "usr1"), (signal.SIGUSR2, "usr2"), (signal.SIGUSR1, "usr1")):
        os.kill(os.getpid(), number)
        assert seen.get(timeout=10) == text


def test_a_callback_that_throws_is_logged_and_the_next_signal_still_counts(
    signals: Signals, seen: queue.SimpleQueue[str], caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("no disk")

    signals.on(signal.SIGUSR1, broken)
    signals.install(lambda: seen.put("stop"))
    os.kill(os.getpid(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGTERM)
    assert seen.get(timeout=10) == "stop"
    assert "no disk" in caplog.text


def test_a_signal_is_seen_while_the_main_thread_spins(signals: Signals, seen: queue.SimpleQueue[str]) -> None:
    signals.install(lambda: seen.put("stop"))
    os.kill(os.getpid(), signal.SIGTERM)
    count = 0
    while seen.empty():
        count += 1
    assert seen.get() == "stop"


def test_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGUSR1)
    signals = Signals()
    signals.on(signal.SIGUSR1, lambda: None)
    signals.install(lambda: None)
    assert signal.getsignal(signal.SIGTERM) != before[0]
    signals.restore()
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGUSR1)) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_restoring_without_install_is_no_error() -> None:
    Signals().restore()


def test_a_second_signal_ends_a_process_that_is_stuck() -> None:
    program = textwrap.dedent("""
        import sys, threading
        from runtime.signals import Signals
        Signals().install(lambda: print("stopping", flush=True))
        threading.Thread(target=threading.Event().wait).start()  # keeps a normal exit from happening
        print("ready", flush=True)
        while True:
            sum(range(10_000_000))  # long stretches of C, in which Python runs no handler
    """)
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 1

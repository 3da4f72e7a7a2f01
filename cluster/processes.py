"""
Processes by identity, not by number.

The kernel hands a process id out again once its process is gone. A pid from a state file therefore always goes with
the start time of its process, and a signal is sent only when both still fit.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

MARKER = "STROMBOLI_CLUSTER_PROCESS"
"""Environment variable of every process of a control plane, its supervisor too: its state directory."""

_HAS_PROC = Path("/proc/self/stat").is_file()
_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.02
_REST = 4.0


class ProcessId(msgspec.Struct, frozen=True):
    """One process for good: `started` differs when the number was reused."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """The running process with this number, if there is one."""
        started = _start_time(pid)
        return cls(pid, started) if started else None

    @property
    def is_alive(self) -> bool:
        """Whether exactly this process still runs; a zombie does not."""
        return _start_time(self.pid) == self.started

    def send(self, signal_number: int) -> bool:
        """Signal exactly this process. False when it is gone."""
        if not hasattr(os, "pidfd_open"):
            return self.is_alive and _kill(self.pid, signal_number)
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            # The handle pins the process, so that the number cannot change hands between the check and the signal.
            if not self.is_alive:
                return False
            signal.pidfd_send_signal(handle, signal_number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True


def end(processes: Iterable[ProcessId], timeout: float = 10.0) -> list[ProcessId]:
    """Kill these processes and wait until they are gone; returns those that still run after `timeout` seconds."""
    victims = list(processes)
    for victim in victims:
        victim.send(signal.SIGKILL)
    wait_until(lambda: not any(victim.is_alive for victim in victims), timeout)
    return [victim for victim in victims if victim.is_alive]


def wait_until(condition: Callable[[], bool], timeout: float, pause: float = _POLL_SECONDS) -> bool:
    """
    Whether the condition came true within `timeout` seconds.

    Asked every `pause` seconds, or less often when asking takes long: asking must not be what everyone waits for.
    """
    deadline = time.monotonic() + timeout
    while True:
        begin = time.monotonic()
        if condition():
            return True
        now = time.monotonic()
        if now > deadline:
            return False
        time.sleep(max(pause, _REST * (now - begin)))


def marked_with(directory: Path) -> list[ProcessId]:
    """
    Our processes that belong to this state directory, read from /proc; none where there is no /proc.

    The directory may be gone, and may be called by another name (a link, `..`) than when they were started.
    """
    wanted = os.path.realpath(directory)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        mark = _mark(entry)
        if mark and os.path.realpath(mark) == wanted:
            process = ProcessId.of(int(entry.name))
            if process:
                found.append(process)
    return found


def _mark(entry: Path) -> str:
    """The state directory that a process in /proc was marked with, empty for strangers."""
    try:
        environment = (entry / "environ").read_bytes()
    except OSError:
        return ""  # gone meanwhile, or another user's
    start = f"{MARKER}=".encode()
    return next((os.fsdecode(line[len(start) :]) for line in environment.split(b"\0") if line.startswith(start)), "")


def die_with(parent: int) -> Callable[[], None]:
    """
    For `preexec_fn`: the kernel kills the child when its parent ends in any way.

    Only Linux has this; elsewhere the next `up` or `down` finds the child by its recorded identity.
    """
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def before_exec() -> None:
        if prctl is not None:
            prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
            if os.getppid() != parent:  # it ended before the request was in place
                os._exit(1)

    return before_exec


def describe_exit(code: int) -> str:
    """What a return code of `subprocess` means, as the rest of a sentence that starts with the process's name."""
    if code >= 0:
        return f"exited with code {code}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


def _kill(pid: int, signal_number: int) -> bool:
    try:
        os.kill(pid, signal_number)
    except ProcessLookupError:
        return False
    return True


def _start_time(pid: int) -> str | None:
    """Start time of a live process: clock ticks since boot on Linux, `ps` text elsewhere. None when dead or zombie."""
    if _HAS_PROC:
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        # The second field is the command in brackets and may hold spaces and brackets itself.
        fields = text[text.rindex(")") + 2 :].split()
        return None if fields[0] in {"Z", "X"} else fields[19]
    answer = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = answer.stdout.strip().partition(" ")
    return None if answer.returncode or state.startswith("Z") else started.strip() or None

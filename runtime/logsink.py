"""
Where log lines go: a thread that writes them, so that a full pipe or a slow disk never stops the caller.

Lines are formatted by the caller, since their arguments may change, and queued; the queue is bounded, and what
it could not hold is counted and told.
"""

from __future__ import annotations

import contextlib
import getpass
import logging
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Protocol

MAX_WAITING = 50_000
"""Lines that may wait to be written."""
DRAIN_SECONDS = 2.0
"""How long the end of the process waits for the last lines."""


class Output(Protocol):
    """A place for lines. Used by the writer thread only."""

    def accepts(self, levelno: int) -> bool: ...

    def write(self, text: str) -> None: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class StandardError:
    """stderr, from a level on. Looked up at each write, since tests and supervisors exchange it."""

    def __init__(self, threshold: int = logging.NOTSET) -> None:
        self._threshold = threshold

    def accepts(self, levelno: int) -> bool:
        return levelno >= self._threshold

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # closed by the supervisor
            sys.stderr.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()

    def close(self) -> None:
        self.flush()


class LogFile:
    """A file opened at its first line and begun anew when it has reached its size."""

    def __init__(
        self, path: Path, *, low: int = logging.NOTSET, high: int = logging.CRITICAL, max_bytes: int = 0
    ) -> None:
        """Lines of levels from `low` to `high`; `max_bytes` 0 is unlimited."""
        self.path = path
        self._low, self._high = low, high
        self._max_bytes = max_bytes
        self._size = 0
        self._file: IO[str] | None = None

    def accepts(self, levelno: int) -> bool:
        return self._low <= levelno <= self._high

    def write(self, text: str) -> None:
        try:
            file = self._open()
            file.write(text)
            self._size += len(text)
        except OSError as error:
            sys.stderr.write(f"cannot write log file {self.path}: {error}\n{text}")

    def flush(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _open(self) -> IO[str]:
        if self._file is not None and self._max_bytes and self._size >= self._max_bytes:
            self._file.close()
            self._file = self._begin("w")
        if self._file is None:
            self._file = self._begin("a")
        return self._file

    def _begin(self, mode: str) -> IO[str]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = self.path.open(mode, encoding="utf-8", errors="backslashreplace")
        self._size = self.path.stat().st_size
        return file


class DirectoryFile(LogFile):
    """A file in a log directory, named by program, host, user, severity, time and process, with a link to the newest."""

    def __init__(self, directory: Path, program: str, severity: str, *, low: int, high: int, max_bytes: int) -> None:
        self._directory = directory
        self._stem = f"{program}.{socket.gethostname().split('.')[0]}.{_user()}.log.{severity}"
        self._link = directory / f"{program}.{severity}"
        super().__init__(directory, low=low, high=high, max_bytes=max_bytes)

    def _begin(self, mode: str) -> IO[str]:
        moment = datetime.now().astimezone()
        self.path = self._directory / f"{self._stem}.{moment:%Y%m%d-%H%M%S}.{os.getpid()}"
        file = super()._begin(mode)
        with contextlib.suppress(OSError):
            self._link.unlink(missing_ok=True)
            self._link.symlink_to(self.path.name)
        return file


class Sink(logging.Handler):
    """Queues formatted lines for its outputs. `drain` waits until they are written."""

    def __init__(self, outputs: Iterable[Output], flush_period: float = 5.0) -> None:
        """Files are flushed every `flush_period` seconds, stderr after each batch."""
        super().__init__()
        self._outputs = tuple(outputs)
        self._flush_period = flush_period
        self._waiting: deque[tuple[int, str]] = deque()
        self._dropped = 0
        self._wake = threading.Event()
        self._idle = threading.Condition()
        self._queued = 0
        self._written = 0
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="log-writer", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record) + "\n"
        except Exception:  # noqa: BLE001  # a bad log call must not break its caller
            self.handleError(record)
            return
        if self._is_closed:
            StandardError().write(text)
        elif len(self._waiting) >= MAX_WAITING:
            self._dropped += 1
        else:
            self._waiting.append((record.levelno, text))
            self._queued += 1  # under the handler's lock
            if not self._wake.is_set():
                self._wake.set()

    def drain(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Wait until all lines so far are written and flushed; False when the time did not suffice."""
        target = self._queued
        self._wake.set()
        with self._idle:
            return self._idle.wait_for(lambda: self._written >= target, seconds)

    def close(self) -> None:
        """Write what waits, then stop the thread; later lines go to stderr directly."""
        if not self._is_closed:
            self.drain()
            self._is_closed = True
            self._wake.set()
            self._thread.join(DRAIN_SECONDS)
        super().close()

    def _run(self) -> None:
        flushed_at = time.monotonic()
        while not self._is_closed:
            self._wake.wait(self._flush_period)
            self._wake.clear()
            lines = self._take()
            self._write(lines)
            is_due = time.monotonic() - flushed_at >= self._flush_period
            if is_due or not self._waiting:
                self._flush(is_due=is_due)
                flushed_at = time.monotonic() if is_due else flushed_at
            with self._idle:
                self._written += len(lines)
                self._idle.notify_all()
        self._write(self._take())
        for output in self._outputs:
            output.close()

    def _take(self) -> Sequence[tuple[int, str]]:
        lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
        dropped, self._dropped = self._dropped, 0
        if dropped:
            self._outputs[0].write(f"log lines dropped, the output is too slow lines={dropped}\n")
        return lines

    def _write(self, lines: Sequence[tuple[int, str]]) -> None:
        for output in self._outputs:
            text = "".join(line for levelno, line in lines if output.accepts(levelno))
            if text:
                output.write(text)

    def _flush(self, *, is_due: bool) -> None:
        for output in self._outputs:
            if is_due or isinstance(output, StandardError):
                output.flush()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user id without an entry in passwd
        return str(os.getuid())

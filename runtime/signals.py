"""
Signals on a thread of their own.

Python runs signal handlers in the main thread, between two of its bytecodes, and asyncio runs its own in the
loop: both can be late by as long as the main thread is busy. The C handler however writes each signal's number
to a descriptor at once. A thread reads it, so that a second SIGTERM ends the process even when nothing else moves.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable
from types import FrameType

from runtime import log as logs

log = logging.getLogger(__name__)

STOPPING = (signal.SIGTERM, signal.SIGINT)
IMPATIENT_EXIT = 1
"""Exit code of a second signal."""

Callback = Callable[[], None]


def end_process(code: int) -> None:
    """End the process now: no handlers, no waiting for threads; log lines are still written."""
    logs.drain(1.0)
    os._exit(code)


class Signals:
    """
    The signals of a process, from `install` to `restore`, both called in the main thread.

    Callbacks run on the signal thread and must return soon; what they throw is logged.
    """

    def __init__(self, *, end: Callable[[int], None] = end_process) -> None:
        self._end = end
        self._callbacks: dict[int, Callback] = {}
        self._previous: dict[int, signal.Handlers | Callable[[int, FrameType | None], object] | int | None] = {}
        self._reader: socket.socket
        self._writer: socket.socket
        self._old_descriptor = -1
        self._stop: Callback = _nothing
        self._stops = 0
        self._thread = threading.Thread(target=self._run, name="signals", daemon=True)

    def on(self, number: int, callback: Callback) -> None:
        """Call back at each arrival of a signal, such as SIGUSR1. In the main thread, before or after `install`."""
        self._callbacks[number] = callback
        if self._thread.is_alive():
            self._take(number)

    def install(self, stop: Callback) -> None:
        """Call `stop` at the first SIGTERM or SIGINT; a second one ends the process with exit code 1."""
        self._stop = stop
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._old_descriptor = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._thread.start()
        for number in (*STOPPING, *self._callbacks):
            self._take(number)

    def restore(self) -> None:
        """Give all signals back to whom they belonged."""
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()
        if self._thread.is_alive():
            signal.set_wakeup_fd(self._old_descriptor)
            self._writer.close()
            self._thread.join(5)
            self._reader.close()

    def _take(self, number: int) -> None:
        if number not in self._previous:
            self._previous[number] = signal.signal(number, _handled_elsewhere)

    def _run(self) -> None:
        while numbers := self._receive():
            for number in numbers:
                self._handle(number)

    def _receive(self) -> Iterable[int]:
        """The numbers of arrived signals; nothing once the other end is closed."""
        with contextlib.suppress(OSError):
            return self._reader.recv(64)
        return b""

    def _handle(self, number: int) -> None:
        if number in STOPPING:
            self._stops += 1
            if self._stops > 1:
                log.warning("second signal, ending at once signal=%s", signal.Signals(number).name)
                self._end(IMPATIENT_EXIT)
                return
            log.info("stopping signal=%s", signal.Signals(number).name)
            self._call(self._stop)
        elif number in self._callbacks:
            self._call(self._callbacks[number])

    def _call(self, callback: Callback) -> None:
        try:
            callback()
        except Exception:
            log.exception("signal callback failed")


def _handled_elsewhere(number: int, frame: FrameType | None) -> None:
    """Only keeps the default action from happening."""


def _nothing() -> None:
    """Before `install`."""

"""
Changing the verbosity of a running process, over HTTP on a unix socket.

    curl --unix-socket /tmp/klog-socks/klog-klog.sock "http://unix/setlevel?level=4&duration=5m"
"""

from __future__ import annotations

import logging
import os
import re
import threading
from pathlib import Path

from runtime import log as logs
from runtime.duration import DurationError, format_nanoseconds, parse_nanoseconds
from runtime.serving import BindError, Call, Reply, Router, ServingThread

log = logging.getLogger(__name__)

SOCKET_NAME = "klog-klog.sock"
DEFAULT_DIRECTORY = "/tmp/klog-socks"  # noqa: S108  # where operators' scripts look for it
MIN_DURATION = 1_000_000
"""Nanoseconds."""

_LEVEL = re.compile(r"\+?[0-9]{1,9}")
_USAGE = "usage: /setlevel?level=<integer above 0>&duration=<such as 30s, 5m or 1h30m; at least 1ms>"


def socket_path() -> Path:
    """The socket's place: `$DEBUG_SOCKET_DIR` or the default directory."""
    return Path(os.environ.get("DEBUG_SOCKET_DIR") or DEFAULT_DIRECTORY) / SOCKET_NAME


class LogLevel:
    """Raises the verbosity for a while; afterwards that of the start is back."""

    def __init__(self) -> None:
        self._start = logs.verbosity()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def route(self, router: Router) -> None:
        """Serve `/getlevel` and `/setlevel`."""
        router.add("/getlevel", self._get)
        router.add("/setlevel", self._set)

    def change(self, verbosity: int, seconds: float) -> None:
        """Set the verbosity now, and that of the start after some seconds. A later call cancels an earlier one."""
        with self._lock:
            self._cancel()
            logs.set_verbosity(verbosity)
            self._timer = threading.Timer(seconds, self._restore)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Forget the pending return to the start's verbosity."""
        with self._lock:
            self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _restore(self) -> None:
        with self._lock:
            if self._timer is threading.current_thread():
                logs.set_verbosity(self._start)
                self._timer = None
        log.info("log level restored level=%d", self._start)

    def _get(self, _: Call) -> Reply:
        return Reply(f"Current klog log level: {logs.verbosity()}\n")

    def _set(self, call: Call) -> Reply:
        text = call.query.get("level", "")
        verbosity = int(text) if _LEVEL.fullmatch(text) else 0
        try:
            nanoseconds = parse_nanoseconds(call.query.get("duration", ""))
        except DurationError:
            nanoseconds = 0
        if verbosity <= 0 or nanoseconds < MIN_DURATION:
            return Reply(f"{_USAGE}\n", 400)
        try:
            self.change(verbosity, min(nanoseconds / 1e9, threading.TIMEOUT_MAX))
        except (OSError, RuntimeError) as error:
            return Reply(f"cannot set the log level to {verbosity}: {error}\n", 500)
        log.info("log level changed level=%d duration=%s", verbosity, format_nanoseconds(nanoseconds))
        shown = format_nanoseconds(nanoseconds)
        return Reply(f"Change klog log level to {verbosity} successfully and  for {shown}\n")


def serve(serving: ServingThread, path: Path | None = None) -> LogLevel:
    """Listen on the socket. That it can't be is no reason to trouble anyone: a debug line, no more."""
    control = LogLevel()
    router = Router()
    control.route(router)
    try:
        serving.listen_unix(path if path is not None else socket_path(), router)
    except BindError as error:
        log.debug("no log level socket: %s", error)
    return control

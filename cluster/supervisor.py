"""
The process that holds a control plane together: `python -m cluster.supervisor DIRECTORY`.

It is the parent of etcd, the API server and the rest, so that one thing decides when they end: an order over its
socket, a signal, the end of its owner (the test run or terminal that asked for the control plane), or the end of any
component that nobody asked to end. In each case it takes all of them down. Killed itself, the kernel ends its children.

It is single-threaded, since the kernel ties that last promise to the thread that forked.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from cluster.errors import ClusterError
from cluster.orders import Answer, Order
from cluster.processes import MARKER, ProcessId, describe_exit, die_with
from cluster.state import Layout, Processes, ProcessRecord, write

_LOG = logging.getLogger(__name__)
_TICK_SECONDS = 0.1
_REQUEST_SECONDS = 5.0


class Component:
    """One child and the command line that (re)starts it."""

    def __init__(self, name: str, argv: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self.name = name
        self.argv = argv
        self.environment = environment
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.identity: ProcessId | None = None
        self.is_wanted = False

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  # single-threaded here
            )
        self.identity = ProcessId.of(self.process.pid)
        self.is_wanted = True

    def stop(self, grace_seconds: float) -> None:
        """TERM, then KILL after the grace; 0 kills at once."""
        self.is_wanted = False
        if self.process is None:
            return
        if grace_seconds > 0:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(grace_seconds)
        self.process.kill()
        self.process.wait()

    @property
    def exit(self) -> str:
        code = self.process.poll() if self.process else None
        return "" if code is None else describe_exit(code)

    def record(self) -> ProcessRecord | None:
        if self.process is None:
            return None
        started = self.identity.started if self.identity else ""
        return ProcessRecord(self.name, self.process.pid, started, self.exit)


class Supervisor:
    """The loop: orders, children, owner."""

    def __init__(self, layout: Layout, owner: ProcessId | None) -> None:
        self.layout = layout
        self.owner = owner
        self.components: dict[str, Component] = {}
        self.ended = self.culprit = ""
        myself = ProcessId.of(os.getpid())
        self.identity = ProcessRecord("supervisor", os.getpid(), myself.started if myself else "")

    def run(self) -> None:
        """Serve until something ends the control plane; every child is gone on return."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, _frame: self._end(f"got {signal.Signals(received).name}"))
        try:
            with self._listen() as server, selectors.DefaultSelector() as selector:
                selector.register(server, selectors.EVENT_READ)
                self._save()
                while not self.ended:
                    if selector.select(_TICK_SECONDS):
                        self._serve(server)
                    self._look_around()
        finally:
            self._take_down()

    def _listen(self) -> socket.socket:
        # Bound by its short relative name: a socket's path may have about 100 characters, a state directory has more.
        os.chdir(self.layout.root)
        self.layout.control_socket.unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX)
        server.bind(self.layout.control_socket.name)
        server.listen()
        return server

    def _serve(self, server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, connection.makefile("rwb") as stream:
            connection.settimeout(_REQUEST_SECONDS)
            try:
                self._obey(msgspec.json.decode(stream.readline(), type=Order))
                answer = Answer()
            except (OSError, ValueError, msgspec.MsgspecError, ClusterError) as error:
                answer = Answer(str(error))
            with contextlib.suppress(OSError):  # the asker may be gone; the order is carried out all the same
                stream.write(msgspec.json.encode(answer) + b"\n")
                stream.flush()

    def _obey(self, order: Order) -> None:
        match order.do:
            case "start":
                self._start(order)
            case "stop":
                self._known(order.name).stop(order.grace)
            case "disown":
                self.owner = None
            case "end":
                self._end(order.reason)
        self._save()

    def _start(self, order: Order) -> None:
        if order.argv:
            environment = {**os.environ, **order.environment, MARKER: str(self.layout.root)}
            log = self.layout.log(order.name)
            self.components[order.name] = Component(order.name, order.argv, environment, log)
        component = self._known(order.name)
        if component.process is not None and not component.exit:
            raise ValueError(f"{order.name} runs already")
        component.start()
        _LOG.info(f"event=started component={order.name} pid={component.process.pid if component.process else 0}")

    def _known(self, name: str) -> Component:
        if name not in self.components:
            raise ValueError(f"no component is called {name!r}")
        return self.components[name]

    def _look_around(self) -> None:
        if self.owner is not None and not self.owner.is_alive:
            self._end(f"its owner, process {self.owner.pid}, ended")
        for component in self.components.values():
            if component.is_wanted and component.exit:
                self._end(f"{component.name} {component.exit}", component.name)

    def _end(self, reason: str, culprit: str = "") -> None:
        if not self.ended:
            self.ended, self.culprit = reason, culprit

    def _take_down(self) -> None:
        _LOG.info(f"event=ending reason={self.ended!r}")
        for component in reversed(self.components.values()):
            component.stop(0)
        with contextlib.suppress(FileNotFoundError):  # the whole directory may be gone
            self.layout.control_socket.unlink()
        with contextlib.suppress(ClusterError):  # nor is a full disk a reason to fail here
            self._save()

    def _save(self) -> None:
        records = (component.record() for component in self.components.values())
        write(
            self.layout.processes_file,
            Processes(self.identity, tuple(record for record in records if record), self.ended, self.culprit),
        )


def main(arguments: list[str]) -> None:
    """Arguments: the state directory, then optionally pid and start time of the owner."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s")
    logging.Formatter.converter = time.gmtime
    root, *owner = arguments
    Supervisor(Layout(Path(root)), ProcessId(int(owner[0]), owner[1]) if owner else None).run()


if __name__ == "__main__":
    main(sys.argv[1:])

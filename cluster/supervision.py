"""The other end of the supervisor's socket: start it, give it orders, ask what runs."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from cluster.errors import ClusterError, ComponentFailed, NotRunningError, StartError, tail
from cluster.orders import Answer, Order
from cluster.processes import MARKER, ProcessId, wait_until
from cluster.state import Layout, Processes, read

_DESCRIPTORS = Path("/proc/self/fd")
_START_SECONDS = 20.0
_ANSWER_SECONDS = 60.0


class Supervision:
    """Orders to the supervisor of one state directory."""

    def __init__(self, layout: Layout, process: subprocess.Popen[bytes] | None = None) -> None:
        self._layout = layout
        self._process = process

    @classmethod
    def launch(cls, layout: Layout, owner: ProcessId | None) -> Supervision:
        """Start a supervisor that ends with its owner, in a session of its own so that Ctrl-C reaches it by us only."""
        log = layout.log("supervisor")
        packages = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH", ""))))
        arguments = [str(owner.pid), owner.started] if owner else []
        with log.open("ab") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "cluster.supervisor", str(layout.root), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                cwd="/",
                env={**os.environ, "PYTHONPATH": path, MARKER: str(layout.root)},
                start_new_session=True,
            )
        supervision = cls(layout, process)
        wait_until(lambda: process.poll() is not None or supervision.is_answering(), _START_SECONDS)
        if process.poll() is not None or not supervision.is_answering():
            process.kill()
            process.wait()
            raise StartError(f"the supervisor did not start; the end of {log}:\n    " + "\n    ".join(tail(log)))
        return supervision

    def start(self, component: str, argv: list[str] | None = None, environment: dict[str, str] | None = None) -> None:
        """Start a component, or start it again with the command line it had."""
        order = Order("start", component, tuple(argv or ()), environment or {})
        try:
            self._ask(order)
        except SupervisorError as error:
            raise StartError(f"cannot start {component}: {error}") from error
        except NotRunningError:
            self._explain_loss()
            raise

    def stop(self, component: str, grace_seconds: float) -> None:
        """Stop a component that is to be started again: TERM, then KILL after the grace; 0 kills at once."""
        self._ask(Order("stop", component, grace=grace_seconds))

    def disown(self) -> None:
        """From now on it outlives the process that launched it."""
        self._ask(Order("disown"))
        if self._process is not None:
            self._process.returncode = 0  # nobody here will wait for it, and that is no leak
            self._process = None

    def end(self, reason: str) -> None:
        """Have everything taken down; returns when it is, or when nobody answers. The reason goes into the record."""
        with contextlib.suppress(ClusterError):
            record = read(self._layout.processes_file, Processes)
            self._ask(Order("end", reason=reason))
            if record is not None:
                wait_until(lambda: not record.supervisor.process.is_alive, _ANSWER_SECONDS)
        if self._process is not None:
            self._process.wait(_ANSWER_SECONDS)

    def check(self) -> None:
        """Raise when the control plane is no more: ComponentFailed, with the end of its log, if one ended by itself."""
        record = read(self._layout.processes_file, Processes)
        if record is None or record.ended:
            for component in record.components if record else ():
                if record and component.name == record.culprit:
                    raise ComponentFailed(component.name, component.exit, self._layout.log(component.name))
            raise StartError(f"the control plane ended: {record.ended if record else 'its state directory is gone'}")
        if not record.supervisor.process.is_alive:
            raise StartError("the control plane ended: its supervisor was killed")

    def _explain_loss(self) -> None:
        """Raise what `check` knows once the supervisor, which just hung up, has written down why."""
        record = read(self._layout.processes_file, Processes)
        if record is not None:
            wait_until(lambda: not record.supervisor.process.is_alive, _START_SECONDS)
            self.check()

    def is_answering(self) -> bool:
        try:
            self._ask(Order("status"))
        except ClusterError:
            return False
        return True

    def _ask(self, order: Order) -> None:
        try:
            with socket.socket(socket.AF_UNIX) as connection, _short_path(self._layout.control_socket) as path:
                connection.settimeout(_ANSWER_SECONDS)
                connection.connect(path)
                connection.sendall(msgspec.json.encode(order) + b"\n")
                with connection.makefile("rb") as stream:
                    answer = msgspec.json.decode(stream.readline(), type=Answer)
        except (OSError, msgspec.DecodeError) as error:
            raise NotRunningError(f"no control plane runs in {self._layout.root} ({error})") from error
        if answer.error:
            raise SupervisorError(answer.error)


class SupervisorError(ClusterError):
    """The supervisor refused an order."""


@contextlib.contextmanager
def _short_path(path: Path) -> Iterator[str]:
    """A name for a socket in a directory of any depth: a socket's own path may have about 100 characters."""
    if _DESCRIPTORS.is_dir():
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield str(_DESCRIPTORS / str(directory) / path.name)
        finally:
            os.close(directory)
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "d"
        link.symlink_to(path.parent)
        yield str(link / path.name)

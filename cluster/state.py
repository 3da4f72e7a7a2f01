"""
The state directory of one control plane, and its files.

Two records, each with one writer: `cluster.json` (what was asked for; the command or library writes it) and
`processes.json` (what runs; the supervisor writes it). Both are replaced in one step, so that a reader sees the old or
the new text and never half of one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from cluster.errors import StateError, UsageError
from cluster.hints import typed
from cluster.options import Options
from cluster.processes import ProcessId

_LOCK_POLL_SECONDS = 0.1
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
_ENTRIES = frozenset(
    {"cluster.json", "processes.json", "kubeconfig", "pki", "logs", "etcd", "kwok", "control.sock", "lock"}
)
_S = TypeVar("_S", bound=msgspec.Struct)


class ProcessRecord(msgspec.Struct, frozen=True):
    """One process as the supervisor last saw it. `exit` is a sentence end such as `exited with code 1`."""

    name: str
    pid: int
    started: str
    exit: str = ""

    @property
    def process(self) -> ProcessId:
        return ProcessId(self.pid, self.started)


class Processes(msgspec.Struct, frozen=True):
    """
    `processes.json`. `ended` says why the supervisor took everything down, empty while it runs; `culprit` is the
    component that ended by itself, if that was why.
    """

    supervisor: ProcessRecord
    components: tuple[ProcessRecord, ...] = ()
    ended: str = ""
    culprit: str = ""

    def all(self) -> tuple[ProcessRecord, ...]:
        """Supervisor first: it would take the loss of a component for a fault."""
        return (self.supervisor, *self.components)


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """`cluster.json`: what this control plane is. Times are seconds since the epoch, ports on loopback."""

    name: str
    options: Options
    api_port: int
    etcd_port: int
    binaries: dict[str, str]
    created: float
    ready_seconds: float | None = None


class Layout(msgspec.Struct, frozen=True):
    """Where everything of one control plane lies. `root` is absolute."""

    root: Path

    @property
    def facts_file(self) -> Path:
        return self.root / "cluster.json"

    @property
    def processes_file(self) -> Path:
        return self.root / "processes.json"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def pki(self) -> Path:
        return self.root / "pki"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def etcd_data(self) -> Path:
        return self.root / "etcd"

    @property
    def kwok_config(self) -> Path:
        return self.root / "kwok" / "kwok.yaml"

    @property
    def control_socket(self) -> Path:
        return self.root / "control.sock"

    @property
    def lock_file(self) -> Path:
        return self.root / "lock"

    def log(self, component: str) -> Path:
        return self.logs / f"{component}.log"

    def claim(self) -> None:
        """Make the directory. StateError when it is someone else's: what lies there would be in the way, or at risk."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_failed(self.root, error) from error
        try:
            foreign = sorted(entry.name for entry in self.root.iterdir() if not _is_ours(entry.name))
        except FileNotFoundError:
            return  # a `down` just removed it; who needs it makes it again
        except OSError as error:
            raise write_failed(self.root, error) from error
        if foreign:
            raise StateError(f"{self.root} holds other files ({', '.join(foreign[:3])}); take an empty directory")

    def create(self) -> None:
        """Make the directory and its folders. These are for the owner only, since they hold private keys."""
        self.claim()
        try:
            for folder in (self.pki, self.logs, self.etcd_data, self.kwok_config.parent):
                folder.mkdir(exist_ok=True)
                folder.chmod(0o700)
        except OSError as error:
            raise write_failed(self.root, error) from error

    def clear(self) -> None:
        """Delete everything of ours but the lock, which the caller holds."""
        for entry in self.root.iterdir():
            if entry == self.lock_file or not _is_ours(entry.name):
                continue
            try:
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
            except OSError as error:
                raise write_failed(entry, error) from error

    def remove(self) -> None:
        """Delete everything of ours and the directory; the caller holds its lock."""
        self.clear()
        with contextlib.suppress(OSError):  # another `up` may be waiting for the lock, and made the directory anew
            self.lock_file.unlink()
            self.root.rmdir()


def _is_ours(name: str) -> bool:
    """Whether a name in a state directory is one that we give, or the half-written beginning of one."""
    return name in _ENTRIES or any(name.startswith(f".{entry}.") for entry in _ENTRIES)


def locate(name: str, directory: Path | None = None) -> Layout:
    """The layout of a named control plane, or of one in a directory of the caller's choice."""
    if directory is not None:
        return Layout(directory.expanduser().absolute())
    if not is_name(name):
        raise UsageError(f"--name {name!r}: take 1-42 of a-z, 0-9 and '-', not at the ends")
    return Layout(clusters_directory() / name)


def is_name(text: str) -> bool:
    """Whether a control plane can have this name."""
    return _NAME.fullmatch(text) is not None


def clusters_directory() -> Path:
    """Where the named control planes live: XDG state, so that nothing needs root and nothing is left in a checkout."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "stromboli" / "clusters"


@contextlib.contextmanager
def locked(layout: Layout, timeout: float = 90.0) -> Iterator[None]:
    """Only one `up` or `down` at a time works on a directory. The lock ends with its holder, however that ends."""
    deadline = time.monotonic() + timeout
    descriptor = _lock(layout)
    while descriptor is None:
        if time.monotonic() > deadline:
            raise StateError(f"another `up` or `down` works on {layout.root}; try again when it is done")
        time.sleep(_LOCK_POLL_SECONDS)
        descriptor = _lock(layout)
    try:
        yield
    finally:
        os.close(descriptor)


def _lock(layout: Layout) -> int | None:
    """Descriptor of the lock when it is ours now, None when another holds it or deleted the file meanwhile."""
    layout.claim()
    try:
        descriptor = os.open(layout.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise write_failed(layout.lock_file, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == layout.lock_file.stat().st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def write(path: Path, record: msgspec.Struct | str | bytes, mode: int = 0o600) -> None:
    """Replace a file in one step. Struct becomes indented JSON."""
    if isinstance(record, msgspec.Struct):
        record = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
    data = record.encode() if isinstance(record, str) else record
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor, not a path
            file.write(data)
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise write_failed(path, error) from error


def read(path: Path, kind: type[_S]) -> _S | None:
    """Read a record; None when there is no such file. StateError when it holds something else."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"cannot read {path}: {error.strerror}") from error
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # the last two for odd bytes and deep nesting
        down = typed("down", directory=path.parent)
        raise StateError(f"{path} is damaged ({error}): {down} clears it away") from error


def write_failed(path: Path, error: OSError) -> StateError:
    """A StateError for a failed write, with a remedy where one is known."""
    remedies = {
        errno.ENOSPC: "the disk is full: free some space",
        errno.EDQUOT: "the disk quota is used up: free some space",
        errno.EROFS: "the file system is read-only: choose another place with --dir or XDG_STATE_HOME",
        errno.EACCES: "permission denied: choose another place with --dir or XDG_STATE_HOME",
        errno.ENOTDIR: "a file is in the way: choose another place with --dir or XDG_STATE_HOME",
    }
    return StateError(f"cannot write {path}: {remedies.get(error.errno or 0, error.strerror or str(error))}")

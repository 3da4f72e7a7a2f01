"""The cache of binaries: where it lies, and that only one process at a time fills it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from cluster.state import write_failed

Report = Callable[[str], None]

_TICK_SECONDS = 15.0


def cache_directory() -> Path:
    """XDG cache, so that all checkouts of one user share downloads and builds."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    return base / "stromboli"


def cached_binary(name: str, version: str) -> Path:
    """Where a binary of this version lies once it is there; files appear whole or not at all."""
    return cache_directory() / "bin" / f"{name}-{version}"


@contextlib.contextmanager
def filling(report: Report) -> Iterator[None]:
    """
    Hold the cache's lock: two builds at once would only take each other's cores.

    What an interrupted holder left unfinished is deleted.
    """
    binaries = cache_directory() / "bin"
    try:
        binaries.mkdir(parents=True, exist_ok=True)
        lock = (cache_directory() / "lock").open("a")
    except OSError as error:
        raise write_failed(binaries, error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with ticking(report, "waiting for another process that fetches or builds binaries"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        for unfinished in binaries.glob(".*"):
            unfinished.unlink()
        yield


@contextlib.contextmanager
def unfinished(target: Path) -> Iterator[Path]:
    """A hidden name beside `target`; what is there at the end takes the target's place in one step."""
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        yield partial
        try:
            partial.chmod(0o755)
            partial.replace(target)
        except OSError as error:
            raise write_failed(target, error) from error
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def ticking(report: Report, what: str, detail: str = "", every: float = _TICK_SECONDS) -> Iterator[None]:
    """Report `what` and `detail`, then `what` with the time passed every `every` seconds: nobody shall think it hangs."""
    report(f"{what} {detail}".rstrip())
    begin = time.monotonic()
    done = threading.Event()

    def tick() -> None:
        while not done.wait(every):
            report(f"still {what}, {time.monotonic() - begin:.0f} s so far")

    ticker = threading.Thread(target=tick, name="ticker", daemon=True)
    ticker.start()
    try:
        yield
    finally:
        done.set()
        ticker.join()

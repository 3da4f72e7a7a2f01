"""
The contents of files over time: for certificates, configuration, tokens, whatever may be replaced while we run.

What counts is the bytes, not the events: a mounted Secret or ConfigMap is replaced by swapping a symlink two
steps away, editors write and rename, and some file systems report nothing at all. So the kernel's events only
say when to look, and a slow poll looks anyway; without inotify (not Linux, or no instance left) a faster poll does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

try:
    from asyncinotify import Inotify, Mask
except ImportError:  # not Linux
    HAS_INOTIFY = False
else:
    HAS_INOTIFY = True

if TYPE_CHECKING:
    from asyncinotify import Inotify

logger = logging.getLogger(__name__)

Contents: TypeAlias = Mapping[Path, bytes | None]
"""The bytes of each watched file, None for one that can't be read."""

POLL = 30.0
"""Seconds between looks beside inotify."""
POLL_ALONE = 2.0
"""Seconds between looks without it."""
_SETTLE = 0.05
_MAX_BURST = 1.0
_MAX_LINKS = 16


async def follow(
    paths: Iterable[Path] | Callable[[], Iterable[Path]],
    *,
    poll: float = POLL,
    poll_alone: float = POLL_ALONE,
    inotify: bool = HAS_INOTIFY,
) -> AsyncGenerator[Contents, None]:
    """
    Yield the contents of the files now, and again whenever they differ from those last yielded.

    Give a function where files come and go: it is asked at each look, and should name a path (which need not exist) in
    each directory where one may appear.

    A writer may be half done: the next yield follows when it is. Close the generator (or cancel its task) to stop.
    """
    known = () if callable(paths) else tuple(paths)
    events = _open_inotify() if inotify else None
    last: Contents | None = None
    try:
        while True:
            files = tuple(paths()) if callable(paths) else known
            # Watches first: what changes after the look below is then an event that waits for the next turn.
            is_watched = events is not None and _watch_directories(events, files)
            contents = {path: _read(path) for path in files}
            if contents != last:
                last = contents
                yield contents
            if events is None:
                await asyncio.sleep(poll_alone)
            else:
                await _wait(events, poll if is_watched else poll_alone)
    finally:
        if events is not None:
            events.close()


def _open_inotify() -> Inotify | None:
    try:
        return Inotify(cache_size=64)
    except OSError as error:
        logger.warning('msg="no inotify instance left, polling files instead" error="%s"', error)
        return None


def _watch_directories(events: Inotify, files: Iterable[Path]) -> bool:
    """Watch each directory in which something on the way to a file may be replaced. False when one can't be."""
    changes = Mask.CLOSE_WRITE | Mask.CREATE | Mask.DELETE | Mask.MOVE | Mask.ATTRIB | Mask.DELETE_SELF | Mask.ONLYDIR
    complete = True
    for directory in {directory for path in files for directory in _directories(path)}:
        try:
            events.add_watch(directory, changes)
        except OSError:  # not there yet, or no watch left
            complete = False
    return complete


def _directories(path: Path) -> Iterable[Path]:
    """The directory of the file, and of each file and directory that the symlinks on its way lead to."""
    for _ in range(_MAX_LINKS):
        yield path.parent
        target = _next_hop(path)
        if target is None:
            return
        path = target


def _next_hop(path: Path) -> Path | None:
    """The path with its first symlink followed, None when there is none (or nothing)."""
    for part in (*reversed(path.parents), path):
        if part.is_symlink():
            return part.parent / part.readlink() / path.relative_to(part)
    return None


async def _wait(events: Inotify, seconds: float) -> None:
    """Return when the time is over, or a moment after something happened, so that a burst is looked at once."""
    try:
        async with asyncio.timeout(seconds):
            await events.get()
    except TimeoutError:
        return
    deadline = asyncio.get_running_loop().time() + _MAX_BURST
    while asyncio.get_running_loop().time() < deadline:
        try:
            async with asyncio.timeout(_SETTLE):
                await events.get()
        except TimeoutError:
            return


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError as error:
        logger.debug('msg="file can not be read" path=%s error="%s"', path, error)
        return None

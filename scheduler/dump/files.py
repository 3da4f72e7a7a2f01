"""Dumps as files: written whole or not at all, and read with a clear word about what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from runtime import errors
from scheduler.dump.parts import PARTS
from scheduler.dump.record import CycleRecord

FORMAT = "stromboli scheduler dump 1"
OVERVIEW_LINES = 6
"""Those of the Go scheduler."""


class DumpError(errors.ConfigError):
    """A file that can't be replayed; the message names it."""


class _Header(msgspec.Struct, frozen=True):
    format: str
    cycle: CycleRecord


class _PartLine(msgspec.Struct, frozen=True):
    part: str
    records: msgspec.Raw


class _End(msgspec.Struct, frozen=True):
    end: int
    """Lines before this one."""


class Dump(msgspec.Struct, frozen=True):
    """A cycle with the state that it began with, by part."""

    cycle: CycleRecord
    parts: Mapping[str, list[Any]]


def encode(dump: Dump, overview: Sequence[Any]) -> bytes:
    """The content of a file; `overview` are the first lines, for people."""
    lines = [msgspec.json.encode(value) for value in overview]
    lines.append(msgspec.json.encode(_Header(FORMAT, dump.cycle)))
    lines += [msgspec.json.encode({"part": part.name, "records": dump.parts[part.name]}) for part in PARTS]
    lines.append(msgspec.json.encode(_End(len(lines))))
    return b"\n".join(lines) + b"\n"


def write(directory: Path, content: bytes, now: float) -> Path:
    """Write `snapshot-<unix seconds>.json`, readable by all, under its name only when it is whole. Raises OSError."""
    path = directory / f"snapshot-{int(now)}.json"
    unfinished = path.with_suffix(".json.part")
    try:
        unfinished.write_bytes(content)
        unfinished.chmod(0o644)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    return path


def read(path: Path) -> Dump:
    """Read a file. Raises DumpError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DumpError(f"dump {path} can't be read: {error.strerror or error}") from error
    lines = content.split(b"\n")
    header = _header(path, lines)
    _refuse_incomplete(path, lines)
    return Dump(header.cycle, _parts(path, lines[OVERVIEW_LINES + 1 : -2]))


def _header(path: Path, lines: list[bytes]) -> _Header:
    if len(lines) <= OVERVIEW_LINES or not lines[OVERVIEW_LINES].strip():
        raise DumpError(
            f"dump {path} has no state that could be replayed: it is no dump, it was cut off, or another scheduler "
            "wrote it; take one with SIGUSR1 to this scheduler"
        )
    try:
        header = msgspec.json.decode(lines[OVERVIEW_LINES], type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DumpError(
            f"dump {path} line {OVERVIEW_LINES + 1}: no dump of this scheduler, or cut off: {error}"
        ) from error
    if header.format != FORMAT:
        raise DumpError(f"dump {path} is of format {header.format!r}; this version reads {FORMAT!r}")
    return header


def _refuse_incomplete(path: Path, lines: list[bytes]) -> None:
    """The end mark tells a whole file; it counts the lines before it."""
    try:
        end = msgspec.json.decode(lines[-2], type=_End) if lines[-1] == b"" else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        end = None
    if end is None or end.end != len(lines) - 2:
        raise DumpError(f"dump {path} is incomplete: its end is missing; take a new one")


def _parts(path: Path, lines: list[bytes]) -> dict[str, list[Any]]:
    known = {part.name: part for part in PARTS}
    found: dict[str, list[Any]] = {}
    for number, line in enumerate(lines, OVERVIEW_LINES + 2):
        try:
            held = msgspec.json.decode(line, type=_PartLine)
            part = known.get(held.part)
            if part is not None:
                found[part.name] = msgspec.json.decode(held.records, type=list[part.record])  # type: ignore[name-defined]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DumpError(f"dump {path} line {number}: {error}") from error
    missing = [name for name in known if name not in found]
    if missing:
        raise DumpError(f"dump {path} lacks the parts {', '.join(missing)}: another version wrote it")
    return found

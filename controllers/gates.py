"""Which controllers run: the grammar of `--controllers` (controllers.md 1.2)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

EVERY = "*"


def problems(entries: Sequence[str]) -> list[str]:
    """Entries that contradict an earlier one."""
    seen: set[str] = set()
    found: list[str] = []
    for entry in entries:
        name = entry if entry == EVERY else _bare(entry)
        if name in seen:
            found.append(f"controllers option {entry} cannot have both '-' and '+' prefixes")
        seen.add(name)
    return found


def unknown(entries: Sequence[str], names: Collection[str]) -> list[str]:
    """Entries that name no controller: they have no effect, so the user should hear of them."""
    return [entry for entry in entries if entry != EVERY and _bare(entry) not in names]


def is_enabled(name: str, entries: Sequence[str]) -> bool:
    """Whether a controller runs: the first entry that names it decides, else whether `*` is there."""
    if not entries:
        return True
    for entry in entries:
        if entry in {name, f"+{name}"}:
            return True
        if entry == f"-{name}":
            return False
    return EVERY in entries


def _bare(entry: str) -> str:
    return entry[1:] if entry.startswith(("+", "-")) else entry

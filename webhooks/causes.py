"""
What is wrong with one field, in the form that API servers give it and that clients match.

A check appends to a list of causes, so that the user reads all of them at once, in the order of the checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from webhooks import remembering

P = TypeVar("P")
V = TypeVar("V")

MOST_TOLD: Final = 100
"""Mistakes of one template, or of one job, that a denial tells; it counts the others."""
LONGEST_TOLD: Final = 1 << 17
"""Characters of those after which no further one is told."""
MOST_HELD: Final = 2048
"""Parts that one judgement is remembered of."""


class Cause(NamedTuple):
    """One field and its mistake."""

    field: str
    """Such as `spec.tasks[0].name`."""
    message: str
    """Such as `Required value` or `Invalid value: 0: must be greater than zero`."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class Causes(list[Cause]):
    """
    The mistakes found so far: the first `MOST_TOLD` of them, and how many more there are.

    One request may hold tens of thousands of mistakes, whose text nobody would read and which would take longer to
    write than to find.
    """

    def __init__(self) -> None:
        super().__init__()
        self.untold = 0
        """Mistakes beyond those in the list."""
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether what comes now is only counted."""
        return len(self) >= MOST_TOLD or self._size >= LONGEST_TOLD

    def conclude(self, field: str) -> None:
        """Say under this field how many mistakes aren't told, if there are any. Nothing may follow."""
        if self.untold:
            self.append(Cause(field, untold(self.untold)))
            self.untold = 0

    def below(self, field: str, found: Causes) -> None:
        """What was found in a part that stands in this field."""
        for cause in found:
            self._add(field + cause.field, cause.message)
        self.untold += found.untold

    def _add(self, field: str, message: str) -> None:
        if self.is_full:
            self.untold += 1
            return
        self.append(Cause(field, message))
        self._size += len(field) + len(message)

    def _add_value(self, field: str, kind: str, value: Any, detail: str) -> None:
        if self.is_full:  # the value may be long
            self.untold += 1
        else:
            self._add(field, f"{kind} value: {shown(value)}{detail}")

    def invalid(self, field: str, value: Any, *details: str) -> None:
        """A value that breaks these rules: one cause for each."""
        for detail in details:
            self._add_value(field, "Invalid", value, f": {detail}")

    def required(self, field: str, detail: str = "") -> None:
        """A value that is missing."""
        self._add(field, f"Required value: {detail}" if detail else "Required value")

    def forbidden(self, field: str, detail: str) -> None:
        """A field that must not be set here."""
        self._add(field, f"Forbidden: {detail}")

    def duplicate(self, field: str, value: Any, times: int = 1) -> None:
        """A value that stands there already: one cause for each time."""
        while times and not self.is_full:
            self._add_value(field, "Duplicate", value, "")
            times -= 1
        self.untold += times

    def not_found(self, field: str, value: Any, detail: str = "") -> None:
        """A reference to something that isn't there."""
        self._add(field, f"Not found: {shown(value)}{': ' if detail else ''}{detail}")

    def unsupported(self, field: str, value: Any, supported: Sequence[str]) -> None:
        """A value that is none of those known."""
        known = ", ".join(shown(word) for word in supported)
        self._add_value(field, "Unsupported", value, f": supported values: {known}")

    def too_long(self, field: str, most: int) -> None:
        """A text or map with more bytes than this."""
        self._add(field, f"Too long: may not be more than {most} bytes")

    def too_many(self, field: str, count: int, most: int) -> None:
        """A list with more items than this."""
        self._add(field, f"Too many: {count}: must have at most {most} items")


def by_identity(judge: Callable[[P], V]) -> Callable[[P], V]:
    """
    A judgement on parts that come again and again as one object, such as the probes of most containers.

    Reviews are read so that equal parts are one (`webhooks.jobs.templates`). To know a part by what it is takes a
    lookup; to know it by what it says, the hash of all that is in it, which costs as much as the judgement itself.
    """
    known: dict[int, tuple[P, V]] = {}  # holding a part keeps its identity from being taken by another one
    remembering.forget_by(known.clear)

    @wraps(judge)
    def judge_once(part: P) -> V:
        held = known.get(id(part))
        if held is not None:
            return held[1]
        verdict = judge(part)
        if len(known) >= MOST_HELD:
            known.clear()
        known[id(part)] = part, verdict
        return verdict

    return judge_once


def remembered(check: Callable[[Causes, str, P], None]) -> Callable[[P], Causes]:
    """What a check finds in a part `by_identity`, in fields named from the part on; see `Causes.below`."""

    @by_identity
    def find(part: P) -> Causes:
        found = Causes()
        check(found, "", part)
        return found

    return find


def shown(value: Any) -> str:
    """A value within a message: texts quoted, numbers plain, everything else as JSON."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return msgspec.json.encode(value).decode()


def untold(count: int) -> str:
    """Stands for so many further mistakes."""
    return f"{count} more {'mistake is' if count == 1 else 'mistakes are'} not shown"


def shortened(parts: Iterable[str]) -> list[str]:
    """Those parts of a message that are told, empty ones left out, with the number of the others as the last one."""
    kept: list[str] = []
    size = left_out = 0
    for part in filter(None, parts):
        if len(kept) < MOST_TOLD and size < LONGEST_TOLD:
            kept.append(part)
            size += len(part)
        else:
            left_out += 1
    return [*kept, f" {untold(left_out)};"] if left_out else kept


def aggregate(causes: Iterable[object]) -> str:
    """All causes in one text: each once, in brackets when there are several."""
    texts = list(dict.fromkeys(map(str, causes)))
    if isinstance(causes, Causes) and causes.untold:
        texts.append(untold(causes.untold))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def one_of(causes: Causes, field: str, value: str, supported: Sequence[str]) -> None:
    """The value must be one of these."""
    if value not in supported:
        causes.unsupported(field, value, supported)


def not_negative(causes: Causes, field: str, value: int) -> None:
    """The number must not be below 0."""
    if value < 0:
        causes.invalid(field, value, "must be greater than or equal to 0")


def within(causes: Causes, field: str, value: int, low: int, high: int) -> None:
    """The number must lie between these, both inclusive."""
    if not low <= value <= high:
        causes.invalid(field, value, f"must be between {low} and {high}, inclusive")

"""
Regular expressions with the syntax, the meaning and the error texts that users know from Go: RE2.

Patterns come from users (`regexMatch` of a HyperNode) and meet many thousand node names, so they must never
backtrack: Python's `re` takes exponential time on `(a*)*b`, accepts what the API refuses (look-around,
back-references) and refuses what the API accepts. RE2 itself does the work; this module gives Go's words for its
errors and the two ways of matching that we need.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import re2  # type: ignore[import-untyped]  # the wheel ships no types

_REASONS: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
_TOO_LARGE = re.compile(r"pattern too large|too deep")
# Literal text between \Q and \E, or one escape; so `\\C` is no `\C`.
_ESCAPE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)


class PatternError(ValueError):
    """A pattern can't be used. The message is Go's: ``error parsing regexp: missing closing ): `a(b` ``."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"error parsing regexp: {reason}")


class PatternSet:
    """
    Several patterns searched at once: the time doesn't grow with their number.

    Raises PatternError for the first pattern that can't be used.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._compiled = tuple(_compile(pattern) for pattern in patterns)
        self._set = re2.Set.SearchSet(_options())
        for pattern in patterns:
            self._set.Add(pattern)
        # Matches everything: when it is missing, RE2 ran out of memory and told nobody.
        self._sentinel: int = self._set.Add("")
        self._set.Compile()

    def matching(self, text: str) -> tuple[int, ...]:
        """Which patterns occur somewhere in the text: their positions, in order."""
        found = sorted(self._set.Match(text))
        if found and found[-1] == self._sentinel:
            return tuple(found[:-1])
        return tuple(index for index, compiled in enumerate(self._compiled) if compiled.search(text))


class Pattern:
    """One pattern. Raises PatternError when it can't be used."""

    __slots__ = ("_set", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._set = PatternSet((text,))

    def matches(self, text: str) -> bool:
        """Whether the pattern occurs somewhere in the text; `^` and `$` anchor it."""
        return bool(self._set.matching(text))

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"


def check(pattern: str) -> None:
    """Raise PatternError when the pattern can't be used."""
    _compile(pattern)


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False  # RE2 would write to standard error
    return options


def _compile(pattern: str) -> Any:
    """The compiled form. Raises PatternError, also for the two things that RE2 takes and Go refuses."""
    if any(match.group() == r"\C" for match in _ESCAPE.finditer(pattern)):
        raise PatternError(r"invalid escape sequence: `\C`")
    try:
        compiled = re2.compile(pattern, _options())
    except re2.error as error:
        raise PatternError(_reason(error)) from None
    for name in compiled.groupindex:
        if not name.isascii():
            raise PatternError(f"invalid named capture: `(?P<{name}>`")
    return compiled


def _reason(error: Exception) -> str:
    """Go's words for an error of RE2, which reads `<kind>: <part of the pattern>`."""
    message = error.args[0]
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    if _TOO_LARGE.search(text):
        return "expression too large"
    kind, _, part = text.partition(": ")
    return f"{_REASONS.get(kind, kind)}: `{part}`"

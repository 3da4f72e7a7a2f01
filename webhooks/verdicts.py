"""From what was found to the answer."""

from __future__ import annotations

from runtime.admission import ALLOWED, Allowed, Denial, Validation


def verdict(problem: str, warnings: tuple[str, ...] = ()) -> Validation:
    """A denial that says what is wrong, or leave; with warnings in both cases."""
    if problem:
        return Denial(problem, warnings=warnings)
    return Allowed(warnings) if warnings else ALLOWED

"""The known word that a misspelt one was probably meant to be, for messages about configurations."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_SHORT = 8
_CUTOFF, _CUTOFF_SHORT = 0.8, 0.65
"""Least likeness. One slip weighs more in a short word: `gnag` is `gang` by three quarters, `dfr` is `drf` by two thirds."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one, whatever its case; empty when none is."""
    by_lower: dict[str, str] = {}
    for one in known:
        by_lower.setdefault(one.lower(), one)
    cutoff = _CUTOFF if len(word) > _SHORT else _CUTOFF_SHORT
    found = get_close_matches(word.lower(), sorted(by_lower), 1, cutoff)
    return by_lower[found[0]] if found else ""


def hint(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: what may have been meant, empty when nothing is near."""
    found = nearest(word, known)
    return f", did you mean {found}?" if found else ""

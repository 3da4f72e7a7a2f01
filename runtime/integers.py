"""Whole numbers out of text that anybody may have written, of any length: Python's own reader fails beyond 4300 digits."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"([+-]?)([0-9]+)")


def is_integer(text: str) -> bool:
    """Whether it is decimal digits, with or without a sign, however many."""
    return _INTEGER.fullmatch(text) is not None


def read(text: str, bits: int) -> int | None:
    """The number in decimal digits, None for anything else and for what a signed integer of so many bits can't hold."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    digits = match[2].lstrip("0")
    if len(digits) > bits:  # a digit takes more than a bit
        return None
    number = int(match[1] + (digits or "0"))
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None

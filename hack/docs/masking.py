"""What two runs print differently, taken out, so that their outputs can be compared."""

from __future__ import annotations

import re

REST = "..."
"""A line that stands for any number of lines."""
_VOLATILE = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?"), "<time>"),
    (re.compile(r"\b(\d+\.){3}\d+(:\d+)?\b"), "<address>"),
    (re.compile(r"(?<=://localhost:)\d+"), "<port>"),
    (re.compile(r"(?<![\w.-])(\d+(\.\d+)?(ms|d|h|m|s))+(?![\w-])"), "<age>"),
    (re.compile(r"<invalid>"), "<age>"),
    (re.compile(r"\b\d+(\.\d+)? (ms|milliseconds|seconds)\b"), "<duration>"),
    (re.compile(r"(?<=-)\d{8,10}\b"), "<minute>"),
    (re.compile(r"(?<=-)[a-z0-9]{5}(?=$|\s)"), "<random>"),
)


def mask(text: str) -> list[str]:
    """Lines without ages, times, identities, ports and the widths of columns."""
    for pattern, word in _VOLATILE:
        text = pattern.sub(word, text)
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def is_same(shown: str, printed: str) -> bool:
    """Whether a page shows what a command printed; a line `...` in the page stands for any lines."""
    return _matches(mask(shown), mask(printed))


def _matches(shown: list[str], printed: list[str]) -> bool:
    if REST not in shown:
        return shown == printed
    place = shown.index(REST)
    before, after = shown[:place], shown[place + 1 :]
    if printed[:place] != before:
        return False
    return any(_matches(after, printed[start:]) for start in range(place, len(printed) + 1))

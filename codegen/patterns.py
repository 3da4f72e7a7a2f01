"""
Patterns are RE2, the dialect of the API server: what it lacks, and how its patterns run in Python.

RE2 has no lookaround, no back references, no atomic or possessive forms. A pattern that uses one is
refused by the server when the CRD is installed; here it is refused when the CRD is generated.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from functools import lru_cache

_PIECE = re.compile(
    r"\\Q.*?(?:\\E|$)"  # quoted text
    r"|\\[pP](?:\{\^?\w+\}|\w)"  # a Unicode class
    r"|\\x\{[0-9A-Fa-f]+\}"
    r"|\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2})"  # an octal number
    r"|\\."
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"  # a character class
    r"|\(\?[a-zA-Z-]+\)"  # flags from here on
    r"|\(\?[^)]?[=!]?"  # the head of a special group
    r"|\{\d+(?:,\d*)?\}"  # a counted repetition
    r"|.",
    re.DOTALL,
)
_IN_CLASS = re.compile(r"\[:(\^?\w+):\]|\\[dwsDWS]-?|\\.|.", re.DOTALL)
_ABSENT = tuple(
    (re.compile(shape), words)
    for shape, words in (
        (r"\(\?=.*", "lookahead (?=...)"),
        (r"\(\?!.*", "negative lookahead (?!...)"),
        (r"\(\?<=", "lookbehind (?<=...)"),
        (r"\(\?<!", "negative lookbehind (?<!...)"),
        (r"\(\?>.*", "atomic groups (?>...)"),
        (r"\(\?\(.*", "conditionals (?(...)...)"),
        (r"\(\?#.*", "comments (?#...)"),
        (r"\(\?P=", "back references (?P=...)"),
        (r"\(\?[a-zA-Z-]*[^imsU)-][a-zA-Z-]*\)", "flags other than i, m, s and U"),
        (r"\\[1-9k]", "back references"),
        (r"\\Z", r"\Z, write \z or $"),
        (r"\\[GKRXu]", "escape of that name"),
    )
)
"""Shape of a piece of a pattern -> what RE2 lacks."""
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_ANYTHING = r"\s\S"
_NEGATED = {"^digit": r"\D", "^space": r"\S", "^word": r"\W"}
_MOST_REPEATS = 1000


def fault(pattern: str) -> str | None:
    """What keeps RE2 from compiling the pattern, or None when nothing does."""
    previous = ""
    for piece in _PIECE.findall(pattern):
        absent = _absent(piece, previous)
        if absent:
            return absent
        previous = piece
    try:
        _compiled(pattern)
    except re.error as error:
        return f"{error.msg} at position {error.pos}" if error.pos is not None else error.msg
    return None


def _absent(piece: str, previous: str) -> str | None:
    for shape, words in _ABSENT:
        if shape.fullmatch(piece):
            return f"RE2 has no {words}"
    for name in re.findall(r"\[:\^?(\w+):\]", piece) if piece.startswith("[") else ():
        if name not in _POSIX:
            return f"RE2 has no class [:{name}:]"
    if piece == "+" and previous and (previous in "*+?" or previous.endswith("}")):
        return "RE2 has no possessive repetition"
    counts = re.fullmatch(r"\{(\d+)(?:,(\d*))?\}", piece)
    if counts and max(int(number) for number in counts.groups() if number) > _MOST_REPEATS:
        return f"RE2 repeats at most {_MOST_REPEATS} times"
    return None


def matches(pattern: str, text: str) -> bool:
    """Whether the server would find the pattern in the text: anywhere, unless it is anchored."""
    return _compiled(pattern).search(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about set operations that RE2 has no plans for
        return re.compile("".join(_translated(pattern)), re.ASCII)


def _translated(pattern: str) -> Iterator[str]:
    """Python's spelling of each piece where the dialects differ; `$` is the very end of the text in RE2."""
    for position, piece in enumerate(_PIECE.findall(pattern)):
        if piece in {"$", r"\z"}:
            yield r"\Z"
        elif piece == "(?<":
            yield "(?P<"
        elif re.fullmatch(r"\(\?[a-zA-Z-]+\)", piece):
            yield piece if position == 0 and not set(piece[2:-1]) - set("ims") else ""
        elif piece.startswith(r"\Q"):
            yield re.escape(piece[2:].removesuffix(r"\E"))
        elif piece.startswith(r"\x{"):
            yield re.escape(chr(int(piece[3:-1], 16)))
        elif re.fullmatch(r"\\[0-7]{1,3}", piece):
            yield re.escape(chr(int(piece[1:], 8)))
        elif piece[:2] in {r"\p", r"\P"}:
            yield r"\w" if piece[1] == "p" else r"\W"
        elif piece.startswith("[") and len(piece) > 1:
            yield _class(piece)
        else:
            yield piece


def _class(piece: str) -> str:
    head = re.match(r"\[\^?\]?", piece)
    start = head.end() if head else 1
    parts = [piece[:start]]
    for part in _IN_CLASS.finditer(piece[start:-1]):
        text = part[0]
        if part[1]:
            text = _POSIX.get(part[1]) or _NEGATED.get(part[1], _ANYTHING)
        elif text.endswith("-") and len(text) == 3:
            text = f"{text[:2]}\\-"
        elif text in {"[", "&", "|", "~"}:
            text = f"\\{text}"
        parts.append(text)
    return "".join([*parts, "]"])

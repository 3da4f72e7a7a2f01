"""What is cut out of objects before they leave a cluster in an archive."""

from __future__ import annotations

import re
from typing import Any

from cli.kinds import Object

CUT = "(removed)"

_WORDS = r"passw(?:or)?d|passphrase|token|secret|credential|authorization|bearer|(?:api|private|access)[-_]?key"
_STEMS = ("passw", "passphrase", "token", "secret", "credential", "authorization", "bearer", "key")
"""One of these stands in each telling word: to find none in a line costs far less than to look for the words."""
_TELLING = re.compile(_WORDS, re.IGNORECASE)
_TELLING_RUN = rf"(?=[\w.\-]*?(?:{_WORDS}))[\w.\-]++[\"']?[ \t]*+[:=][ \t]*+"
"""A key with a telling word, and what stands between it and its value. Tried where a key begins, and never twice."""
_LINE = re.compile(rf"(?im)^(?P<head>[ \t\-\"']*+{_TELLING_RUN})(?P<value>\S.*)$")
_INLINE = re.compile(
    rf"(?i)(?P<head>(?<![\w.\-]){_TELLING_RUN}(?:bearer |basic )?)"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s,;&\"'(){}]+)"
)
_LOGIN = re.compile(r"(?<=://)[^/\s:@\"']+:[^/\s@\"']+(?=@)")
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_HARMLESS_ENDS = ("Name", "Path", "Seconds", "Ref")


def redacted(obj: Object) -> Object:
    """The object without values of variables, without its last-applied text, and without what looks like a secret."""
    result = _walk(obj, "")
    assert isinstance(result, dict)
    return result


def redacted_text(text: str) -> str:
    """A configuration, a command or a message without private keys, logins of URLs, and what follows a telling word."""
    return "\n".join(map(_redacted_line, _PEM.sub(CUT, text).split("\n")))


def _redacted_line(line: str) -> str:
    folded = line.lower()
    if any(stem in folded for stem in _STEMS):
        line = _INLINE.sub(rf"\g<head>{CUT}", _LINE.sub(rf"\g<head>{CUT}", line))
    return _LOGIN.sub(CUT, line) if "@" in line else line


def _walk(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _walk(item, name) for name, item in value.items() if name != _LAST_APPLIED}
    if isinstance(value, list):
        return [_variable(item) for item in value] if key == "env" else _list(value, key)
    if isinstance(value, str):
        is_telling = _TELLING.search(key) and not key.endswith(_HARMLESS_ENDS)
        return CUT if is_telling else redacted_text(value)
    return value


def _list(values: list[Any], key: str) -> list[Any]:
    """Items of a list; the word behind a flag such as `--token` is its value."""
    kept: list[Any] = []
    is_value = False
    for item in values:
        kept.append(CUT if is_value and isinstance(item, str) else _walk(item, key))
        is_value = isinstance(item, str) and item.startswith("-") and "=" not in item and bool(_TELLING.search(item))
    return kept


def _variable(item: Any) -> Any:
    """A variable keeps its name, and where its value comes from when that is a reference."""
    if not isinstance(item, dict):
        return CUT
    return {name: CUT if name == "value" else part for name, part in item.items()}

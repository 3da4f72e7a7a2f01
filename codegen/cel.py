"""
A first look at CEL rules: what the server refuses at once, told when the CRD is generated.

This is no CEL compiler. It checks what authors get wrong: a rule without a message, brackets that don't
close, a field that isn't there, and loops over unbounded lists inside each other, which go over the
server's cost budget. The server has the last word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from codegen.problems import choice, hint
from codegen.project import Schema
from codegen.schema import type_of

_KEYS = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
_TEXT = re.compile(r"r?\"(?:\\.|[^\"\\])*\"|r?'(?:\\.|[^'\\])*'")
_PATH = re.compile(r"\b(?:self|oldSelf)((?:\.\??[A-Za-z_]\w*)*)(?P<call>\s*\()?")
_LOOP = re.compile(r"(?:\b(?P<path>(?:self|oldSelf)(?:\.\w+)*)|\w)\s*\.\s*(?:all|exists|exists_one|filter|map)\s*\(")
_OPENING = {")": "(", "]": "[", "}": "{"}
_MOST_UNBOUNDED_LOOPS = 1

Resolve = Callable[[Schema], Schema]


def faults(rules: Any, node: Schema, resolve: Resolve, enclosing: int) -> Iterator[tuple[str, str]]:
    """
    (place in the list, what is wrong) of the rules of one node.

    `enclosing` is the number of unbounded lists and maps that the node stands in: the server runs the
    rule once for each of their items.
    """
    if not isinstance(rules, list):
        yield "", "must be a list of {rule, message}"
        return
    for position, rule in enumerate(rules):
        place = f"[{position}]"
        if not isinstance(rule, dict):
            yield place, "must be a mapping {rule, message}"
            continue
        yield from ((f"{place}{key}", message) for key, message in _shape(rule))
        text = rule.get("rule")
        if isinstance(text, str) and text.strip():
            bare = _TEXT.sub('""', text)
            yield from ((f"{place}.rule", message) for message in _expression(bare, node, resolve, enclosing))


def _shape(rule: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key in rule.keys() - set(_KEYS):
        yield f".{key}", f"unknown key{choice(key, _KEYS)}"
    if not isinstance(rule.get("rule"), str) or not rule["rule"].strip():
        yield ".rule", "is missing: write the CEL expression that has to hold"
    message = rule.get("message")
    if not isinstance(message, str) or not message.strip():
        yield ".message", "is missing: say in one line what the user has to do"
    elif "\n" in message:
        yield ".message", "must be one line"
    if rule.get("reason", _REASONS[0]) not in _REASONS:
        yield ".reason", f"{rule['reason']!r} is none of {', '.join(_REASONS)}"


def _expression(text: str, node: Schema, resolve: Resolve, enclosing: int) -> Iterator[str]:
    unbalanced = _unbalanced(text)
    if unbalanced:
        yield unbalanced
        return
    for path in _PATH.finditer(text):
        names = [name.lstrip("?") for name in path[1].split(".")[1:]]
        yield from _unknown(names[:-1] if path["call"] else names, node, resolve)
    if _loops(text, node, resolve) and enclosing + _loops(text, node, resolve) > _MOST_UNBOUNDED_LOOPS:
        yield (
            "loops over unbounded lists inside each other, which goes over the server's cost budget: "
            "set maxItems, maxProperties and maxLength on what it loops over"
        )


def _unbalanced(text: str) -> str | None:
    open_brackets: list[str] = []
    for character in text:
        if character in "([{":
            open_brackets.append(character)
        elif character in ")]}" and (not open_brackets or open_brackets.pop() != _OPENING[character]):
            return f"{character!r} closes nothing"
    return f"{open_brackets[-1]!r} is never closed" if open_brackets else None


def _unknown(names: list[str], node: Schema, resolve: Resolve) -> Iterator[str]:
    for name in names:
        node = resolve(node)
        properties = node.get("properties")
        if not isinstance(properties, dict):
            inner = node.get("additionalProperties")
            if not isinstance(inner, dict):
                return
            node = inner
        elif name not in properties:
            yield f"there is no field {name!r} here{hint(name, properties)}"
            return
        else:
            node = properties[name]


def _loops(text: str, node: Schema, resolve: Resolve) -> int:
    """Greatest number of loops over unbounded collections that stand inside each other."""
    ends: list[int] = []
    most = 0
    for loop in _LOOP.finditer(text):
        ends = [end for end in ends if end > loop.start()]
        if not _bounded(loop["path"], node, resolve):
            ends.append(_end(text, loop.end()))
        most = max(most, len(ends))
    return most


def _bounded(path: str | None, node: Schema, resolve: Resolve) -> bool:
    for name in (path or "").split(".")[1:]:
        node = resolve(node).get("properties", {}).get(name, {})
    target = resolve(node) if path else {}
    return ("maxProperties" if type_of(target) == "object" else "maxItems") in target


def _end(text: str, start: int) -> int:
    depth = 1
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)

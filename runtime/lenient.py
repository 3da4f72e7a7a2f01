"""
Typed reading of objects under review, with a second try for those that don't fit the model.

The first try is a plain typed decode. What it refuses is read again field by field:

- a null where the model has no None, and a whole number written as 1.0, are what the API server takes them for:
  absent, and 1. They are no problem at all;
- any other field of the wrong type is left out of the object, as if the user had not written it, and becomes a
  `Problem` that names the field's path. What to make of problems is the caller's business.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import msgspec

from runtime.decoding import without_nulls
from runtime.interning import InterningDecoder

T = TypeVar("T")

_MAX_WORK = 16 * 1024 * 1024
"""Bytes of JSON that the second try may go through in all its attempts; then whole top-level members are left out."""
_MAX_SHOWN = 100
_anything = msgspec.json.Decoder()

_REFUSAL = re.compile(r"(?P<detail>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<field>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")
_WORDS = {"int": "integer", "str": "string", "bool": "boolean", "float": "number"}


class Problem(msgspec.Struct, frozen=True):
    """One field that doesn't fit. Its text has the form of the API server's field errors."""

    path: str
    """Such as `spec.tasks[0].replicas` or `metadata.labels[app]`; empty for the object as a whole."""
    value: str
    """JSON, cut after 100 characters."""
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: Invalid value: {self.value}: {self.detail}"


class Reading(msgspec.Struct, Generic[T], frozen=True):
    """An object as far as it could be read."""

    obj: T
    problems: tuple[Problem, ...] = ()


class LenientDecoder(Generic[T]):
    """
    Reads objects of one model, all of whose fields must have defaults (else ValueError).

    Equal parts at the paths of `intern` come as one object, as long as somebody holds it.
    """

    def __init__(self, model: type[T], intern: Iterable[str] = ()) -> None:
        self._decode: Callable[[msgspec.Raw | bytes], T] = msgspec.json.Decoder(model).decode
        paths = tuple(intern)
        self._first_try = InterningDecoder(model, intern=paths).decode if paths else self._decode
        try:
            self._empty = self._decode(b"{}")
        except msgspec.ValidationError as error:
            raise ValueError(f"{model.__name__} can't stand for an absent object: {error}") from error

    def read(self, raw: msgspec.Raw | bytes) -> Reading[T]:
        """The object; an empty one for null and for nothing. Raises msgspec.DecodeError for what is no JSON."""
        size = len(memoryview(raw))
        if size <= len(b"null") and bytes(raw) in {b"", b"null"}:
            return Reading(self._empty)
        try:
            return Reading(self._first_try(raw))
        except msgspec.ValidationError:
            document = without_nulls(_anything.decode(raw))
            return _SecondTry(self._decode, document, attempts=_MAX_WORK // size).read(self._empty)


class _SecondTry(Generic[T]):
    """The reading of one document that doesn't fit: leaves out one field after the other until the rest fits."""

    def __init__(self, decode: Callable[[bytes], T], document: Any, attempts: int) -> None:
        self._decode = decode
        self._document = document
        self._attempts = attempts
        self._problems: list[Problem] = []
        self._gaps: dict[str, set[int]] = {}
        """Of each list, by path, the places of the elements left out, so that messages count as the user does."""

    def read(self, empty: T) -> Reading[T]:
        """What can be read; `empty` when the document isn't an object."""
        while True:
            refusal, obj = self._convert()
            if obj is not None:
                return Reading(obj, tuple(self._problems))
            detail, pattern = _parse_refusal(refusal)
            if self._attempts <= 0:
                pattern = pattern[:1]
            steps = self._locate(pattern, refusal)
            if steps and _repair(self._document, steps):
                continue
            self._report(steps, pattern, detail)
            if not steps:
                return Reading(empty, tuple(self._problems))
            del _at(self._document, steps[:-1])[steps[-1]]

    def _convert(self) -> tuple[str, T | None]:
        """(why the document is refused, None) or ("", the object)."""
        self._attempts -= 1
        try:
            # By way of text: a model with raw parts can't be converted to.
            return "", self._decode(msgspec.json.encode(self._document))
        except msgspec.ValidationError as error:
            return str(error), None

    def _report(self, steps: list[str | int], pattern: list[str | int | None], detail: str) -> None:
        path = parent = ""
        place = 0
        for step, kind in zip(steps, pattern, strict=True):
            parent = path
            if isinstance(step, int):
                place = self._place(path, step)
                path = f"{path}[{place}]"
            else:
                path = f"{path}[{step}]" if kind is None else f"{path}.{step}".removeprefix(".")
        if steps and isinstance(steps[-1], int):
            self._gaps.setdefault(parent, set()).add(place)
        self._problems.append(Problem(path, _shown(_at(self._document, steps)), detail))

    def _place(self, path: str, index: int) -> int:
        """Where in the user's list at `path` the element stands that now is at `index`."""
        gaps = self._gaps.get(path, ())
        return next(itertools.islice((place for place in itertools.count() if place not in gaps), index, None))

    def _locate(self, pattern: list[str | int | None], refusal: str) -> list[str | int]:
        """Fill in the map keys of the path, for which the decoder only writes `[...]`."""
        steps: list[str | int] = []
        narrowed: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for step in pattern:
            if step is None:
                entries = _at(self._document, steps)
                narrowed.append((entries, dict(entries)))
                steps.append(self._offending_key(entries, refusal))
            else:
                steps.append(step)
        for entries, whole in narrowed:
            entries.clear()
            entries.update(whole)
        return steps

    def _offending_key(self, entries: dict[str, Any], refusal: str) -> str:
        """The entry that is refused, found by halving the map until that one is left in it."""
        while len(entries) > 1:
            items = list(entries.items())
            middle = len(items) // 2
            entries.clear()
            entries.update(items[:middle])
            if self._convert()[0] != refusal:
                entries.clear()
                entries.update(items[middle:])
        return next(iter(entries))


def _parse_refusal(text: str) -> tuple[str, list[str | int | None]]:
    """What is wrong, in JSON's words, and where: field names, list indexes, None for some key of a map."""
    match = _REFUSAL.fullmatch(text)
    assert match is not None, text
    detail = re.sub(r"`([^`]*)`", lambda names: _in_json_words(names[1]), match["detail"])
    pattern: list[str | int | None] = []
    for step in _STEP.finditer(match["path"] or ""):
        if step["any"]:
            pattern.append(None)
        else:
            pattern.append(int(step["index"]) if step["index"] else step["field"])
    return detail[:1].lower() + detail[1:], pattern


def _in_json_words(names: str) -> str:
    return " or ".join(_WORDS.get(name, name) for name in names.split(" | "))


def _at(document: Any, steps: list[str | int]) -> Any:
    for step in steps:
        document = document[step]
    return document


def _repair(document: Any, steps: list[str | int]) -> bool:
    """Turn a whole number written as a fraction into an integer. False when that is not what is wrong."""
    value = _at(document, steps)
    if not isinstance(value, float) or not value.is_integer():
        return False
    _at(document, steps[:-1])[steps[-1]] = int(value)
    return True


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."

"""
Label selectors, read from text or from a LabelSelector object, and matched locally with the server's meaning.

A selector that can't be understood is a value (`InvalidSelector`), not an exception: it usually stands in some user's
object, where it must be reported on that object and must not disturb the others. Matching is compiled, because
listers and the scheduler match one selector against many thousand objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from runtime import integers

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]

OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_TOKEN = re.compile(r"\s*(?:(==|!=|[=!<>(),])|([^\s=!<>(),]+))")


class InvalidSelector(msgspec.Struct, frozen=True):
    """Why a selector can't be used. It selects nothing."""

    message: str

    def __str__(self) -> str:
        return self.message


class LabelSelectorRequirement(Protocol):
    """One of `matchExpressions`; a NodeSelectorRequirement has the same shape."""

    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def values(self) -> Sequence[str]: ...


class LabelSelector(Protocol):
    """meta/v1 LabelSelector."""

    @property
    def match_labels(self) -> Mapping[str, str]: ...
    @property
    def match_expressions(self) -> Sequence[LabelSelectorRequirement]: ...


class Requirement(msgspec.Struct, frozen=True):
    """One condition on one label. `operator` is one of In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "Gt" | "Lt":
                return f"{self.key}{'>' if self.operator == 'Gt' else '<'}{self.values[0]}"
            case "In" if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case "NotIn" if len(self.values) == 1:
                return f"{self.key}!={self.values[0]}"
        return f"{self.key} {self.operator.lower()} ({','.join(sorted(self.values))})"

    def problem(self) -> str:
        """What is wrong with this requirement; empty when nothing is."""
        if not is_label_key(self.key):
            return f"invalid label key {self.key!r}"
        if self.operator not in OPERATORS:
            return f"unknown operator {self.operator!r} of label {self.key}"
        if want := self._missing_values():
            return f"operator {self.operator} of label {self.key} {want}"
        if self.operator in {"Gt", "Lt"}:
            return ""  # an integer may carry a sign, which a label value may not
        wrong = next((value for value in self.values if not is_label_value(value)), None)
        return "" if wrong is None else f"invalid value {wrong!r} of label {self.key}"

    def _missing_values(self) -> str:
        """What the operator wants of its values and doesn't get; empty when it is content."""
        count = len(self.values)
        match self.operator:
            case "In" | "NotIn":
                return "" if count else "needs at least one value"
            case "Gt" | "Lt":
                return "" if count == 1 and _as_int(self.values[0]) is not None else "needs exactly one integer"
        return "takes no values" if count else ""


class Selector:
    """
    All requirements must hold; no requirement selects everything.

    Selectors are equal when they mean the same requirements; `str()` is the text to send to the server.
    """

    __slots__ = ("_equal", "_tests", "requirements", "text")

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda each: (each.key, each.operator, each.values)))
        self.text = ",".join(map(str, self.requirements))
        self._equal = tuple(
            (r.key, r.values[0]) for r in self.requirements if r.operator == "In" and len(r.values) == 1
        )
        self._tests = tuple(_compile(r) for r in self.requirements if not (r.operator == "In" and len(r.values) == 1))

    def matches(self, labels: Labels) -> bool:
        """Whether an object with these labels is selected."""
        for key, value in self._equal:
            if labels.get(key) != value:
                return False
        for test in self._tests:  # noqa: SIM110  # a generator would double the cost of the hottest path
            if not test(labels):
                return False
        return True

    @property
    def selects_everything(self) -> bool:
        """Whether there is no requirement at all."""
        return not self.requirements

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


EVERYTHING = Selector()


def from_requirements(requirements: Iterable[Requirement]) -> Selector | InvalidSelector:
    """A selector of checked requirements, or what is wrong with the first bad one."""
    checked = tuple(requirements)
    for requirement in checked:
        if problem := requirement.problem():
            return InvalidSelector(problem)
    return Selector(checked)


def from_labels(labels: Labels) -> Selector | InvalidSelector:
    """The selector that wants exactly these labels, among others."""
    return from_requirements(Requirement(key, "In", (value,)) for key, value in labels.items())


def from_label_selector(selector: LabelSelector) -> Selector | InvalidSelector:
    """
    Read a meta/v1 LabelSelector: an empty one selects everything.

    What an absent one (None) means depends on the field that holds it, so the caller decides.
    """
    expressions = tuple(Requirement(each.key, each.operator, tuple(each.values)) for each in selector.match_expressions)
    for each in expressions:
        if each.operator in {"Gt", "Lt"}:  # these belong to node selectors
            return InvalidSelector(f"unknown operator {each.operator!r} of label {each.key}")
    labels = tuple(Requirement(key, "In", (value,)) for key, value in selector.match_labels.items())
    return from_requirements((*labels, *expressions))


def parse(text: str) -> Selector | InvalidSelector:
    """
    Read the text form: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>5`.

    Empty text selects everything.
    """
    try:
        return from_requirements(_Parser(text).requirements())
    except _SyntaxFault as fault:
        return InvalidSelector(f"label selector {text!r}: {fault}")


def is_label_key(key: str) -> bool:
    """Whether this is a qualified name: an optional DNS subdomain and a slash, then at most 63 characters."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return False
    return bool(_NAME.fullmatch(name))


def is_label_value(value: str) -> bool:
    """Whether this may be the value of a label: empty, or at most 63 characters, alphanumeric at both ends."""
    return not value or bool(_NAME.fullmatch(value))


def _as_int(text: str | None) -> int | None:
    return None if text is None else integers.read(text, 64)


def _compile(requirement: Requirement) -> Test:
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":
            return lambda labels: labels.get(key) not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
        case "Gt" | "Lt":
            return _compile_comparison(requirement)
    raise ValueError(requirement.problem())


def _compile_comparison(requirement: Requirement) -> Test:
    key, bound, is_greater = requirement.key, int(requirement.values[0]), requirement.operator == "Gt"

    def test(labels: Labels) -> bool:
        number = _as_int(labels.get(key))
        if number is None:
            return False
        return number > bound if is_greater else number < bound

    return test


class _SyntaxFault(Exception):  # noqa: N818  # private: never leaves parse()
    """The text is no selector."""


class _Parser:
    """Recursive descent over the tokens of one text; `in` and `notin` are words only after a key."""

    def __init__(self, text: str) -> None:
        self._tokens = [(match[1], match[2]) for match in _TOKEN.finditer(text)]
        self._next = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while self._next < len(self._tokens):
            found.append(self._requirement())
            if self._next == len(self._tokens):
                break
            self._expect(",")
            if self._next == len(self._tokens):
                raise _SyntaxFault("ends with a comma")
        return found

    def _requirement(self) -> Requirement:
        if self._accept("!"):
            return Requirement(self._word("a label key"), "DoesNotExist")
        key = self._word("a label key")
        symbol, word = self._peek()
        if symbol in {"", ","} and not word:
            return Requirement(key, "Exists")
        self._next += 1
        if word in {"in", "notin"}:
            return Requirement(key, "In" if word == "in" else "NotIn", self._set())
        if symbol in {"=", "=="}:
            return Requirement(key, "In", (self._value(),))
        if symbol == "!=":
            return Requirement(key, "NotIn", (self._value(),))
        if symbol in {">", "<"}:
            return Requirement(key, "Gt" if symbol == ">" else "Lt", (self._value(),))
        raise _SyntaxFault(f"unexpected {symbol or word!r} after {key!r}")

    def _set(self) -> tuple[str, ...]:
        self._expect("(")
        values = [self._value()]
        while self._accept(","):
            values.append(self._value())
        self._expect(")")
        return tuple(sorted(set(values)))

    def _value(self) -> str:
        """One value; nothing before a comma, a bracket or the end is the empty value."""
        symbol, word = self._peek()
        if word:
            self._next += 1
            return word
        if symbol in {"", ",", ")"}:
            return ""
        raise _SyntaxFault(f"unexpected {symbol!r} where a value belongs")

    def _word(self, what: str) -> str:
        symbol, word = self._peek()
        if not word:
            raise _SyntaxFault(f"expected {what}, found {symbol!r}" if symbol else f"expected {what} at the end")
        self._next += 1
        return word

    def _accept(self, symbol: str) -> bool:
        if self._peek()[0] != symbol:
            return False
        self._next += 1
        return True

    def _expect(self, symbol: str) -> None:
        if not self._accept(symbol):
            found = self._peek()
            raise _SyntaxFault(f"expected {symbol!r}, found {(found[0] or found[1] or 'the end')!r}")

    def _peek(self) -> tuple[str, str]:
        """The next token as (symbol, word), one of them empty; both are empty at the end."""
        if self._next >= len(self._tokens):
            return "", ""
        symbol, word = self._tokens[self._next]
        return symbol or "", word or ""

"""
Flags as scripts write them: the syntax and the error texts of the flag library that Go programs use.

`--name v`, `--name=v`, `-n v`, `-nv`, `-n=v`, booleans without a value, `--` to end them, the last one wins. argparse
has other rules, other texts, and costs more to import than most commands to run.
"""

from __future__ import annotations

from cli.errors import UsageError

TYPE_CHECKING = False  # see cli.commands
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Value = str | int | float | bool | tuple[str, ...] | None

STRING, BOOL, INT, INT32, DURATION = "string", "", "int", "int32", "duration"
LEVEL, MODULES, STRINGS = "Level", "moduleSpec", "stringArray"

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))
_ZERO: dict[str, Value] = {BOOL: False, INT: 0, INT32: 0, LEVEL: 0, DURATION: 0.0, STRINGS: ()}


class Flag:
    """One declared flag. `kind` is the word that help shows for its type, empty for a boolean."""

    __slots__ = ("default", "hidden", "kind", "name", "short", "shown", "text")

    def __init__(
        self,
        name: str,
        short: str,
        kind: str,
        text: str,
        default: Value = None,
        *,
        hidden: bool = False,
        shown: str = "",
    ) -> None:
        """A `hidden` flag is left out of help: those that the original tool does not have. `shown` is its default there."""
        self.name = name
        self.short = short
        self.kind = kind
        self.text = text
        self.default: Value = _ZERO.get(kind, "") if default is None else default
        self.hidden = hidden
        self.shown = shown or _show(self.default)

    @property
    def label(self) -> str:
        """How messages name it: `-w, --weight` or `--master`."""
        return f"-{self.short}, --{self.name}" if self.short else f"--{self.name}"

    def read(self, text: str) -> Value:
        """The value that a text stands for. Raises UsageError."""
        try:
            return _parse(self.kind, text)
        except ValueError as error:
            raise UsageError(f'invalid argument "{text}" for "{self.label}" flag: {error}') from error


class Flags:
    """The flags of one command line: values by name, which were given, and the words that are none."""

    def __init__(self, values: dict[str, Value], given: Iterable[str] = (), words: Sequence[str] = ()) -> None:
        self._values = values
        self._given = frozenset(given)
        self.words = tuple(words)

    def text(self, name: str) -> str:
        """A text flag; empty when the command doesn't have it."""
        value = self._values.get(name, "")
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """A flag of type int."""
        value = self._values.get(name, 0)
        return value if isinstance(value, int) else 0

    def seconds(self, name: str) -> float:
        """A duration in seconds."""
        value = self._values.get(name, 0.0)
        return float(value) if isinstance(value, int | float) else 0.0

    def texts(self, name: str) -> tuple[str, ...]:
        """All values of a flag that may be repeated."""
        value = self._values.get(name, ())
        return value if isinstance(value, tuple) else ()

    def is_on(self, name: str) -> bool:
        """A boolean flag; off when the command doesn't have it."""
        return self._values.get(name) is True

    def is_given(self, name: str) -> bool:
        """Whether the command line names the flag."""
        return name in self._given


def parse(flags: Sequence[Flag], words: Sequence[str]) -> Flags:
    """Read a command line, the words after the command. Raises UsageError at the first word that can't be read."""
    values = {flag.name: flag.default for flag in flags}
    given: list[str] = []
    others: list[str] = []
    for item in _Reader(flags, words):
        if isinstance(item, str):
            others.append(item)
            continue
        flag, text = item
        value = flag.read(text)
        held = values[flag.name]
        if isinstance(held, tuple) and isinstance(value, tuple):
            value = held + value if flag.name in given else value
        values[flag.name] = value
        given.append(flag.name)
    return Flags(values, given, others)


class _Reader:
    """Walks over the words: gives (flag, text of its value), or a word that is no flag."""

    def __init__(self, flags: Sequence[Flag], words: Sequence[str]) -> None:
        self._long = {flag.name: flag for flag in flags}
        self._short = {flag.short: flag for flag in flags if flag.short}
        self._rest = iter(words)

    def __iter__(self) -> Iterator[tuple[Flag, str] | str]:
        for word in self._rest:
            if word == "--":
                yield from self._rest
            elif not word.startswith("-") or word == "-":
                yield word
            elif word.startswith("--"):
                yield self._one_long(word)
            else:
                yield from self._cluster(word[1:])

    def _one_long(self, word: str) -> tuple[Flag, str]:
        name, separator, value = word[2:].partition("=")
        if not name or name.startswith("-"):
            raise UsageError(f"bad flag syntax: {word}")
        flag = self._long.get(name)
        if flag is None:
            raise UsageError(f"unknown flag: --{name}")
        return flag, value if separator else self._value(flag, f"--{name}")

    def _cluster(self, letters: str) -> Iterator[tuple[Flag, str]]:
        while letters:
            flag = self._short.get(letters[0])
            if flag is None:
                raise UsageError(f"unknown shorthand flag: '{letters[0]}' in -{letters}")
            place, letters = f"'{letters[0]}' in -{letters}", letters[1:]
            if letters.startswith("=") and len(letters) > 1:
                value, letters = letters[1:], ""
            elif letters and flag.kind != BOOL:
                value, letters = letters, ""
            else:
                value = self._value(flag, place)
            yield flag, value

    def _value(self, flag: Flag, place: str) -> str:
        if flag.kind == BOOL:
            return "true"
        for word in self._rest:
            return word
        raise UsageError(f"flag needs an argument: {place}")


def _parse(kind: str, text: str) -> Value:
    if kind == STRING:
        return text
    if kind == STRINGS:
        return (text,)
    if kind == BOOL:
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
    if kind == DURATION:
        from runtime import duration  # noqa: PLC0415  # only flags with a value need it

        return duration.parse_seconds(text)
    from runtime import flagtypes  # noqa: PLC0415  # as above

    if kind == MODULES:
        return ",".join(f"{name}={level}" for name, level in flagtypes.parse_modules(text).items())
    return (flagtypes.INT if kind == INT else flagtypes.INT32).parse(text)


def _show(value: Value) -> str:
    if value is True:
        return "true"
    if isinstance(value, float) and value:
        return f"{value:g}s"
    if isinstance(value, str) and value:
        return f'"{value}"'
    return str(value) if value and not isinstance(value, tuple) else ""

"""
Command lines as Kubernetes programs read them.

Charts and scripts were written for Go's flag library, whose rules argparse does not share: `_` equals `-` in
names, `--flag` alone sets a boolean, the next word is a value even when it starts with a dash, words that are
no flags (the chart passes a literal `2>&1`) are ignored, names are never abbreviated. So the words are brought
into one form first, `--name=value`, and argparse only has to convert and collect.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from runtime import version
from runtime.flagtypes import BOOL, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")


class FlagError(Exception):
    """The command line can't be read. The text is the one that Go programs print."""


class Flag:
    """One declared flag."""

    def __init__(self, name: str, kind: Kind[Any], default: Any, text: str, short: str) -> None:
        self.name = name
        self.kind = kind
        self.default = default
        self.text = text
        self.short = short

    @property
    def label(self) -> str:
        """How messages name it: `-v, --v` or `--master`."""
        return f"-{self.short}, --{self.name}" if self.short else f"--{self.name}"

    def convert(self, word: str) -> Any:
        """The value of one occurrence. Raises FlagError."""
        try:
            return self.kind.parse(word)
        except ValueError as error:
            raise FlagError(f'invalid argument "{word}" for "{self.label}" flag: {error}') from error

    def usage(self) -> tuple[str, str]:
        """The left and the right column of its line in the usage text."""
        left = f"  {self.label}" if self.short else f"      {self.label}"
        word = f" {self.kind.word}" if self.kind.word else ""
        shown = self.kind.show(self.default)
        return left + word, f"{self.text} (default {shown})" if shown else self.text


class _Merge(argparse.Action):
    """Repeats add up; the first use replaces the default."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, flag: Flag, **rest: Any) -> None:
        super().__init__(option_strings, dest, **rest)
        self._flag = flag

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        held, merge = getattr(namespace, self.dest), self._flag.kind.merge
        merged = values if merge is None or held is self._flag.default else merge(held, values)
        setattr(namespace, self.dest, merged)


class FlagParser(argparse.ArgumentParser):
    """A command line of flags. Declare with `flag`, read with `parse`."""

    def __init__(self, program: str, description: str = "", *, usage_exit: int = 2) -> None:
        """`usage_exit` is the exit code for a line that can't be read."""
        super().__init__(prog=program, description=description, add_help=False, allow_abbrev=False)
        self._usage_exit = usage_exit
        self._flags: dict[str, Flag] = {}
        self._shorts: dict[str, Flag] = {}
        self.flag("help", BOOL, False, f"help for {program}", short="h")
        self.flag("version", BOOL, False, "print the version and exit")

    def flag(self, name: str, kind: Kind[T], default: T, text: str, *, short: str = "") -> None:
        """Declare one flag; its value becomes the attribute `name`, with `_` for `-`. Raises ValueError when taken."""
        name = name.replace("_", "-")
        if name in self._flags or (short and short in self._shorts):
            raise ValueError(f"flag --{name} (short {short!r}) is declared twice")
        flag = Flag(name, kind, default, text, short)
        self._flags[name] = flag
        if short:
            self._shorts[short] = flag
        self.add_argument(
            f"--{name}",
            dest=name.replace("-", "_"),
            default=default,
            type=flag.convert,
            action=_Merge,
            flag=flag,
        )

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """
        Read a command line without the program's name.

        `--help` and `--version` print to stdout and exit 0, the latter only when the line is readable.
        A line that can't be read gets a message on stderr and the exit code of the constructor.
        """
        try:
            canonical, _ = self.canonical(words)
            if "--help=true" in canonical:
                sys.stdout.write(self.format_help())
                raise SystemExit(0)
            namespace = self.parse_args(canonical)
        except FlagError as error:
            self.error(str(error))
        if namespace.version:
            sys.stdout.write(f"{version.current()}\n")
            raise SystemExit(0)
        return namespace

    def error(self, message: str) -> NoReturn:
        """Say on stderr what is wrong with the line, and exit."""
        sys.stderr.write(f"{message}\nRun '{self.prog} --help' for the flags.\n")
        raise SystemExit(self._usage_exit)

    def canonical(self, words: Sequence[str]) -> tuple[list[str], list[str]]:
        """The flags of a line as `--name=value`, in order, and the words that are no flags. Raises FlagError."""
        flags: list[str] = []
        others: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                others.extend(rest)
            elif not word.startswith("-") or word == "-":
                others.append(word)
            elif word.startswith("--"):
                flags.append(self._long(word, rest))
            else:
                flags.extend(self._cluster(word, rest))
        return flags, others

    def _long(self, word: str, rest: Iterator[str]) -> str:
        name, separator, value = word[2:].partition("=")
        if not name or name.startswith("-"):
            raise FlagError(f"bad flag syntax: {word}")
        flag = self._flags.get(name.replace("_", "-"))
        if flag is None:
            raise FlagError(f"unknown flag: --{name}")
        if not separator:
            value = _next(flag, rest, f"flag needs an argument: --{name}")
        return f"--{flag.name}={value}"

    def _cluster(self, word: str, rest: Iterator[str]) -> Iterator[str]:
        """Short flags: `-v=3`, `-v3`, `-v 3`, and booleans in one word."""
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            flag = self._shorts.get(letter)
            if flag is None:
                raise FlagError(f"unknown shorthand flag: '{letter}' in {word}")
            if letters.startswith("=") and len(letters) > 1:
                value, letters = letters[1:], ""
            elif letters and flag.kind.bare is None:
                value, letters = letters, ""
            else:
                value = _next(flag, rest, f"flag needs an argument: '{letter}' in {word}")
            yield f"--{flag.name}={value}"

    def format_help(self) -> str:
        """The usage text: flags sorted by name, in two columns."""
        head = f"{self.description}\n\n" if self.description else ""
        return f"{head}Usage:\n  {self.prog} [flags]\n\nFlags:\n" + usage_lines(self._flags.values())

    def describe(self, namespace: argparse.Namespace) -> list[str]:
        """Every flag with its value, for the log at start."""
        values = vars(namespace)
        return [f'--{name}="{values[name.replace("-", "_")]}"' for name in sorted(self._flags)]


def usage_lines(flags: Iterable[Flag]) -> str:
    """The lines of a usage text, aligned to the longest flag."""
    rows = [flag.usage() for flag in sorted(flags, key=lambda flag: flag.name)]
    width = max(len(left) for left, _ in rows)
    return "".join(f"{left:<{width}}   {right}\n" for left, right in rows)


def exit_invalid(errors: Sequence[str], *, code: int = 1) -> None:
    """End the process with all messages on stderr when settings contradict each other; else do nothing."""
    if errors:
        text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        sys.stderr.write(f"{text}\n")
        raise SystemExit(code)


def _next(flag: Flag, rest: Iterator[str], missing: str) -> str:
    """The value of a flag that has none attached. Raises FlagError when the line ends."""
    if flag.kind.bare is not None:
        return flag.kind.bare
    value = next(rest, None)
    if value is None:
        raise FlagError(missing)
    return value

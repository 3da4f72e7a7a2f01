"""Commands as data: a tree of names, flags and the function that each leaf runs, and how words find their leaf."""

from __future__ import annotations

from importlib import import_module

from cli.errors import UsageError
from cli.flags import BOOL, DURATION, LEVEL, MODULES, STRING, Flag

TYPE_CHECKING = False  # importing typing takes longer than all of this package's core
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cli.context import Context

    Run = Callable[[Context], None]

HELP, HELP_ALL = "help", "help-all"
_CLOSE = 2  # letters by which a misspelt command may differ


def global_flags() -> tuple[Flag, ...]:
    """The flags that every command takes."""
    return (
        Flag("log-flush-frequency", "", DURATION, "Maximum number of seconds between log flushes", 5.0),
        Flag("v", "v", LEVEL, "number for the log level verbosity"),
        Flag(
            "vmodule",
            "",
            MODULES,
            "comma-separated list of pattern=N settings for file-filtered logging"
            " (only works for the default text log format)",
        ),
        Flag("errors-to", "", STRING, "where error lines go: stdout or stderr", hidden=True),
    )


class Command:
    """One command, or a group of them. `run` is `module:function`, empty for a group."""

    def __init__(
        self,
        name: str,
        text: str,
        *,
        run: str = "",
        flags: Sequence[Flag] = (),
        children: Sequence[Command] = (),
        hidden: bool = False,
        takes_words: str = "",
        reads_words: bool = False,
        shows_text: bool = True,
    ) -> None:
        """
        `takes_words` is shown behind the name in help; `reads_words` tells whether words that are no flags count at all,
        and `shows_text` whether help begins with the text.
        """
        self.name = name
        self.text = text
        self.target = run
        self.own_flags = tuple(flags)
        self.children = tuple(sorted(children, key=lambda child: child.name))
        self.hidden = hidden
        self.takes_words = takes_words
        self.reads_words = reads_words
        self.shows_text = shows_text
        self.parent: Command | None = None
        for child in self.children:
            child.parent = self

    @property
    def is_root(self) -> bool:
        return self.parent is None

    @property
    def path(self) -> tuple[str, ...]:
        """Names from the root down to here: `("vcctl", "job", "run")`."""
        return (*(self.parent.path if self.parent else ()), self.name)

    @property
    def reversed_path(self) -> str:
        """How failures name it: `run job`; empty for a root."""
        return " ".join(reversed(self.path[1:]))

    def flags(self) -> tuple[Flag, ...]:
        """Its own flags and those of every command but the global ones."""
        help_flag = Flag(HELP, "h", BOOL, f"help for {self.name}")
        every = Flag(HELP_ALL, "", BOOL, "help with the flags and commands that are left out elsewhere", hidden=True)
        return (*self.own_flags, help_flag, every)

    def child(self, name: str) -> Command | None:
        return next((child for child in self.children if child.name == name), None)

    def load(self) -> Run:
        """Import the function that it runs."""
        module, _, function = self.target.partition(":")
        loaded: Run = getattr(import_module(module), function)
        return loaded

    def walk(self) -> Iterator[Command]:
        """Itself and all commands below."""
        yield self
        for child in self.children:
            yield from child.walk()


def find(root: Command, words: Sequence[str]) -> tuple[Command, list[str]]:
    """
    The command that the words name, and the words without its names.

    Raises UsageError for an unknown command below a root that has commands.
    """
    command, rest = root, list(words)
    while True:
        index = _first_word(command, rest)
        if index is None:
            return command, rest
        child = command.child(rest[index])
        if child is None:
            if command.is_root and command.children:
                raise UsageError(_unknown(command, rest[index]))
            return command, rest
        command, rest = child, rest[:index] + rest[index + 1 :]


def _first_word(command: Command, words: Sequence[str]) -> int | None:
    """Index of the first word that is neither a flag nor the value of one; an unknown flag counts as one with a value."""
    known = (*command.flags(), *global_flags())
    bare = {f"--{flag.name}" for flag in known if flag.kind == BOOL}
    bare |= {f"-{flag.short}" for flag in known if flag.kind == BOOL and flag.short}
    if command.children:  # a group learns of its help flag only once it is found
        bare -= {"--help", "-h"}
    is_value = False
    for index, word in enumerate(words):
        if is_value:
            is_value = False
        elif word == "--":
            return None
        elif word.startswith("--"):
            is_value = "=" not in word and word not in bare
        elif word.startswith("-"):
            is_value = len(word) == 2 and word not in bare
        elif word:
            return index
    return None


def _unknown(root: Command, word: str) -> str:
    close = [
        child.name for child in root.children if not child.hidden and child.name != HELP and _is_close(word, child.name)
    ]
    problem = f'unknown command "{word}" for "{root.name}"'
    if not close:
        return problem
    return problem + "\n\nDid you mean this?\n" + "".join(f"\t{name}\n" for name in close)


def _is_close(word: str, name: str) -> bool:
    return name.lower().startswith(word.lower()) or _distance(word.lower(), name.lower()) <= _CLOSE


def _distance(one: str, other: str) -> int:
    """Letters to insert, delete or replace to get from one word to the other."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        previous, row = row, [i]
        for j, wanted in enumerate(other, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (letter != wanted)))
    return row[-1]

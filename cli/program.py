"""
From words to an exit code.

Failures are one line on stdout, where scripts look for it, or on stderr on demand; a command line that can't be read is
told on stderr. Nothing ends in a traceback: whatever goes wrong outside of a command's own checks is one line as well.
"""

from __future__ import annotations

import os
import sys

from cli import helptext
from cli.commands import HELP, HELP_ALL, Command, find, global_flags
from cli.context import Context
from cli.errors import CommandError, Unfinished, UsageError
from cli.flags import Flags, parse

TYPE_CHECKING = False  # see cli.commands
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TextIO

FAILED = 255
UNREADABLE = 1
INTERRUPTED = 130
BROKEN_PIPE = 141  # as a shell tells of a process that SIGPIPE ended

ASKING, COMPLETION = "__complete", "completion"
ERRORS_TO = "VCCTL_ERRORS_TO"
_STREAMS = ("stdout", "stderr")
_TRACE_LEVEL = 4
_PAGING = 'limit=500"'  # compat: CLI-3: the URL of a list is told without its page size


def run(
    root: Command,
    words: Sequence[str],
    *,
    out: TextIO,
    err: TextIO,
    environ: Mapping[str, str] = os.environ,
    **extras: Any,
) -> int:
    """Carry out one command line; gives the exit code. `extras` replace the client, the clock and the pauses of a Context."""
    command = root
    if words and words[0] in _completing(root):
        return _complete(root, words, out=out, err=err, environ=environ, **extras)
    try:
        _check_encoding(words)
        command, rest = find(root, words)
        flags = parse((*command.flags(), *global_flags()), rest)
        failures = _failure_stream(flags, environ, out=out, err=err)
    except UsageError as error:
        if command.is_root and not str(error).startswith("unknown command"):
            err.write(helptext.usage(command) + "\n")
        err.write(f"Error: {error}\n")
        return UNREADABLE
    everything = flags.is_on(HELP_ALL)
    if flags.is_on(HELP) or everything or not command.target:
        out.write(helptext.render(command, everything=everything))
        return 0
    context = Context(command, flags, out=out, err=err, environ=environ, failures=failures, **extras)
    _warn_of_words(context)
    return _carry_out(context)


def _warn_of_words(context: Context) -> None:
    """Words that mean nothing change nothing, as ever, but who writes them means something by them."""
    words = [word for word in context.flags.words if word]
    if not words or context.command.reads_words:
        return
    nameless = any(flag.name == "name" for flag in context.command.own_flags) and not context.flags.is_given("name")
    advice = f"; did you mean --name {words[0]}?" if nameless else ""
    context.hint(f"warning: ignored: {' '.join(words)}: this command takes flags only{advice}")


def _check_encoding(words: Sequence[str]) -> None:
    for word in words:
        if not word.isascii() and any("\ud800" <= character <= "\udfff" for character in word):
            raise UsageError(f"invalid argument {word!a}: not UTF-8")


def _completing(root: Command) -> tuple[str, ...]:
    """First words that shells say. A root with commands has `completion` among them; the short commands take it so."""
    return (ASKING,) if root.children else (ASKING, COMPLETION)


def _complete(root: Command, words: Sequence[str], *, out: TextIO, err: TextIO, **extras: Any) -> int:
    """Answer a shell: its words are no command line, so nothing in them is an error."""
    from cli import candidates, completion  # noqa: PLC0415  # only shells ask

    context = Context(root, Flags({}), out=out, err=err, **extras)
    try:
        if words[0] == COMPLETION:
            out.write(completion.script(root.name, words[1:]))
        else:
            context.print_lines(candidates.candidates(root, words[1:], context))
    except CommandError as error:
        err.write(f"Error: {error}\n")
        return UNREADABLE
    return 0


def _carry_out(context: Context) -> int:
    try:
        context.command.load()(context)
    except Unfinished:
        return FAILED
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001  # one line, whatever happens
        if context.flags.number("v") >= _TRACE_LEVEL:
            import traceback  # noqa: PLC0415  # on demand

            traceback.print_exception(error, file=context.err)
        text = f"{context.command.reversed_path}: {_explain(error)}"
        context.failures.write(f"Failed to{' ' if context.command.reversed_path else ''}{text}\n")
        return FAILED
    return 0


def _explain(error: Exception) -> str:
    from runtime import errors  # noqa: PLC0415  # a command that goes well doesn't need it

    expected = (CommandError, errors.ApiError, errors.ConnectionFailed, errors.ConfigError, errors.DecodeError)
    if isinstance(error, errors.ConnectionFailed):
        return str(error).replace(f"?{_PAGING}", '"', 1).replace(f"&{_PAGING}", '"', 1)
    if isinstance(error, expected):
        return str(error)
    if isinstance(error, OSError):
        words = (error.strerror or str(error)).lower()
        return f"open {error.filename}: {words}" if error.filename is not None else words
    return f"internal error: {type(error).__name__}: {error}"


def _failure_stream(flags: Flags, environ: Mapping[str, str], *, out: TextIO, err: TextIO) -> TextIO:
    """Where a failure is told. Raises UsageError for a stream that isn't one of the two."""
    given = flags.text("errors-to")
    wanted = given or environ.get(ERRORS_TO, "") or "stdout"
    if wanted not in _STREAMS:
        place = '"--errors-to" flag' if given else f"${ERRORS_TO}"
        raise UsageError(f'invalid argument "{wanted}" for {place}: must be stdout or stderr')
    return err if wanted == "stderr" else out


def main(root: Command) -> int:
    """One process: the arguments, the standard streams, and an end without noise when one of them goes away."""
    words = sys.argv[1:]
    _open_streams()
    try:
        code = run(root, words, out=sys.stdout, err=sys.stderr)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except OSError as error:
        _abandon_stdout()
        sys.stderr.write(f"Error: writing the output: {(error.strerror or str(error)).lower()}\n")
        return FAILED
    return code


def _open_streams() -> None:
    """Streams that can be written to: a closed one leads nowhere, and characters that one can't show become `?`."""
    for name in _STREAMS:
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  # open to the end
        else:
            stream.reconfigure(errors="replace")


def _abandon_stdout() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's own flush at exit stays quiet."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)

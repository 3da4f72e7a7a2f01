"""
What may follow on a command line that is being typed: commands, flags, and values of flags.

Names of objects are asked from the server that the line names, briefly and in its namespace; a server that doesn't
answer completes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cli import fields, phases
from cli.commands import HELP, Command, find, global_flags
from cli.context import Context
from cli.errors import CommandError, UsageError
from cli.flags import BOOL, Flag, Flags, parse

SHELLS = ("bash", "zsh", "fish", "powershell")

_OUTPUT = ("json", "name", "wide", "yaml")
_WORDS = {
    "output": _OUTPUT,
    "format": ("json", "yaml"),
    "action": ("close", "open", "update"),
    "state": ("Closed", "Open"),
    "dry-run": ("client", "none", "server"),
    "errors-to": ("stderr", "stdout"),
}
_OWN_WORDS = {("version", "output"): ("json", "yaml"), ("dump", "output"): ()}
"""By command and flag, where a flag of that name takes something else. No words: the shell completes files."""
_PHASES = {"jobflow": phases.JOB_FLOW, "pod": phases.POD, "podgroup": phases.POD_GROUP}
_NAMED = {
    "job": "JOBS",
    "jobflow": "JOB_FLOWS",
    "jobtemplate": "JOB_TEMPLATES",
    "queue": "QUEUES",
    "cronjob": "CRON_JOBS",
    "podgroup": "POD_GROUPS",
    "vjobs": "JOBS",
    "vcancel": "JOBS",
    "vsuspend": "JOBS",
    "vresume": "JOBS",
    "vqueues": "QUEUES",
}
"""The kind of what `--name` names, by group of commands or short command."""
_KINDS = {
    "queue": "QUEUES",
    "parent": "QUEUES",
    "job": "JOBS",
    "priority-class": "PRIORITY_CLASSES",
    "namespace": "NAMESPACES",
    "system-namespace": "NAMESPACES",
    "scheduler-namespace": "NAMESPACES",
}
"""The kind of what other flags name."""
_OWNERS = {"job": ("jobflow", "JOB_FLOWS"), "pod": ("vcjob", "JOBS")}
"""What `--for` takes, by group of commands: a word, and the kind behind its slash."""


def candidates(root: Command, words: Sequence[str], context: Context) -> list[str]:
    """Commands, flags or values that begin as the last word does."""
    *before, last = _rejoined(words) or ("",)
    try:
        command, rest = find(root, before)
    except UsageError:
        return []
    flags = (*command.flags(), *global_flags())
    waiting = _waiting_flag(flags, rest)
    if waiting is not None:
        context.flags = _typed(flags, rest[:-1])
        return _beginning(_values(command, waiting, last, context), last)
    name, equals, value = last.partition("=")
    if equals and (waiting := _waiting_flag(flags, (name,))) is not None:
        context.flags = _typed(flags, rest)
        # A shell that takes the words apart at `=` wants what stands behind it, any other the whole word.
        start = "" if last != words[-1] else f"{name}="
        return [f"{start}{found}" for found in _beginning(_values(command, waiting, value, context), value)]
    if last.startswith("-"):
        return _beginning((f"--{flag.name}" for flag in flags), last)
    if command.name == "completion":
        return _beginning(SHELLS, last)
    if command.name == HELP:
        command = root
    return _beginning((child.name for child in command.children if not child.name.startswith("_")), last)


def _rejoined(words: Sequence[str]) -> list[str]:
    """The words as they were typed: bash gives `--phase=Run` as `--phase`, `=` and `Run`."""
    joined: list[str] = []
    is_open = False
    for word in words:
        is_equals = word == "=" and bool(joined) and joined[-1].startswith("-") and "=" not in joined[-1]
        if is_equals or is_open:
            joined[-1] += word
        else:
            joined.append(word)
        is_open = is_equals
    return joined


def _waiting_flag(flags: Iterable[Flag], words: Sequence[str]) -> Flag | None:
    """The flag whose value comes next, if any."""
    if not words or not words[-1].startswith("-") or "=" in words[-1]:
        return None
    named = (flag for flag in flags if words[-1] in (f"--{flag.name}", f"-{flag.short}") and words[-1] != "-")
    found = next(named, None)
    return found if found is not None and found.kind != BOOL else None


def _typed(flags: Sequence[Flag], words: Sequence[str]) -> Flags:
    """What the line says so far; without a word that can't be read yet, nothing."""
    try:
        return parse(flags, words)
    except UsageError:
        return parse(flags, ())


def _values(command: Command, flag: Flag, last: str, context: Context) -> Iterable[str]:
    own = _OWN_WORDS.get((command.name, flag.name))
    if own is not None or flag.name in _WORDS:
        return _WORDS[flag.name] if own is None else own
    group = command.parent.name if command.parent else command.name
    if flag.name == "phase":
        return _listed(last, _PHASES.get(group, phases.JOB))
    if flag.name == "name":
        return _names(_NAMED[group], context) if group in _NAMED else ()
    if flag.name == "for":
        word, kind = _OWNERS[group]
        return (f"{word}/{name}" for name in _names(kind, context))
    if flag.name == "task":
        return _tasks(context)
    return _names(_KINDS[flag.name], context) if flag.name in _KINDS else ()


def _listed(last: str, words: Iterable[str]) -> Iterable[str]:
    """The words behind the commas that were typed, without those that stand there."""
    head, comma, _ = last.rpartition(",")
    chosen = head.split(",")
    return (f"{head}{comma}{word}" for word in words if word not in chosen)


def _tasks(context: Context) -> list[str]:
    """The tasks of the job that the line names."""
    from cli import kinds  # noqa: PLC0415  # commands and flags are completed without the client
    from cli.requesting import get_object  # noqa: PLC0415  # as above
    from runtime.errors import ApiError, ConfigError, ConnectionFailed, DecodeError  # noqa: PLC0415  # as above

    try:
        job = get_object(context, kinds.JOBS, context.flags.text("name"), context.namespace)
    except (ApiError, CommandError, ConfigError, ConnectionFailed, DecodeError):
        return []
    return [fields.text(task, "name") for task in fields.items(job, "spec", "tasks")]


def _names(kind: str, context: Context) -> list[str]:
    """Names of objects in the namespace that the line names; none when the server can't be asked."""
    from cli import kinds  # noqa: PLC0415  # commands and flags are completed without the client
    from runtime.errors import ApiError, ConfigError, ConnectionFailed, DecodeError  # noqa: PLC0415  # as above

    try:
        resource = getattr(kinds, kind)
        page = context.client.list_page(resource, context.list_namespace if resource.namespaced else None)
    except (ApiError, ConfigError, ConnectionFailed, DecodeError):
        return []
    return [fields.name(obj) for obj in page.items]


def _beginning(words: Iterable[str], start: str) -> list[str]:
    return sorted(word for word in words if word and word.startswith(start))

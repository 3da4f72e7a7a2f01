"""The short commands, one root each. `-n` is the name and `-N` the namespace here."""

from __future__ import annotations

from api.names import CliEnv
from cli import flagsets as sets
from cli.commands import Command
from cli.flags import BOOL, STRING, Flag

NAMES = ("vsub", "vjobs", "vqueues", "vcancel", "vsuspend", "vresume")


def short_command(program: str) -> Command:
    """The root of one short command. Raises KeyError for a program that is none."""
    makers = dict(zip(NAMES, (_vsub, _vjobs, _vqueues, _vcancel, _vsuspend, _vresume), strict=True))
    return makers[program]()


def _root(name: str, text: str, run: str, *flags: Flag) -> Command:
    return Command(name, text, run=run, flags=(*flags, *sets.connection()))


def _place() -> tuple[Flag, Flag]:
    return sets.namespace("job", "N"), sets.name("job", "n")


def _vsub() -> Command:
    return _root(
        "vsub",
        "submit a job with specified name and arguments. yaml/json file is not accepted, you may refer to kubectl.",
        "cli.shortcommands:vsub",
        Flag(
            "image",
            "i",
            STRING,
            f"the container image of job, overwrite the value of '{CliEnv.IMAGE}'",
            shown='"busybox"',
        ),
        Flag(
            "namespace",
            "N",
            STRING,
            f"the namespace of job, overwrite the value of '{CliEnv.JOB_NAMESPACE}'",
            shown='"default"',
        ),
        Flag(
            "scheduler",
            "S",
            STRING,
            f"the scheduler for this job, overwrite the value of '{CliEnv.SCHEDULER_NAME}'",
            shown='"volcano"',
        ),
        Flag("command", "c", STRING, "the command of of job"),
        sets.name("job", "n"),
        *sets.job_building(),
        *sets.job_extras(),
    )


def _vjobs() -> Command:
    return _root(
        "vjobs",
        "view information of a job with specified name or jobs from the same namespace",
        "cli.shortcommands:vjobs",
        *_place(),
        Flag("scheduler", "S", STRING, "list job with specified scheduler name"),
        Flag("all-namespaces", "", BOOL, "list jobs in all namespaces"),
        Flag("selector", "", STRING, "fuzzy matching jobName"),
        *sets.listing(),
    )


def _vqueues() -> Command:
    return _root(
        "vqueues",
        "view information of a queue with specified name or queues from the same namespace",
        "cli.queuelist:short",
        sets.name("queue", "n"),
        *sets.listing(phases=False),
    )


def _vcancel() -> Command:
    return _root(
        "vcancel",
        "cancel a running, pending, or aborted job with specified name in default or specified namespace",
        "cli.job:cancel",
        *_place(),
        *sets.waiting(),
    )


def _vsuspend() -> Command:
    return _root(
        "vsuspend",
        "suspend a running or pending job with specified name in default or specified namespace",
        "cli.job:suspend",
        *_place(),
        *sets.confirming(),
        *sets.waiting(),
    )


def _vresume() -> Command:
    return _root(
        "vresume",
        "resume an aborted job with specified name in default or specified namespace",
        "cli.job:resume",
        *_place(),
        *sets.confirming(),
        *sets.waiting(),
    )

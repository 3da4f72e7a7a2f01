"""
`python -m scheduler simulate FILES...`: its flags, what it shows and its exit codes.

0 every job in question starts, 1 one waits, 2 the input can't be used.
"""

from __future__ import annotations

import logging
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from api.explanations import lines
from runtime.errors import ConfigError
from runtime.flags import FlagParser
from runtime.flagtypes import INT, STRING, STRING_ARRAY
from scheduler.dump import files
from scheduler.dump.files import Dump
from scheduler.dump.record import DecisionRecord
from scheduler.dump.replay import known
from scheduler.explain.report import Explanation
from scheduler.settings import conf
from scheduler.simulate.building import World, from_dump, from_manifests
from scheduler.simulate.changes import change_queue, take_node
from scheduler.simulate.manifests import STDIN, Entry, InputError, Reader, read_text
from scheduler.simulate.running import JobResult, Outcome, run

STARTS, WAITS, UNUSABLE = 0, 1, 2
_encode = msgspec.json.encode


class Difference(msgspec.Struct, frozen=True, rename="camel"):
    """A job for which the changes matter, those asked about left out; null where it isn't there."""

    job: str
    before: JobResult | None
    after: JobResult | None


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """What `-o json` prints. `jobs` in question decide `starts`; `differences` are to the same without the changes."""

    starts: bool
    in_question: list[str]
    cycles: list[list[DecisionRecord]]
    jobs: list[JobResult]
    explanations: list[Explanation]
    differences: list[Difference]
    warnings: list[str]


class Question(msgspec.Struct, frozen=True):
    """The input of one simulation, read."""

    flags: Namespace
    dump: Dump | None
    dump_path: str
    entries: list[Entry]
    asked: list[Entry]
    warnings: list[str]

    @property
    def has_changes(self) -> bool:
        """Whether there is something to compare with."""
        return bool(self.asked or self.flags.queue or self.flags.without_node)


def parser() -> FlagParser:
    """The flags."""
    flags = FlagParser(
        "vc-scheduler simulate",
        "Decides about manifests or a dump without a server, and explains: simulate FILES... "
        "(exit code 0: every job in question starts, 1: one waits, 2: the input can't be used)",
    )
    flags.flag("job", STRING_ARRAY, (), "File of further jobs, pods or other objects: the question is about these jobs")
    flags.flag("queue", STRING_ARRAY, (), "Change a queue: NAME=KEY:VALUE,... such as team=weight:2x,capability.cpu:64")
    flags.flag("without-node", STRING_ARRAY, (), "Take a node away; pods of jobs there wait again")
    flags.flag(
        "scheduler-conf", STRING, "", "Configuration of the scheduler; else that of the dump, or the built-in one"
    )
    flags.flag("plugins-dir", STRING, "", "Directory of custom plugins and actions")
    flags.flag("scheduler-name", STRING_ARRAY, ("volcano",), "Schedule pods whose schedulerName is one of these")
    flags.flag("default-queue", STRING, "default", "Queue of pod groups that name none")
    flags.flag("cycles", INT, 10, "So many cycles at most; fewer when one decides nothing")
    flags.flag("output", STRING, "text", "text or json", short="o")
    return flags


def main(arguments: Sequence[str], stopwatch: Callable[[], float] = time.monotonic) -> int:
    """Simulate what the arguments name; gives the exit code."""
    flags_of = parser()
    flags = flags_of.parse(arguments)
    _, paths = flags_of.canonical(arguments)
    if not paths:
        flags_of.error("simulate needs files: manifests, or a dump")
    if flags.output not in {"text", "json"}:
        flags_of.error(f"--output is text or json, not {flags.output}")
    try:
        with _quiet():
            report = simulate(_read(flags, paths), stopwatch)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    sys.stdout.write(_json(report) if flags.output == "json" else _text(report))
    return STARTS if report.starts else WAITS


@contextmanager
def _quiet() -> Iterator[None]:
    """What is odd is told as a warning of the command; cycles log for operators, and nobody is one here."""
    logger = logging.getLogger("scheduler")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def simulate(question: Question, stopwatch: Callable[[], float]) -> Report:
    """Run it, and once more without the changes where there are any. Raises InputError."""
    warnings = list(question.warnings)
    outcome, asked, world = _run(question, stopwatch, changed=True)
    warnings += world.warnings
    differences: list[Difference] = []
    if question.has_changes:
        before, _, _ = _run(question, stopwatch, changed=False)
        differences = _differences(before.jobs, outcome.jobs, asked)
    in_question = asked if question.asked else sorted(outcome.jobs.keys() - world.left_out)
    return Report(
        starts=all(job in outcome.jobs and outcome.jobs[job].starts for job in in_question),
        in_question=in_question,
        cycles=outcome.cycles,
        jobs=list(outcome.jobs.values()),
        explanations=outcome.explanations,
        differences=differences,
        warnings=warnings,
    )


def _run(question: Question, stopwatch: Callable[[], float], *, changed: bool) -> tuple[Outcome, list[str], World]:
    flags = question.flags
    if question.dump is not None:
        world = from_dump(question.dump, flags.scheduler_name, flags.default_queue, question.dump_path)
    else:
        world = from_manifests(flags.scheduler_name, flags.default_queue)
    world.add(question.entries)
    asked: list[str] = []
    if changed:
        asked = world.ask(question.asked)
        for change in flags.queue:
            change_queue(world, change)
        for name in flags.without_node:
            take_node(world, name)
    world.expect_hypernodes()
    catalog = known(flags.plugins_dir)
    text = _configuration(question)
    try:
        configuration = conf.parse(
            text,
            actions=catalog.actions,
            plugins=catalog.plugins,
            plugin_arguments=catalog.plugin_arguments,
            action_arguments=catalog.action_arguments,
        )
    except conf.ConfigError as error:
        raise InputError(
            f"{flags.scheduler_conf or question.dump_path}: the configuration can't be used: {error}"
        ) from error
    world.warnings += [f"{flags.scheduler_conf or 'configuration'}: {warning}" for warning in configuration.warnings]
    memory = world.memory(configuration, dict(catalog.plugins))
    return run(world, memory, catalog.actions, max(0, flags.cycles), stopwatch), asked, world


def _configuration(question: Question) -> str:
    if question.flags.scheduler_conf:
        return read_text(question.flags.scheduler_conf)
    return question.dump.cycle.configuration if question.dump is not None else conf.DEFAULT


def _read(flags: Namespace, paths: Sequence[str]) -> Question:
    reader = Reader()
    dump, dump_path = None, ""
    entries: list[Entry] = []
    empty: list[str] = []
    for path in paths:
        if not _is_dump(path):
            found = reader.read(path)
            entries += found
            empty += [] if found else [path]
        elif dump is not None:
            raise InputError(f"{path}: a second dump beside {dump_path}; one is enough")
        else:
            dump, dump_path = files.read(Path(path)), path
    asked: list[Entry] = []
    for path in flags.job:
        found = reader.read(path)
        if not found:
            raise InputError(_no_objects(path, reader.warnings))
        asked += found
    if dump is None and not entries and not asked:
        raise InputError("\n".join(_no_objects(path, reader.warnings) for path in empty))
    return Question(flags, dump, dump_path, entries, asked, reader.warnings + [_no_objects(path, []) for path in empty])


def _no_objects(path: str, warnings: Sequence[str]) -> str:
    """An input that is empty, or of which nothing was left."""
    left_out = [warning.removeprefix(f"{path}: ") for warning in warnings if warning.startswith(f"{path}: ")]
    return f"{path}: no objects{' to simulate: ' if left_out else ''}{'; '.join(left_out)}"


def _is_dump(path: str) -> bool:
    """Whether a file is one of the scheduler's dumps, if only by its beginning: its lines are JSON values."""
    if path == STDIN:
        return False
    try:
        with Path(path).open("rb") as file:
            head = [file.readline() for _ in range(files.OVERVIEW_LINES + 1)]
    except OSError:
        return False
    return files.FORMAT.rpartition(" ")[0].encode() in head[-1][:200]


def _differences(before: dict[str, JobResult], after: dict[str, JobResult], asked: Sequence[str]) -> list[Difference]:
    return [
        Difference(job, before.get(job), after.get(job))
        for job in sorted({*before, *after})
        if before.get(job) != after.get(job) and (job in before or job not in asked)
    ]


# What is shown.


def _json(report: Report) -> str:
    return msgspec.json.format(_encode(report), indent=2).decode() + "\n"


def _text(report: Report) -> str:
    told: list[str] = [f"warning: {warning}" for warning in report.warnings]
    for number, cycle in enumerate(report.cycles, 1):
        told.append(f"cycle {number}:")
        told += [f"  {decision}" for decision in cycle]
    if not report.cycles:
        told.append("nothing is decided")
    reasons = {f"{answer.namespace}/{answer.name}": answer for answer in report.explanations}
    for job in report.jobs:
        told.append(f"job {_result(job)}")
        if job.job in reasons:
            told += [f"  {line}" for line in lines(msgspec.to_builtins(reasons[job.job]))]
    if report.differences:
        told.append("without the changes:")
        told += [f"  {_difference(found)}" for found in report.differences]
    return "\n".join(told) + "\n"


def _result(job: JobResult) -> str:
    evicted = f", {job.evicted} evicted" if job.evicted else ""
    return f"{job.job} in queue {job.queue}: {_short(job)}{evicted}"


def _short(job: JobResult) -> str:
    return (
        f"{'starts' if job.starts else 'waits'}, {job.placed} of {job.pods} pods have a node, {job.min_member} needed"
    )


def _difference(found: Difference) -> str:
    if found.before is None:
        return f"{found.job} is not there"
    return _result(found.before)

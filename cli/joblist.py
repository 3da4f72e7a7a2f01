"""`vcctl job list`, and the list of `vjobs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from api import names
from cli import fields, output, phases, times
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import JOBS, Object
from cli.listing import Listing
from cli.tables import Row, Table, extended, widest

DEFAULT_TYPE: Final = "Batch"

_COLUMNS = (
    ("Creation", 15),
    ("Phase", 12),
    ("JobType", 12),
    ("Replicas", 12),
    ("Min", 6),
    ("Pending", 10),
    ("Running", 10),
    ("Succeeded", 12),
    ("Failed", 10),
    ("Unknown", 12),
    ("RetryCount", 10),
)
_GAP = 3


def run(context: Context) -> None:
    """List jobs. The filters of the flags are applied here, after the list."""
    context.require_configuration()
    namespace = context.list_namespace
    everywhere = context.flags.is_on("all-namespaces")
    is_wide = output.output_format(context) == output.WIDE

    def table(jobs: Sequence[Object]) -> Table:
        return _table(jobs, everywhere=everywhere, is_wide=is_wide)

    def row(job: Object) -> Row:
        return _row(job, context.nanoseconds, everywhere=everywhere, is_wide=is_wide)

    Listing(
        context,
        JOBS,
        namespace,
        table=table,
        row=row,
        keep=lambda job: _is_wanted(context, job),
        phase=phase,
        known_phases=phases.JOB,
        labels=_flow_selector(context, namespace),
    ).run()


def phase(job: Object) -> str:
    return fields.text(job, "status", "state", "phase")


def _is_wanted(context: Context, job: Object) -> bool:
    flags = context.flags
    queue, scheduler = flags.text("queue"), flags.text("scheduler")
    return (
        (not queue or fields.text(job, "spec", "queue") == queue)
        and (not scheduler or fields.text(job, "spec", "schedulerName") == scheduler)
        and flags.text("selector") in fields.name(job)
    )


def _flow_selector(context: Context, namespace: str | None) -> str:
    wanted = context.flags.text("for")
    if not wanted:
        return ""
    kind, _, name = wanted.partition("/")
    if kind.lower() not in ("jobflow", "jobflows", "jf") or not name:
        raise CommandError(f'--for: "{wanted}" is not jobflow/NAME')
    if namespace is None:
        raise CommandError("--for: a jobflow has one namespace, name it instead of --all-namespaces")
    return f"{names.CREATED_BY_JOB_FLOW_KEY}={names.fitting_label_value(names.created_by(namespace, name))}"


def _table(jobs: Sequence[Object], *, everywhere: bool, is_wide: bool) -> Table:
    place = [widest("Namespace", map(fields.namespace, jobs), gap=_GAP)] if everywhere else []
    wide = [("Queue", 15), ("Scheduler", 15), ("Age", 8)] if is_wide else []
    return Table(*place, widest("Name", map(fields.name, jobs), gap=_GAP), *extended(_COLUMNS, wide))


def _row(job: Object, now: int, *, everywhere: bool, is_wide: bool) -> Row:
    status = fields.mapping(job, "status")
    created = fields.text(job, "metadata", "creationTimestamp")
    row: list[str | int] = [fields.namespace(job)] if everywhere else []
    row += [
        fields.name(job),
        times.day(created),
        phase(job),
        fields.text(fields.labels_of(job), names.JOB_TYPE_LABEL) or DEFAULT_TYPE,
        sum(fields.number(task, "replicas") for task in fields.items(job, "spec", "tasks")),
    ]
    counters = ("minAvailable", "pending", "running", "succeeded", "failed", "unknown", "retryCount")
    row += [fields.number(status, counter) for counter in counters]
    if is_wide:
        row += [fields.text(job, "spec", "queue"), fields.text(job, "spec", "schedulerName"), times.age(created, now)]
    return row

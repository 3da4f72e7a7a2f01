"""`vcctl pod list`: the pods of jobs, as `kubectl get pods` shows them."""

from __future__ import annotations

from collections.abc import Sequence

from api import names
from cli import fields, output, phases
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import PODS, Object
from cli.listing import Listing
from cli.podstatus import Summary, summary
from cli.requesting import list_objects
from cli.tables import Row, Table
from runtime import selector

_TITLES = ("Name", "Ready", "Status", "Restart", "Age")


def run(context: Context) -> None:
    """List the pods of a job, of a queue, or of all jobs, by namespace and name."""
    context.require_configuration()
    namespace = context.list_namespace
    job, queue = _job(context), context.flags.text("queue")
    labels = names.JOB_NAME_KEY if not queue else ""
    if job:
        labels = _job_selector(job)
        if queue:
            _check_queue(context, namespace, labels, job, queue)

    def row(pod: Object) -> Row:
        return _row(context, pod)

    Listing(
        context,
        PODS,
        namespace,
        table=lambda pods: _table(context, [row(pod) for pod in pods]),
        row=row,
        keep=lambda pod: job != "" or not queue or queue in queues_of(pod),
        phase=lambda pod: fields.text(pod, "status", "phase"),
        known_phases=phases.POD,
        labels=labels,
        key=lambda pod: (fields.namespace(pod), fields.name(pod)),
    ).run()


def queues_of(pod: Object) -> tuple[str, str]:
    """The queue that the label and the one that the annotation names."""
    return (
        fields.text(fields.labels_of(pod), names.QUEUE_NAME_KEY),
        fields.text(fields.annotations_of(pod), names.GROUP_QUEUE_NAME_ANNOTATION),
    )


def _job(context: Context) -> str:
    """The job of `--job` or `--for vcjob/NAME`. Raises CommandError."""
    wanted = context.flags.text("for")
    if not wanted:
        return context.flags.text("job")
    kind, _, name = wanted.partition("/")
    if kind.lower() not in ("vcjob", "vj", "job") or not name:
        raise CommandError(f'--for: "{wanted}" is not vcjob/NAME')
    return name


def _job_selector(job: str) -> str:
    if not selector.is_label_value(job):
        raise CommandError(
            f'values[0][{names.JOB_NAME_KEY}]: Invalid value: "{job}": a valid label must be an empty string or consist'
            " of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
            " (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
            " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        )
    return f"{names.JOB_NAME_KEY} in ({job})"


def _check_queue(context: Context, namespace: str | None, labels: str, job: str, queue: str) -> None:
    pods, _ = list_objects(context, PODS, namespace, labels=labels)
    for pod in pods:
        named = fields.value(fields.labels_of(pod), names.QUEUE_NAME_KEY)
        if named is not None and named != queue:
            raise CommandError(f"the input vcjob {job} does not match the queue {queue}")


def _table(context: Context, rows: Sequence[Row]) -> Table:
    titles = list(_titles(context))
    widths = [
        max(len(title) + 2, max((len(str(row[index])) + 8 for row in rows), default=0))
        for index, title in enumerate(titles)
    ]
    return Table(*zip(titles, widths, strict=True))


def _titles(context: Context) -> tuple[str, ...]:
    place = ("Namespace",) if context.flags.is_on("all-namespaces") else ()
    wide = ("IP", "Node", "Queue") if output.output_format(context) == output.WIDE else ()
    return (*place, *_TITLES, *wide)


def _row(context: Context, pod: Object) -> Row:
    facts: Summary = summary(pod, context.nanoseconds)
    row = [fields.namespace(pod)] if context.flags.is_on("all-namespaces") else []
    row += [fields.name(pod), facts.ready, facts.status, facts.restarts, facts.age]
    if output.output_format(context) == output.WIDE:
        status = fields.mapping(pod, "status")
        place = (
            fields.text(status, "podIP"),
            fields.text(pod, "spec", "nodeName"),
            next(filter(None, queues_of(pod)), ""),
        )
        row += [part or "<none>" for part in place]
    return row

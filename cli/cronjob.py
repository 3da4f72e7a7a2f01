"""`vcctl cronjob`."""

from __future__ import annotations

from collections.abc import Sequence

from api import names
from cli import fields, output, times
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import CRON_JOBS, JOBS, Object
from cli.listing import Listing, show_one
from cli.requesting import create_object, get_object, reference_to
from cli.tables import Row, Table, widest
from runtime.patches import MergePatch

MANUAL = "manual"


def list_all(context: Context) -> None:
    """CronJobs of a namespace or of all."""
    context.require_configuration()
    Listing(
        context,
        CRON_JOBS,
        context.list_namespace,
        table=lambda found: _table(context, found),
        row=lambda obj: _row(context, obj),
    ).run()


def get(context: Context) -> None:
    """One CronJob."""
    found = _target(context, "get")
    show_one(context, CRON_JOBS, found, lambda: _table(context, [found]).lines([_row(context, found)]))


def suspend(context: Context) -> None:
    """Start no new runs."""
    _set(context, is_suspended=True)


def resume(context: Context) -> None:
    """Start new runs again."""
    _set(context, is_suspended=False)


def trigger(context: Context) -> None:
    """Start one run now, whatever the schedule says and whether or not the CronJob is suspended."""
    cron_job = _target(context, "trigger")
    template = fields.mapping(cron_job, "spec", "jobTemplate")
    name = fields.name(cron_job)
    run_name = f"{names.cron_job_run_name(name, int(context.clock()), to_the_second=True)}-{MANUAL}"
    owner = reference_to(CRON_JOBS, cron_job)
    job: Object = {
        "metadata": {
            "name": run_name,
            "namespace": context.namespace,
            "labels": fields.labels_of(template),
            "annotations": fields.annotations_of(template),
            "ownerReferences": [owner],
        },
        "spec": fields.mapping(template, "spec"),
    }
    stored = create_object(context, JOBS, job, context.namespace)
    if wanted := output.output_format(context):
        output.print_object(context, JOBS, stored, wanted if wanted != output.WIDE else output.YAML)
    else:
        context.print(f"trigger cronjob {name} successfully: job {fields.name(stored)}")


def delete(context: Context) -> None:
    """Delete one CronJob."""
    context.require_configuration()
    name = _name(context, "delete")
    context.client.delete(CRON_JOBS, name, context.namespace)
    context.print(f"delete cronjob {name} successfully")


def _set(context: Context, *, is_suspended: bool) -> None:
    context.require_configuration()
    name = _name(context, "suspend" if is_suspended else "resume")
    output.output_format(context)
    patch = MergePatch({"spec": {"suspend": is_suspended}})
    stored = context.client.patch(CRON_JOBS, name, context.namespace, patch)
    output.confirm(context, CRON_JOBS, stored, "suspended" if is_suspended else "resumed")


def _target(context: Context, verb: str) -> Object:
    context.require_configuration()
    name = _name(context, verb)
    output.output_format(context)
    return get_object(context, CRON_JOBS, name, context.namespace)


def _name(context: Context, verb: str) -> str:
    name = context.flags.text("name")
    if not name:
        raise CommandError(f"cronjob name (specified by --name or -N) is mandatory to {verb} a particular cronjob")
    return name


def _table(context: Context, found: Sequence[Object]) -> Table:
    place = [widest("Namespace", map(fields.namespace, found), gap=3)] if context.flags.is_on("all-namespaces") else []
    schedule = widest("Schedule", (fields.text(obj, "spec", "schedule") for obj in found), gap=3)
    wide = [("TimeZone", 20), ("Policy", 10)] if output.output_format(context) == output.WIDE else []
    name = widest("Name", map(fields.name, found), gap=3)
    return Table(*place, name, schedule, ("Suspend", 10), ("Active", 9), ("LastSchedule", 15), ("Age", 10), *wide)


def _row(context: Context, obj: Object) -> Row:
    now = context.nanoseconds
    last = fields.text(obj, "status", "lastScheduleTime")
    row: list[str | int] = [fields.namespace(obj)] if context.flags.is_on("all-namespaces") else []
    row += [
        fields.name(obj),
        fields.text(obj, "spec", "schedule"),
        "true" if fields.is_true(obj, "spec", "suspend") else "false",
        len(fields.items(obj, "status", "active")),
        times.age(last, now) if last else "<none>",
        times.age(fields.text(obj, "metadata", "creationTimestamp"), now),
    ]
    if output.output_format(context) == output.WIDE:
        row += [fields.text(obj, "spec", "timeZone") or "<none>", fields.text(obj, "spec", "concurrencyPolicy")]
    return row

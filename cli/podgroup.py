"""`vcctl podgroup list|get`."""

from __future__ import annotations

from collections.abc import Sequence

from cli import fields, output, phases, times
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import POD_GROUPS, Object
from cli.listing import Listing, show_one
from cli.requesting import get_object
from cli.tables import Row, Table, widest


def list_all(context: Context) -> None:
    """PodGroups of a namespace or of all."""
    context.require_configuration()
    queue = context.flags.text("queue")
    Listing(
        context,
        POD_GROUPS,
        context.list_namespace,
        table=lambda groups: _table(context, groups),
        row=lambda group: _row(context, group),
        keep=lambda group: not queue or fields.text(group, "spec", "queue") == queue,
        phase=lambda group: fields.text(group, "status", "phase"),
        known_phases=phases.POD_GROUP,
    ).run()


def get(context: Context) -> None:
    """One PodGroup."""
    context.require_configuration()
    name = context.flags.text("name")
    if not name:
        raise CommandError("name (specified by --name or -N) is mandatory to get the particular podgroup details")
    group = get_object(context, POD_GROUPS, name, context.namespace)
    show_one(context, POD_GROUPS, group, lambda: _table(context, [group]).lines([_row(context, group)]))


def reason(group: Object) -> str:
    """Why the group isn't scheduled, the latest condition's word; empty when it is."""
    conditions = [item for item in fields.items(group, "status", "conditions") if fields.text(item, "status") == "True"]
    latest = max(conditions, key=lambda item: times.order(fields.text(item, "lastTransitionTime")), default=None)
    if latest is None or fields.text(latest, "type") != "Unschedulable":
        return ""
    return fields.text(latest, "reason")


def _table(context: Context, groups: Sequence[Object]) -> Table:
    place = [widest("Namespace", map(fields.namespace, groups), gap=3)] if context.flags.is_on("all-namespaces") else []
    wide = [("Priority", 20), ("Reason", 24)] if output.output_format(context) == output.WIDE else []
    name = widest("Name", map(fields.name, groups), gap=3)
    queue = widest("Queue", (fields.text(group, "spec", "queue") for group in groups), gap=3)
    return Table(*place, name, ("Phase", 12), ("MinMember", 12), ("Running", 10), queue, ("Age", 10), *wide)


def _row(context: Context, group: Object) -> Row:
    row: list[str | int] = [fields.namespace(group)] if context.flags.is_on("all-namespaces") else []
    row += [
        fields.name(group),
        fields.text(group, "status", "phase"),
        fields.number(group, "spec", "minMember"),
        fields.number(group, "status", "running"),
        fields.text(group, "spec", "queue"),
        times.age(fields.text(group, "metadata", "creationTimestamp"), context.nanoseconds),
    ]
    if output.output_format(context) == output.WIDE:
        row += [fields.text(group, "spec", "priorityClassName"), reason(group)]
    return row

"""`vcctl jobflow`."""

from __future__ import annotations

from collections.abc import Sequence

from cli import fields, flows, phases, times
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import JOB_FLOWS, Object
from cli.listing import Listing, show_one
from cli.requesting import get_object
from cli.tables import Row, Table, widest

_TITLES = ("Name", "Namespace", "Phase", "Age")
_GAP = 4


def create(context: Context) -> None:
    flows.create(context, JOB_FLOWS)


def delete(context: Context) -> None:
    flows.delete(context, JOB_FLOWS, "jobflow")


def describe(context: Context) -> None:
    flows.describe(context, JOB_FLOWS)


def list_all(context: Context) -> None:
    """Flows of a namespace or of all."""
    context.require_configuration()
    Listing(
        context,
        JOB_FLOWS,
        context.list_namespace,
        table=lambda found: _table(context, found),
        row=lambda flow: _row(context, flow),
        phase=_phase,
        known_phases=phases.JOB_FLOW,
    ).run()


def get(context: Context) -> None:
    """One flow."""
    context.require_configuration()
    name = context.flags.text("name")
    if not name:
        raise CommandError("name is mandatory to get the particular jobflow details")
    flow = get_object(context, JOB_FLOWS, name, context.namespace)
    show_one(context, JOB_FLOWS, flow, lambda: _table(context, [flow]).lines([_row(context, flow)]))


def _phase(flow: Object) -> str:
    return fields.text(flow, "status", "state", "phase")


def _table(context: Context, found: Sequence[Object]) -> Table:
    rows = [_row(context, flow) for flow in found]
    return Table(*(widest(title, [str(row[i]) for row in rows], gap=_GAP) for i, title in enumerate(_TITLES)))


def _row(context: Context, flow: Object) -> Row:
    age = times.age(fields.text(flow, "metadata", "creationTimestamp"), context.nanoseconds)
    return fields.name(flow), fields.namespace(flow), _phase(flow), age

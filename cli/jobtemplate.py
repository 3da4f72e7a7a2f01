"""`vcctl jobtemplate`."""

from __future__ import annotations

from collections.abc import Sequence

from cli import fields, flows
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import JOB_TEMPLATES, Object
from cli.listing import Listing, show_one
from cli.requesting import get_object
from cli.tables import Row, Table, widest

_GAP = 4


def create(context: Context) -> None:
    flows.create(context, JOB_TEMPLATES)


def delete(context: Context) -> None:
    flows.delete(context, JOB_TEMPLATES, "job template")


def describe(context: Context) -> None:
    flows.describe(context, JOB_TEMPLATES)


def list_all(context: Context) -> None:
    """Templates of a namespace."""
    context.require_configuration()
    Listing(context, JOB_TEMPLATES, context.list_namespace, table=_table, row=_row).run()


def get(context: Context) -> None:
    """One template."""
    context.require_configuration()
    name = context.flags.text("name")
    if not name:
        raise CommandError("name is mandatory to get the particular job template details")
    template = get_object(context, JOB_TEMPLATES, name, context.namespace)
    show_one(context, JOB_TEMPLATES, template, lambda: _table([template]).lines([_row(template)]))


def _table(found: Sequence[Object]) -> Table:
    return Table(
        widest("Name", map(fields.name, found), gap=_GAP), widest("Namespace", map(fields.namespace, found), gap=_GAP)
    )


def _row(template: Object) -> Row:
    return fields.name(template), fields.namespace(template)

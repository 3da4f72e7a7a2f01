"""`vcctl queue list|get` and `vqueues`: queues with their PodGroups by phase, which are counted here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cli import fields, output, phases
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import POD_GROUPS, QUEUES, Object
from cli.listing import Listing, show_one
from cli.requesting import get_object, list_objects
from cli.tables import Row, Table, extended
from runtime.errors import ApiError, BadRequest, ConnectionFailed

Counts = dict[str, Counter[str]]

_SHORT_PHASES = phases.POD_GROUP[:-1]
_WIDE = (("Priority", 10), ("Reclaimable", 13), ("Deserved", 30), ("Capability", 30))


class _Rows:
    """Rows of queues; the counts are read anew for each batch of rows."""

    def __init__(self, context: Context, *, is_short: bool = False) -> None:
        self._context = context
        self._is_short = is_short
        self._is_wide = output.output_format(context) == output.WIDE
        self._phases = _SHORT_PHASES if is_short else phases.POD_GROUP
        self._counts: Counts = {}

    def read(self) -> None:
        """Count the PodGroups of all queues. Raises CommandError."""
        try:
            groups, _ = list_objects(self._context, POD_GROUPS)
        except (ApiError, ConnectionFailed) as error:
            raise CommandError(f"failed to list podgroups with err: {error}") from error
        self._counts = count(groups)

    def read_one(self, queue: str) -> None:
        """Count the PodGroups of one queue. Raises CommandError."""
        try:
            self._counts = count(groups_of(self._context, queue))
        except (ApiError, ConnectionFailed) as error:
            raise CommandError(f"failed to list podgroup for queue {queue} with err: {error}") from error

    def table(self, _: Sequence[Object] = ()) -> Table:
        parent = [] if self._is_short else [("Parent", 8)]
        phases = [(phase, 8) for phase in self._phases]
        wide = _WIDE if self._is_wide else ()
        return Table(("Name", 25), ("Weight", 8), ("State", 8), *parent, *extended(phases, wide))

    def row(self, queue: Object) -> Row:
        counts = self._counts.get(fields.name(queue), Counter())
        spec = fields.mapping(queue, "spec")
        row: list[str | int] = [
            fields.name(queue),
            fields.number(spec, "weight"),
            fields.text(queue, "status", "state"),
        ]
        if not self._is_short:
            row.append(fields.text(spec, "parent"))
        row += [counts[phase] for phase in self._phases]
        if self._is_wide:
            amounts = (resources(fields.mapping(spec, key)) for key in ("deserved", "capability"))
            row += [fields.number(spec, "priority"), fields.text(spec, "reclaimable"), *amounts]
        return row

    def lines(self, queue: Object) -> list[str]:
        """The table of one queue."""
        self.read_one(fields.name(queue))
        return self.table().lines([self.row(queue)])


def list_all(context: Context) -> None:
    """All queues."""
    context.require_configuration()
    _list(context, _Rows(context))


def get(context: Context) -> None:
    """One queue."""
    context.require_configuration()
    if not context.flags.text("name"):
        raise CommandError("name is mandatory to get the particular queue details")
    _get(context, _Rows(context))


def short(context: Context) -> None:
    """`vqueues`: one queue by name, or all."""
    context.require_configuration()
    rows = _Rows(context, is_short=True)
    if context.flags.text("name"):
        _get(context, rows)
    else:
        _list(context, rows)


def count(groups: Sequence[Object]) -> Counts:
    """PodGroups by queue and phase."""
    counts: Counts = {}
    for group in groups:
        phases = counts.setdefault(fields.text(group, "spec", "queue"), Counter())
        phases[fields.text(group, "status", "phase")] += 1
    return counts


def groups_of(context: Context, queue: str) -> list[Object]:
    """The PodGroups of one queue, picked by the server where it can. Raises ApiError."""
    try:
        groups, _ = list_objects(context, POD_GROUPS, fields=f"spec.queue={queue}")
    except BadRequest:  # the installed CRD doesn't declare the field selectable
        groups, _ = list_objects(context, POD_GROUPS)
    return [group for group in groups if fields.text(group, "spec", "queue") == queue]


def resources(amounts: Object) -> str:
    """A resource list in one word: `cpu=4,memory=8Gi`."""
    return ",".join(f"{name}={fields.text(amounts, name)}" for name in sorted(amounts))


def _list(context: Context, rows: _Rows) -> None:
    Listing(context, QUEUES, None, table=rows.table, row=rows.row, prepare=rows.read).run()


def _get(context: Context, rows: _Rows) -> None:
    queue = get_object(context, QUEUES, context.flags.text("name"))
    show_one(context, QUEUES, queue, lambda: rows.lines(queue))

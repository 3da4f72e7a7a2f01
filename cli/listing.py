"""What all lists have in common: filters, order, formats and `--watch`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cli import fields, output, phases
from cli.context import Context
from cli.kinds import Kind, Object
from cli.requesting import list_objects
from cli.sorting import require_field, sort_key, sort_path
from cli.tables import Row, Table
from runtime.errors import Gone

Keep = Callable[[Object], bool]

_WATCH_SECONDS = 300
_BETWEEN_WATCHES = 0.1  # for a server that ends each one at once


class Listing:
    """One list command: the kind, where to look, what to keep and how a row looks."""

    def __init__(
        self,
        context: Context,
        kind: Kind,
        namespace: str | None,
        *,
        table: Callable[[Sequence[Object]], Table],
        row: Callable[[Object], Row],
        keep: Keep = lambda _: True,
        phase: Callable[[Object], str] = lambda _: "",
        known_phases: Sequence[str] = (),
        labels: str = "",
        key: Callable[[Object], tuple[str, ...]] | None = None,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        """
        `table` makes the columns for the first objects; `prepare` reads what rows need beside the object; `key` orders
        them, as the server does without it; `phase` tells an object's phase and `known_phases` those there are.

        Raises CommandError for flags that can't be.
        """
        self._context = context
        self._kind = kind
        self._namespace = namespace
        self._table = table
        self._row = row
        self._keep = keep
        self._phase = phase
        self._key = key
        self._prepare = prepare
        flags = context.flags
        self._format = output.output_format(context)
        self._phases = phases.chosen(flags.text("phase"), known_phases)
        self._labels = ",".join(part for part in (labels, flags.text("label-selector")) if part)
        self._sort_by = sort_path(flags.text("sort-by"))

    def run(self) -> None:
        """Print the list, then its changes when asked for."""
        version = self._print_list(is_first=True)
        if self._context.flags.is_on("watch"):
            self._context.stay()
        while self._context.flags.is_on("watch"):
            version = self._follow(version)
            self._context.pause(_BETWEEN_WATCHES)

    def _print_list(self, *, is_first: bool) -> str:
        objects, version = list_objects(self._context, self._kind, self._namespace, labels=self._labels)
        if is_first:
            require_field(self._kind, self._sort_by, objects)
        chosen = [obj for obj in objects if self._is_wanted(obj)]
        if self._key is not None:
            chosen.sort(key=self._key)
        if self._sort_by:
            chosen.sort(key=lambda obj: sort_key(fields.value(obj, *self._sort_by)))
        watching = self._context.flags.is_on("watch")
        if not output.is_table(self._format):
            if watching:
                for obj in chosen:
                    output.print_object(self._context, self._kind, obj, self._format)
            else:
                output.print_objects(self._context, self._kind, chosen, self._format)
        elif chosen or watching:
            self._print_table(chosen, is_first=is_first)
        else:
            self._context.print(output.NOTHING)
        return version

    def _print_table(self, chosen: Sequence[Object], *, is_first: bool) -> None:
        self._prepare()
        rows = [self._row(obj) for obj in chosen]
        if is_first:
            self._made = self._table(chosen)
            self._made.fit(rows)
            self._context.print(self._made.header())
        self._context.print_lines(map(self._made.line, rows))

    def _follow(self, version: str) -> str:
        """Print what changes until the server ends the watch; gives the version to go on from."""
        self._context.out.flush()
        client = self._context.client
        try:
            changes = client.changes(
                self._kind,
                self._namespace,
                label_selector=self._labels,
                resource_version=version,
                seconds=_WATCH_SECONDS,
            )
            for change in changes:
                version = fields.text(change.object, "metadata", "resourceVersion") or version
                if self._is_wanted(change.object):
                    self._print_change(change.object)
        except Gone:
            return self._print_list(is_first=False)
        return version

    def _print_change(self, obj: Object) -> None:
        if output.is_table(self._format):
            self._prepare()
            self._context.print(self._made.line(self._row(obj)))
        else:
            output.print_object(self._context, self._kind, obj, self._format)
        self._context.out.flush()

    def _is_wanted(self, obj: Object) -> bool:
        return self._keep(obj) and (not self._phases or self._phase(obj) in self._phases)


def show_one(context: Context, kind: Kind, obj: Object, lines: Callable[[], Sequence[str]]) -> None:
    """One object: the lines of its table, or the format of `-o`."""
    wanted = output.output_format(context)
    if output.is_table(wanted):
        context.print_lines(lines())
    else:
        output.print_object(context, kind, obj, wanted)

"""`vcctl queue tree`: queues below their parents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from api import names
from cli import fields, output
from cli.context import Context
from cli.errors import CommandError
from cli.kinds import POD_GROUPS, QUEUES, Object
from cli.queuelist import Counts, count, resources
from cli.requesting import list_objects
from cli.tables import Row, Table, widest
from runtime.errors import Forbidden

_SHOWN = ("Inqueue", "Pending", "Running")
_QUOTA = (("Allocated", "status", "allocated"), ("Deserved", "spec", "deserved"), ("Capability", "spec", "capability"))


def run(context: Context) -> None:
    """
    Print the tree, or what hangs below one queue.

    A queue whose parent doesn't exist, or that sits in a circle, is shown at the top with a remark.
    """
    context.require_configuration()
    wanted = output.output_format(context)
    queues, _ = list_objects(context, QUEUES)
    tree = Tree(queues)
    top = context.flags.text("name")
    if top and top not in tree.queues:
        raise CommandError(f'{QUEUES.qualified_name} "{top}" not found')
    walk = list(tree.below(top) if top else tree.all())
    if not output.is_table(wanted):
        output.print_objects(context, QUEUES, [tree.queues[name] for _, name, _ in walk], wanted)
        return
    if not walk:
        context.print(output.NOTHING)
        return
    counts = _counts(context)
    context.print_lines(_lines(context, tree, walk, counts))


class Tree:
    """Who hangs below whom. A queue without a parent hangs below root."""

    def __init__(self, queues: list[Object]) -> None:
        self.queues = {fields.name(queue): queue for queue in queues}
        self._children: dict[str, list[str]] = {}
        for name in sorted(self.queues):
            self._children.setdefault(self.parent(name), []).append(name)

    def parent(self, name: str) -> str:
        """The parent's name, empty for root."""
        if name == names.ROOT_QUEUE:
            return ""
        return fields.text(self.queues[name], "spec", "parent") or names.ROOT_QUEUE

    def all(self) -> Iterator[tuple[str, str, str]]:
        """(lines of the tree, name, remark) of every queue, each once."""
        seen: set[str] = set()
        has_root = names.ROOT_QUEUE in self.queues
        tops = [names.ROOT_QUEUE] if has_root else self._children.get(names.ROOT_QUEUE, [])
        lost = [name for name in sorted(self.queues) if self.parent(name) and self.parent(name) not in self.queues]
        for name in dict.fromkeys([*tops, *(lost if names.ROOT_QUEUE in self.queues else self._strays(lost))]):
            is_lost = name in lost and self.parent(name) != names.ROOT_QUEUE
            yield from self._walk(name, f"parent {self.parent(name)} does not exist" if is_lost else "", seen)
        for name in sorted(self.queues):
            if name not in seen:
                yield from self._walk(name, f"in a circle: its parent is {self.parent(name)}", seen)

    def below(self, top: str) -> Iterator[tuple[str, str, str]]:
        """The same for one queue and all below it."""
        yield from self._walk(top, "", set())

    def _strays(self, lost: list[str]) -> list[str]:
        return [name for name in lost if self.parent(name) != names.ROOT_QUEUE]

    def _walk(self, top: str, remark: str, seen: set[str]) -> Iterator[tuple[str, str, str]]:
        waiting = [("", "", top, remark)]
        while waiting:
            edge, indent, name, note = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            yield edge, name, note
            children = self._children.get(name, [])
            branches = [
                (
                    f"{indent}{'└─ ' if child == children[-1] else '├─ '}",
                    f"{indent}{'   ' if child == children[-1] else '│  '}",
                    child,
                    "",
                )
                for child in children
            ]
            waiting.extend(reversed(branches))


def _counts(context: Context) -> Counts:
    """PodGroups by queue; none for those who may not list them."""
    try:
        return count(list_objects(context, POD_GROUPS)[0])
    except Forbidden as error:
        context.hint(f"PodGroups are not counted: {error}")
        return {}


def _lines(context: Context, tree: Tree, walk: list[tuple[str, str, str]], counts: Counts) -> list[str]:
    has_quota = context.flags.is_on("resources") or output.output_format(context) == output.WIDE
    rows = [_row(tree.queues[name], f"{edge}{name}", counts, note, has_quota=has_quota) for edge, name, note in walk]
    labels = [str(row[0]) for row in rows]
    quota = (
        [widest(title, [str(row[6 + i]) for row in rows], gap=2) for i, (title, _, _) in enumerate(_QUOTA)]
        if has_quota
        else []
    )
    remark = [("Remark", 0)] if any(note for _, _, note in walk) else []
    columns = (widest("Name", labels, gap=2), ("Weight", 8), ("State", 8), *((phase, 9) for phase in _SHOWN))
    if not remark:
        rows = [row[:-1] for row in rows]
    table = Table(*columns, *quota, *remark)
    return [line.rstrip() for line in table.lines(rows)]


def _row(queue: Object, label: str, counts: Counts, note: str, *, has_quota: bool) -> Row:
    row: list[str | int] = [label, fields.number(queue, "spec", "weight"), fields.text(queue, "status", "state")]
    found = counts.get(fields.name(queue), Counter())
    row += [found.get(phase, 0) for phase in _SHOWN]
    if has_quota:
        row += [resources(fields.mapping(queue, part, key)) or "-" for _, part, key in _QUOTA]
    return [*row, note]

"""
Which tasks are identical: those whose parts that some enabled function reads are equal.

The parts come from what filters and scores declare to read, so two pods that differ only in their name, or in a field
that no enabled function looks at, share everything that is computed for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import TYPE_CHECKING

from scheduler.template import Template

if TYPE_CHECKING:
    from scheduler.effects import Filter, Score
    from scheduler.state.cluster import Cluster
    from scheduler.state.task import Task

_EPOCHS = count(1)

_PARTS: dict[str, Callable[[Task], Hashable]] = {
    "task": lambda task: task.uid,
    "job": lambda task: task.job,
    "namespace": lambda task: task.namespace,
    "role": lambda task: task.role,
    "priority": lambda task: task.priority,
    "labels": lambda task: tuple(sorted(task.pod.metadata.labels.items())) if task.pod else (),
    "annotations": lambda task: tuple(sorted(task.pod.metadata.annotations.items())) if task.pod else (),
}
"""Parts of the task itself; `spec.<field>` names a part of its shape, `request` always counts."""


class Signatures:
    """
    Templates by signature, for one set of enabled filters and scores.

    Lives as long as that set does, over many sessions: what templates keep by column stays valid through `Touched`.
    """

    def __init__(self, cluster: Cluster, filters: Iterable[Filter], scores: Iterable[Score]) -> None:
        self.cluster = cluster
        self.filters = tuple(filters)
        self.scores = tuple(scores)
        self.epoch = next(_EPOCHS)
        functions: tuple[Filter | Score, ...] = (*self.filters, *self.scores)
        reads = sorted({part for function in functions for part in function.reads})
        self._spec = [part.removeprefix("spec.") for part in reads if part.startswith("spec.")]
        self._own = [_PARTS[part] for part in reads if not part.startswith("spec.") and part != "request"]
        self._templates: dict[Hashable, Template] = {}

    def template(self, task: Task) -> Template:
        """The template of a task; tasks with the same one are identical to every enabled function."""
        if self._own:
            return self._lookup(task, tuple(part(task) for part in self._own))
        # Where only the shape is read the answer is kept with the shape: one dictionary look-up a task.
        template: Template | None = task.shape.templates.get(self.epoch)
        if template is None:
            template = task.shape.templates[self.epoch] = self._lookup(task, ())
        return template

    def _lookup(self, task: Task, own: tuple[Hashable, ...]) -> Template:
        shape = task.shape
        request = shape.request
        key = (
            tuple(sorted(request.amounts.items())),
            request.nonzero,
            tuple(shape.part(part) for part in self._spec),
            own,
        )
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = Template(self.cluster, task, self.filters, self.scores)
        return template

    def __len__(self) -> int:
        return len(self._templates)

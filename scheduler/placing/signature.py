"""
Which tasks are identical: those whose parts that some enabled function reads are equal.

The parts come from what filters and scores declare to read, so two pods that differ only in their name, or in a field
that no enabled function looks at, share everything that is computed for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import cache
from itertools import count, islice
from typing import TYPE_CHECKING, get_args

import msgspec

from generated.core.v1 import PodSpec
from scheduler.contract.effects import Effect
from scheduler.placing.template import Template

if TYPE_CHECKING:
    from scheduler.contract.effects import Filter, Score
    from scheduler.state.cluster import Cluster
    from scheduler.state.profile import Profile
    from scheduler.state.task import Shape, Task

_EPOCHS = count(1)
_MAX_ALIKE = 20_000
"""How many kinds of pods that nobody sees are remembered, with the template that they share."""
_MIN_RECENT, _RECENT_CELLS = 64, 2_560_000
"""How many templates of pods that others see are kept: at least, and in numbers a node times templates (100 bytes each)."""

_PARTS: dict[str, Callable[[Task], Hashable]] = {
    "task": lambda task: task.uid,
    "job": lambda task: task.job,
    "namespace": lambda task: task.namespace,
    "role": lambda task: task.role,
    "priority": lambda task: task.priority,
    "topology": lambda task: task.has_topology,
    "labels": lambda task: tuple(sorted(task.pod.metadata.labels.items())) if task.pod else (),
    "annotations": lambda task: tuple(sorted(task.pod.metadata.annotations.items())) if task.pod else (),
}
"""
Parts of the task itself; `spec.<field>` names a part of its shape, `request` always counts.

`pods` is what other pods have to do with the task: its namespace and labels, as far as any selector sees them, and
the terms of others that mean it.
"""


def check_declared(function: Filter | Score) -> None:
    """Raises ValueError when a function declares to read what there isn't, or an effect on domains of no label."""
    for part in function.reads:
        if not _is_known(part):
            raise ValueError(
                f"plugin {function.plugin}: {function.name} reads {part!r}; known are request, pods, "
                f"{', '.join(_PARTS)}, and spec.<field> of a pod, in Python's spelling"
            )
    if function.effect is Effect.DOMAIN and not function.topology_key:
        raise ValueError(f"plugin {function.plugin}: {function.name} has an effect on domains but no topology_key")


@cache
def _is_known(part: str) -> bool:
    if not part.startswith("spec."):
        return part in _PARTS or part in {"request", "pods"}
    kind: object = PodSpec
    for name in part.split(".")[1:]:
        kinds = [
            each for each in (kind, *get_args(kind)) if isinstance(each, type) and issubclass(each, msgspec.Struct)
        ]
        found = [each.type for struct in kinds for each in msgspec.structs.fields(struct) if each.name == name]
        if not found:
            return False
        kind = found[0]
    return True


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
        self._sees_pods = "pods" in reads
        own = [part for part in reads if not part.startswith("spec.") and part not in {"request", "pods"}]
        self._own = [_PARTS[part] for part in own]
        self._templates: dict[Hashable, Template] = {}
        self._alike: dict[tuple[Profile, Shape, int, tuple[Hashable, ...]], Template] = {}
        self._recent: dict[tuple[Profile, Shape, int, tuple[Hashable, ...]], Template] = {}

    def template(self, task: Task) -> Template:
        """The template of a task; tasks with the same one are identical to every enabled function."""
        shape = task.shape
        own = tuple([part(task) for part in self._own]) if self._own else ()
        sees = self._sees_pods and self.cluster.sight.is_active
        if shape.claims:
            # Claims are each pod's own, and what is known of them changes without any node changing.
            own = (*own, task.uid, self.cluster.claims.version)
            return self._among_pods(task, own) if sees else self._lookup(task, own)
        if sees:
            return self._among_pods(task, own)
        # The answer is kept with the shape: one dictionary look-up a task.
        key = (self.epoch, own) if own else self.epoch
        template: Template | None = shape.templates.get(key)
        if template is None:
            template = shape.templates[key] = self._lookup(task, own)
        return template

    def _among_pods(self, task: Task, own: tuple[Hashable, ...]) -> Template:
        sight, shape = self.cluster.sight, task.shape
        profile = sight.profile(task)
        # The terms that the pod carries may mean itself, so they come before its identity.
        sight.carried(task)
        key = (profile, shape, len(profile.facing), own)
        template = self._recent.get(key) or self._alike.get(key)
        if template is not None:
            return template
        if shape.looks or profile.facing or profile.default_selector is not None:
            template = self._recent[key] = self._made(task)
            return template
        if len(self._alike) >= _MAX_ALIKE:
            self._alike.clear()
        template = self._alike[key] = self._lookup(task, own)
        return template

    def _made(self, task: Task) -> Template:
        """A template for pods that others see; there may be one a job, so only the latest are kept."""
        limit = max(_MIN_RECENT, _RECENT_CELLS // max(1, len(self.cluster.nodes)))
        if len(self._recent) >= limit:
            for key in list(islice(self._recent, limit // 2 + 1)):
                del self._recent[key]
        return Template(self.cluster, task, self.filters, self.scores)

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

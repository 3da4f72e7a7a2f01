"""How many pod groups each queue holds, in all and by phase, counted as they come and go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from generated.listers.scheduling_v1beta1 import PodGroupLister
from generated.scheduling.v1beta1 import PodGroup
from runtime.lister import Indexer, Lister


def _phase_in_queue(group: PodGroup) -> Iterator[str]:
    if group.spec.queue:
        yield _joined(group.spec.queue, group.status.phase)


def _joined(queue: str, phase: str) -> str:
    return f"{phase} in {queue}"


class Population:
    """Of the lister of an informer that has the indexes of `INDEXERS`."""

    INDEXERS: ClassVar[Mapping[str, Indexer[PodGroup]]] = {**PodGroupLister.INDEXERS, "phase in queue": _phase_in_queue}

    def __init__(self, groups: Lister[PodGroup]) -> None:
        self._groups = groups

    def of(self, queue: str) -> int:
        """Pod groups in a queue."""
        return self._groups.count("queue", queue)

    def in_phase(self, queue: str, phase: str) -> int:
        """Those of them in a phase."""
        return self._groups.count("phase in queue", _joined(queue, phase))

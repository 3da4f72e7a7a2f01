from __future__ import annotations

from controllers.queue.population import Population
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup, PodGroupSpec, PodGroupStatus
from runtime.lister import Store


def group(name: str, queue: str | None, phase: str) -> PodGroup:
    meta = ObjectMeta(name=name, namespace="ns")
    return PodGroup(metadata=meta, spec=PodGroupSpec(queue=queue), status=PodGroupStatus(phase=phase))


def test_groups_are_counted_by_queue_and_phase_as_they_change() -> None:
    store: Store[PodGroup] = Store(Population.INDEXERS)
    population = Population(store)
    for name, queue, phase in (("a", "q", "Pending"), ("b", "q", "Running"), ("c", "r", "Running"), ("d", None, "")):
        store.put(group(name, queue, phase))
    assert [population.of(queue) for queue in ("q", "r", "")] == [2, 1, 0]
    store.put(group("a", "q", "Running"))
    assert (population.in_phase("q", "Running"), population.in_phase("q", "Pending")) == (2, 0)
    store.put(group("b", "r", "Running"))
    assert (population.of("q"), population.in_phase("r", "Running")) == (1, 2)

"""Which pods share what is known of the nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from generated.core.v1 import Affinity, PersistentVolumeClaimVolumeSource, PodAffinityTerm, PodAntiAffinity, Volume
from generated.meta.v1 import LabelSelector
from scheduler.contract.arguments import Arguments
from scheduler.placing.signature import Signatures
from scheduler.plugins.nodeorder import NodeOrder
from scheduler.plugins.predicates import Predicates
from scheduler.state.claims import VolumeClaim
from scheduler.state.status import Status
from scheduler.state.task import Shape, Task
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.sociable import HOST, pod_task


def apart(app: str) -> Shape:
    term = PodAffinityTerm(label_selector=LabelSelector(match_labels={"app": app}), topology_key=HOST)
    far = PodAntiAffinity(required_during_scheduling_ignored_during_execution=(term,))
    return shape(affinity=Affinity(pod_anti_affinity=far))


def settled(tasks: Iterable[Task], **standing: Shape) -> Signatures:
    """Signatures over two nodes; `standing` pods are on the first of them."""
    world = World()
    for name in "ab":
        world.node(name, labels={HOST: name})
    for name, wanted in standing.items():
        world.cluster.add_task(pod_task(name, "ns", {}, wanted, job="", status=Status.RUNNING), "a")
    for task in tasks:
        world.cluster.add_task(task)
    world.cluster.settle()
    return Signatures(world.cluster, Predicates(Arguments({})).filters, NodeOrder(Arguments({})).scores)


PLAIN, APART = shape(), apart("web")
CLAIMING = shape(
    volumes=(Volume(name="v", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="data")),)
)


@pytest.mark.parametrize(
    ("one", "other", "standing", "are_identical"),
    [
        pytest.param(({"app": "web"}, PLAIN), ({"app": "db"}, PLAIN), {}, True, id="nobody looks at labels"),
        pytest.param(({"own": "1"}, APART), ({"own": "2"}, APART), {}, True, id="a label that nobody looks at"),
        pytest.param(({"app": "web"}, APART), ({"app": "db"}, APART), {}, False, id="a label that they look at"),
        pytest.param(
            ({"app": "web"}, PLAIN), ({"app": "db"}, PLAIN), {"old": APART}, False, id="one that others keep away"
        ),
        pytest.param(({"app": "x"}, PLAIN), ({"app": "db"}, PLAIN), {"old": APART}, True, id="none that others mean"),
        pytest.param(({}, PLAIN), ({}, shape(2000.0)), {}, False, id="another size"),
        pytest.param(({}, CLAIMING), ({}, CLAIMING), {}, False, id="claims are each pod's own"),
    ],
)
def test_pods_are_identical_as_far_as_anything_enabled_can_see(
    one: Any, other: Any, standing: dict[str, Shape], are_identical: bool
) -> None:
    tasks = [pod_task(f"p-{number}", "ns", *each, job="") for number, each in enumerate((one, other))]
    signatures = settled(tasks, **standing)
    first, second = (signatures.template(task) for task in tasks)
    assert (first is second) is are_identical
    assert signatures.template(tasks[0]) is first


def test_news_of_a_claim_makes_what_is_known_of_its_pod_void() -> None:
    task = pod_task("p", "ns", {}, CLAIMING, job="")
    signatures = settled([task])
    before = signatures.template(task)
    before.refresh()
    assert not before.candidates.any()
    signatures.cluster.claims.set("ns/data", VolumeClaim(is_bound=True, phase="Bound"))
    after = signatures.template(task)
    after.refresh()
    assert after.candidates.all()


def test_a_term_that_appears_later_is_seen() -> None:
    task = pod_task("p", "ns", {"app": "web"}, PLAIN, job="")
    signatures = settled([task])
    signatures.template(task).refresh()
    cluster = signatures.cluster
    cluster.add_task(pod_task("late", "ns", {}, APART, job="", status=Status.RUNNING), "a")
    cluster.settle()
    template = signatures.template(task)
    template.refresh()
    assert template.candidates.tolist() == [False, True]


def test_of_templates_that_others_see_only_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.placing.signature._MIN_RECENT", 4)
    monkeypatch.setattr("scheduler.placing.signature._RECENT_CELLS", 0)
    tasks = [pod_task(f"p-{number}", "ns", {"app": str(number)}, APART, job="") for number in range(20)]
    signatures = settled(tasks)
    for task in tasks:
        signatures.template(task)
    assert len(signatures._recent) <= 4
    latest = signatures.template(tasks[-1])
    assert signatures.template(tasks[-1]) is latest

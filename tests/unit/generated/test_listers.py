from __future__ import annotations

from importlib import import_module

import pytest

from generated.batch.v1alpha1 import JOBS, Job, JobSpec
from generated.core.v1 import Pod, PodSpec
from generated.flow.v1alpha1 import Flow, JobFlow, JobFlowSpec
from generated.listers.base import ClusterLister, NamespacedLister, TypedLister
from generated.listers.batch_v1alpha1 import JobLister
from generated.listers.core_v1 import NodeLister, PodLister
from generated.listers.flow_v1alpha1 import JobFlowLister
from generated.listers.resource_v1 import ResourceSliceLister
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.meta.v1 import ObjectMeta
from generated.resource.v1 import ResourceSlice, ResourceSliceSpec
from generated.scheduling.v1beta1 import Queue, QueueSpec
from runtime.lister import Store
from runtime.objects import Key
from runtime.selector import Selector, parse
from tests.unit.generated.schemas import project


def meta(name: str, namespace: str = "n", **labels: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace, labels=labels)


def job(name: str, queue: str | None = None, namespace: str = "n", **labels: str) -> Job:
    return Job(metadata=meta(name, namespace, **labels), spec=JobSpec(queue=queue))


def selecting(text: str) -> Selector:
    selector = parse(text)
    assert isinstance(selector, Selector)
    return selector


def test_objects_are_found_by_name_and_namespace() -> None:
    first, second = job("a"), job("a", namespace="m")
    jobs = JobLister.filled([first, second])
    assert jobs.get("a", "n") is first
    assert jobs.by_key(Key("m", "a")) is second
    assert jobs.get("b", "n") is None
    assert (len(jobs), list(jobs)) == (2, [first, second])
    assert jobs.list("m") == [second]


def test_labels_select() -> None:
    first, second = job("a", app="x"), job("b", app="y")
    jobs = JobLister.filled([first, second])
    assert jobs.list(selector=selecting("app=y")) == [second]
    assert jobs.list("m", selecting("app=y")) == []


def test_cluster_scoped_objects_have_a_name_alone() -> None:
    root, child = (
        Queue(metadata=ObjectMeta(name="root")),
        Queue(metadata=ObjectMeta(name="c", labels={"a": "b"}), spec=QueueSpec(parent="root")),
    )
    queues = QueueLister.filled([root, child])
    assert queues.get("root") is root
    assert queues.list() == [root, child]
    assert queues.list(selecting("a=b")) == [child]
    assert queues.by_parent("root") == [child]


def test_an_index_finds_objects_by_a_field() -> None:
    first, second, third = job("a", "q"), job("b", "other"), job("c")
    jobs = JobLister.filled([first, second, third])
    assert jobs.by_queue("q") == [first]
    assert jobs.by_queue("") == []


def test_an_index_follows_lists_and_optional_parts() -> None:
    flow = JobFlow(metadata=meta("f"), spec=JobFlowSpec(flows=(Flow(name="a"), Flow(name="b"))))
    assert JobFlowLister.filled([flow]).by_template("b") == [flow]
    slices = [ResourceSlice(metadata=meta(name, ""), spec=ResourceSliceSpec(node_name=name)) for name in ("a", "b")]
    assert ResourceSliceLister.filled([*slices, ResourceSlice(metadata=meta("c", ""))]).by_node("b") == [slices[1]]


def test_a_lister_is_a_view_of_an_informers_store() -> None:
    store: Store[Pod] = Store(PodLister.INDEXERS)
    pods = PodLister(store)
    assert pods.by_node("x") == []
    pod = Pod(metadata=meta("p"), spec=PodSpec(node_name="x"))
    store.put(pod)
    assert pods.by_node("x") == [pod]
    store.remove(Key("n", "p"))
    assert len(pods) == 0


def test_an_empty_lister_needs_no_list() -> None:
    assert NodeLister.filled().list() == []


def test_a_lister_names_its_kind() -> None:
    assert JobLister.RESOURCE is JOBS


@pytest.mark.parametrize("kind", [*project().kinds, *project().external], ids=lambda kind: kind.component)
def test_every_kind_has_a_lister_with_its_indexes(kind: object) -> None:
    module = import_module(f"generated.listers.{kind.module.replace('.', '_')}")  # type: ignore[attr-defined]
    lister: type[TypedLister[Job]] = getattr(module, f"{kind.kind}Lister")  # type: ignore[attr-defined]
    assert issubclass(lister, NamespacedLister if kind.namespaced else ClusterLister)  # type: ignore[attr-defined]
    assert set(lister.INDEXERS) == set(kind.indexes)  # type: ignore[attr-defined]
    empty = lister.RESOURCE.model()
    assert [list(index(empty)) for index in lister.INDEXERS.values()] == [[]] * len(lister.INDEXERS)

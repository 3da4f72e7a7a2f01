"""The typed clients: each verb's request, by way of the recorder for writes and of a scripted transport for reads."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import nullcontext
from typing import Any

import msgspec
import pytest

from generated.apply.batch import v1alpha1 as apply
from generated.apply.meta.v1 import ObjectMeta as MetaBuilder
from generated.apply.scheduling import v1beta1 as scheduling
from generated.batch.v1alpha1 import JOBS, Job, JobSpec
from generated.clients import verbs, verbs_sync
from generated.clients.clientset import Clientset
from generated.clients.clientset_sync import SyncClientset
from generated.core.v1 import Node
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import Queue
from runtime import patches
from runtime.client import Client
from runtime.client_sync import SyncClient
from runtime.errors import TooManyRequests, from_status
from runtime.patches import JsonPatch, MergePatch, StrategicPatch
from runtime.recorder import Recorder, SyncRecorder
from runtime.requests import Priority, Request
from runtime.responses import Response
from runtime.transport_sync import SyncTransport
from runtime.wire import Status
from tests.unit.codegen.projects import ROOT

JOB = Job(metadata=ObjectMeta(name="j", namespace="n"))
STATUS_VERBS = {"update_status", "patch_status", "apply_status"}

Act = Callable[[SyncClientset], Any]

WRITES: list[tuple[str, Act, str, dict[str, Any]]] = [
    ("create", lambda c: c.batch_v1alpha1.jobs.create(JOB, field_manager="me"),
     "create jobs.batch.volcano.sh n/j", {"field_manager": "me"}),
    ("create elsewhere", lambda c: c.batch_v1alpha1.jobs.create({"metadata": {"name": "x"}}, "m", dry_run=True),
     "create jobs.batch.volcano.sh m/x", {"is_dry_run": True}),
    ("create a cluster's", lambda c: c.scheduling_v1beta1.queues.create(Queue(metadata=ObjectMeta(name="q"))),
     "create queues.scheduling.volcano.sh q", {"namespace": ""}),
    ("merge patch", lambda c: c.batch_v1alpha1.jobs.patch(
        "j", "n", MergePatch(apply.Job(spec=apply.JobSpec(queue=None))), priority=Priority.EVENT),
     "patch jobs.batch.volcano.sh n/j", {"body": {"spec": {"queue": None}}, "priority": Priority.EVENT}),
    ("JSON patch", lambda c: c.batch_v1alpha1.jobs.patch("j", "n", JsonPatch([patches.add("/spec", {})])),
     "patch jobs.batch.volcano.sh n/j", {"media_type": JsonPatch.media_type}),
    ("strategic patch", lambda c: c.core_v1.nodes.patch("x", StrategicPatch({"spec": {}})),
     "patch nodes x", {"media_type": StrategicPatch.media_type}),
    ("apply", lambda c: c.batch_v1alpha1.jobs.apply(
        "j", "n", apply.Job(spec=apply.JobSpec(min_available=0)), field_manager="me", force=True),
     "apply jobs.batch.volcano.sh n/j", {
         "body": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                  "metadata": {"name": "j"}, "spec": {"minAvailable": 0}},
         "is_forced": True, "field_manager": "me"}),
    ("update status", lambda c: c.batch_v1alpha1.jobs.update_status(JOB),
     "update jobs.batch.volcano.sh/status n/j", {"priority": Priority.STATUS}),
    ("patch status", lambda c: c.batch_v1alpha1.jobs.patch_status("j", "n", MergePatch({"status": {}})),
     "patch jobs.batch.volcano.sh/status n/j", {"priority": Priority.STATUS}),
    ("apply status", lambda c: c.scheduling_v1beta1.queues.apply_status(
        "q", apply_queue("Open"), field_manager="queue-controller"),
     "apply queues.scheduling.volcano.sh/status q", {"is_forced": False, "field_manager": "queue-controller"}),
    ("delete", lambda c: c.batch_v1alpha1.jobs.delete("j", "n", uid="u", propagation="Background", grace_period=5),
     "delete jobs.batch.volcano.sh n/j", {}),
    ("delete a cluster's", lambda c: c.topology_v1alpha1.hyper_nodes.delete("h"),
     "delete hypernodes.topology.volcano.sh h", {}),
    ("delete collection", lambda c: c.batch_v1alpha1.jobs.delete_collection("n", label_selector="a=b"),
     "delete_collection jobs.batch.volcano.sh n/", {"query": {"labelSelector": "a=b"}}),
    ("delete a cluster's collection", lambda c: c.core_v1.nodes.delete_collection(field_selector="a=b"),
     "delete_collection nodes", {"query": {"fieldSelector": "a=b"}}),
]  # fmt: skip


def apply_queue(state: str) -> Any:
    return scheduling.Queue(metadata=MetaBuilder(name="q"), status=scheduling.QueueStatus(state=state))


@pytest.mark.parametrize(("act", "expected", "details"), [row[1:] for row in WRITES], ids=[row[0] for row in WRITES])
def test_a_write_goes_where_it_should(act: Act, expected: str, details: dict[str, Any]) -> None:
    recorder = SyncRecorder()
    act(SyncClientset(recorder))
    write = recorder.writes[0]
    assert str(write) == expected
    for name, value in details.items():
        assert getattr(write, name) == value, name


async def test_the_async_twin_writes_alike() -> None:
    recorder = Recorder()
    jobs = Clientset(recorder).batch_v1alpha1.jobs
    assert (await jobs.create(JOB)).metadata == JOB.metadata
    await jobs.patch("j", "n", MergePatch({}))
    await jobs.apply("j", "n", apply.Job(), field_manager="me")
    await jobs.update_status(JOB)
    await jobs.patch_status("j", "n", MergePatch({}))
    await jobs.apply_status("j", "n", apply.Job(), field_manager="me")
    await jobs.delete("j", "n")
    await jobs.delete_collection("n")
    assert [(write.verb, write.subresource) for write in recorder.writes] == [
        ("create", ""),
        ("patch", ""),
        ("apply", ""),
        ("update", "status"),
        ("patch", "status"),
        ("apply", "status"),
        ("delete", ""),
        ("delete_collection", ""),
    ]


def test_a_pod_is_bound_to_a_node() -> None:
    recorder = SyncRecorder()
    SyncClientset(recorder).core_v1.pods.bind("p", "n", "node-1", uid="u", annotations={"a": "b"})
    write = recorder.writes[0]
    assert (str(write), write.priority) == ("create pods/binding n/p", Priority.BIND)
    assert write.body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": {"a": "b"}},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
    }


def test_a_pod_is_evicted_with_conditions() -> None:
    recorder = SyncRecorder()
    SyncClientset(recorder).core_v1.pods.evict("p", "n", uid="u", grace_period=0, dry_run=True)
    write = recorder.writes[0]
    assert (str(write), write.priority, write.is_dry_run) == ("create pods/eviction n/p", Priority.DELETE, True)
    assert write.body == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p", "namespace": "n"},
        "deleteOptions": {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}, "dryRun": ["All"]},
    }


async def test_a_refused_eviction_is_raised() -> None:
    recorder = Recorder()
    recorder.log.fail(from_status(Status(code=429, reason="TooManyRequests")), subresource="eviction")
    pods = Clientset(recorder).core_v1.pods
    with pytest.raises(TooManyRequests):
        await pods.evict("p", "n")
    await pods.bind("p", "n", "x")
    assert recorder.writes[0].body["deleteOptions"] == {}
    assert "annotations" not in recorder.writes[1].body["metadata"]


class _Answers(SyncTransport):
    """Gives scripted answers and keeps the requests."""

    def __init__(self, *bodies: Any) -> None:
        self.bodies = [msgspec.json.encode(body) for body in bodies]
        self.requests: list[Request] = []

    def send(self, request: Request, *, guard: Callable[[], None] | None = None) -> Response:
        self.requests.append(request)
        return Response(status=200, body=self.bodies.pop(0))


def test_one_object_is_read_typed() -> None:
    answers = _Answers({"metadata": {"name": "j"}, "spec": {"queue": "q"}}, {"metadata": {"name": "x"}})
    clients = SyncClientset(SyncClient(answers))
    assert clients.batch_v1alpha1.jobs.get("j", "n", resource_version="0").spec == JobSpec(queue="q")
    assert clients.core_v1.nodes.get("x") == Node(metadata=ObjectMeta(name="x"))
    assert [request.target for request in answers.requests] == [
        "/apis/batch.volcano.sh/v1alpha1/namespaces/n/jobs/j?resourceVersion=0",
        "/api/v1/nodes/x",
    ]


def test_lists_are_read_in_pages() -> None:
    page = {"metadata": {"resourceVersion": "5", "continue": "more"}, "items": [{"metadata": {"name": "a"}}]}
    last = {"metadata": {"resourceVersion": "6"}, "items": [{"metadata": {"name": "b"}}, {"spec": 7}]}
    answers = _Answers(page, last)
    jobs = SyncClientset(SyncClient(answers)).batch_v1alpha1.jobs
    found = jobs.list("n", label_selector="a=b", page_size=1)
    assert [job.metadata.name for job in found.items] == ["a", "b"]
    assert (found.resource_version, len(found.unreadable)) == ("6", 1)
    assert answers.requests[1].query == {"labelSelector": "a=b", "limit": "1", "continue": "more"}


def test_one_page_may_span_all_namespaces() -> None:
    answers = _Answers({"items": []}, {"items": []})
    clients = SyncClientset(SyncClient(answers))
    clients.batch_v1alpha1.jobs.list_page(field_selector="metadata.name=j", limit=7)
    clients.core_v1.nodes.list_page(resource_version="0", resource_version_match="NotOlderThan")
    assert [request.target for request in answers.requests] == [
        "/apis/batch.volcano.sh/v1alpha1/jobs?fieldSelector=metadata.name%3Dj&limit=7",
        "/api/v1/nodes?limit=500&resourceVersion=0&resourceVersionMatch=NotOlderThan",
    ]


def test_a_watch_gives_typed_changes() -> None:
    class Line(_Answers):
        def stream(self, request: Request) -> Any:
            self.requests.append(request)
            return nullcontext(iter([b'{"type":"ADDED","object":{"metadata":{"name":"j"}}}']))

    lines = Line()
    changes = list(SyncClientset(SyncClient(lines)).batch_v1alpha1.jobs.watch("n", resource_version="5", seconds=9))
    assert [(change.type, change.object.metadata.name) for change in changes] == [("ADDED", "j")]
    assert lines.requests[0].query["resourceVersion"] == "5"
    assert lines.requests[0].query["timeoutSeconds"] == "9"


def groups(clients: Clientset | SyncClientset) -> dict[str, Any]:
    names = [name for name in dir(type(clients)) if not name.startswith("_")]
    return {name: getattr(clients, name) for name in names}


def test_only_kinds_with_the_subresource_have_status_verbs() -> None:
    for clients in (Clientset(Recorder()), SyncClientset(SyncRecorder())):
        for group in groups(clients).values():
            for name, kind in vars(group).items():
                assert all(hasattr(kind, verb) == kind.resource.has_status for verb in STATUS_VERBS), name
    assert not hasattr(SyncClientset(SyncRecorder()).scheduling_v1beta1.pod_groups, "update_status")


def test_both_clientsets_hold_the_same_kinds() -> None:
    plain, sync = groups(Clientset(Recorder())), groups(SyncClientset(SyncRecorder()))
    kinds = {name: {key: kind.resource for key, kind in vars(group).items()} for name, group in plain.items()}
    assert kinds == {name: {key: kind.resource for key, kind in vars(group).items()} for name, group in sync.items()}
    assert kinds["batch_v1alpha1"]["jobs"] is JOBS


@pytest.mark.parametrize("name", ["NamespacedVerbs", "NamespacedStatusVerbs", "ClusterVerbs", "ClusterStatusVerbs"])
def test_the_twins_have_the_same_signatures(name: str) -> None:
    plain, sync = getattr(verbs, name), getattr(verbs_sync, name)
    methods = {key for key in dir(plain) if not key.startswith("_")}
    assert methods == {key for key in dir(sync) if not key.startswith("_")}
    for method in methods:
        first, second = (inspect.signature(getattr(kind, method)) for kind in (plain, sync))
        assert list(first.parameters.values()) == list(second.parameters.values()), method


@pytest.mark.parametrize("name", ["NamespacedVerbs", "ClusterVerbs"])
def test_every_option_of_the_client_is_offered(name: str) -> None:
    """An option that the untyped client learns must not be missing here."""
    offered = getattr(verbs, name)
    left_out = {"self", "resource", "namespace", "subresource", "decode"}
    for verb in ("get", "list", "list_page", "create", "patch", "apply", "delete", "delete_collection"):
        wanted = set(inspect.signature(getattr(Client, verb)).parameters) - left_out
        assert wanted <= set(inspect.signature(getattr(offered, verb)).parameters), verb


def test_a_group_version_is_imported_when_asked_for() -> None:
    script = (
        "import sys; from generated.clients.clientset_sync import SyncClientset; before = set(sys.modules)\n"
        "assert not any(name.startswith(('generated.batch', 'generated.core')) for name in before), before\n"
        "SyncClientset(None).batch_v1alpha1.jobs\n"
        "assert not {'aiohttp', 'generated.apply.batch.v1alpha1', 'runtime.client'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


def test_changes_are_iterated_as_the_client_gives_them() -> None:
    assert isinstance(Clientset(Recorder()).batch_v1alpha1.jobs.watch(), AsyncIterator)
    assert isinstance(SyncClientset(SyncRecorder()).core_v1.nodes.watch(), Iterator)

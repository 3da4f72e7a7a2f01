from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from runtime import patches
from runtime.client import Client
from runtime.client_sync import SyncClient
from runtime.errors import Conflict, ConnectionFailed, NotFound, from_status
from runtime.patches import JsonPatch, MergePatch, StrategicPatch
from runtime.recorder import ReadFromRecorder, Recorder, SyncRecorder, Write, WriteLog
from runtime.requests import Priority, Request
from runtime.resource import Resource
from runtime.wire import Status
from tests.things import THINGS, Meta, Thing

NODES: Resource[Thing] = Resource("", "v1", "Node", "nodes", Thing, namespaced=False)
NAMESPACES: Resource[Thing] = Resource("", "v1", "Namespace", "namespaces", Thing, namespaced=False)
PODS: Resource[Thing] = Resource("", "v1", "Pod", "pods", Thing)
THING = Thing(metadata=Meta(name="a", namespace="n"))
CONFLICT = from_status(Status(code=409, reason="Conflict", message="changed"))


def only(recorder: Recorder | SyncRecorder) -> Write:
    assert len(recorder.writes) == 1
    return recorder.writes[0]


Act = Callable[[SyncClient], Any]

WRITES: list[tuple[str, Act, tuple[str, str, str, str, str]]] = [
    ("create", lambda c: c.create(THINGS, THING), ("create", THINGS.qualified_name, "n", "a", "")),
    ("create in a namespace", lambda c: c.create(THINGS, {"metadata": {"name": "b"}}, "m"),
     ("create", THINGS.qualified_name, "m", "b", "")),
    ("create of a cluster's", lambda c: c.create(NODES, {"metadata": {"name": "x"}}), ("create", "nodes", "", "x", "")),
    ("bind", lambda c: c.create_subresource(PODS, "a", "n", "binding", {"target": {"name": "x"}}),
     ("create", "pods", "n", "a", "binding")),
    ("update", lambda c: c.update(THINGS, THING), ("update", THINGS.qualified_name, "n", "a", "")),
    ("update of status", lambda c: c.update(THINGS, THING, subresource="status"),
     ("update", THINGS.qualified_name, "n", "a", "status")),
    ("patch", lambda c: c.patch(THINGS, "a", "n", MergePatch({"spec": {"size": 1}})),
     ("patch", THINGS.qualified_name, "n", "a", "")),
    ("apply", lambda c: c.apply(THINGS, "a", "n", THING, field_manager="me"),
     ("apply", THINGS.qualified_name, "n", "a", "")),
    ("delete", lambda c: c.delete(THINGS, "a", "n"), ("delete", THINGS.qualified_name, "n", "a", "")),
    ("delete a node", lambda c: c.delete(NODES, "x"), ("delete", "nodes", "", "x", "")),
    ("delete all", lambda c: c.delete_collection(THINGS, "n"), ("delete_collection", THINGS.qualified_name, "n", "", "")),
    ("delete everywhere", lambda c: c.delete_collection(THINGS), ("delete_collection", THINGS.qualified_name, "", "", "")),
    ("a namespace", lambda c: c.delete(NAMESPACES, "n"), ("delete", "namespaces", "", "n", "")),
    ("a namespace's status", lambda c: c.patch(NAMESPACES, "n", None, MergePatch({}), subresource="status"),
     ("patch", "namespaces", "", "n", "status")),
    ("a name to be quoted", lambda c: c.delete(NODES, "a b:c"), ("delete", "nodes", "", "a b:c", "")),
]  # fmt: skip


@pytest.mark.parametrize(("act", "expected"), [row[1:] for row in WRITES], ids=[row[0] for row in WRITES])
def test_a_write_is_noted_with_its_address(act: Act, expected: tuple[str, ...]) -> None:
    recorder = SyncRecorder()
    act(recorder)
    write = only(recorder)
    assert (write.verb, write.resource, write.namespace, write.name, write.subresource) == expected


def test_a_create_carries_the_object_as_the_server_would_get_it() -> None:
    recorder = SyncRecorder()
    recorder.create(THINGS, THING, field_manager="me", dry_run=True, priority=Priority.EVENT)
    write = only(recorder)
    assert write.body == {
        "apiVersion": THINGS.api_version,
        "kind": THINGS.kind,
        "metadata": {"name": "a", "namespace": "n"},
    }
    assert (write.field_manager, write.is_dry_run, write.priority) == ("me", True, Priority.EVENT)
    assert str(write) == f"create {THINGS.qualified_name} n/a"


def test_an_apply_tells_manager_and_force() -> None:
    recorder = SyncRecorder()
    recorder.apply(THINGS, "a", "n", THING, field_manager="me", force=True)
    recorder.apply(THINGS, "a", "n", THING, field_manager="me", subresource="status")
    first, second = recorder.writes
    assert (first.field_manager, first.is_forced) == ("me", True)
    assert (second.is_forced, second.is_dry_run, str(second)) == (
        False,
        False,
        f"apply {THINGS.qualified_name}/status n/a",
    )


@pytest.mark.parametrize(
    ("patch", "media_type", "body"),
    [
        (
            JsonPatch([patches.add("/spec/size", 2)]),
            JsonPatch.media_type,
            [{"op": "add", "path": "/spec/size", "value": 2}],
        ),
        (MergePatch({"spec": {"size": None}}), MergePatch.media_type, {"spec": {"size": None}}),
        (StrategicPatch({"spec": {}}), StrategicPatch.media_type, {"spec": {}}),
    ],
)
def test_a_patch_keeps_its_type_and_body(patch: Any, media_type: str, body: Any) -> None:
    recorder = SyncRecorder()
    recorder.patch(THINGS, "a", "n", patch)
    assert (only(recorder).media_type, only(recorder).body) == (media_type, body)


def test_a_delete_tells_its_options() -> None:
    recorder = SyncRecorder()
    recorder.delete(THINGS, "a", "n", uid="u", propagation="Foreground", grace_period=0, dry_run=True)
    write = only(recorder)
    assert write.body["preconditions"] == {"uid": "u"}
    assert (write.body["propagationPolicy"], write.body["gracePeriodSeconds"], write.is_dry_run) == (
        "Foreground",
        0,
        True,
    )
    recorder.delete(THINGS, "a", "n")
    assert not recorder.writes[1].is_dry_run


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda c: c.create(THINGS, THING), THING),
        (lambda c: c.create(THINGS, {"metadata": {"name": "b"}}, "m"), Thing(metadata=Meta(name="b", namespace="m"))),
        (lambda c: c.update(THINGS, THING), THING),
        (lambda c: c.patch(THINGS, "a", "n", MergePatch({"metadata": {"labels": {"x": "y"}}})),
         Thing(metadata=Meta(name="a", namespace="n", labels={"x": "y"}))),
        (lambda c: c.patch(THINGS, "a", "n", MergePatch({"spec": {}})), THING),
        (lambda c: c.patch(THINGS, "a", "n", JsonPatch([patches.remove("/spec")])), THING),
        (lambda c: c.patch(NODES, "a", None, JsonPatch([])), Thing(metadata=Meta(name="a"))),
        (lambda c: c.delete(THINGS, "a", "n"), None),
        (lambda c: c.delete_collection(THINGS, "n"), None),
    ],
)  # fmt: skip
def test_the_answer_is_what_was_sent(act: Act, expected: Any) -> None:
    answer = act(SyncRecorder())
    if expected is None:
        assert answer is None
    else:
        assert answer.metadata == expected.metadata


def test_a_subresource_answers_success() -> None:
    assert b'"Success"' in SyncRecorder().create_subresource(PODS, "a", "n", "eviction", {})


READS: list[tuple[str, Act]] = [
    ("things", lambda c: c.get(THINGS, "a", "n")),
    ("things", lambda c: c.list(THINGS)),
    ("things", lambda c: c.list_page(THINGS, "n")),
    ("/version", lambda c: c.server_version()),
    ("watch of things", lambda c: next(iter(c.changes(THINGS)))),
]


@pytest.mark.parametrize(("what", "act"), READS)
def test_a_read_says_to_fill_a_lister(what: str, act: Act) -> None:
    recorder = SyncRecorder()
    with pytest.raises(ReadFromRecorder, match=f"{what}.* lister"):
        act(recorder)
    assert not recorder.writes


async def test_an_async_read_says_to_fill_a_lister() -> None:
    recorder = Recorder()
    with pytest.raises(ReadFromRecorder, match="lister"):
        await recorder.get(THINGS, "a", "n")
    with pytest.raises(ReadFromRecorder, match="watch of things"):
        async with recorder.watch(THINGS):
            pytest.fail("a watch was opened")
    with pytest.raises(ReadFromRecorder, match="watch of things"):
        await anext(recorder.changes(THINGS))


async def test_the_async_client_is_recorded_alike() -> None:
    recorder = Recorder()
    assert await recorder.create(THINGS, THING) == Thing(
        api_version=THINGS.api_version, kind=THINGS.kind, metadata=THING.metadata
    )
    await recorder.delete(THINGS, "a", "n")
    assert [str(write) for write in recorder.writes] == [
        f"create {THINGS.qualified_name} n/a",
        f"delete {THINGS.qualified_name} n/a",
    ]


def test_a_write_that_the_real_client_refuses_is_refused_here() -> None:
    recorder = SyncRecorder()
    with pytest.raises(ValueError, match="namespace"):
        recorder.delete(THINGS, "a")
    with pytest.raises(ValueError, match="expected"):
        recorder.create(THINGS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, "n")
    assert not recorder.writes


def test_a_planned_failure_hits_the_nth_match_once() -> None:
    recorder = SyncRecorder()
    recorder.log.fail(CONFLICT, "update", THINGS, name="a", skip=1)
    recorder.update(THINGS, THING)
    recorder.create(THINGS, THING)
    with pytest.raises(Conflict):
        recorder.update(THINGS, THING)
    recorder.update(THINGS, THING)
    assert len(recorder.writes) == 4


@pytest.mark.parametrize(
    "selection",
    [
        {"verb": "delete"},
        {"resource": NODES},
        {"namespace": "m"},
        {"name": "b"},
        {"subresource": "status"},
    ],
)
def test_a_plan_for_other_writes_does_nothing(selection: dict[str, Any]) -> None:
    recorder = SyncRecorder()
    recorder.log.fail(CONFLICT, times=None, **selection)
    recorder.update(THINGS, THING)


def test_a_plan_without_an_end_hits_every_match() -> None:
    recorder = SyncRecorder()
    recorder.log.fail(ConnectionFailed("no answer"), subresource="status", times=None)
    for _ in range(3):
        with pytest.raises(ConnectionFailed):
            recorder.update(THINGS, THING, subresource="status")
    recorder.update(THINGS, THING)


def test_the_earliest_plan_counts() -> None:
    recorder = SyncRecorder()
    recorder.log.fail(CONFLICT)
    recorder.log.fail(from_status(Status(code=404, reason="NotFound")))
    with pytest.raises(Conflict):
        recorder.update(THINGS, THING)
    with pytest.raises(NotFound):
        recorder.update(THINGS, THING)
    recorder.update(THINGS, THING)


def test_an_answer_can_be_given() -> None:
    recorder = SyncRecorder()
    stored = Thing(metadata=Meta(name="a-x7", namespace="n", uid="u"))
    recorder.log.answer(stored, "create", THINGS)
    assert recorder.create(THINGS, THING).metadata.uid == "u"
    assert recorder.create(THINGS, THING).metadata.uid == ""


def test_writes_are_found_by_what_they_are() -> None:
    recorder = SyncRecorder()
    recorder.create(THINGS, THING)
    recorder.delete(THINGS, "a", "n")
    recorder.delete(NODES, "x")
    log = recorder.log
    assert [str(write) for write in log.find("delete")] == [f"delete {THINGS.qualified_name} n/a", "delete nodes x"]
    assert [write.verb for write in log.find(resource=THINGS, name="a")] == ["create", "delete"]
    assert log.find(namespace="") == [recorder.writes[2]]
    assert log.find() == recorder.writes


def test_the_guard_is_asked_before_each_write() -> None:
    class LeaseError(Exception):
        pass

    def guard() -> None:
        raise LeaseError

    recorder = SyncRecorder(guard=guard)
    with pytest.raises(LeaseError):
        recorder.create(THINGS, THING)
    assert not recorder.writes


def test_a_log_takes_only_writes() -> None:
    with pytest.raises(ReadFromRecorder, match="/readyz"):
        WriteLog().take(Request(method="GET", path="/readyz"))


def test_a_recorder_is_a_client() -> None:
    assert issubclass(Recorder, Client)
    assert issubclass(SyncRecorder, SyncClient)
    assert isinstance(Recorder().changes(THINGS), AsyncIterator)
    assert isinstance(SyncRecorder().changes(THINGS), Iterator)

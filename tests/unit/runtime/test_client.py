from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from runtime import errors
from runtime.client import Client
from runtime.kubeconfig import ClientConfig
from runtime.objects import Key
from runtime.patches import MergePatch, StrategicPatch
from runtime.requests import Priority
from runtime.retry import RetryPolicy
from runtime.transport import Transport
from tests.scripted_server import Answer, ScriptedServer, answer, drop, failure, stream
from tests.things import THINGS, ZONES, Meta, Thing, ThingSpec

pytestmark = pytest.mark.virtual_time

PATH = "/apis/example.org/v1/namespaces/n/things"
A = Thing(metadata=Meta(name="a", namespace="n", resource_version="5"), spec=ThingSpec(size=1))


@asynccontextmanager
async def serving(*answers: Answer, **options: Any) -> AsyncIterator[tuple[Client, ScriptedServer]]:
    patience = RetryPolicy(attempts=3)
    async with (
        ScriptedServer(*answers) as server,
        Transport(ClientConfig(server=server.url), retry=patience) as transport,
    ):
        yield Client(transport, **options), server


def page(*names: str, version: str = "9", continue_: str = "", **extra: Any) -> bytes:
    items = [{"metadata": {"name": name, "namespace": "n"}} for name in names]
    return answer(
        200, {"metadata": {"resourceVersion": version, "continue": continue_}, "items": [*items, *extra.values()]}
    )


async def test_get_reads_the_model() -> None:
    async with serving(answer(200, A)) as (client, server):
        assert await client.get(THINGS, "a", "n", resource_version="0") == A
    assert server.received[0].target == f"{PATH}/a?resourceVersion=0"


async def test_a_failure_is_the_servers_error() -> None:
    async with serving(failure(404, "NotFound", 'things.example.org "a" not found')) as (client, _):
        with pytest.raises(errors.NotFound, match=r'^things\.example\.org "a" not found$'):
            await client.get(THINGS, "a", "n")


async def test_an_answer_that_does_not_fit_the_model_is_named() -> None:
    async with serving(answer(200, {"metadata": {"name": "a"}, "spec": 7})) as (client, _):
        with pytest.raises(errors.DecodeError, match=r"^Thing a: spec: Expected"):
            await client.get(THINGS, "a", "n")


async def test_a_page_is_read_with_its_unreadable_objects() -> None:
    bad = {"metadata": {"name": "bad", "namespace": "n"}, "spec": 7}
    async with serving(page("a", continue_="t", bad=bad)) as (client, _):
        found = await client.list_page(THINGS, "n", limit=2)
    assert [thing.metadata.name for thing in found.items] == ["a"]
    assert [unreadable.key for unreadable in found.unreadable] == [Key("n", "bad")]
    assert (found.resource_version, found.continue_) == ("9", "t")


async def test_a_page_may_have_its_own_decoder() -> None:
    async with serving(page("a", "b")) as (client, _):
        found = await client.list_page(THINGS, "n", decode=lambda raw: Thing(kind=str(len(raw))))
    assert [thing.kind for thing in found.items] == ["41", "41"]


async def test_a_list_follows_its_pages() -> None:
    async with serving(page("a", "b", continue_="t1"), page("c", continue_="t2"), page("d")) as (client, server):
        found = await client.list(THINGS, "n", label_selector="x=y", page_size=2)
    assert [thing.metadata.name for thing in found.items] == ["a", "b", "c", "d"]
    assert found.resource_version == "9"
    assert [received.target.partition("limit=")[2] for received in server.received] == [
        "2",
        "2&continue=t1",
        "2&continue=t2",
    ]
    assert all("labelSelector=x%3Dy" in received.target for received in server.received)


EXPIRED = failure(410, "Expired", "The provided continue parameter is too old")


async def test_a_list_that_expires_starts_over_and_then_goes_without_pages() -> None:
    script = (
        page("old", continue_="t1", version="5"),
        EXPIRED,
        page("a", continue_="t2"),
        EXPIRED,
        page("a", "b", version="11"),
    )
    async with serving(*script) as (client, server):
        found = await client.list(THINGS, "n")
    assert [thing.metadata.name for thing in found.items] == ["a", "b"]
    assert found.resource_version == "11"
    assert server.received[-1].target == PATH


async def test_a_list_that_is_gone_from_the_start_is_the_callers() -> None:
    async with serving(EXPIRED) as (client, server):
        with pytest.raises(errors.Gone):
            await client.list(THINGS, "n")
    assert len(server.received) == 1


async def test_create_fills_the_type_and_gives_the_stored_object() -> None:
    async with serving(answer(201, A)) as (client, server):
        assert await client.create(THINGS, Thing(metadata=Meta(name="a")), "n", field_manager="me", dry_run=True) == A
    (received,) = server.received
    assert (received.method, received.target) == ("POST", f"{PATH}?fieldManager=me&dryRun=All")
    assert received.json() == {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}}


async def test_a_subresource_is_created_with_its_own_type() -> None:
    body = {"apiVersion": "v1", "kind": "Binding", "target": {"name": "node"}}
    async with serving(answer(201, b'{"kind":"Status"}')) as (client, server):
        found = await client.create_subresource(THINGS, "a", "n", "binding", body, priority=Priority.BIND)
    assert found == b'{"kind":"Status"}'
    assert (server.received[0].target, server.received[0].json()) == (f"{PATH}/a/binding", body)


async def test_update_puts_the_object_under_its_name() -> None:
    async with serving(answer(200, A)) as (client, server):
        assert await client.update(THINGS, A, subresource="status") == A
    (received,) = server.received
    assert (received.method, received.target) == ("PUT", f"{PATH}/a/status")
    assert received.json()["metadata"]["resourceVersion"] == "5"


async def test_patches_go_with_their_media_type() -> None:
    async with serving(answer(200, A)) as (client, server):
        assert await client.patch(THINGS, "a", "n", MergePatch({"x": 1}), field_manager="me") == A
        await client.patch(THINGS, "a", "n", StrategicPatch({"y": 1}), subresource="status")
    first, second = server.received
    assert (first.method, first.target, first.json()) == ("PATCH", f"{PATH}/a?fieldManager=me", {"x": 1})
    assert first.headers["content-type"] == "application/merge-patch+json"
    assert second.target == f"{PATH}/a/status"
    assert second.headers["content-type"] == "application/strategic-merge-patch+json"


async def test_apply_names_its_manager() -> None:
    async with serving(answer(200, A)) as (client, server):
        assert await client.apply(THINGS, "a", "n", {"spec": {}}, field_manager="me", force=True) == A
    (received,) = server.received
    assert received.target == f"{PATH}/a?fieldManager=me&force=true"
    assert received.headers["content-type"] == "application/apply-patch+yaml"
    named = {"metadata": {"name": "a"}}
    assert received.json() == {"apiVersion": "example.org/v1", "kind": "Thing", "spec": {}, **named}


async def test_delete_says_its_conditions() -> None:
    async with serving(answer(200, b'{"kind":"Status","status":"Success"}')) as (client, server):
        await client.delete(ZONES, "z", uid="u", propagation="Background", grace_period=5)
    (received,) = server.received
    assert (received.method, received.target) == ("DELETE", "/apis/example.org/v1/zones/z")
    assert received.json() == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u"},
        "propagationPolicy": "Background",
        "gracePeriodSeconds": 5,
    }


async def test_a_delete_whose_answer_was_lost_succeeds_when_the_object_is_gone() -> None:
    async with serving(drop, failure(404, "NotFound")) as (client, server):
        await client.delete(THINGS, "a", "n", uid="u")
    assert len(server.received) == 2


async def test_a_delete_of_nothing_is_not_found() -> None:
    async with serving(failure(404, "NotFound")) as (client, _):
        with pytest.raises(errors.NotFound):
            await client.delete(THINGS, "a", "n", uid="u")


async def test_a_collection_is_deleted_by_selector() -> None:
    async with serving(answer(200, b"{}")) as (client, server):
        await client.delete_collection(THINGS, "n", label_selector="a=b", propagation="Foreground")
    assert server.received[0].target == f"{PATH}?labelSelector=a%3Db"


def event(kind: str, obj: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "object": obj}) + b"\n"


async def test_a_watch_gives_raw_lines() -> None:
    script = stream(event("ADDED", A), event("DELETED", A))
    async with (
        serving(script) as (client, server),
        client.watch(THINGS, "n", resource_version="9", timeout=60) as lines,
    ):
        assert [line async for line in lines] == [event("ADDED", A)[:-1], event("DELETED", A)[:-1]]
    assert server.received[0].target == f"{PATH}?watch=1&timeoutSeconds=60&resourceVersion=9&allowWatchBookmarks=true"


async def test_changes_are_typed_and_end_with_the_watch() -> None:
    async with serving(stream(event("ADDED", A), event("DELETED", A))) as (client, server):
        changes = [change async for change in client.changes(THINGS, "n", field_selector="x=y", seconds=5)]
    assert [(change.type, change.object) for change in changes] == [("ADDED", A), ("DELETED", A)]
    assert server.received[0].target == f"{PATH}?watch=1&timeoutSeconds=5&fieldSelector=x%3Dy"


async def test_an_expired_watch_is_gone_by_answer_or_by_event() -> None:
    by_event = stream(event("ERROR", {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"}))
    for script in (EXPIRED, by_event):
        async with serving(script) as (client, _):
            with pytest.raises(errors.Gone):
                _ = [change async for change in client.changes(THINGS, "n")]


async def test_the_server_tells_its_version_and_its_health() -> None:
    async with serving(answer(200, {"major": "1", "minor": "36+", "gitVersion": "v1.36.1"}), answer(200, b"ok")) as (
        client,
        server,
    ):
        version = await client.server_version()
        assert (version.major, version.minor, version.git_version) == ("1", "36+", "v1.36.1")
        assert await client.raw("/readyz", {"verbose": "1"}) == b"ok"
    assert [received.target for received in server.received] == ["/version", "/readyz?verbose=1"]


async def test_what_a_version_serves_can_be_asked() -> None:
    served = {
        "groupVersion": "v1",
        "resources": [{"name": "pods/eviction", "group": "policy", "version": "v1", "kind": "Eviction"}],
    }
    async with serving(answer(200, served), answer(404, b"404 page not found")) as (client, server):
        (eviction,) = await client.api_resources("v1")
        assert (eviction.name, eviction.group, eviction.kind) == ("pods/eviction", "policy", "Eviction")
        assert await client.api_resources("example.org/v2") == ()
    assert [received.target for received in server.received] == ["/api/v1", "/apis/example.org/v2"]


class LeaseLost(Exception):  # noqa: N818
    pass


def lost() -> None:
    raise LeaseLost


WRITES = {
    "create": lambda client: client.create(THINGS, {}, "n"),
    "create_subresource": lambda client: client.create_subresource(THINGS, "a", "n", "binding", {}),
    "update": lambda client: client.update(THINGS, A),
    "patch": lambda client: client.patch(THINGS, "a", "n", MergePatch({})),
    "apply": lambda client: client.apply(THINGS, "a", "n", {}, field_manager="me"),
    "delete": lambda client: client.delete(THINGS, "a", "n"),
    "delete_collection": lambda client: client.delete_collection(THINGS, "n"),
}


@pytest.mark.parametrize("verb", WRITES)
async def test_no_write_leaves_a_process_that_lost_its_lease(verb: str) -> None:
    async with serving(answer(200, b"{}"), guard=lost) as (client, server):
        with pytest.raises(LeaseLost):
            await WRITES[verb](client)
    assert server.received == []


async def test_reads_need_no_lease() -> None:
    async with serving(answer(200, A), page(), stream(), guard=lost) as (client, _):
        await client.get(THINGS, "a", "n")
        await client.list(THINGS)
        async with client.watch(THINGS) as lines:
            assert [line async for line in lines] == []


async def test_a_client_serves_many_at_once() -> None:
    async with serving(answer(200, A)) as (client, server):
        found = await asyncio.gather(*(client.get(THINGS, str(number), "n") for number in range(300)))
    assert found == [A] * 300
    assert server.connections <= 96

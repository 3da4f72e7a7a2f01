from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from runtime import errors
from runtime.client import Client
from runtime.client_sync import SyncClient
from runtime.kubeconfig import ClientConfig
from runtime.patches import MergePatch
from runtime.transport_sync import SyncTransport
from tests.scripted_server import Answer, ScriptedServer, answer, failure, stream
from tests.things import THINGS, Meta, Thing

A = Thing(metadata=Meta(name="a", namespace="n", resource_version="5"))


def public(kind: type) -> dict[str, Callable[..., Any]]:
    return {name: member for name, member in vars(kind).items() if inspect.isfunction(member) and name[0] != "_"}


def test_both_clients_have_the_same_verbs() -> None:
    assert list(public(SyncClient)) == list(public(Client))


@pytest.mark.parametrize("verb", public(Client))
def test_a_verb_takes_the_same_arguments_in_both(verb: str) -> None:
    ours, theirs = (inspect.signature(public(kind)[verb]) for kind in (SyncClient, Client))
    assert ours.parameters == theirs.parameters


@pytest.mark.parametrize("verb", sorted({*public(Client), "_send"} - {"watch"}))
def test_a_verb_does_the_same_in_both(verb: str) -> None:
    """The bodies are equal but for the words of asynchrony, so that a repair of one can't miss the other."""

    def body(kind: type) -> str:
        source = inspect.getsource(getattr(kind, verb))
        source = re.sub(r"\basync (?=def|for|with)|\bawait ", "", source)
        source = re.sub(r"\(self\._send\(([^()]|\([^()]*\))*\)\)", lambda match: match[0][1:-1], source)
        source = re.sub(r"AsyncGenerator\[(.*), None\]", r"Iterator[\1]", source)
        return re.sub(r"\s|,(?=\s*\))", "", source)

    assert body(SyncClient) == body(Client)


async def ask(
    run: Callable[[SyncClient], Any], *answers: Answer, guard: Callable[[], None] | None = None
) -> tuple[Any, ScriptedServer]:
    async with ScriptedServer(*answers) as server:
        with SyncTransport(ClientConfig(server=server.url)) as transport:
            return await asyncio.to_thread(run, SyncClient(transport, guard=guard)), server


async def test_objects_are_read_and_written() -> None:
    def run(client: SyncClient) -> list[Thing]:
        return [
            client.get(THINGS, "a", "n"),
            client.create(THINGS, A),
            client.update(THINGS, A),
            client.patch(THINGS, "a", "n", MergePatch({})),
            client.apply(THINGS, "a", "n", {}, field_manager="me"),
        ]

    found, server = await ask(run, answer(200, A))
    assert found == [A] * 5
    assert [received.method for received in server.received] == ["GET", "POST", "PUT", "PATCH", "PATCH"]
    assert server.connections == 1


async def test_lists_are_put_together() -> None:
    first = answer(200, {"metadata": {"resourceVersion": "1", "continue": "t"}, "items": [A]})
    second = answer(200, {"metadata": {"resourceVersion": "1"}, "items": [A]})
    found, _ = await ask(lambda client: client.list(THINGS), first, second)
    assert found.items == (A, A)


async def test_changes_come_one_by_one() -> None:
    lines = b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n{"type":"DELETED","object":{}}\n'
    found, _ = await ask(lambda client: [change.type for change in client.changes(THINGS, "n")], stream(lines))
    assert found == ["ADDED", "DELETED"]


async def test_failures_are_the_servers_errors() -> None:
    with pytest.raises(errors.NotFound, match="no such thing"):
        await ask(lambda client: client.delete(THINGS, "a", "n"), failure(404, "NotFound", "no such thing"))


async def test_the_guard_stands_before_writes_only() -> None:
    def lost() -> None:
        raise PermissionError

    found, _ = await ask(lambda client: client.get(THINGS, "a", "n"), answer(200, A), guard=lost)
    assert found == A
    with pytest.raises(PermissionError):
        await ask(lambda client: client.create(THINGS, A), answer(200, A), guard=lost)

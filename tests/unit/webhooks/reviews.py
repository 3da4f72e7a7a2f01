"""Reviews for tests: a request as the API server sends it, and the answer of a webhook class as it leaves the process."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

import msgspec

from generated.listers.scheduling_v1beta1 import QueueLister
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import Queue, QueueSpec, QueueStatus
from runtime import jsonpatch
from runtime.admission_review import Endpoint, read_review
from runtime.errors import from_status
from runtime.informers import Informers
from runtime.wire import AdmissionResponse, ObjectReference, Status
from webhooks.blueprint import Context, WebhookClass
from webhooks.options import Options
from webhooks.readers import Readers

Json = dict[str, Any]


class Server:
    """Knows some objects by name, and notes who was asked for."""

    def __init__(self, **objects: Any) -> None:
        self.objects = objects
        self.asked: list[str] = []

    async def get(self, resource: Any, name: str, namespace: str | None = None) -> Any:
        self.asked.append(name)
        await asyncio.sleep(0)
        found = self.objects.get(name)
        if isinstance(found, Exception):
            raise found
        if found is None:
            raise from_status(Status(code=404, reason="NotFound", message=f"no {resource.kind} {namespace} {name}"))
        return found


class Events:
    """Takes note of events."""

    def __init__(self) -> None:
        self.recorded: list[tuple[ObjectReference, str, str, str]] = []

    def record(self, ref: ObjectReference, kind: str, reason: str, message: str) -> None:
        self.recorded.append((ref, kind, reason, message))


def queue(name: str, *, state: str = "Open", parent: str = "root") -> Queue:
    return Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(parent=parent), status=QueueStatus(state=state))


QUEUES = (queue("default"), queue("root", parent=""), queue("closed", state="Closed"), queue("new", state=""))


class World:
    """The readers of a process over queues in its cache, and over a server."""

    def __init__(self, *queues: Queue, options: Options | None = None, server: Server | None = None) -> None:
        self.server = server or Server()
        client: Any = self.server
        readers = Readers(client, Informers(client))
        store: Any = readers.lister(QueueLister).lister
        self.queues = store
        for each in queues or QUEUES:
            self.queues.put(each)
        self.events = Events()
        self.context = Context(readers, options or Options(), clock=lambda: 1_700_000_000.0, events=self.events)

    def endpoint(self, webhook: WebhookClass) -> Endpoint[Any]:
        return Endpoint(webhook(self.context).handler())


def body(kind: Any, obj: Any, old: Any = None, **request: Any) -> bytes:
    """The bytes of a review of an object of this kind (a Resource)."""
    asked = {
        "uid": "u",
        "resource": {"group": kind.group, "version": kind.version, "resource": kind.plural},
        "operation": "CREATE" if old is None else "UPDATE",
        "namespace": "n",
        "object": obj,
        "oldObject": old,
        **request,
    }
    return msgspec.json.encode({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked})


def answer(endpoint: Endpoint[Any], text: bytes) -> AdmissionResponse:
    """The answer to a review's bytes."""
    _, request = read_review(text)
    response = endpoint.answer(request)
    return asyncio.run(_wait(response)) if isinstance(response, Awaitable) else response


async def _wait(response: Awaitable[AdmissionResponse]) -> AdmissionResponse:
    return await response


def message(response: AdmissionResponse) -> str:
    """The text of a denial, empty when it is none."""
    if response.allowed:
        return ""
    assert response.status
    return response.status.message


def operations(response: AdmissionResponse) -> list[tuple[str, str, Any]]:
    """(op, path, value) of each operation of a patch."""
    assert response.allowed
    if response.patch is msgspec.UNSET:
        assert response.patch_type is msgspec.UNSET
        return []
    patch: Any = response.patch
    raw = patch if isinstance(patch, bytes) else base64.b64decode(patch)
    return [(op["op"], op["path"], op.get("value")) for op in msgspec.json.decode(raw)]


def patched(document: Mapping[str, Any], made: Sequence[tuple[str, str, Any]]) -> Any:
    """The document with the operations applied."""
    return jsonpatch.apply(document, [{"op": op, "path": path, "value": value} for op, path, value in made])

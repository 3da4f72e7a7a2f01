"""Queues for tests, in the cache of a process and at the API server behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from api.queues import QueueTree
from generated.listers.core_v1 import NamespaceLister
from generated.listers.scheduling_v1beta1 import PodGroupLister
from generated.scheduling.v1beta1 import QUEUES, Queue
from runtime.pages import Page
from runtime.wire import AdmissionResponse
from tests.unit.webhooks.reviews import Server, World, answer, body, message
from webhooks.options import Options
from webhooks.queues.validation import QueueObjectRules, place_only

Json = dict[str, Any]


def document(name: str, parent: str = "", *, state: str = "", pods: str = "", hierarchy: str = "", **spec: Any) -> Json:
    """A queue as JSON. `hierarchy` is a path whose weights are all 1."""
    annotations = {}
    if hierarchy:
        weights = "/".join("1" for _ in hierarchy.split("/"))
        annotations = {"volcano.sh/hierarchy": hierarchy, "volcano.sh/hierarchy-weights": weights}
    status = {"state": state, "allocated": {"pods": pods} if pods else {}}
    placed = {"parent": parent} if parent else {}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": {**placed, **spec}, "status": status}


def queue(name: str, parent: str = "", **settings: Any) -> Queue:
    """The same as an object."""
    return msgspec.convert(document(name, parent, **settings), Queue)


def tree(*queues: Queue) -> QueueTree:
    """As admission sees it."""
    return QueueTree(queues, orphans_under_root=False)


class ListServer(Server):
    """Gives lists of queues, too, and counts them: what `queues` says, or else what the cache has."""

    def __init__(self, **objects: Any) -> None:
        super().__init__(**objects)
        self.queues: Sequence[Queue] | None = None
        self.cached: Any = ()
        self.lists = 0
        self.failure: Exception | None = None

    async def list(self, resource: Any) -> Page[Queue]:
        assert resource is QUEUES
        self.lists += 1
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        return Page(tuple(self.cached if self.queues is None else self.queues), "1")


class Answer(NamedTuple):
    """What the user reads."""

    message: str
    warnings: tuple[str, ...]


class Queues(World):
    """A world of these queues, or of `root` and `default`."""

    def __init__(self, *queues: Queue, options: Options | None = None, **objects: Any) -> None:
        self.lists = ListServer(**objects)
        super().__init__(*(queues or (queue("root"), queue("default", "root"))), options=options, server=self.lists)
        self.lists.cached = self.queues
        groups: Any = self.context.readers.lister(PodGroupLister, transform=place_only).lister
        namespaces: Any = self.context.readers.lister(NamespaceLister).lister
        self.groups, self.namespaces = groups, namespaces

    def ask(self, obj: Any, old: Any = None, **request: Any) -> Answer:
        """The answer of `/queues/validate`."""
        return read(answer(self.endpoint(QueueObjectRules), body(QUEUES, obj, old, **request)))

    def delete(self, old: Any, name: str = "", **request: Any) -> Answer:
        """The answer to a deletion."""
        name = name or ((old or {}).get("metadata") or {}).get("name", "")
        return self.ask(None, old, operation="DELETE", name=name, **request)


def read(response: AdmissionResponse) -> Answer:
    """Message and warnings of a response."""
    warnings = () if response.warnings is msgspec.UNSET else tuple(response.warnings)
    return Answer(message(response), warnings)

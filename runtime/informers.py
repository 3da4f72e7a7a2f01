"""
One cache a kind, shared by everybody in the process.

Controllers and webhooks ask here for the informers that they need; two who ask for the same kind and selection get the
same one, so each object is watched, decoded and held once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from runtime.cache import Transform
from runtime.client import Client
from runtime.event_reader import Decoder
from runtime.informer import Informer
from runtime.lister import Indexer
from runtime.objects import Object
from runtime.reflector import Scope
from runtime.resource import Resource

T = TypeVar("T", bound=Object)


class _Shared(NamedTuple):
    informer: Informer[Any]
    settings: tuple[Any, ...]


class Informers:
    """The informers of a process, on one client."""

    def __init__(self, client: Client, *, resync: float | None = None) -> None:
        """`resync`, in seconds, has all objects repeated to the handlers as updates; None for never."""
        self._client = client
        self._resync = resync
        self._shared: dict[tuple[str, str, Scope], _Shared] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def of(
        self,
        resource: Resource[T],
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        indexers: Mapping[str, Indexer[T]] | None = None,
        transform: Transform[T] | None = None,
        decoder: Decoder[T] | None = None,
    ) -> Informer[T]:
        """
        The informer of a kind and selection, made at the first call. While `run` runs, a new one starts at once.

        Indexes add up. Raises ValueError when an earlier caller asked for the same objects in another form:
        another model, transform or decoder, or an index of the same name with another function.
        """
        scope = Scope(namespace, label_selector, field_selector)
        settings = (resource.model, transform, decoder)
        shared = self._shared.get((resource.qualified_name, resource.version, scope))
        if shared is None:
            informer = self._make(resource, scope, transform, decoder)
            shared = self._shared[resource.qualified_name, resource.version, scope] = _Shared(informer, settings)
            if self._tasks is not None:
                self._tasks.create_task(informer.run(), name=f"informer {resource.qualified_name}")
        elif shared.settings != settings:
            raise ValueError(f"{resource.qualified_name} is shared already with another model, transform or decoder")
        shared.informer.add_indexers(indexers or {})
        return shared.informer

    def __iter__(self) -> Iterator[Informer[Any]]:
        return iter([shared.informer for shared in self._shared.values()])

    @property
    def has_synced(self) -> bool:
        """Whether every informer asked for so far has its first list, delivered to every handler."""
        return all(informer.has_synced for informer in self)

    async def wait_synced(self) -> None:
        """Wait until `has_synced`, for those that are asked for meanwhile, too."""
        while not self.has_synced:
            await asyncio.gather(*(informer.wait_synced() for informer in self))

    async def run(self) -> None:
        """Run all informers, and those asked for later, until cancelled. One that fails takes the others with it."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            try:
                for informer in self:
                    tasks.create_task(informer.run(), name=f"informer {informer.resource.qualified_name}")
                await asyncio.get_running_loop().create_future()
            finally:
                self._tasks = None

    def _make(
        self, resource: Resource[T], scope: Scope, transform: Transform[T] | None, decoder: Decoder[T] | None
    ) -> Informer[T]:
        return Informer(
            self._client,
            resource,
            namespace=scope.namespace,
            label_selector=scope.label_selector,
            field_selector=scope.field_selector,
            transform=transform,
            decoder=decoder,
            resync=self._resync,
        )

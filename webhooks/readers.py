"""
What admission handlers look at beside the object: listers, and one live read where a lister knows nothing yet.

`kubectl apply` of a queue together with its jobs is daily use, and then the job is judged before the watch has told
of the queue. So a miss is looked up at the API server, bounded and shared; what isn't there is remembered for a
moment, so that a flood of jobs for a queue that doesn't exist asks once a second.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from generated.listers.base import TypedLister
from runtime.cache import Transform
from runtime.client import Client
from runtime.errors import ApiError, ConnectionFailed, DecodeError, NotFound
from runtime.informer import Informer
from runtime.informers import Informers
from runtime.model import Model
from runtime.objects import Key
from runtime.resource import Resource
from webhooks.live import LiveList

T = TypeVar("T", bound=Model)
L = TypeVar("L", bound=TypedLister[Any])

READ_SECONDS = 1.0
"""How long a live read may take."""
ABSENT_SECONDS = 1.0
"""How long an object counts as absent after the API server said so."""
MANY_ABSENT = 1000
"""Answers kept, beyond which those that are out of date are dropped."""

_Place = tuple[str, Key]
"""Qualified name of the kind, and the object's key."""


class LookupFailed(Exception):  # noqa: N818  # named for what happened, as runtime.errors are
    """The cache doesn't know the object, and the API server gave no answer: nothing can be said of it."""


class Readers:
    """The caches of the process. Belongs to its loop."""

    def __init__(self, client: Client, informers: Informers, *, seconds: float = READ_SECONDS) -> None:
        """`seconds` bounds a live read."""
        self._client = client
        self._informers = informers
        self._seconds = seconds
        self._caches: dict[str, Informer[Any]] = {}
        self._reads: dict[_Place, asyncio.Task[Any]] = {}
        self._absent: dict[_Place, float] = {}

    def lister(self, kind: type[L], transform: Transform[Any] | None = None) -> L:
        """
        A lister such as `QueueLister`; the first call for a kind starts its cache.

        `transform` slims what is held; whoever asks for the same kind must slim it in the same way.
        """
        resource = kind.RESOURCE
        informer = self._informers.of(resource, indexers=kind.INDEXERS, transform=transform)
        self._caches[resource.qualified_name] = informer
        return kind(informer.lister)

    def live(self, resource: Resource[T]) -> LiveList[T]:
        """Lists of a kind past its cache."""
        return LiveList(self._client, resource, self._seconds)

    async def find(self, resource: Resource[T], name: str, namespace: str = "") -> T | None:
        """
        The object, from the cache or else from the API server; None when there is none.

        Raises LookupFailed when the server doesn't answer in time, and ValueError for a kind without a lister.
        """
        informer = self._caches.get(resource.qualified_name)
        if informer is None:
            raise ValueError(f"no cache of {resource.qualified_name}: ask for its lister when the webhook is made")
        key = Key(namespace if resource.namespaced else "", name)
        cached: T | None = informer.lister.get(key)
        place = (resource.qualified_name, key)
        if cached is not None or self._absent.get(place, 0.0) > asyncio.get_running_loop().time():
            return cached
        read = self._reads.get(place)
        if read is None:
            read = self._reads[place] = asyncio.create_task(self._read(resource, key, place))
            read.add_done_callback(lambda _: self._reads.pop(place, None))
        found: T | None = await asyncio.shield(read)  # others may wait for it, too
        return found

    async def _read(self, resource: Resource[T], key: Key, place: _Place) -> T | None:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._client.get(resource, key.name, key.namespace or None)
        except NotFound:
            self._remember_absent(place)
            return None
        except TimeoutError as error:
            problem = f"the API server did not answer within {self._seconds:g} s"
            raise LookupFailed(f"{resource.kind} {key} is not in the cache, and {problem}") from error
        except (ApiError, ConnectionFailed, DecodeError) as error:
            raise LookupFailed(f"{resource.kind} {key} is not in the cache and can't be read: {error}") from error

    def _remember_absent(self, place: _Place) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._absent) >= MANY_ABSENT:
            self._absent = {known: until for known, until in self._absent.items() if until > now}
        self._absent[place] = now + ABSENT_SECONDS

"""
Writes what a discovery found (controllers.md 11.5).

Whether there is anything to do is asked of the cache. Before anything is written the server is asked, too: a cache that
lags would have a HyperNode of a random name made twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from controllers.hypernode.wanted import Changes, changes
from generated.clients.clientset import Clientset
from generated.topology.v1alpha1 import HyperNode
from runtime.controller import ReconcileError
from runtime.errors import AlreadyExists, ApiError, Conflict, ConnectionFailed, NotFound
from runtime.lister import Lister
from runtime.patches import MergePatch

_log = logging.getLogger(__name__)

Arrange = Callable[[Iterable[HyperNode]], Sequence[HyperNode]]
"""From the HyperNodes that exist to those wanted: names are kept where possible."""


class ApplyError(ReconcileError):
    """Some HyperNodes could not be written; the others were."""


class Writer:
    """Makes HyperNodes what a source wants them to be."""

    def __init__(self, clients: Clientset, hypernodes: Lister[HyperNode]) -> None:
        self._client = clients.topology_v1alpha1.hyper_nodes
        self._hypernodes = hypernodes

    async def apply(self, source: str, arrange: Arrange, is_current: Callable[[], bool] = lambda: True) -> None:
        """
        Write what differs, as long as `is_current`.

        Raises ApplyError when that failed for some, ApiError and ConnectionFailed when nothing could be read.
        """
        cached = self._hypernodes.list()
        if not await asyncio.to_thread(_changes, arrange, cached, source):
            return
        stored = (await self._client.list()).items
        found = await asyncio.to_thread(_changes, arrange, stored, source)
        if found.taken:
            _log.warning("hypernode names are taken source=%s names=%s", source, ",".join(found.taken))
        failed = [name for name, write in self._writes(source, found) if is_current() and not await _done(name, write)]
        if failed:
            raise ApplyError(f"{len(failed)} HyperNodes of source {source} could not be written: {', '.join(failed)}")

    def _writes(self, source: str, found: Changes) -> list[tuple[str, Callable[[], Awaitable[object]]]]:
        """Each write with the name of its object: what is made or changed before what goes."""

        def create(each: HyperNode) -> Callable[[], Awaitable[object]]:
            return lambda: self._client.create(each)

        def update(each: HyperNode, body: dict[str, object]) -> Callable[[], Awaitable[object]]:
            return lambda: self._client.patch(each.metadata.name, MergePatch(body))

        def delete(each: HyperNode) -> Callable[[], Awaitable[object]]:
            return lambda: self._client.delete(each.metadata.name, uid=each.metadata.uid)

        _log.info(
            "hypernodes.applied source=%s created=%d updated=%d deleted=%d",
            source,
            len(found.create),
            len(found.update),
            len(found.delete),
        )
        return [
            *((each.metadata.name, create(each)) for each in found.create),
            *((each.metadata.name, update(each, body)) for each, body in found.update),
            *((each.metadata.name, delete(each)) for each in found.delete),
        ]


def _changes(arrange: Arrange, existing: Sequence[HyperNode], source: str) -> Changes:
    """With thousands of nodes this takes long enough to be done beside the loop."""
    return changes(arrange(existing), existing, source)


async def _done(name: str, write: Callable[[], Awaitable[object]]) -> bool:
    """Write; whether that went well, or the object went or came meanwhile, which the next look settles."""
    try:
        await write()
    except AlreadyExists:
        _log.warning("hypernode exists already hypernode=%s", name)
        return False
    except (NotFound, Conflict):
        return True
    except (ApiError, ConnectionFailed) as error:
        _log.warning("hypernode not written hypernode=%s error=%s", name, error)
        return False
    return True

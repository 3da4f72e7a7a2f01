"""The queues that must exist before anything is scheduled (scheduler.md 4.2)."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import Queue, QueueSpec
from runtime.errors import AlreadyExists, ApiError, ConnectionFailed, NotFound
from runtime.rbac import Rule
from scheduler.state.queue import ROOT

if TYPE_CHECKING:
    from generated.clients.clientset import Clientset

log = logging.getLogger(__name__)

RULES = (Rule("scheduling.volcano.sh", ("queues",), ("create", "get")),)
ATTEMPTS = 60


class QueueMissing(Exception):  # noqa: N818  # named for what is wrong
    """A queue that must exist could not be created."""


async def ensure(clients: Clientset, default_queue: str, *, pause: float = 1.0) -> None:
    """
    Create `root` and the default queue where they miss. What exists is left as it is.

    An admission webhook that isn't up yet refuses for a while, so this tries for a minute. Raises QueueMissing.
    """
    for name in (ROOT, default_queue):
        await _ensure(clients, name, pause)


async def _ensure(clients: Clientset, name: str, pause: float) -> None:
    queues = clients.scheduling_v1beta1.queues
    queue = Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(reclaimable=name != ROOT, weight=1))
    error: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            await queues.get(name)
        except NotFound:
            pass
        except (ApiError, ConnectionFailed) as unread:
            log.warning("queue can't be read queue=%s error=%s", name, unread)
        else:
            return
        try:
            await queues.create(queue)
        except AlreadyExists:
            return
        except (ApiError, ConnectionFailed) as refused:
            error = refused
            log.warning("queue not created yet queue=%s error=%s", name, refused)
            await asyncio.sleep(pause)
        else:
            log.info("queue created queue=%s", name)
            return
    raise QueueMissing(f"queue {name} could not be created: {error}")

"""The queues that must exist before anything is scheduled (scheduler.md 4.2)."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import Queue, QueueSpec
from runtime.errors import AlreadyExists, ApiError, ConnectionFailed, Forbidden, NotFound, Unauthorized
from runtime.rbac import Rule
from scheduler.state.queue import ROOT

if TYPE_CHECKING:
    from generated.clients.clientset import Clientset

log = logging.getLogger(__name__)

RULES = (Rule("scheduling.volcano.sh", ("queues",), ("create", "get")),)
ATTEMPTS = 60
TOLD_EVERY = 10
"""Of tries that fail for the same reason, each of so many is told."""


class QueueMissing(Exception):  # noqa: N818  # named for what is wrong
    """A queue that must exist could not be created. Says why, and what to do."""


async def ensure(clients: Clientset, default_queue: str, *, pause: float = 1.0) -> None:
    """
    Create `root` and the default queue where they miss. What exists is left as it is.

    CRDs may be on their way, and an admission webhook that isn't up yet refuses for a while, so this tries for a
    minute. Raises QueueMissing.
    """
    for name in (ROOT, default_queue):
        await _ensure(clients, name, pause)


async def _ensure(clients: Clientset, name: str, pause: float) -> None:
    told = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            await asyncio.sleep(pause)
        error = await _try(clients, name)
        if error is None:
            return
        problem = f"{error}: {_advice(error)}"
        if problem != told or attempt % TOLD_EVERY == 0:
            log.warning("queue missing queue=%s attempt=%d of=%d error=%s", name, attempt + 1, ATTEMPTS, problem)
        told = problem
    raise QueueMissing(
        f"queue {name}, without which nothing is scheduled, could not be created in {ATTEMPTS} attempts: {told}"
    )


async def _try(clients: Clientset, name: str) -> ApiError | ConnectionFailed | None:
    """Create a queue where there is none. What stood in the way, None when it is there."""
    queues = clients.scheduling_v1beta1.queues
    try:
        await queues.get(name)
    except NotFound:
        pass
    except (ApiError, ConnectionFailed) as unread:
        log.debug("queue can't be read queue=%s error=%s", name, unread)
    else:
        return None
    try:
        await queues.create(Queue(metadata=ObjectMeta(name=name), spec=QueueSpec(reclaimable=name != ROOT, weight=1)))
    except AlreadyExists:
        return None
    except (ApiError, ConnectionFailed) as refused:
        return refused
    log.info("queue created queue=%s", name)
    return None


def _advice(error: ApiError | ConnectionFailed) -> str:
    """What the reader can do about it."""
    if isinstance(error, NotFound):
        return "the cluster doesn't serve queues, apply the CRDs (`make deploy`, or the files in config/crd/bases)"
    if isinstance(error, ConnectionFailed):
        return "is the API server up, and is its address right?"
    if isinstance(error, Unauthorized | Forbidden):
        return "let the scheduler's account get and create queues (config/rbac), or ask who refuses it"
    return "if a webhook fails, is the webhook manager up?"

"""The queue that a job goes to: it must be there, open, and a leaf of the tree (webhooks.md 4.3, steps 10-13)."""

from __future__ import annotations

from collections.abc import Awaitable

from api import names
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.scheduling.v1beta1 import QUEUES, Queue, QueueState
from webhooks.readers import Readers


class QueueRules:
    """What keeps a job out of its queue."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._queues = readers.lister(QueueLister)

    def problem(self, queue: str) -> str | Awaitable[str]:
        """Why no job may go there, empty when it may; later when the cache doesn't know the queue."""
        cached = self._queues.get(queue)
        return self._judge(queue, cached) if cached is not None else self._look_up(queue)

    async def _look_up(self, name: str) -> str:
        return self._judge(name, await self._readers.find(QUEUES, name))

    def _judge(self, name: str, queue: Queue | None) -> str:
        if queue is None:
            return f' unable to find job queue: queue.scheduling.volcano.sh "{name}" not found;'
        state = queue.status.state or QueueState.OPEN  # a queue is open until its controller says otherwise
        if state != QueueState.OPEN:
            return f" can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
        if name == names.ROOT_QUEUE:
            return " can not submit job to root queue;"
        children = len(self._queues.by_parent(name))
        if children:
            return f" can only submit job to leaf queue, queue `{name}` has {children} child queues;"
        return ""

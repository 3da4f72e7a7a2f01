"""The queues that must exist before anything is scheduled (scheduler.md 4.2)."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from generated.scheduling.v1beta1 import Queue
from runtime.errors import AlreadyExists, ApiError, ConnectionFailed, Forbidden, NotFound, ServerError
from runtime.wire import Status
from scheduler.cache.queues import ATTEMPTS, QueueMissing, ensure

NO_QUEUE = NotFound(Status(code=404, message="queue not found"))
NO_KIND = NotFound(Status(code=404, message="the server could not find the requested resource"))
NO_RIGHT = Forbidden(Status(code=403, message="queues is forbidden"))
NO_WEBHOOK = ServerError(Status(code=500, message="failed calling webhook"))
AWAY = ConnectionFailed("connection refused")


class Server:
    """Stands in for the clients: what reads and creates come to, one after the other; the last holds for ever."""

    def __init__(self, *, read: Exception | None = NO_QUEUE, created: tuple[Exception | None, ...] = (None,)) -> None:
        self.scheduling_v1beta1 = self.queues = self
        self.made: list[Queue] = []
        self.tries = 0
        self._read = read
        self._created = created

    async def get(self, name: str) -> Queue:
        del name
        if self._read is not None:
            raise self._read
        return Queue()

    async def create(self, queue: Queue) -> Queue:
        answer = self._created[min(self.tries, len(self._created) - 1)]
        self.tries += 1
        if answer is not None:
            raise answer
        self.made.append(queue)
        return queue


async def ensured(server: Any) -> list[tuple[str, Any, int | None]]:
    await ensure(server, "default", pause=0)
    return [(queue.metadata.name, queue.spec.reclaimable, queue.spec.weight) for queue in server.made]


BOTH = [("root", False, 1), ("default", True, 1)]


async def test_both_are_made_where_they_miss_and_left_where_they_are() -> None:
    assert await ensured(Server()) == BOTH
    assert await ensured(Server(read=None)) == []
    assert await ensured(Server(created=(AlreadyExists(Status(code=409)),))) == []


@pytest.mark.parametrize("read", [NO_RIGHT, NO_WEBHOOK, AWAY])
async def test_a_queue_that_can_not_be_read_is_made_all_the_same(read: Exception) -> None:
    assert await ensured(Server(read=read)) == BOTH


async def test_what_passes_is_waited_for() -> None:
    assert await ensured(Server(created=(*[NO_KIND] * 20, NO_WEBHOOK, *[AWAY] * (ATTEMPTS - 22), None))) == BOTH


WORDS: list[tuple[ApiError | ConnectionFailed, str]] = [
    (NO_KIND, "the cluster doesn't serve queues, apply the CRDs (`make deploy`"),
    (NO_RIGHT, "let the scheduler's account get and create queues"),
    (NO_WEBHOOK, "is the webhook manager up?"),
    (AWAY, "is the API server up"),
]


@pytest.mark.parametrize(("error", "advice"), WORDS)
async def test_what_does_not_pass_ends_in_a_sentence_that_says_what_to_do(
    error: ApiError | ConnectionFailed, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(created=(error,))
    with pytest.raises(QueueMissing, match=f"queue root, .* in 60 attempts: {error}: .*{re.escape(advice)}"):
        await ensured(server)
    assert server.tries == ATTEMPTS
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == ATTEMPTS // 10  # not a line a second
    assert advice in told[0]


async def test_a_new_reason_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    await ensured(Server(created=(NO_KIND, NO_KIND, NO_WEBHOOK, None)))
    assert [record.getMessage().split(" error=")[0] for record in caplog.records if record.levelno > logging.INFO] == [
        "queue missing queue=root attempt=1 of=60",
        "queue missing queue=root attempt=3 of=60",
    ]

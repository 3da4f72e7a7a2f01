"""`GET /explain/<namespace>/<podgroup>`, beside the metrics (docs/explain.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from runtime.serving import Call, Reply
from scheduler.explain.asking import NoAnswer

if TYPE_CHECKING:
    from scheduler.explain.report import Explanation

PATTERN = "/explain/{namespace}/{name}"
WAIT_SECONDS = 5.0
"""How long one answer may take."""

_encode = msgspec.json.encode


class Endpoint:
    """Answers on a worker thread. `standby()` says who leads while this process doesn't; empty when it does."""

    def __init__(self, ask: Callable[[str, str, float], Explanation], standby: Callable[[], str]) -> None:
        self._ask = ask
        self._standby = standby

    def __call__(self, call: Call) -> Reply:
        """200 with JSON, 404 for an unknown job, 503 with the reason where there is no answer for now."""
        if call.method not in {"GET", "HEAD"}:
            return Reply(f"{call.method} is not allowed here, only GET\n", 405, headers={"Allow": "GET, HEAD"})
        problem = self._standby()
        if problem:
            return _unavailable(problem)
        try:
            answer = self._ask(call.parts["namespace"], call.parts["name"], WAIT_SECONDS)
        except NoAnswer as error:
            return Reply(f"{error}\n", 404) if error.is_unknown else _unavailable(str(error))
        return Reply(_encode(answer), content_type="application/json")


def _unavailable(text: str) -> Reply:
    return Reply(f"{text}\n", 503, headers={"Retry-After": "1"})


def standby_text(leader: str) -> str:
    """What a scheduler says that does not lead; `leader` is the lease's holder, empty where none is known."""
    if leader:
        return f"this scheduler does not lead, {leader} does: ask there"
    return "this scheduler does not lead, and nobody does at the moment: ask again"

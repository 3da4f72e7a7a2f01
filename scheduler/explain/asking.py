"""
Questions from other threads, answered by the scheduling thread between two cycles.

Whoever asks waits, but not for long; a cycle never waits for a question. A turn has a time budget: what is left is
answered after the next cycle. A question whose asker gave up is dropped.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from scheduler.explain.explain import explain
from scheduler.explain.opening import opened
from scheduler.explain.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scheduler.explain.obstacles import Obstacle
    from scheduler.explain.report import Explanation
    from scheduler.memory import Memory
    from scheduler.reporting.timings import Span
    from scheduler.state.cluster import Cluster
    from scheduler.state.job import Job

log = logging.getLogger(__name__)

TURN_SECONDS = 0.25
"""After so much time the remaining questions wait for the next cycle; the one under way is finished."""


class NoAnswer(Exception):  # noqa: N818  # named for what happened
    """A question that got no answer; the text says why, `is_unknown` that there is no such job."""

    def __init__(self, text: str, *, is_unknown: bool = False) -> None:
        super().__init__(text)
        self.is_unknown = is_unknown


class _Question(msgspec.Struct):
    job: str
    done: threading.Event = msgspec.field(default_factory=threading.Event)
    answer: Explanation | None = None
    problem: NoAnswer | None = None
    is_dropped: bool = False


class Questions:
    """Belongs to one scheduler. `wake` has the scheduling thread look here."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._waiting: deque[_Question] = deque()
        self.known: Callable[[Job], Sequence[Obstacle]] = lambda _: ()
        """What the process knows to be in a job's way, beside what the state shows. Called by the scheduling thread."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def ask(self, namespace: str, name: str, seconds: float) -> Explanation:
        """Explain the job of a PodGroup. Raises NoAnswer, after that many seconds at the latest. From any thread."""
        question = _Question(f"{namespace}/{name}")
        self._waiting.append(question)
        self._wake()
        if not question.done.wait(seconds):
            question.is_dropped = True
            raise NoAnswer(f"a cycle is under way and did not end within {seconds:g} s; ask again")
        if question.answer is None:
            raise question.problem or NoAnswer("there is no answer")
        return question.answer

    # The scheduling thread.

    def refuse(self, why: str) -> None:
        """Answer all with why there is no answer."""
        while self._waiting:
            question = self._waiting.popleft()
            question.problem = NoAnswer(why)
            question.done.set()

    def answer(
        self, cluster: Cluster, memory: Memory, now: float, spans: Iterable[Span], stopwatch: Callable[[], float]
    ) -> None:
        """Answer as many as the turn allows, in one session; at least one. `now` is in unix seconds."""
        until = stopwatch() + TURN_SECONDS
        try:
            with opened(cluster, memory, now) as session:
                shared = Shared(session)
                while self._waiting:
                    question = self._waiting.popleft()
                    if question.is_dropped:
                        continue
                    is_sound = self._settle(
                        question, lambda job: explain(shared, job, spans, stopwatch, self.known(job)), cluster
                    )
                    if not is_sound or stopwatch() >= until:
                        break
        except Exception as error:
            log.exception("questions could not be answered")
            self.refuse(f"the scheduler failed in answering: {type(error).__name__}: {error}")

    def _settle(self, question: _Question, tell: Callable[..., Explanation], cluster: Cluster) -> bool:
        """Answer one; whether the session can still be used: what failed may have left a trial in it."""
        job = cluster.jobs.get(question.job)
        try:
            if job is None:
                text = f"podgroup {question.job} is not known to this scheduler: it does not exist, or is another's"
                question.problem = NoAnswer(text, is_unknown=True)
            else:
                question.answer = tell(job)
        except Exception as error:
            log.exception("explanation failed job=%s", question.job)
            question.problem = NoAnswer(f"the scheduler failed in explaining it: {type(error).__name__}: {error}")
            return False
        finally:
            question.done.set()
        return True

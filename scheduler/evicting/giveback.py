"""
Which tasks a queue has to give back by its quota (plugins.md 7.5).

A queue never falls below its guarantee, and gives only what it holds beyond what it deserves of something that the
task in question has, or tasks of which nothing is deserved at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.contract.contexts import Kind
from scheduler.fairness import shares
from scheduler.state.dimensions import MIN_RESOURCE, PODS, Floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scheduler.contract.contexts import EvictionContext
    from scheduler.fairness.quota import Quota, Quotas
    from scheduler.session import Session
    from scheduler.state.task import Task


def within(total: Floats, limit: Floats, request: Floats) -> bool:
    """Whether something that is requested stays within a limit; what neither has is not looked at."""
    asked = shares.asked_of(request) & (shares.names_of(total) | shares.names_of(limit))
    return bool((asked & (total - limit < MIN_RESOURCE)).any())


def is_beyond(held: Floats, quota: Quota, request: Floats) -> bool:
    """Whether a queue holds more than it deserves of something that is requested and that its quota names."""
    relevant = shares.asked_of(request) & quota.deserves
    relevant[:PODS] &= shares.names_of(quota.deserved)[:PODS]
    return bool((relevant & (held > quota.deserved)).any())


def is_outside(quota: Quota, request: Floats) -> bool:
    """Whether a queue deserves nothing of all that is requested."""
    return not (shares.names_of(request) & shares.names_of(quota.deserved)).any()


def given_on_trial(session: Session) -> dict[str, Floats]:
    """What those held whom the plan on trial has made leave, `(dims,)` by queue."""
    given: dict[str, Floats] = {}
    for task in session.on_trial:
        job, request = session.job(task.job), task.request.row(session.cluster.dimensions)
        if job is not None:
            given[job.queue] = given[job.queue] + request if job.queue in given else request
    return given


class GiveBack:
    """The choice of victims. `levels` is how many queues above take part in it."""

    def __init__(self, session: Session, quotas: Quotas, levels: int) -> None:
        self.session = session
        self.quotas = quotas
        self.levels = levels

    def _request(self, task: Task) -> Floats:
        return task.request.row(self.session.cluster.dimensions)

    def _quota_of(self, task: Task) -> Quota | None:
        job = self.session.job(task.job)
        return self.quotas.get(self.session.queue_of(job)) if job is not None else None

    def _nearest(self, quota: Quota) -> tuple[str, ...]:
        """The queues above that take part, the parent first, without the root."""
        return quota.path[:0:-1][: self.levels]

    def would_rob(self, own: Quota, request: Floats) -> bool:
        """
        Whether other queues hold something of what is requested, but none more than it deserves.

        A queue that took from these would have to give it back at once, and so on for ever. Where a plan is on trial,
        it is about those that give something to it, and what each held with that.
        """
        given = given_on_trial(self.session)
        others = [
            quota
            for quota in self.quotas.by_name.values()
            if quota.name != own.name and not quota.broken and quota.is_leaf
        ]
        if given:
            return any(
                not is_outside(quota, request)
                and not is_beyond(self.quotas.claimed(quota.name) + given[quota.name], quota, request)
                for quota in others
                if quota.name in given
            )
        holders = [
            quota
            for quota in others
            if (shares.names_of(self.quotas.claimed(quota.name)) & shares.names_of(request)).any()
        ]
        return bool(holders) and not any(
            is_outside(quota, request) or is_beyond(self.quotas.claimed(quota.name), quota, request)
            for quota in holders
        )

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """The candidates, which come first to go first, that may be taken for a task of another queue."""
        own = self._quota_of(reclaimer)
        if own is None:
            return []
        needed = self._request(reclaimer)
        useful = shares.names_of(needed)
        useful[PODS] = False
        held: dict[str, Floats] = {}
        victims: list[Task] = []
        for task in candidates:
            quota, request = self._quota_of(task), self._request(task)
            if quota is None or not (useful & shares.names_of(request)).any():
                continue
            if not self._gives(quota, request, held, own, needed):
                continue
            checked = self._checked(own, quota)
            if not all(self._may_lose(above, request, held) for above in checked):
                continue
            for name in (quota.name, *(above.name for above in checked)):
                held[name] = self._held(name, held) - request
            victims.append(task)
        return victims

    def _held(self, name: str, held: dict[str, Floats]) -> Floats:
        found = held.get(name)
        return self.quotas.claimed(name) if found is None else found

    def _gives(self, quota: Quota, request: Floats, held: dict[str, Floats], own: Quota, needed: Floats) -> bool:
        if not shares.at_most(quota.guarantee, self._held(quota.name, held) - request):
            return False
        if not is_outside(quota, request):
            return is_beyond(self._held(quota.name, held), quota, request)
        related = set(self._nearest(own)) & set(self._nearest(quota))
        # Under one parent a queue that deserves nothing of what it needs takes nothing from its like.
        return not (related and is_outside(own, needed))

    def _checked(self, own: Quota, quota: Quota) -> list[Quota]:
        """The queues above the victim's that must have something to give: those not shared with the reclaimer's."""
        mine, theirs = self._nearest(own), self._nearest(quota)
        return [
            self.quotas.by_name[name] for level, name in enumerate(theirs) if level >= len(mine) or mine[level] != name
        ]

    def _may_lose(self, above: Quota, request: Floats, held: dict[str, Floats]) -> bool:
        return is_outside(above, request) or is_beyond(self._held(above.name, held), above, request)

    def evictable(self, context: EvictionContext, candidates: Sequence[Task]) -> Sequence[Task]:
        """The same for the bundles of gang actions: within a queue all, between queues without the queues above."""
        if context.kind is not Kind.GANG_RECLAIM:
            return candidates
        held: dict[str, Floats] = {}
        victims: list[Task] = []
        for task in candidates:
            quota, request = self._quota_of(task), self._request(task)
            if quota is None or not shares.at_most(quota.guarantee, self._held(quota.name, held) - request):
                continue
            if is_outside(quota, request) or is_beyond(self._held(quota.name, held), quota, request):
                held[quota.name] = self._held(quota.name, held) - request
                victims.append(task)
        return victims

"""`/podgroups/validate`: the queue of a new group must take it, and its topology must make sense (webhooks.md 7.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from api import names
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.scheduling.v1beta1 import QUEUES, NetworkTopologySpec, PodGroup, PodGroupSpec, Queue, QueueState
from generated.webhooks.base import ValidationAnswer
from generated.webhooks.scheduling_v1beta1 import PodGroupValidator
from runtime.admission import Validation, WrongOperation
from runtime.rbac import READ, Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context
from webhooks.jobs.topology import TIER_TWICE
from webhooks.queues.place import not_found
from webhooks.verdicts import verdict

SENTENCE: Final = f"{TIER_TWICE}."


class PodGroupRules(PodGroupValidator):
    """Changes are not judged: schedulers write groups all the time."""

    WRONG_OPERATION: ClassVar[WrongOperation] = WrongOperation.UNSUPPORTED
    RULES: ClassVar[tuple[Rule, ...]] = (Rule(QUEUES.group, (QUEUES.plural,), READ),)

    def __init__(self, context: Context) -> None:
        self._readers = context.readers
        self._queues = context.readers.lister(QueueLister)
        self._requires_leaf = context.options.requires_leaf_queues

    def validate_create(self, request: AdmissionRequest, obj: PodGroup) -> ValidationAnswer:
        """A group without a queue may come: its pods wait until it has one."""
        name = obj.spec.queue
        if not name:
            return _verdict(obj.spec, "", ())
        cached = self._queues.get(name)
        return self._judge(obj.spec, name, cached) if cached is not None else self._look_up(obj.spec, name)

    async def _look_up(self, spec: PodGroupSpec, name: str) -> Validation:
        return self._judge(spec, name, await self._readers.find(QUEUES, name))

    def _judge(self, spec: PodGroupSpec, name: str, queue: Queue | None) -> Validation:
        if queue is None:
            return _verdict(spec, f"unable to find queue: {not_found(name)}", ())
        state = queue.status.state or QueueState.OPEN  # a queue is open until its controller says otherwise
        if state != QueueState.OPEN:
            problem = f"can only submit PodGroup to queue with state `Open`, queue `{name}` status is `{state}`."
            return _verdict(spec, problem, ())
        no_leaf = self._inner_problem(name)
        return _verdict(spec, no_leaf, ()) if self._requires_leaf else _verdict(spec, "", (no_leaf,) if no_leaf else ())

    def _inner_problem(self, name: str) -> str:
        """Why pods should not run in the queue, empty for a leaf."""
        if name == names.ROOT_QUEUE:
            return "can not submit PodGroup to root queue"
        children = len(self._queues.by_parent(name))
        if not children:
            return ""
        return f"can only submit PodGroup to leaf queue, queue `{name}` has {children} child queues"


def _verdict(spec: PodGroupSpec, queue: str, warnings: tuple[str, ...]) -> Validation:
    return verdict("; ".join(filter(None, (queue, " ".join(_topology_problems(spec))))), warnings)


def _topology_problems(spec: PodGroupSpec) -> Iterator[str]:
    """Of the group, and of the first of its subgroups."""
    if _names_tier_twice(spec.network_topology):
        yield SENTENCE
    for policy in spec.sub_group_policy:
        if _names_tier_twice(policy.network_topology):
            yield f"in subGroupPolicy '{policy.name}': {SENTENCE}"
            return


def _names_tier_twice(topology: NetworkTopologySpec | None) -> bool:
    return topology is not None and topology.highest_tier_allowed is not None and bool(topology.highest_tier_name)

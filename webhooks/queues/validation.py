"""
`/queues/validate`: every queue that is created, changed or deleted.

A new queue that stands alone is judged at once. One that has relatives, or is moved or resized, is judged beside all
queues as the API server has them now: a file with a parent and its children must end as if they had been applied one
by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec

from api import names
from api.queues import QueueTree
from generated.listers.scheduling_v1beta1 import PodGroupLister, QueueLister
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import POD_GROUPS, QUEUES, PodGroup, PodGroupSpec, Queue, QueueSpec, QueueState
from generated.webhooks.base import ValidationAnswer
from generated.webhooks.scheduling_v1beta1 import QueueValidator
from runtime.admission import ALLOWED, Denial, Validation, WrongOperation
from runtime.rbac import READ, Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context
from webhooks.causes import Causes, aggregate
from webhooks.jobs.changes import first_change
from webhooks.live import ListFailed
from webhooks.queues import amounts, deletion, paths, place, shares
from webhooks.verdicts import verdict

ROOT_IS_FIXED: Final = "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"
STATE_FIELD: Final = f"{amounts.BODY}.spec.state"
BAD_STATE: Final = f"queue state must be in [Open Closed] (it stands in {amounts.BODY}.status.state)"
_STATES: Final = frozenset(("", QueueState.OPEN, QueueState.CLOSED))


class QueueObjectRules(QueueValidator):
    """What a queue says must make sense, by itself and in the tree."""

    WRONG_OPERATION: ClassVar[WrongOperation] = WrongOperation.INVALID
    RULES: ClassVar[tuple[Rule, ...]] = (Rule(QUEUES.group, (QUEUES.plural, POD_GROUPS.plural), READ),)

    def __init__(self, context: Context) -> None:
        self._options = context.options
        self._queues = context.readers.lister(QueueLister)
        self._groups = context.readers.lister(PodGroupLister, transform=place_only)
        self._live = context.readers.live(QUEUES)

    def answer(self, request: AdmissionRequest, obj: Queue, old: Queue | None) -> ValidationAnswer:
        """Dispatch by operation. A review may name a queue without showing it, then the cache does."""
        if old is None and request.operation in {"UPDATE", "DELETE"}:
            old = self._queues.get(request.name) or Queue(metadata=ObjectMeta(name=request.name))
        return super().answer(request, obj, old)

    def validate_create(self, request: AdmissionRequest, obj: Queue) -> ValidationAnswer:
        """Everything."""
        causes = Causes()
        amounts.check(causes, obj.spec)
        if obj.status.state not in _STATES:
            causes.invalid(STATE_FIELD, obj.status.state, BAD_STATE)
        if self._has_relatives(obj) or any(paths.annotated(obj)):
            return self._judge_beside_others(obj, causes, checks_path=True, checks_place=True, checks_shares=True)
        return verdict(aggregate(causes) or place.problem(obj, _tree([obj]), self._options.max_queue_depth))

    def validate_update(self, request: AdmissionRequest, obj: Queue, old: Queue) -> ValidationAnswer:
        """What changed: a queue that became invalid otherwise can still lose a finalizer."""
        is_root = obj.metadata.name == names.ROOT_QUEUE
        is_moved = obj.spec.parent != old.spec.parent if is_root else _parent(obj) != _parent(old)
        is_resized = bool(first_change(_resources(old), _resources(obj), "spec"))
        checks_path = paths.annotated(obj) != paths.annotated(old)
        if obj.metadata.deletion_timestamp or not (checks_path or first_change(old.spec, obj.spec, "spec")):
            return ALLOWED
        causes = Causes()
        amounts.check(causes, obj.spec)
        checks_place, checks_shares = is_moved, (is_moved or is_resized) and not is_root
        if not is_root and (checks_path or checks_shares):  # children may be newer than the cache
            return self._judge_beside_others(
                obj, causes, checks_path=checks_path, checks_place=checks_place, checks_shares=checks_shares
            )
        if checks_path:
            paths.check(causes, obj, self._queues)
        problem = aggregate(causes)
        if not problem and checks_place:
            problem = place.problem(obj, _tree([obj]), self._options.max_queue_depth)
        if not problem and is_root and is_resized and self._options.protects_root_queue:
            problem = ROOT_IS_FIXED
        return verdict(problem)

    def validate_delete(self, request: AdmissionRequest, old: Queue) -> ValidationAnswer:
        """By name, or by the object where the request deletes many."""
        name = request.name or old.metadata.name
        protection = deletion.protection(name)
        return Denial(protection) if protection else self._judge_deletion(name, old)

    async def _judge_deletion(self, name: str, queue: Queue) -> Validation:
        everybody, told = await self._everybody()
        queue = msgspec.structs.replace(queue, metadata=msgspec.structs.replace(queue.metadata, name=name))
        groups = self._groups.lister.count("queue", name)
        problem = deletion.problem(
            queue,
            _tree(everybody).children(name),
            groups,
            checks_pods=self._options.checks_allocated_pods,
            checks_groups=self._options.checks_pod_groups,
        )
        return verdict(problem, (*told, *deletion.warnings(name, groups)))

    def _has_relatives(self, queue: Queue) -> bool:
        """Whether there may be queues above or below it, other than the root."""
        return queue.spec.parent not in place.TOP or bool(self._queues.by_parent(queue.metadata.name))

    async def _judge_beside_others(
        self, queue: Queue, causes: Causes, *, checks_path: bool, checks_place: bool, checks_shares: bool
    ) -> Validation:
        everybody, told = await self._everybody()
        tree = _tree([*everybody, queue])
        if checks_path:
            paths.check(causes, queue, everybody)
        problem = aggregate(causes)
        if not problem and checks_place:
            problem = place.problem(queue, tree, self._options.max_queue_depth)
        if not problem and checks_shares and queue.metadata.name != names.ROOT_QUEUE:
            problem = shares.problem(queue, tree)
        warned = place.warnings(queue, tree) if checks_place else ()
        return verdict(problem, (*told, *warned))

    async def _everybody(self) -> tuple[Iterable[Queue], tuple[str, ...]]:
        """All queues as they are, or as the cache has them, and then a word about it."""
        try:
            return await self._live.items(), ()
        except ListFailed as error:
            return list(self._queues), (f"{error}; judged by queues as they were a moment ago",)


def place_only(group: PodGroup) -> PodGroup:
    """What must be known of a PodGroup to count it: there are many."""
    old = group.metadata
    metadata = ObjectMeta(name=old.name, namespace=old.namespace, uid=old.uid, resource_version=old.resource_version)
    return PodGroup(metadata=metadata, spec=PodGroupSpec(queue=group.spec.queue))


def _tree(queues: Iterable[Queue]) -> QueueTree:
    """The last one of a name counts."""
    return QueueTree(queues, orphans_under_root=False)


def _parent(queue: Queue) -> str:
    """Where the queue hangs, or will once its controller has written that."""
    return queue.spec.parent or names.ROOT_QUEUE


def _resources(queue: Queue) -> QueueSpec:
    spec = queue.spec
    return QueueSpec(capability=spec.capability or {}, deserved=spec.deserved or {}, guarantee=spec.guarantee)

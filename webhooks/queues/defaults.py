"""`/queues/mutate`: what a new queue gets (webhooks.md 6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from api import names
from generated.scheduling.v1beta1 import Queue
from generated.webhooks.scheduling_v1beta1 import QueueDefaulter
from runtime.admission import ALLOWED, Mutation, Patch, WrongOperation
from runtime.patches import Operation, add, pointer
from runtime.rbac import Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context

DEFAULT_WEIGHT = 1
_ROOT_WEIGHT = "1"


class QueueDefaults(QueueDefaulter):
    """Hangs the hierarchy below the root; fills in weight and whether others may reclaim."""

    WRONG_OPERATION: ClassVar[WrongOperation] = WrongOperation.INVALID
    RULES: ClassVar[tuple[Rule, ...]] = ()

    def __init__(self, context: Context) -> None:
        """Nothing of the context is needed."""

    def default_create(self, request: AdmissionRequest, obj: Queue) -> Mutation[Queue]:
        """A new queue."""
        operations = tuple(_additions(obj))
        return Patch(operations) if operations else ALLOWED


def _additions(queue: Queue) -> Iterator[Operation]:
    annotations = queue.metadata.annotations
    path = annotations.get(names.HIERARCHY_ANNOTATION, "")
    weights = annotations.get(names.HIERARCHY_WEIGHTS_ANNOTATION, "")
    if path and weights and path.split("/")[0] != names.ROOT_QUEUE:
        place = ("metadata", "annotations")
        yield add(pointer(*place, names.HIERARCHY_ANNOTATION), f"{names.ROOT_QUEUE}/{path}")
        yield add(pointer(*place, names.HIERARCHY_WEIGHTS_ANNOTATION), f"{_ROOT_WEIGHT}/{weights}")
    if queue.spec.reclaimable is None:
        yield add("/spec/reclaimable", True)
    if not queue.spec.weight:
        yield add("/spec/weight", DEFAULT_WEIGHT)

"""
Carries out evictions, on the event loop: tells the victim and its PodGroup, marks the pod, deletes it.

The delete is bound to the pod's uid, and is sent however the conditions stand: an earlier try may have got no further
than these. An eviction that fails is told back, so that the pod counts as running again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from api import names
from generated.apply.core import v1 as core_apply
from generated.apply.meta.v1 import ObjectMeta
from generated.core.v1 import PODS
from generated.scheduling.v1beta1 import POD_GROUPS
from runtime import timestamps
from runtime.errors import ApiError, Conflict, NotFound
from runtime.failures import OUTAGES
from runtime.patches import StrategicPatch

if TYPE_CHECKING:
    from generated.clients.clientset import Clientset
    from generated.core.v1 import Pod
    from runtime.events import EventRecorder
    from scheduler.contract.decisions import Evict
    from scheduler.evicting.nominations import Lapse
    from scheduler.state.task import Task

log = logging.getLogger(__name__)

_Marks = tuple[tuple[str, str, str, str], ...]
"""Conditions as (type, status, reason, message)."""


class Evictions:
    """`failed(uid)` is called when a pod could not be evicted; `clock` gives unix seconds."""

    def __init__(
        self, clients: Clientset, events: EventRecorder, *, failed: Callable[[str], None], clock: Callable[[], float]
    ) -> None:
        self._clients = clients
        self._events = events
        self._failed = failed
        self._clock = clock

    async def evict(self, decision: Evict) -> None:
        """Evict one pod."""
        task = decision.task
        text = f"Pod is evicted, because of {decision.reason}"
        if decision.pod_group is not None:
            self._events.normal(POD_GROUPS, decision.pod_group, names.PodGroupReason.EVICT, decision.reason)
        if task.pod is not None:
            self._events.warning(PODS, task.pod, names.PodReason.EVICT, text)
        try:
            if task.pod is not None:
                await self._mark(task, task.pod, text)
            await self._clients.core_v1.pods.delete(task.name, task.namespace, uid=task.uid)
        except (NotFound, Conflict) as gone:
            # Gone already, or another pod has its name now.
            log.info("victim is gone pod=%s error=%s", task.key, gone)
        except (ApiError, *OUTAGES) as error:
            log.warning("eviction failed pod=%s reason=%s error=%s", task.key, decision.reason, error)
            self._failed(task.uid)
        else:
            log.info("evicted pod=%s reason=%s for=%s", task.key, decision.reason, decision.beneficiary)

    async def _mark(self, task: Task, pod: Pod, text: str) -> None:
        """Set the conditions that say why the pod goes, unless it has exactly these."""
        preempted = f"{pod.spec.scheduler_name}: preempting to accommodate a higher priority pod"
        wanted: _Marks = (
            (names.PodConditionType.READY, "False", names.PodReason.EVICT, text),
            (names.PodConditionType.DISRUPTION_TARGET, "True", names.PodReason.PREEMPTION_BY_SCHEDULER, preempted),
        )
        there = {(held.type, held.status, held.reason, held.message) for held in pod.status.conditions}
        if there.issuperset(wanted):
            return
        now = timestamps.format_seconds(timestamps.now(self._clock))
        conditions = [
            core_apply.PodCondition(type=kind, status=status, reason=reason, message=message, last_transition_time=now)
            for kind, status, reason, message in wanted
        ]
        body = core_apply.Pod(metadata=ObjectMeta(uid=task.uid), status=core_apply.PodStatus(conditions=conditions))
        await self._clients.core_v1.pods.patch_status(task.name, task.namespace, StrategicPatch(body))

    def tell(self, lapse: Lapse) -> None:
        """Say on the PodGroup of a beneficiary that others were evicted for it in vain, and why."""
        if lapse.pod_group is not None:
            self._events.warning(POD_GROUPS, lapse.pod_group, names.PodGroupReason.EVICTION_IN_VAIN, str(lapse))

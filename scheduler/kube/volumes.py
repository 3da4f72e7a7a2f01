"""
Whether the claims of a pod let it be scheduled at all.

A pod whose volume claims are all bound is scheduled like any other. One with a claim that is not bound yet, or with a
resource claim, waits, and says why: volumes and devices are not chosen here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scheduler.contract.effects import Code, Refusal, Verdicts
from scheduler.contract.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scheduler.state.claims import Claims
    from scheduler.state.task import Task

UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
RESOURCE_CLAIMS = "pod has resource claims, which this scheduler does not allocate"


def _refused(filter_name: str, reason: str) -> str:
    return f"plugin {filter_name} pre-predicates failed {reason}" if reason else ""


class ClaimFilter:
    """The test as a filter that says the same of every node; its reasons name the pod's claims."""

    def __init__(self, *, volumes: bool = True, resources: bool = True) -> None:
        self.refusals: list[Refusal] = []
        self._volumes = volumes
        self._resources = resources

    def applies(self, task: Task) -> bool:
        """Whether the pod has claims."""
        return task.shape.claims

    def __call__(self, task: Task, view: View) -> Verdicts:
        """The same verdict for all nodes."""
        reason = self._volume_reason(task, view) or self._resource_reason(task)
        return np.full(len(view), self._number(reason) if reason else 0, dtype=np.int32)

    def _volume_reason(self, task: Task, view: View) -> str:
        return _refused("VolumeBinding", waits_for(task, view.cluster.claims)) if self._volumes else ""

    def _resource_reason(self, task: Task) -> str:
        wants = self._resources and bool(task.shape.spec.resource_claims)
        return _refused("DynamicResources", RESOURCE_CLAIMS) if wants else ""

    def _number(self, reason: str) -> int:
        refusal = Refusal(Code.UNRESOLVABLE, reason)
        if refusal not in self.refusals:
            self.refusals.append(refusal)
        return self.refusals.index(refusal) + 1


def waits_for(task: Task, claims: Claims) -> str:
    """Why the volume claims of a pod keep it back; empty when they don't."""
    reasons = (_refusal(task, name, claims, is_ephemeral=is_ephemeral) for name, is_ephemeral in _claim_names(task))
    return next((reason for reason in reasons if reason), "")


def _claim_names(task: Task) -> Iterator[tuple[str, bool]]:
    """Names of the volume claims, and whether each is made for the pod."""
    for volume in task.shape.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name, False
        elif volume.ephemeral is not None:
            yield f"{task.name}-{volume.name}", True


def _refusal(task: Task, name: str, claims: Claims, *, is_ephemeral: bool) -> str:
    claim = claims.get(f"{task.namespace}/{name}")
    if claim is None:
        if is_ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if claim.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.volume}"'
    if claim.is_leaving:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if is_ephemeral and claim.owner != task.uid:
        return f'persistentvolumeclaim "{name}" was not created for pod {task.key} (pod is not owner)'
    return "" if claim.is_bound else UNBOUND

"""
`/pods/mutate`: the gate of queue admission, and what the pod's resource group gives it (webhooks.md 5.1).

The patch is built on the pod as it was sent, so that fields which this version doesn't know survive it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from api import names
from generated.core.v1 import Pod
from generated.webhooks.core_v1 import PodDefaulter
from runtime.admission import ALLOWED, Mutation, Patch, WrongOperation
from runtime.patches import Operation, add
from runtime.rbac import Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context
from webhooks.pods.configuration import Configuration
from webhooks.pods.groups import ResourceGroup, find
from webhooks.sent import sent_spec

_GATE = "SchedulingGatesQueueAdmission"


class PodDefaults(PodDefaulter):
    """Adds; takes nothing away but the scheduler's name."""

    WRONG_OPERATION: ClassVar[WrongOperation] = WrongOperation.EXPECT_TRAILING_SPACE
    RULES: ClassVar[tuple[Rule, ...]] = ()

    def __init__(self, context: Context) -> None:
        self._gates = context.options.gates
        self.configuration = Configuration(context.options.admission_conf)
        if context.options.admission_conf:
            context.run_beside("admission-configuration", self.configuration.follow)

    def default_create(self, request: AdmissionRequest, obj: Pod) -> Mutation[Pod]:
        """The gate first, then what the group gives."""
        annotations = obj.metadata.annotations
        group = find(self.configuration.groups, obj.metadata.namespace or request.namespace, annotations)
        is_gated = annotations.get(names.QUEUE_ALLOCATION_GATE) == "true" and self._gates.enabled(_GATE)
        if group is None and not is_gated:
            return ALLOWED
        spec = sent_spec(request)
        operations = [*(_gate(obj, spec) if is_gated else ()), *(_additions(group, spec) if group is not None else ())]
        return Patch(tuple(operations)) if operations else ALLOWED


def _gate(pod: Pod, spec: dict[str, Any]) -> Iterator[Operation]:
    if any(gate.name == names.QUEUE_ALLOCATION_GATE for gate in pod.spec.scheduling_gates):
        return
    gate = {"name": names.QUEUE_ALLOCATION_GATE}
    if spec.get("schedulingGates") is None:
        yield add("/spec/schedulingGates", [gate])
    else:
        yield add("/spec/schedulingGates/-", gate)


def _additions(group: ResourceGroup, spec: dict[str, Any]) -> Iterator[Operation]:
    if group.labels:
        yield add("/spec/nodeSelector", {**(spec.get("nodeSelector") or {}), **group.labels})
    if group.affinity is not None and spec.get("affinity") is None:
        yield add("/spec/affinity", group.affinity)
    if group.tolerations:
        present = list(spec.get("tolerations") or ())
        fresh = [dict(toleration) for toleration in group.tolerations if toleration not in present]
        if fresh:
            yield add("/spec/tolerations", [*present, *fresh])
    if group.scheduler_name:
        yield add("/spec/schedulerName", group.scheduler_name)

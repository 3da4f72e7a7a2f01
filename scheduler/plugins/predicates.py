"""predicates: Kubernetes' filters, in their fixed order (plugins.md 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from scheduler.contract.arguments import Declared, Type
from scheduler.contract.effects import Effect, Filter
from scheduler.kube import filters, interpod, ports, single, spread
from scheduler.kube.volumes import ClaimFilter
from scheduler.plugin import Plugin

if TYPE_CHECKING:
    from scheduler.contract.arguments import Arguments
    from scheduler.session import Session

_NODE_AFFINITY = ("spec.node_selector", "spec.affinity.node_affinity")
_POD_AFFINITY = ("pods", "spec.affinity.pod_affinity", "spec.affinity.pod_anti_affinity")
_SPREAD = ("pods", "spec.topology_spread_constraints", "spec.tolerations", *_NODE_AFFINITY)


class Predicates(Plugin):
    """
    The filters that are on: those of the node first, then those that depend on other pods.

    `predicate.CacheEnable` is accepted and changes nothing: what is known of the nodes is always kept, by what the
    filters read of a pod, and follows every change (compat: PLUG-1). Volumes and devices are not chosen here yet: a pod
    with bound claims passes, any other waits.
    """

    name = "predicates"
    outlives_session = True
    lets_jobs_sleep = True
    declares: ClassVar[Declared | None] = {
        "predicate.NodeAffinityEnable": Type.BOOL,
        "predicate.NodePortsEnable": Type.BOOL,
        "predicate.TaintTolerationEnable": Type.BOOL,
        "predicate.PodAffinityEnable": Type.BOOL,
        "predicate.NodeVolumeLimitsEnable": Type.WITHOUT_EFFECT,
        "predicate.VolumeZoneEnable": Type.WITHOUT_EFFECT,
        "predicate.PodTopologySpreadEnable": Type.BOOL,
        "predicate.VolumeBindingEnable": Type.BOOL,
        "predicate.CacheEnable": Type.BOOL,
        "predicate.DynamicResourceAllocationEnable": Type.BOOL,
        "volumebinding.bindTimeoutSeconds": Type.WITHOUT_EFFECT,
        "volumebinding.weight": Type.WITHOUT_EFFECT,
        "volumebinding.shape": Type.WITHOUT_EFFECT,
        "dynamicresources.filterTimeoutSeconds": Type.WITHOUT_EFFECT,
    }

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        switched = {
            "NodeAffinity": self._node_affinity(),
            "TaintToleration": [self._taints()],
            "NodePorts": [self._ports()],
            "PodAffinity": [self._pod_affinity()],
            "PodTopologySpread": [self._spread()],
        }
        self.filters = [*self._always(), self._claims()]
        for name, found in switched.items():
            if arguments.bool(f"predicate.{name}Enable", True):
                self.filters += found

    def _always(self) -> list[Filter]:
        return [
            Filter(
                name="PodNumber", plugin=self.name, refusals=(filters.POD_NUMBER,), evaluate=filters.pod_number,
                reads=(), effect=Effect.COLUMNS, single=single.pod_number,
            ),
            Filter(
                name="NodeUnschedulable", plugin=self.name, refusals=(filters.UNSCHEDULABLE,),
                evaluate=filters.unschedulable, reads=("spec.tolerations",), effect=Effect.STATIC,
            ),
        ]  # fmt: skip

    def _node_affinity(self) -> list[Filter]:
        return [
            Filter(
                name="NodeAffinity terms", plugin=self.name, refusals=(filters.NAMES_CONFLICT,),
                evaluate=filters.nowhere, reads=_NODE_AFFINITY, effect=Effect.STATIC, applies=filters.names_conflict,
                upfront=True,
            ),
            Filter(
                name="NodeAffinity", plugin=self.name, refusals=(filters.NODE_AFFINITY,),
                evaluate=filters.node_affinity, reads=_NODE_AFFINITY, effect=Effect.STATIC,
                applies=filters.has_node_selection,
            ),
        ]  # fmt: skip

    def _ports(self) -> Filter:
        return Filter(
            name="NodePorts", plugin=self.name, refusals=(ports.TAKEN,), evaluate=ports.free_ports,
            reads=("spec.containers", "spec.init_containers"), applies=ports.wants_ports, track=ports.track_ports,
        )  # fmt: skip

    def _taints(self) -> Filter:
        return Filter(
            name="TaintToleration", plugin=self.name, refusals=(filters.TAINTS,), evaluate=filters.taints,
            reads=("spec.tolerations",), effect=Effect.STATIC,
        )  # fmt: skip

    def _pod_affinity(self) -> Filter:
        return Filter(
            name="InterPodAffinity", plugin=self.name, refusals=interpod.REFUSALS, evaluate=interpod.required,
            reads=_POD_AFFINITY, applies=interpod.is_bound, track=interpod.track_required,
        )  # fmt: skip

    def _spread(self) -> Filter:
        return Filter(
            name="PodTopologySpread", plugin=self.name, refusals=spread.REFUSALS, evaluate=spread.forbidden,
            reads=_SPREAD, applies=spread.has_hard, track=spread.track_forbidden,
        )  # fmt: skip

    def _claims(self) -> Filter:
        claims = ClaimFilter(
            volumes=self.arguments.bool("predicate.VolumeBindingEnable", True),
            resources=self.arguments.bool("predicate.DynamicResourceAllocationEnable", True),
        )
        return Filter(
            name="VolumeBinding", plugin=self.name, refusals=claims.refusals, evaluate=claims,
            reads=("spec.volumes", "spec.resource_claims"), effect=Effect.STATIC, applies=claims.applies, upfront=True,
        )  # fmt: skip

    def on_session_open(self, session: Session) -> None:
        """Register the filters."""
        for function in self.filters:
            session.add_filter(function)

"""predicates: Kubernetes' filters, in their fixed order (plugins.md 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduler.effects import Effect, Filter
from scheduler.kube import filters
from scheduler.plugin import Plugin

if TYPE_CHECKING:
    from scheduler.arguments import Arguments
    from scheduler.session import Session

_AFFINITY_READS = ("spec.node_selector", "spec.affinity.node_affinity")


class Predicates(Plugin):
    """The filters that are on."""

    name = "predicates"
    outlives_session = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.filters = [
            Filter(
                name="PodNumber", plugin=self.name, refusals=(filters.POD_NUMBER,), evaluate=filters.pod_number,
                reads=(), effect=Effect.COLUMNS,
            ),
            Filter(
                name="NodeUnschedulable", plugin=self.name, refusals=(filters.UNSCHEDULABLE,),
                evaluate=filters.unschedulable, reads=("spec.tolerations",), effect=Effect.STATIC,
            ),
        ]  # fmt: skip
        if arguments.bool("predicate.NodeAffinityEnable", True):
            self.filters.append(
                Filter(
                    name="NodeAffinity", plugin=self.name, refusals=(filters.NODE_AFFINITY,),
                    evaluate=filters.node_affinity, reads=_AFFINITY_READS, effect=Effect.STATIC,
                    applies=filters.has_node_selection,
                )
            )  # fmt: skip
        if arguments.bool("predicate.TaintTolerationEnable", True):
            self.filters.append(
                Filter(
                    name="TaintToleration", plugin=self.name, refusals=(filters.TAINTS,), evaluate=filters.taints,
                    reads=("spec.tolerations",), effect=Effect.STATIC,
                )
            )  # fmt: skip

    def on_session_open(self, session: Session) -> None:
        """Register the filters."""
        for function in self.filters:
            session.add_filter(function)

"""`/jobflows/validate`: the steps of a flow must come to an end (webhooks.md 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from generated.flow.v1alpha1 import Flow, JobFlow
from generated.webhooks.base import ValidationAnswer
from generated.webhooks.flow_v1alpha1 import JobFlowValidator
from runtime.admission import ALLOWED
from runtime.rbac import Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context
from webhooks.jobs.changes import first_change
from webhooks.jobs.graph import find_cycle
from webhooks.verdicts import verdict

NO_DAG: Final = "jobflow Flow is not DAG"
UNDEFINED: Final = f"{NO_DAG}: vertex is not defined: "
NO_EFFECT: Final = "the flow has started and goes on as it was"


class JobFlowRules(JobFlowValidator):
    """Looks at names and dependencies; templates may come later."""

    RULES: ClassVar[tuple[Rule, ...]] = ()

    def __init__(self, context: Context) -> None:
        self._fixes_started = context.options.fixes_started_flows

    def validate_create(self, request: AdmissionRequest, obj: JobFlow) -> ValidationAnswer:
        """Whether every step can start at some time."""
        return verdict(graph_problem(obj.spec.flows), duplicate_warnings(obj.spec.flows))

    def validate_update(self, request: AdmissionRequest, obj: JobFlow, old: JobFlow) -> ValidationAnswer:
        """The same of flows that change, which has no effect once the flow has started."""
        change = first_change(old.spec.flows, obj.spec.flows, "spec.flows")
        if obj.metadata.deletion_timestamp or not change:
            return ALLOWED
        problem, warnings = graph_problem(obj.spec.flows), duplicate_warnings(obj.spec.flows)
        if not old.status.state.phase:
            return verdict(problem, warnings)
        told = f"{change} can't be changed any more: {NO_EFFECT}"
        if self._fixes_started:
            return verdict(problem or told, warnings)
        return verdict(problem, (*warnings, f"{change}: {NO_EFFECT}: the change has no effect"))


def graph_problem(flows: Sequence[Flow]) -> str:
    """The first target that is no step, or else a circle; empty when the steps come to an end."""
    needs = _needs(flows)
    for needed in needs.values():
        for target in needed:
            if target not in needs:
                return UNDEFINED + target
    cycle = find_cycle(needs)
    return f"{NO_DAG}: {' -> '.join(cycle)}" if cycle else ""


def _needs(flows: Sequence[Flow]) -> Mapping[str, Sequence[str]]:
    """What each step waits for; of two steps of one name the later one counts."""
    return {flow.name: tuple(dict.fromkeys(flow.depends_on.targets)) if flow.depends_on else () for flow in flows}


def duplicate_warnings(flows: Sequence[Flow]) -> tuple[str, ...]:
    """Names that several steps have."""
    counted = Counter(flow.name for flow in flows)
    return tuple(
        f"spec.flows: {count} flows are named {name}: only the last one counts"
        for name, count in counted.items()
        if count > 1
    )

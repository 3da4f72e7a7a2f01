"""
A sample operator on kopf with our models: PodGroups to be found by their queue, and a report on each JobFlow.

    python -m hack.samples.kopf_operator --kubeconfig FILE
    python -m kopf run -A --standalone -m hack.samples.kopf_operator

It labels each PodGroup with its queue, so that `kubectl get podgroups -l kopf-sample.stromboli.dev/queue=default`
answers, and keeps a ConfigMap `<flow>-report` beside each JobFlow, which goes when the flow goes.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any, Final

from generated.apply.core import v1 as core
from generated.apply.meta import v1 as meta
from generated.apply.scheduling import v1beta1 as scheduling
from generated.core.v1 import CONFIG_MAPS
from generated.flow.v1alpha1 import JOB_FLOWS, JobFlow
from generated.scheduling.v1beta1 import POD_GROUPS
from runtime.kopf import Operator

NAME: Final = "kopf-sample.stromboli.dev"
QUEUE_LABEL: Final = f"{NAME}/queue"

operator = Operator(NAME)


@operator.field(POD_GROUPS, "spec.queue")
def label(new: str | None) -> scheduling.PodGroup:
    """Keep the label equal to the queue; None removes it."""
    labels: dict[str, str | None] = {QUEUE_LABEL: new}
    return scheduling.PodGroup(metadata=meta.ObjectMeta(labels=labels))  # type: ignore[arg-type]  # None is null


@operator.event(JOB_FLOWS)
async def report(obj: JobFlow, event: Mapping[str, Any]) -> None:
    """Write the ConfigMap anew; the server ignores what is the same."""
    if event["type"] == "DELETED" or obj.metadata.deletion_timestamp is not None:
        return  # the garbage collector takes the ConfigMap
    owner = meta.OwnerReference(
        api_version=JOB_FLOWS.api_version, kind=JOB_FLOWS.kind, name=obj.metadata.name, uid=obj.metadata.uid
    )
    name = f"{obj.metadata.name}-report"
    metadata = meta.ObjectMeta(owner_references=[owner])
    wanted = core.ConfigMap(metadata=metadata, data=summary(obj))
    await operator.client.apply(CONFIG_MAPS, name, obj.metadata.namespace, wanted, field_manager=NAME, force=True)


@operator.delete(JOB_FLOWS)
def farewell(obj: JobFlow, logger: logging.LoggerAdapter[logging.Logger]) -> None:
    logger.info(f'msg="flow is gone" steps={len(obj.spec.flows)}')


def summary(flow: JobFlow) -> dict[str, str]:
    """What the ConfigMap says: the phase, and each step with those that it waits for."""
    steps = [
        f"{step.name} after {', '.join(step.depends_on.targets)}" if step.depends_on else step.name
        for step in flow.spec.flows
    ]
    done = len(flow.status.completed_jobs)
    return {
        "phase": flow.status.state.phase or "Pending",
        "progress": f"{done}/{len(steps)}",
        "steps": "\n".join(steps),
    }


if __name__ == "__main__":
    sys.exit(operator.main())

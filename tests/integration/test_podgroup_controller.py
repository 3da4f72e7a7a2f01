"""Pods of plain workloads get groups on a real API server, and lose them with their workload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controllers import podgroup
from generated.apps.v1 import DEPLOYMENTS, STATEFUL_SETS, StatefulSetStatus
from generated.clients.clientset import Clientset
from generated.core.v1 import Pod
from generated.scheduling.v1beta1 import PodGroup
from runtime.patches import MergePatch
from tests.integration.controllers import eventually, running

GROUP = "scheduling.k8s.io/group-name"


def deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "schedulerName": "volcano",
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "annotations": {"scheduling.volcano.sh/group-min-member": "2"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def stateful_set(cpu: str) -> dict[str, Any]:
    """Of one pod, which keeps its name."""
    document = deployment(1) | {"kind": "StatefulSet"}
    document["spec"] |= {"serviceName": "web"}
    document["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return document


async def test_a_deployment_has_one_group_until_it_is_scaled_to_nothing(kubeconfig: Path, namespace: str) -> None:
    async with running(kubeconfig, podgroup.BLUEPRINT) as clients:

        async def pods() -> tuple[Pod, ...]:
            return (await clients.core_v1.pods.list(namespace)).items

        async def groups() -> tuple[PodGroup, ...]:
            return (await clients.scheduling_v1beta1.pod_groups.list(namespace)).items

        await clients.client.create(DEPLOYMENTS, deployment(3), namespace)
        await eventually(
            pods, lambda found: len(found) == 3 and all(GROUP in pod.metadata.annotations for pod in found)
        )
        (group,) = await groups()
        # a Deployment's annotations are copied to its ReplicaSets
        assert group.spec.min_member == 2
        assert (group.spec.min_resources or {})["requests.cpu"] == "2"
        assert {pod.metadata.annotations[GROUP] for pod in await pods()} == {group.metadata.name}
        assert group.metadata.owner_references[0].kind == "ReplicaSet"

        await clients.client.patch(DEPLOYMENTS, "web", namespace, MergePatch({"spec": {"replicas": 0}}))
        await eventually(groups, lambda left: not left)


async def follow_template(clients: Clientset, namespace: str, template: dict[str, Any]) -> None:
    """
    Change the set's template and delete its pod, which comes back in the new revision.

    A pod that is deleted before the set's own controller has seen the change comes back in the old one, and one that
    can't run keeps the set from going on.
    """
    client = clients.client
    changed = await client.patch(STATEFUL_SETS, "web", namespace, MergePatch({"spec": {"template": template}}))

    async def status() -> StatefulSetStatus:
        return (await client.get(STATEFUL_SETS, "web", namespace)).status

    await eventually(status, lambda found: found.observed_generation >= changed.metadata.generation)
    await clients.core_v1.pods.delete("web-0", namespace)


async def test_the_group_of_a_stateful_set_asks_for_what_its_new_pods_do(kubeconfig: Path, namespace: str) -> None:
    """The old revision may be too large to run at all."""
    async with running(kubeconfig, podgroup.BLUEPRINT) as clients:

        async def asked() -> set[str]:
            groups = (await clients.scheduling_v1beta1.pod_groups.list(namespace)).items
            return {str((group.spec.min_resources or {})["cpu"]) for group in groups}

        await clients.client.create(STATEFUL_SETS, stateful_set("100"), namespace)
        await eventually(asked, lambda found: found == {"200"})
        await follow_template(clients, namespace, stateful_set("1")["spec"]["template"])
        await eventually(asked, lambda found: found == {"2"})


async def test_the_group_of_a_stateful_set_loses_what_a_new_revision_drops(kubeconfig: Path, namespace: str) -> None:
    """But not what somebody else set on it."""
    async with running(kubeconfig, podgroup.BLUEPRINT) as clients:
        pod_groups = clients.scheduling_v1beta1.pod_groups

        async def groups() -> list[PodGroup]:
            return list((await pod_groups.list(namespace)).items)

        document = stateful_set("1")
        wishes = {"volcano.sh/preemptable": "true", "scheduling.volcano.sh/queue-name": "research"}
        document["spec"]["template"]["metadata"]["annotations"] = wishes
        await clients.client.create(STATEFUL_SETS, document, namespace)
        (group,) = await eventually(groups, lambda found: bool(found) and found[0].spec.queue == "research")
        theirs = {"metadata": {"annotations": {"volcano.sh/revocable-zone": "night"}}}
        await pod_groups.patch(group.metadata.name, namespace, MergePatch(theirs))

        await follow_template(clients, namespace, {"metadata": {"annotations": None}})
        (group,) = await eventually(groups, lambda found: found[0].spec.queue == "default")
        assert group.metadata.annotations == {"volcano.sh/revocable-zone": "night"}

"""Colocation settings reach pods on a real API server, and leave them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controllers import colocation
from generated.config.v1alpha1 import COLOCATION_CONFIGURATIONS
from generated.core.v1 import PODS
from runtime.patches import MergePatch
from tests.integration.controllers import eventually, running

NAME, VALUE = "volcano.sh/colocation-config-name", "volcano.sh/colocation-config"


def configuration(name: str) -> dict[str, Any]:
    qos = {"highRatio": 80, "lowRatio": 20, "minRatio": 10}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "a"}}, "memoryQos": qos}}


async def test_settings_come_change_and_go(kubeconfig: Path, namespace: str) -> None:
    async with running(kubeconfig, colocation.BLUEPRINT) as clients:

        async def annotations() -> dict[str, str]:
            held = (await clients.core_v1.pods.get("p", namespace)).metadata.annotations
            return {key: held[key] for key in (NAME, VALUE) if key in held}

        container = {"name": "c", "image": "busybox"}
        pod = {"metadata": {"name": "p", "labels": {"app": "a"}}, "spec": {"containers": [container]}}
        await clients.client.create(PODS, pod, namespace)
        await clients.client.create(COLOCATION_CONFIGURATIONS, configuration("c"), namespace)
        text = '{"memoryQos":{"highRatio":80,"lowRatio":20,"minRatio":10}}'
        await eventually(annotations, lambda seen: seen == {NAME: "c", VALUE: text})
        changed = MergePatch({"spec": {"memoryQos": {"highRatio": 50}}})
        await clients.config_v1alpha1.colocation_configurations.patch("c", namespace, changed)
        await eventually(annotations, lambda seen: '"highRatio":50' in seen.get(VALUE, ""))
        await clients.config_v1alpha1.colocation_configurations.delete("c", namespace)
        await eventually(annotations, lambda seen: seen == {VALUE: "{}"})

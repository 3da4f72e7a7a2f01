from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from generated.core.v1 import PODS
from tests.unit.webhooks.reviews import World, answer, body, message, operations
from webhooks.options import Options, feature_gates
from webhooks.pods.configuration import Configuration
from webhooks.pods.defaults import PodDefaults

Json = dict[str, Any]
GATE = "scheduling.volcano.sh/queue-allocation-gate"
ONE = "resourceGroups: [{resourceGroup: one, schedulerName: first}]\n"
TWO = "resourceGroups: [{resourceGroup: one, schedulerName: second}]\n"
BAD = "resourceGroups: [{object: {key: label}}]\n"
FILE = """
resourceGroups:
- object: {key: namespace, value: [n]}
  labels: {volcano.sh/nodetype: management}
  affinity: '{"podAffinity": {}}'
  tolerations: [{key: a, operator: Exists}, {key: b, operator: Exists}]
  schedulerName: other
"""


def pod(annotations: dict[str, str] | None = None, **spec: Any) -> Json:
    return {"metadata": {"name": "p", "annotations": annotations or {}}, "spec": spec}


def patch_of(obj: Json, text: str = "", *, gated: bool = False, path: Path | None = None, **request: Any) -> Any:
    gates = feature_gates()
    gates.set({"SchedulingGatesQueueAdmission": gated})
    if path is not None:
        path.write_text(text)
    world = World(options=Options(admission_conf=str(path or ""), gates=gates))
    return operations(answer(world.endpoint(PodDefaults), body(PODS, obj, **request)))


def test_a_pod_gets_what_its_group_says_in_order(tmp_path: Path) -> None:
    obj = pod(nodeSelector={"a": "b", "volcano.sh/nodetype": "x"}, tolerations=[{"key": "a", "operator": "Exists"}])
    assert patch_of(obj, FILE, path=tmp_path / "f") == [
        ("add", "/spec/nodeSelector", {"a": "b", "volcano.sh/nodetype": "management"}),
        ("add", "/spec/affinity", {"podAffinity": {}}),
        ("add", "/spec/tolerations", [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]),
        ("add", "/spec/schedulerName", "other"),
    ]


def test_what_the_pod_has_stays(tmp_path: Path) -> None:
    tolerations = [{"key": key, "operator": "Exists"} for key in ("a", "b")]
    made = patch_of(pod(affinity={}, tolerations=tolerations), FILE, path=tmp_path / "f")
    assert [path for _, path, _ in made] == ["/spec/nodeSelector", "/spec/schedulerName"]


def test_a_pod_of_no_group_stays_as_it_is(tmp_path: Path) -> None:
    assert patch_of(pod(), FILE, path=tmp_path / "f", namespace="other") == []


@pytest.mark.parametrize(
    ("annotation", "gates", "expected"),
    [
        ("true", None, [("add", "/spec/schedulingGates", [{"name": GATE}])]),
        ("true", [], [("add", "/spec/schedulingGates/-", {"name": GATE})]),
        ("true", [{"name": "a"}], [("add", "/spec/schedulingGates/-", {"name": GATE})]),
        ("true", [{"name": GATE}], []),
        ("True", None, []),
        ("", None, []),
    ],
)
def test_the_gate_of_queue_admission_needs_no_file(annotation: str, gates: Any, expected: Any) -> None:
    obj = pod({GATE: annotation}, **({} if gates is None else {"schedulingGates": gates}))
    assert patch_of(obj, gated=True) == expected
    assert patch_of(obj, gated=False) == []


def test_other_operations_are_not_for_it() -> None:
    text = body(PODS, pod(), operation="UPDATE")
    assert message(answer(World().endpoint(PodDefaults), text)) == "expect operation to be 'CREATE' "


async def follow_until(configuration: Configuration, scheduler: str) -> None:
    async with asyncio.timeout(10):
        while [group.scheduler_name for group in configuration.groups] != [scheduler]:
            await asyncio.sleep(0.01)


async def test_the_file_is_followed_and_a_bad_one_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "volcano-admission.conf"
    configuration = Configuration(str(path))
    assert list(configuration.groups) == [], "it may come later"
    following = asyncio.create_task(configuration.follow())
    try:
        path.write_text(ONE)
        await follow_until(configuration, "first")
        with caplog.at_level(logging.ERROR):
            path.write_text(BAD)
            async with asyncio.timeout(10):
                while "admission configuration refused" not in caplog.text:
                    await asyncio.sleep(0.01)
        assert [group.scheduler_name for group in configuration.groups] == ["first"]
        path.write_text(TWO)
        await follow_until(configuration, "second")
    finally:
        following.cancel()


async def test_without_a_file_there_is_nothing_to_follow() -> None:
    await Configuration("").follow()
    world = World()
    world.endpoint(PodDefaults)
    assert world.context.beside == {}


def test_the_process_follows_the_file(tmp_path: Path) -> None:
    world = World(options=Options(admission_conf=str(tmp_path / "none")))
    world.endpoint(PodDefaults)
    assert list(world.context.beside) == ["admission-configuration"]

"""`vcctl pod list`."""

from __future__ import annotations

from typing import Any

import pytest

from cli.podstatus import summary
from runtime.timestamps import parse_nanoseconds
from tests.unit.cli.harness import NOW, Server, run

PODS = "/api/v1/namespaces/default/pods"


def pod(
    name: str, status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **meta: Any
) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "creationTimestamp": "2024-01-02T03:04:05Z", **meta},
        "spec": {"containers": [{"name": "c"}], **(spec or {})},
        "status": status or {"phase": "Pending"},
    }


RESTARTED = {
    "phase": "Running",
    "containerStatuses": [
        {
            "ready": True, "restartCount": 2, "state": {"running": {}},
            "lastState": {"terminated": {"finishedAt": "2024-01-02T00:11:09Z"}},
        }
    ],
}  # fmt: skip
CRASHING = {
    "phase": "Pending",
    "initContainerStatuses": [{"restartCount": 4, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
}
CRASH_SPEC = {"initContainers": [{"name": "i"}]}


def test_the_table_keeps_its_bytes() -> None:
    pods = (pod("d", CRASHING, CRASH_SPEC), pod("c", RESTARTED), pod("z", namespace="aaa"))
    used = Server().items(PODS, *pods)
    assert run("pod", "list", server=used).out == (
        "Name     Ready      Status                       Restart           Age         \n"
        "z        0/1        Pending                      0                 7m5s        \n"
        "c        1/1        Running                      2 (3h ago)        7m5s        \n"
        "d        0/1        Init:CrashLoopBackOff        4                 7m5s        \n"
    )
    assert used.requests[0].query["labelSelector"] == "volcano.sh/job-name"


def test_namespaces_and_places_are_columns_on_demand() -> None:
    used = Server().items("/api/v1/pods", pod("a", spec={"nodeName": "n1"}))
    lines = run("pod", "list", "--all-namespaces", "-o", "wide", server=used).lines
    assert lines[0].split() == ["Namespace", "Name", "Ready", "Status", "Restart", "Age", "IP", "Node", "Queue"]
    assert lines[1].split() == ["default", "a", "0/1", "Pending", "0", "7m5s", "<none>", "n1", "<none>"]


def queued(name: str, label: str = "", annotation: str = "") -> dict[str, Any]:
    labels = {"volcano.sh/queue-name": label} if label else {}
    return pod(name, labels=labels, annotations={"scheduling.volcano.sh/queue-name": annotation} if annotation else {})


def test_a_queue_is_matched_by_label_or_annotation_over_all_pods() -> None:
    used = Server().items(PODS, queued("a", "q"), queued("b", "x", "q"), queued("c", "x"), queued("d"))
    result = run("pod", "list", "-q", "q", "-o", "name", server=used)
    assert result.lines == ["pod/a", "pod/b"]
    assert "labelSelector" not in used.requests[0].query


@pytest.mark.parametrize("words", [("-j", "j1"), ("--for", "vcjob/j1")])
def test_a_job_is_matched_by_its_label(words: tuple[str, ...]) -> None:
    used = Server().items(PODS, queued("a", "q"))
    assert run("pod", "list", *words, "-o", "name", server=used).lines == ["pod/a"]
    assert used.requests[0].query["labelSelector"] == "volcano.sh/job-name in (j1)"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-j", "j1", "-q", "other"), "the input vcjob j1 does not match the queue other"),
        (("-j", "bad name!"), 'values[0][volcano.sh/job-name]: Invalid value: "bad name!": a valid label must be'),
        (("--for", "x/y"), '--for: "x/y" is not vcjob/NAME'),
    ],
)
def test_what_does_not_fit_is_told(words: tuple[str, ...], message: str) -> None:
    result = run("pod", "list", *words, server=Server().items(PODS, queued("a", "q")))
    assert result.code == 255
    assert result.out.startswith(f"Failed to list pod: {message}")


def test_no_pods_are_said() -> None:
    assert run("pod", "list", server=Server().items(PODS)).out == "No resources found\n"


def container(*, ready: bool = False, restarts: int = 0, **state: Any) -> dict[str, Any]:
    return {"ready": ready, "restartCount": restarts, "state": state}


SIDECAR = {"initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]}
RUNNING = container(ready=True, running={})


@pytest.mark.parametrize(
    ("status", "spec", "ready", "word", "restarts"),
    [
        ({"phase": "Running", "containerStatuses": [RUNNING]}, {}, "1/1", "Running", "0"),
        ({"phase": "Failed", "reason": "Evicted"}, {}, "0/1", "Evicted", "0"),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            {}, "0/1", "SchedulingGated", "0",
        ),
        (
            {"phase": "Running", "containerStatuses": [container(restarts=5, waiting={"reason": "CrashLoopBackOff"})]},
            {}, "0/1", "CrashLoopBackOff", "5",
        ),
        (
            {"phase": "Failed", "containerStatuses": [container(terminated={"exitCode": 3})]},
            {}, "0/1", "ExitCode:3", "0",
        ),
        (
            {"phase": "Failed", "containerStatuses": [container(terminated={"signal": 9, "exitCode": 137})]},
            {}, "0/1", "Signal:9", "0",
        ),
        (
            {
                "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [container(terminated={"reason": "Completed"}), RUNNING],
            },
            {"containers": [{}, {}]}, "1/2", "Running", "0",
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [container(terminated={"reason": "Completed"}), RUNNING],
            },
            {"containers": [{}, {}]}, "1/2", "NotReady", "0",
        ),
        (
            {"phase": "Pending", "initContainerStatuses": [container(restarts=2, terminated={"exitCode": 1})]},
            CRASH_SPEC, "0/1", "Init:ExitCode:1", "2",
        ),
        (
            {"phase": "Pending", "initContainerStatuses": [container(terminated={"exitCode": 2, "signal": 9})]},
            CRASH_SPEC, "0/1", "Init:Signal:9", "0",
        ),
        (
            {"phase": "Pending", "initContainerStatuses": [container(terminated={"exitCode": 1, "reason": "Error"})]},
            CRASH_SPEC, "0/1", "Init:Error", "0",
        ),
        (
            {"phase": "Pending", "initContainerStatuses": [container(waiting={"reason": "PodInitializing"})]},
            CRASH_SPEC, "0/1", "Init:0/1", "0",
        ),
        (
            {
                "phase": "Pending",
                "initContainerStatuses": [
                    {**container(ready=True, restarts=3, running={}), "name": "s", "started": True},
                    {**container(running={}), "name": "i"},
                ],
            },
            SIDECAR, "1/2", "Init:1/2", "3",
        ),
        (
            {
                "phase": "Running",
                "initContainerStatuses": [
                    {**container(ready=True, restarts=3, running={}), "name": "s", "started": True},
                    {**container(restarts=7, terminated={"exitCode": 0}), "name": "i"},
                ],
                "containerStatuses": [{**RUNNING, "restartCount": 1}],
            },
            SIDECAR, "2/2", "Running", "4",
        ),
        (
            {
                "phase": "Running", "conditions": [{"type": "Initialized", "status": "True"}],
                "initContainerStatuses": [{**container(restarts=1, waiting={"reason": "Odd"}), "name": "s"}],
                "containerStatuses": [RUNNING],
            },
            SIDECAR, "1/2", "Init:Odd", "1",
        ),
    ],
)  # fmt: skip
def test_a_pod_in_one_row(status: dict[str, Any], spec: dict[str, Any], ready: str, word: str, restarts: str) -> None:
    found = summary(pod("p", status, spec), parse_nanoseconds(NOW))
    assert (found.ready, found.status, found.restarts) == (ready, word, restarts)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Running", "containerStatuses": [RUNNING]}, "Terminating"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
        ({"phase": "Succeeded", "containerStatuses": [container(terminated={"reason": "Completed"})]}, "Completed"),
        ({"phase": "Failed"}, "Failed"),
    ],
)
def test_a_pod_that_is_being_deleted(status: dict[str, Any], word: str) -> None:
    assert summary(pod("p", status, deletionTimestamp=NOW), parse_nanoseconds(NOW)).status == word


def test_the_newest_end_is_told() -> None:
    statuses = [
        {**RUNNING, "restartCount": 1, "lastState": {"terminated": {"finishedAt": f"2024-01-02T03:{minute}:10Z"}}}
        for minute in ("01", "10", "05")
    ]
    found = summary(pod("p", {"phase": "Running", "containerStatuses": statuses}), parse_nanoseconds(NOW))
    assert found.restarts == "3 (60s ago)"

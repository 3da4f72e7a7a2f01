"""`vcctl job view`: labels, TABs, and events."""

from __future__ import annotations

import json
import time

import pytest

from tests.unit.cli.harness import BATCH, Server, run

HERE = f"{BATCH}/namespaces/default/jobs"
EVENTS = "/api/v1/namespaces/default/events"

JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {
        "name": "j1",
        "namespace": "default",
        "uid": "u-1",
        "generation": 2,
        "resourceVersion": "7",
        "creationTimestamp": "2024-01-02T03:04:05Z",
        "labels": {"b": "2", "a": "1<x>"},
    },
    "spec": {
        "minAvailable": 2,
        "schedulerName": "volcano",
        "plugins": {"ssh": ["--no-root", "-q"], "env": []},
        "queue": "gold",
        "policies": [{"event": "PodFailed", "action": "RestartJob"}, {"exitCode": 3, "action": "AbortJob"}],
        "tasks": [
            {
                "name": "t",
                "replicas": 3,
                "dependsOn": {"name": ["a", "b"]},
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "imagePullSecrets": [{"name": "regcred"}],
                        "volumes": [{"name": "v", "emptyDir": {}}],
                        "initContainers": [{"name": "i", "image": "prepare"}],
                        "containers": [
                            {
                                "name": "c",
                                "image": "img",
                                "command": ["sh", "-c"],
                                "args": ["x y"],
                                "workingDir": "/w",
                                "ports": [{"containerPort": 80, "name": "web"}],
                                "resources": {"limits": {"cpu": "1.5"}, "requests": {"memory": "1024Mi"}},
                            }
                        ],
                    }
                },
            }
        ],
    },
    "status": {
        "state": {"phase": "Running"},
        "running": 1,
        "minAvailable": 2,
        "version": 3,
        "controlledResources": {"volume-b": "b", "plugin-svc": "svc"},
        "conditions": [{"status": "Pending", "lastTransitionTime": "2024-01-02T03:04:05Z"}],
    },
}
TEXT = """\
Name:       →j1
Namespace:  →default
Labels:     →{"a":"1\\u003cx\\u003e","b":"2"}
Annotations:→<none>
API Version:→batch.volcano.sh/v1alpha1
Kind:       →Job
Metadata:
  Creation Timestamp:→2024-01-02 03:04:05 +0000 UTC
  Generate Name:     →
  Generation:        →2
  Resource Version:  →7
  UID:               →u-1
Spec:
  Min Available:     →2
  Plugins:
    Env:→[]
    Ssh:→[--no-root -q]
  Scheduler Name:    →volcano
  Tasks:
    Name:→t
    Replicas:→3
    Template:
      Metadata:
        Annotations:
          Cri . Cci . Io / Container - Type:          →
          Kubernetes . Io / Availablezone:            →
          Network . Alpha . Kubernetes . Io / Network:→
        Creation Timestamp:→0001-01-01 00:00:00 +0000 UTC
      Spec:
        Containers:
          Command:
            sh
            -c
          Image:→img
          Name: →c
          Ports:
            Container Port:→80
            Name:          →web
          Resources:
            Limits:
              Cpu:   →1500m
              Memory:→0
            Requests:
              Cpu:   →0
              Memory:→1Gi
            Working Dir:→/w
        Image Pull Secrets:
          Name:     →regcred
        Restart Policy:   →Never
Status:
  Running:      →1
  Min Available:→2
  Version:      →3
  State:
    Phase:→Running
  Controlled Resources:
    plugin-svc: →svc
    volume-b: →b
""".replace("→", "\t")
CONDITIONS = "  Conditions:\n    Status\tTransitionTime\n    Pending \t2024-01-02 03:04:05 +0000 UTC \n"
NO_EVENTS = "Events: \t<none>\n"


@pytest.fixture
def server() -> Server:
    return Server().on(f"GET {HERE}/j1", JOB).items(EVENTS)


def test_a_job_is_described_byte_for_byte(server: Server) -> None:
    result = run("job", "view", "-N", "j1", server=server)
    assert (result.code, result.out, result.err) == (0, TEXT + CONDITIONS + NO_EVENTS, "")


def test_vjobs_leaves_the_conditions_out(server: Server) -> None:
    assert run("-n", "j1", program="vjobs", server=server).out == TEXT + NO_EVENTS


def test_events_are_picked_by_the_server_for_the_job_and_its_group(server: Server) -> None:
    run("job", "view", "-N", "j1", server=server)
    chosen = [request.query["fieldSelector"] for request in server.requests if request.path == EVENTS]
    assert chosen == [
        "involvedObject.kind=Job,involvedObject.name=j1,involvedObject.uid=u-1",
        "involvedObject.kind=PodGroup,involvedObject.name=j1-u-1",
    ]


def test_events_are_listed_newest_last_with_counts_and_sources(server: Server) -> None:
    old = {
        "type": "Warning", "reason": "Old", "message": " m \n", "count": 4, "source": {"component": "vc", "host": "n1"},
        "firstTimestamp": "2024-01-01T03:11:10Z", "lastTimestamp": "2024-01-02T03:10:10Z",
    }  # fmt: skip
    new = {
        "type": "Normal", "reason": "New", "message": "x", "reportingComponent": "volcano",
        "eventTime": "2024-01-02T03:11:00.000000Z",
    }  # fmt: skip
    server.on(f"GET {EVENTS}", {"metadata": {}, "items": [new]}, {"metadata": {}, "items": [old]})
    lines = run("job", "view", "-N", "j1", server=server).out.removeprefix(TEXT + CONDITIONS).splitlines()
    columns = "{:<15}\t{:<40}\t{:<30}\t{:<40}\t{}"
    assert lines == [
        "Events:",
        columns.format("Type", "Reason", "Age", "Form", "Message"),
        columns.format(*["-------"] * 5),
        columns.format("Warning", "Old", "60s (x4 over 24h)", "vc, n1", "m"),
        columns.format("Normal", "New", "10s", "volcano", "x"),
    ]


def test_a_series_counts_and_a_missing_time_is_unknown(server: Server) -> None:
    series = {"series": {"count": 3, "lastObservedTime": "2024-01-02T03:11:08.5Z"}, "eventTime": "2024-01-02T03:11:00Z"}
    server.on(f"GET {EVENTS}", {"metadata": {}, "items": [series, {}]}, {"metadata": {}, "items": []})
    ages = [line.split("\t")[2].strip() for line in run("job", "view", "-N", "j1", server=server).lines[-2:]]
    assert ages == ["<unknown>", "1s (x3 over 10s)"]


def test_events_that_cannot_be_listed_are_told_on_stderr(server: Server) -> None:
    server.fail(f"GET {EVENTS}", 403, "events is forbidden", "Forbidden")
    result = run("job", "view", "-N", "j1", server=server)
    assert (result.code, result.err) == (0, "Failed to list events: events is forbidden\n")
    assert result.out.endswith(NO_EVENTS)


def test_what_somebody_wrote_into_a_message_does_not_command_the_terminal(server: Server) -> None:
    server.fail(f"GET {EVENTS}", 403, "events is \x1b[31m\rforbidden\x7f", "Forbidden")
    result = run("job", "view", "-N", "j1", server=server)
    assert result.err == "Failed to list events: events is ^[[31m^Mforbidden^?\n"


def test_the_local_zone_is_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    time.tzset()
    try:
        assert (
            "  Creation Timestamp:\t2024-01-02 11:04:05 +0800 CST\n"
            in run("job", "view", "-N", "j1", server=server).out
        )
    finally:
        monkeypatch.undo()
        time.tzset()


def test_wide_tells_what_the_description_leaves_out(server: Server) -> None:
    text = run("job", "view", "-N", "j1", "-o", "wide", server=server).out
    for line in (
        "  Queue:         \tgold",
        "  Policy:\tPodFailed -> RestartJob",
        "  Policy:\texit code 3 -> AbortJob",
        "    Depends On:\t[a b]",
        "    Init Container:\ti prepare",
        "    Args of c:\t[x y]",
        "    Volume:\tv emptyDir",
    ):
        assert f"{line}\n" in text


def test_json_is_the_stored_object(server: Server) -> None:
    assert json.loads(run("job", "view", "-N", "j1", "-o", "json", server=server).out) == JOB


def test_a_name_is_needed() -> None:
    message = "job name (specified by --name or -N) is mandatory to view a particular job"
    assert run("job", "view").out == f"Failed to view job: {message}\n"


def test_a_job_without_anything_is_described_too() -> None:
    server = Server().on(f"GET {HERE}/j1", {"metadata": {"name": "j1"}}).items("/api/v1/events")
    result = run("job", "view", "-N", "j1", server=server)
    assert result.code == 0
    assert "Creation Timestamp:\t0001-01-01 00:00:00 +0000 UTC" in result.out

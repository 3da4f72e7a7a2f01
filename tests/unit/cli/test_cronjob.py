"""`vcctl cronjob` and `vcctl podgroup`, which the original tool lacks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.harness import BATCH, SCHEDULING, Server, group, run

CRON = f"{BATCH}/namespaces/default/cronjobs"
GROUPS = f"{SCHEDULING}/namespaces/default/podgroups"


def cron_job(**spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"minAvailable": 1, "odd": {"x": 1}}}
    return {
        "metadata": {"name": "c1", "namespace": "default", "uid": "u", "creationTimestamp": "2024-01-01T03:11:10Z"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": template, "concurrencyPolicy": "Forbid", **spec},
        "status": {"active": [{}, {}], "lastScheduleTime": "2024-01-02T03:10:10Z"},
    }


def test_cron_jobs_are_listed() -> None:
    used = Server().items(CRON, cron_job(), cron_job(suspend=True)).on(f"GET {CRON}/c1", cron_job())
    lines = run("cronjob", "list", server=used).lines
    assert lines[0] == "Name   Schedule      Suspend   Active   LastSchedule   Age       "
    assert lines[1] == "c1     */5 * * * *   false     2        60s            24h       "
    assert lines[2].split()[6] == "true"
    wide = run("cronjob", "get", "-N", "c1", "-o", "wide", server=used).lines[1]
    assert wide.endswith("<none>              Forbid    ")


@pytest.mark.parametrize(("verb", "value"), [("suspend", True), ("resume", False)])
def test_runs_are_stopped_and_taken_up_again(verb: str, value: bool) -> None:
    used = Server().on(f"PATCH {CRON}/c1", cron_job())
    assert run("cronjob", verb, "-N", "c1", server=used).out == ""
    assert used.bodies("PATCH") == [{"spec": {"suspend": value}}]


def test_a_run_is_triggered_by_hand() -> None:
    used = Server().on(f"GET {CRON}/c1", cron_job()).on(f"POST {BATCH}/namespaces/default/jobs", lambda r: r.body)
    result = run("cronjob", "trigger", "-N", "c1", server=used)
    (body,) = used.bodies("POST")
    name = body["metadata"]["name"]
    assert name == "c1-2840275110-manual"
    assert result.out == f"trigger cronjob c1 successfully: job {name}\n"
    assert body["metadata"]["labels"] == {"a": "b"}
    assert body["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert "controller" not in body["metadata"]["ownerReferences"][0]
    assert body["spec"] == {"minAvailable": 1, "odd": {"x": 1}}


def test_a_cron_job_is_deleted_and_needs_a_name() -> None:
    used = Server().on(f"DELETE {CRON}/c1", {})
    assert run("cronjob", "delete", "-N", "c1", server=used).out == "delete cronjob c1 successfully\n"
    for verb in ("get", "suspend", "resume", "trigger", "delete"):
        message = f"cronjob name (specified by --name or -N) is mandatory to {verb} a particular cronjob"
        assert run("cronjob", verb).out == f"Failed to {verb} cronjob: {message}\n"


def test_pod_groups_are_listed_by_queue_and_phase() -> None:
    waiting = group("b", "q2", "Pending")
    conditions = [
        {"type": "Scheduled", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z"},
        {
            "type": "Unschedulable",
            "status": "True",
            "reason": "NotEnoughResources",
            "lastTransitionTime": "2024-01-02T00:00:00Z",
        },
    ]
    waiting["status"]["conditions"] = conditions
    used = (
        Server().items(GROUPS, group("a", "q1", "Running"), waiting).on(f"GET {GROUPS}/a", group("a", "q1", "Running"))
    )
    lines = run("podgroup", "list", "-q", "q2", "-o", "wide", server=used).lines
    assert lines[0].split() == ["Name", "Phase", "MinMember", "Running", "Queue", "Age", "Priority", "Reason"]
    assert lines[1].split() == ["b", "Pending", "2", "0", "q2", "7m5s", "NotEnoughResources"]
    assert run("podgroup", "list", "--phase", "Running", "-o", "name", server=used).lines == [
        "podgroup.scheduling.volcano.sh/a"
    ]
    assert run("podgroup", "get", "-N", "a", server=used).lines[1].split()[:2] == ["a", "Running"]
    flag = "(specified by --name or -N)"
    missing = f"Failed to get podgroup: name {flag} is mandatory to get the particular podgroup details\n"
    assert run("podgroup", "get").out == missing

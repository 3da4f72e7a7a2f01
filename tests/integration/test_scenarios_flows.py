"""Flows and cron jobs with the controllers of their jobs, and pods that run on simulated nodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.annotations import EXIT_CODE, RUN_SECONDS
from controllers import cronjob, garbagecollector, jobflow, jobtemplate
from controllers import job as job_controller
from generated.batch.v1alpha1 import CRON_JOBS, CronJob
from generated.clients.clientset import Clientset
from generated.flow.v1alpha1 import JOB_FLOWS, JOB_TEMPLATES, JobFlow
from runtime.patches import MergePatch
from tests.integration.controllers import end, eventually, running
from tests.integration.scenarios import played, playing
from tests.integration.test_job_controller import Case, with_queue

Json = dict[str, Any]


@pytest.fixture
async def case(kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]) -> AsyncIterator[Case]:
    (node,) = kwok_nodes()
    modules = (job_controller, jobflow, jobtemplate, cronjob, garbagecollector)
    async with running(kubeconfig, *(module.BLUEPRINT for module in modules)) as clients:
        await with_queue(clients)
        async with played(clients, namespace, node) as stage:
            yield stage


def job_spec(seconds: int | None = 0, code: int = 0) -> Json:
    """One pod that runs so long, for ever if not said, and ends with the exit code."""
    annotations = {EXIT_CODE: str(code)} | ({} if seconds is None else {RUN_SECONDS: str(seconds)})
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}
    task = {"name": "t", "replicas": 1, "template": {"metadata": {"annotations": annotations}, "spec": pod}}
    return {"minAvailable": 1, "queue": "default", "schedulerName": "nobody", "tasks": [task]}


async def with_templates(clients: Clientset, namespace: str, **specs: Json) -> None:
    for name, spec in specs.items():
        await clients.client.create(JOB_TEMPLATES, {"metadata": {"name": name}, "spec": spec}, namespace)


async def jobs(case: Case) -> dict[str, str]:
    """Phases by name."""
    found = (await case.clients.batch_v1alpha1.jobs.list(case.namespace)).items
    return {job.metadata.name: job.status.state.phase for job in found}


def step(name: str, *targets: str, **depends: Any) -> Json:
    return {"name": name} | ({"dependsOn": {"targets": list(targets), **depends}} if targets else {})


async def read(case: Case) -> JobFlow:
    return await case.clients.flow_v1alpha1.job_flows.get("f", case.namespace)


async def start(case: Case, *steps: Json, **spec: Any) -> None:
    flow = {"metadata": {"name": "f"}, "spec": {"flows": list(steps), **spec}}
    await case.clients.client.create(JOB_FLOWS, flow, case.namespace)


async def test_a_flow_joins_what_it_has_parted_and_keeps_its_jobs(case: Case) -> None:
    names = ("load", "left", "right", "join")
    await with_templates(case.clients, case.namespace, **dict.fromkeys(names, job_spec()))
    steps = (step("load"), step("left", "load"), step("right", "load"), step("join", "left", "right"))
    await start(case, *steps, jobRetainPolicy="retain")
    done = await eventually(lambda: read(case), lambda flow: flow.status.state.phase == "Succeed")
    assert sorted(done.status.completed_jobs) == sorted(f"f-{name}" for name in names)
    found = (await case.clients.batch_v1alpha1.jobs.list(case.namespace)).items
    created = {job.metadata.name: job.metadata.creation_timestamp or "" for job in found}
    assert created["f-load"] <= min(created["f-left"], created["f-right"])
    assert max(created["f-left"], created["f-right"]) <= created["f-join"]


async def test_a_step_may_wait_for_a_service_that_never_ends(case: Case) -> None:
    """The probe decides in place of the end of the job."""
    await with_templates(case.clients, case.namespace, serve=job_spec(None), ask=job_spec())
    probe = {"taskStatusList": [{"taskName": "t", "phase": "Running"}]}
    await start(case, step("serve"), step("ask", "serve", probe=probe))
    await eventually(lambda: jobs(case), lambda seen: seen == {"f-serve": "Running", "f-ask": "Completed"})
    flow = await eventually(lambda: read(case), lambda seen: seen.status.completed_jobs == ("f-ask",))
    assert (flow.status.state.phase, flow.status.running_jobs) == ("Running", ("f-serve",))


async def test_a_step_that_fails_ends_the_flow(case: Case) -> None:
    await with_templates(case.clients, case.namespace, bad=job_spec(code=1), never=job_spec())
    await start(case, step("bad"), step("never", "bad"))
    failed = await eventually(lambda: read(case), lambda flow: flow.status.state.phase == "Failed")
    assert failed.status.failed_jobs == ("f-bad",)
    assert await jobs(case) == {"f-bad": "Failed"}


async def test_a_step_does_not_run_again_when_its_job_is_collected(case: Case) -> None:
    seen: set[tuple[str, str]] = set()

    async def look_on() -> None:
        async for change in case.clients.batch_v1alpha1.jobs.watch(case.namespace):
            seen.add((change.object.metadata.name, change.object.metadata.uid))

    once = job_spec() | {"ttlSecondsAfterFinished": 0}
    await with_templates(case.clients, case.namespace, once=once, last=job_spec(None))
    async with playing(look_on()):
        await start(case, step("once"), step("last", "once"))
        await eventually(lambda: jobs(case), lambda found: found == {"f-last": "Running"})
        await end(case.clients, case.namespace, "f-last-t-0", "Succeeded")
        done = await eventually(lambda: read(case), lambda flow: flow.status.state.phase == "Succeed")
    assert done.status.completed_jobs == ("f-last", "f-once")
    assert sorted(name for name, _ in seen) == ["f-last", "f-once"]


async def test_a_run_is_replaced_by_the_next_one_until_the_cron_job_rests(case: Case) -> None:
    async def cron() -> CronJob:
        return await case.clients.batch_v1alpha1.cron_jobs.get("c", case.namespace)

    spec = {"schedule": "@every 1s", "concurrencyPolicy": "Replace", "jobTemplate": {"spec": job_spec(None)}}
    await case.clients.client.create(CRON_JOBS, {"metadata": {"name": "c"}, "spec": spec}, case.namespace)
    first = await eventually(cron, lambda found: len(found.status.active) == 1)
    gone = first.status.active[0].name
    await eventually(lambda: jobs(case), lambda seen: bool(seen) and gone not in seen)
    await case.clients.batch_v1alpha1.cron_jobs.patch("c", case.namespace, MergePatch({"spec": {"suspend": True}}))
    await eventually(lambda: jobs(case), lambda seen: list(seen.values()) == ["Running"])


async def test_runs_that_failed_are_kept_as_long_as_they_should(case: Case) -> None:
    spec = {"schedule": "@every 1s", "failedJobsHistoryLimit": 1, "jobTemplate": {"spec": job_spec(code=1)}}
    await case.clients.client.create(CRON_JOBS, {"metadata": {"name": "c"}, "spec": spec}, case.namespace)
    (oldest,) = await eventually(lambda: jobs(case), lambda seen: len(seen) == 1)
    await eventually(lambda: jobs(case), lambda seen: "Failed" in seen.values() and oldest not in seen)
    await case.clients.batch_v1alpha1.cron_jobs.patch("c", case.namespace, MergePatch({"spec": {"suspend": True}}))
    await eventually(lambda: jobs(case), lambda seen: list(seen.values()) == ["Failed"])

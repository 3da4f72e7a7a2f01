"""Flows on a real API server: jobs in their order, and a status that tells where they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from controllers import jobflow, jobtemplate
from generated.batch.v1alpha1 import Job, JobState
from generated.clients.clientset import Clientset
from generated.flow.v1alpha1 import JOB_FLOWS, JOB_TEMPLATES, JobFlow
from generated.meta.v1 import ObjectMeta
from tests.integration.controllers import eventually, running


def template(name: str) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox"}
    task = {"name": "t", "replicas": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    return {"metadata": {"name": name}, "spec": {"minAvailable": 1, "schedulerName": "nobody", "tasks": [task]}}


def flow(policy: str = "delete") -> dict[str, Any]:
    patch = {"jobSpec": {"tasks": [{"name": "t", "replicas": 2}]}}
    second = {"name": "b", "dependsOn": {"targets": ["a"]}, "patch": patch}
    return {"metadata": {"name": "f"}, "spec": {"flows": [{"name": "a"}, second], "jobRetainPolicy": policy}}


async def finish(clients: Clientset, namespace: str, name: str, phase: str = "Completed") -> None:
    job = await clients.batch_v1alpha1.jobs.get(name, namespace)
    status = msgspec.structs.replace(job.status, state=JobState(phase=phase))
    meta = ObjectMeta(name=name, namespace=namespace, resource_version=job.metadata.resource_version)
    await clients.batch_v1alpha1.jobs.update_status(Job(metadata=meta, status=status))


async def test_a_flow_runs_its_jobs_in_order_and_cleans_up(kubeconfig: Path, namespace: str) -> None:
    async with running(kubeconfig, jobflow.BLUEPRINT, jobtemplate.BLUEPRINT) as clients:

        async def read() -> JobFlow:
            return await clients.flow_v1alpha1.job_flows.get("f", namespace)

        async def jobs() -> list[str]:
            return sorted(job.metadata.name for job in (await clients.batch_v1alpha1.jobs.list(namespace)).items)

        await clients.client.create(JOB_FLOWS, flow(), namespace)
        await clients.client.create(JOB_TEMPLATES, template("a"), namespace)  # the flow waits for it
        await eventually(jobs, lambda found: found == ["f-a"])
        await clients.client.create(JOB_TEMPLATES, template("b"), namespace)
        await finish(clients, namespace, "f-a")
        await eventually(jobs, lambda found: found == ["f-a", "f-b"])
        second = await clients.batch_v1alpha1.jobs.get("f-b", namespace)
        assert (second.spec.tasks[0].replicas, second.spec.tasks[0].template.spec.containers[0].image) == (2, "busybox")
        running_flow = await eventually(read, lambda found: found.status.state.phase == "Running")
        assert running_flow.status.completed_jobs == ("f-a",)

        async def listed() -> tuple[str, ...]:
            made = await clients.flow_v1alpha1.job_templates.get("a", namespace)
            return made.status.job_depends_on_list

        await eventually(listed, lambda found: found == ("f-a",))
        await finish(clients, namespace, "f-b")
        await eventually(read, lambda found: found.status.state.phase == "Succeed")
        await eventually(jobs, lambda found: found == [])


async def test_a_finished_job_counts_after_a_restart_unless_somebody_deleted_it_early(
    kubeconfig: Path, namespace: str
) -> None:
    short = template("a")
    short["spec"]["ttlSecondsAfterFinished"] = 0
    long = template("b")
    long["spec"]["ttlSecondsAfterFinished"] = 3600

    async def read() -> JobFlow:
        return await clients.flow_v1alpha1.job_flows.get("f", namespace)

    async def jobs() -> dict[str, str]:
        return {
            job.metadata.name: job.metadata.uid for job in (await clients.batch_v1alpha1.jobs.list(namespace)).items
        }

    async with running(kubeconfig, jobflow.BLUEPRINT) as clients:
        for each in (short, long):
            await clients.client.create(JOB_TEMPLATES, each, namespace)
        await clients.client.create(JOB_FLOWS, flow("retain"), namespace)
        await eventually(jobs, lambda found: list(found) == ["f-a"])
        await finish(clients, namespace, "f-a")
        await eventually(read, lambda found: found.status.completed_jobs == ("f-a",))
        await clients.batch_v1alpha1.jobs.delete("f-a", namespace)
        made = await eventually(jobs, lambda found: list(found) == ["f-b"])
        await clients.flow_v1alpha1.job_templates.delete("a", namespace)
    async with running(kubeconfig, jobflow.BLUEPRINT) as clients:
        await finish(clients, namespace, "f-b", "Failed")
        failed = await eventually(read, lambda found: found.status.state.phase == "Failed")
        assert failed.status.completed_jobs == ("f-a",)
        marks = failed.metadata.annotations["volcano.sh/jobs-with-ttl"].split(",")
        assert [mark.partition("@")[0] for mark in marks] == ["f-a", "f-b", "f-b"]
        await clients.batch_v1alpha1.jobs.delete("f-b", namespace)
        again = await eventually(jobs, lambda found: list(found) == ["f-b"] and found != made)
        await finish(clients, namespace, "f-b", "Failed")
        await eventually(read, lambda found: found.status.state.phase == "Failed")
    async with running(kubeconfig) as clients:  # nobody sees it go
        await clients.batch_v1alpha1.jobs.delete("f-b", namespace)
    async with running(kubeconfig, jobflow.BLUEPRINT) as clients:
        await eventually(jobs, lambda found: list(found) == ["f-b"] and found != again)
        await finish(clients, namespace, "f-b")
        await eventually(read, lambda found: found.status.state.phase == "Succeed")

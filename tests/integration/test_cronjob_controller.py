"""CronJobs on a real API server: jobs in time, one after the other, and a history that stays short."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from controllers import cronjob
from generated.batch.v1alpha1 import CRON_JOBS, CronJob, Job, JobState
from generated.clients.clientset import Clientset
from generated.meta.v1 import ObjectMeta
from runtime import timestamps
from runtime.patches import MergePatch
from tests.integration.controllers import eventually, running

STAMP = "volcano.sh/cronjob-scheduled-timestamp"


def cron_job(name: str, schedule: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox"}
    task = {"name": "t", "replicas": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    template = {"metadata": {"labels": {"of": name}}, "spec": {"schedulerName": "nobody", "tasks": [task]}}
    return {"metadata": {"name": name}, "spec": {"schedule": schedule, "jobTemplate": template, **spec}}


async def jobs(clients: Clientset, namespace: str) -> list[Job]:
    return list((await clients.batch_v1alpha1.jobs.list(namespace)).items)


async def finish(clients: Clientset, job: Job, phase: str) -> None:
    state = JobState(phase=phase, last_transition_time="2026-01-01T00:00:00Z")
    status = msgspec.structs.replace(job.status, state=state)
    meta = job.metadata
    head = ObjectMeta(name=meta.name, namespace=meta.namespace, resource_version=meta.resource_version)
    await clients.batch_v1alpha1.jobs.update_status(Job(metadata=head, status=status))


async def test_runs_come_in_time_and_wait_for_each_other(kubeconfig: Path, namespace: str) -> None:
    async with running(kubeconfig, cronjob.BLUEPRINT) as clients:

        async def read() -> CronJob:
            return await clients.batch_v1alpha1.cron_jobs.get("c", namespace)

        spec = {"concurrencyPolicy": "Forbid", "successfulJobsHistoryLimit": 1, "timeZone": "Asia/Tokyo"}
        await clients.client.create(CRON_JOBS, cron_job("c", "@every 1s", **spec), namespace)
        (first,) = await eventually(lambda: jobs(clients, namespace), bool)
        assert first.metadata.labels == {"of": "c"}
        assert first.metadata.annotations[STAMP].endswith("+09:00")
        found = await eventually(read, lambda cron: bool(cron.status.active))
        assert [ref.uid for ref in found.status.active] == [first.metadata.uid]
        await finish(clients, first, "Completed")
        both = await eventually(lambda: jobs(clients, namespace), lambda seen: len(seen) == 2)
        second = next(job for job in both if job.metadata.uid != first.metadata.uid)
        await finish(clients, second, "Completed")
        await eventually(
            lambda: jobs(clients, namespace),
            lambda seen: first.metadata.name not in {job.metadata.name for job in seen},
        )
        done = await read()
        assert done.status.last_successful_time == "2026-01-01T00:00:00Z"
        await clients.batch_v1alpha1.cron_jobs.patch("c", namespace, MergePatch({"spec": {"suspend": True}}))


async def test_a_run_that_was_created_but_not_noted_is_taken_up_after_a_restart(
    kubeconfig: Path, namespace: str
) -> None:
    last = datetime.now(UTC) - timedelta(minutes=61)
    async with running(kubeconfig) as clients:
        await clients.client.create(CRON_JOBS, cron_job("c", "@every 1h"), namespace)
        status = MergePatch({"status": {"lastScheduleTime": timestamps.format_seconds(last)}})
        await clients.batch_v1alpha1.cron_jobs.patch_status("c", namespace, status)
    async with running(kubeconfig, cronjob.BLUEPRINT, namespace=namespace, writes=1) as clients:
        (job,) = await eventually(lambda: jobs(clients, namespace), bool)
    async with running(kubeconfig, cronjob.BLUEPRINT) as clients:

        async def read() -> CronJob:
            return await clients.batch_v1alpha1.cron_jobs.get("c", namespace)

        found = await eventually(read, lambda cron: bool(cron.status.active))
        assert [ref.uid for ref in found.status.active] == [job.metadata.uid]
        due = timestamps.format_seconds(last + timedelta(hours=1))
        assert found.status.last_schedule_time == due
        assert len(await jobs(clients, namespace)) == 1


async def test_a_cron_job_whose_turn_is_far_away_is_left_alone(kubeconfig: Path, namespace: str) -> None:
    async with running(kubeconfig, cronjob.BLUEPRINT) as clients:
        created = await clients.client.create(CRON_JOBS, cron_job("far", "0 0 1 1 *"), namespace)
        await clients.client.create(CRON_JOBS, cron_job("near", "@every 1s"), namespace)
        await eventually(lambda: jobs(clients, namespace), bool)
        now = await clients.batch_v1alpha1.cron_jobs.get("far", namespace)
        assert now.metadata.resource_version == created.metadata.resource_version

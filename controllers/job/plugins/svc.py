"""The svc plugin: the pods of a job find each other by name, and are left alone by others (controllers.md 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from api import names
from api.jobs import task_hosts
from controllers.job.plugins.base import JobPlugin, Upkeep, Wanted
from controllers.job.plugins.dressing import add_environment, add_volume
from controllers.job.world import Place
from generated.batch.v1alpha1 import Job
from generated.core.v1 import CONFIG_MAPS, SERVICES
from generated.networking.v1 import NETWORK_POLICIES


def job_selector(job: Job) -> dict[str, str]:
    """Labels that all pods of a job have, and no others."""
    return {names.JOB_NAME_KEY: job.metadata.name, names.JOB_NAMESPACE_LABEL: job.metadata.namespace}


def host_data(job: Job) -> dict[str, str]:
    """The config map of a job: hosts of each task, as lines and as a list, and their number."""
    data: dict[str, str] = {}
    for task in job.spec.tasks:
        hosts = task_hosts(job.metadata.name, task)
        data[names.hosts_file(task.name)] = "\n".join(hosts)
        data[names.hosts_variable(task.name)] = ",".join(hosts)
        data[names.host_count_variable(task.name)] = str(len(hosts))
    return data


class Svc(JobPlugin):
    """A headless service, a network policy, and the hosts of all tasks as files and variables."""

    name = names.JobPlugin.SVC

    def objects(self, job: Job) -> Sequence[Wanted]:
        name = job.metadata.name
        data = host_data(job)
        wanted = [
            Wanted(CONFIG_MAPS, names.svc_config_map_name(name), lambda: {"data": data}, Upkeep.FOLLOW, tells=data),
            Wanted(SERVICES, names.svc_name(name), partial(self._service, job)),
        ]
        if not self.options["disable-network-policy"]:
            wanted.append(Wanted(NETWORK_POLICIES, names.svc_name(name), partial(_policy, job)))
        return wanted

    def _service(self, job: Job) -> Mapping[str, Any]:
        return {
            "spec": {
                "clusterIP": "None",
                "selector": job_selector(job),
                "publishNotReadyAddresses": self.options["publish-not-ready-addresses"],
            }
        }

    def dress(self, pod: dict[str, Any], job: Job, place: Place) -> None:
        spec = pod["spec"]
        spec["hostname"] = spec.get("hostname") or place.pod
        spec["subdomain"] = spec.get("subdomain") or names.svc_name(job.metadata.name)
        source = names.svc_config_map_name(job.metadata.name)
        if self.options["inject-hosts-env"]:
            keys = [
                key
                for task in job.spec.tasks
                for key in (names.hosts_variable(task.name), names.host_count_variable(task.name))
            ]
            from_map = [{"name": key, "valueFrom": {"configMapKeyRef": {"name": source, "key": key}}} for key in keys]
            add_environment(pod, from_map, init=True)
        volume = {"name": source, "configMap": {"name": source}}
        add_volume(pod, volume, {"name": source, "mountPath": names.HOSTS_MOUNT_PATH})


def _policy(job: Job) -> Mapping[str, Any]:
    """Only pods of the job may reach pods of the job."""
    pods = {"matchLabels": job_selector(job)}
    return {"spec": {"podSelector": pods, "ingress": [{"from": [{"podSelector": pods}]}], "policyTypes": ["Ingress"]}}

"""
Names of the objects that controllers create, and of the keys inside them.

Most names are deterministic, so that a repeated reconcile finds what an interrupted one has made. Nothing is cut: a
name that is too long fails at the API server, and admission refuses it before. Labels are the exception
(`fitting_label_value`), since nobody finds an object by a label that could not be written, and so are volumes of claims
(`claim_volume_name`), which nobody looks for.
"""

from __future__ import annotations

import hashlib
from typing import Final

LABEL_VALUE_LENGTH: Final = 63
RANDOM_SUFFIX_LENGTH: Final = 12
RANDOM_SUFFIX_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
PLUGIN_MARKER_PREFIX: Final = "plugin-"
VOLUME_MARKER_PREFIX: Final = "volume-pvc-"


def default_task_name(index: int) -> str:
    """Name that admission gives to a nameless task, by its place in the job."""
    return f"default{index}"


def pod_name(job: str, task: str, ordinal: int) -> str:
    """Pod of a job; ordinals of a task start at 0."""
    return f"{job}-{task}-{ordinal}"


def task_index_of(pod: str) -> str:
    """The ordinal in a pod's name, empty when the name is no `<job>-<task>-<ordinal>` (compat: NAME-1)."""
    parts = pod.split("-")
    return parts[-1] if len(parts) >= 3 else ""


def template_uid(job: str, task: str) -> str:
    """What pods of one task have in common."""
    return f"{job}-{task}"


def pod_group_name(job: str, uid: str) -> str:
    """PodGroup of a job. Groups made by old releases are called like the job."""
    return f"{job}-{uid}"


def workload_pod_group_name(uid: str) -> str:
    """PodGroup of pods of other workloads: `uid` is their controller's, or the pod's own when it has none."""
    return f"podgroup-{uid}"


def svc_name(job: str) -> str:
    """Headless service and network policy of the svc plugin, and subdomain of the pods."""
    return job


def svc_config_map_name(job: str) -> str:
    """Config map of the svc plugin, and the pod volume that mounts it."""
    return f"{job}-svc"


def hosts_file(task: str) -> str:
    """Key in that config map: the hosts of a task, a line each."""
    return f"{_underscored(task)}.host"


def hosts_variable(task: str) -> str:
    """Key in that config map, and variable in the pods: the hosts of a task, comma separated."""
    return f"VC_{_underscored(task).upper()}_HOSTS"


def host_count_variable(task: str) -> str:
    """Key in that config map, and variable in the pods: how many hosts a task has."""
    return f"VC_{_underscored(task).upper()}_NUM"


def ssh_secret_name(job: str) -> str:
    """Secret of the ssh plugin, and the pod volume that mounts it."""
    return f"{job}-ssh"


def ray_head_service_name(job: str) -> str:
    """Service in front of a Ray head."""
    return f"{job}-head-svc"


def claim_name(job: str, suffix: str) -> str:
    """Claim made for a job's volume; `suffix` is random, RANDOM_SUFFIX_LENGTH of RANDOM_SUFFIX_ALPHABET."""
    return f"{job}-pvc-{suffix}"


def claim_volume_name(job: str, suffix: str) -> str:
    """Pod volume of a claim; `suffix` is random as in `claim_name`. A DNS label, whatever the job is called."""
    return f"{job.replace('.', '-')[: LABEL_VALUE_LENGTH - 1 - len(suffix)]}-{suffix}"


def plugin_marker(plugin: str) -> str:
    """Key in a job's status.controlledResources: the plugin has made its objects."""
    return PLUGIN_MARKER_PREFIX + plugin


def volume_marker(claim: str) -> str:
    """Key in a job's status.controlledResources: the claim belongs to the job."""
    return VOLUME_MARKER_PREFIX + claim


def cron_job_run_name(cron_job: str, due: int, *, to_the_second: bool = False) -> str:
    """
    Job of one run; `due` is its scheduled time in Unix seconds.

    Schedules of less than a minute are told apart by appended seconds.
    """
    minutes, seconds = divmod(due, 60)
    return f"{cron_job}-{minutes}{seconds:02d}" if to_the_second else f"{cron_job}-{minutes}"


def job_flow_job_name(flow: str, entry: str) -> str:
    """Job of one entry of a JobFlow."""
    return f"{flow}-{entry}"


def created_by(namespace: str, name: str) -> str:
    """Value of the created-by keys: which JobFlow, or JobTemplate, a job comes from."""
    return f"{namespace}.{name}"


def creator_of(value: str) -> tuple[str, str] | None:
    """Namespace and name in a created-by value, None when it is none. Namespaces hold no dot, names may."""
    namespace, dot, name = value.partition(".")
    return (namespace, name) if dot and namespace and name else None


def hypernode_name_prefix(topology_type: str, tier: int) -> str:
    """What begins the names of HyperNodes made from node labels; a random part follows after a dash."""
    cleaned = "".join(
        character if character.isascii() and (character.isalnum() or character in ".-") else "-"
        for character in topology_type.lower()
    )
    return f"hypernode-{cleaned}-tier{tier}"


def fitting_label_value(value: str) -> str:
    """The value itself when a label can hold it, else its beginning and a hash of the whole."""
    if len(value) <= LABEL_VALUE_LENGTH:
        return value
    digest = hashlib.sha256(value.encode()).hexdigest()[:10]
    return f"{value[: LABEL_VALUE_LENGTH - 1 - len(digest)]}-{digest}"


def _underscored(task: str) -> str:
    return task.replace("-", "_")

"""What jobs put on themselves and on their pods."""

from __future__ import annotations

from typing import Final

# Written on every pod of a job.
TASK_INDEX_KEY: Final = "volcano.sh/task-index"  # ordinal of the pod inside its task
TASK_SPEC_KEY: Final = "volcano.sh/task-spec"  # name of the task
JOB_NAME_KEY: Final = "volcano.sh/job-name"  # name of the job
JOB_NAMESPACE_LABEL: Final = "volcano.sh/job-namespace"  # namespace of the job
QUEUE_NAME_KEY: Final = "volcano.sh/queue-name"  # queue of the job
JOB_VERSION_ANNOTATION: Final = "volcano.sh/job-version"  # the job's status.version when the pod was created
JOB_RETRY_COUNT_ANNOTATION: Final = "volcano.sh/job-retry-count"  # the job's status.retryCount then
TEMPLATE_UID_ANNOTATION: Final = "volcano.sh/template-uid"  # <job>-<task>: pods that are alike for predicates
PARTITION_ID_LABEL: Final = "volcano.sh/partition-id"  # number of the partition inside the task
NUMA_TOPOLOGY_POLICY_ANNOTATION: Final = "volcano.sh/numa-topology-policy"  # the task's topologyPolicy
JOB_FORWARDING_KEY: Final = "volcano.sh/job-forwarding"  # "true" when the job runs in another cluster
OUT_OF_SYNC_ANNOTATION: Final = "volcano.sh/controller-out-of-sync"  # "true": the controller is deleting this pod

# Copied from the job, or from a pod to its group.
PREEMPTABLE_KEY: Final = "volcano.sh/preemptable"  # whether others may preempt
COOLDOWN_TIME_KEY: Final = "volcano.sh/cooldown-time"  # how long a started pod is safe from preemption
REVOCABLE_ZONE_KEY: Final = "volcano.sh/revocable-zone"  # node label: the zone; pod annotation "*": may use them
JDB_MIN_AVAILABLE_ANNOTATION: Final = "volcano.sh/jdb-min-available"  # number or percentage that must keep running
JDB_MAX_UNAVAILABLE_ANNOTATION: Final = "volcano.sh/jdb-max-unavailable"  # number or percentage that may be missing

# On JobFlows.
JOBS_WITH_TTL_ANNOTATION: Final = "volcano.sh/jobs-with-ttl"  # what goes by itself, and when: f-a,f-b,f-b@<seconds>

# On jobs.
JOB_TYPE_LABEL: Final = "volcano.sh/job-type"  # free text, shown by vcctl
CREATED_BY_JOB_TEMPLATE_KEY: Final = "volcano.sh/createdByJobTemplate"  # <namespace>.<template>
CREATED_BY_JOB_FLOW_KEY: Final = "volcano.sh/createdByJobFlow"  # <namespace>.<flow>
CRONJOB_SCHEDULED_TIMESTAMP_ANNOTATION: Final = "volcano.sh/cronjob-scheduled-timestamp"  # when the run was due
FORWARD_CLUSTER_ANNOTATION: Final = "volcano.sh/forward-cluster"  # cluster that a pod or group is sent to
BURST_NAME_ANNOTATION: Final = "volcano.sh/burst-name"  # multi-cluster, only carried
SILO_RESOURCE_ANNOTATION: Final = "volcano.sh/silo-resource"  # multi-cluster, only carried

RANK_INDEX_ANNOTATION: Final = "hccl/rankIndex"  # rank of an Ascend training pod
RANK_ENV: Final = "RANK"  # rank of a PyTorch worker; the hcclrank plugin reads it as well


class PodEnv:
    """Variables that job plugins put into containers."""

    TASK_INDEX: Final = "VC_TASK_INDEX"  # ordinal of the pod inside its task
    LEGACY_TASK_INDEX: Final = "VK_TASK_INDEX"  # the same under its old name
    TF_CONFIG: Final = "TF_CONFIG"  # cluster and own role, JSON
    MASTER_ADDR: Final = "MASTER_ADDR"  # host of the PyTorch master
    MASTER_PORT: Final = "MASTER_PORT"  # its port
    WORLD_SIZE: Final = "WORLD_SIZE"  # PyTorch masters and workers
    RANK: Final = RANK_ENV
    MPI_HOST: Final = "MPI_HOST"  # worker hosts, comma separated


class JobPlugin:
    """Names under `spec.plugins`."""

    SVC: Final = "svc"
    SSH: Final = "ssh"
    ENV: Final = "env"
    MPI: Final = "mpi"
    TENSORFLOW: Final = "tensorflow"
    PYTORCH: Final = "pytorch"
    RAY: Final = "ray"
    HCCLRANK: Final = "hcclrank"


JOB_PLUGINS: Final = (  # in the order in which they run
    JobPlugin.SVC,
    JobPlugin.SSH,
    JobPlugin.ENV,
    JobPlugin.MPI,
    JobPlugin.TENSORFLOW,
    JobPlugin.PYTORCH,
    JobPlugin.RAY,
    JobPlugin.HCCLRANK,
)

HOSTS_MOUNT_PATH: Final = "/etc/volcano"  # where the svc plugin mounts its config map
SSH_MOUNT_PATH: Final = "/root/.ssh"  # where the ssh plugin mounts its secret unless told otherwise


class SshFile:
    """Keys of the ssh plugin's secret, which are file names in the pod."""

    PRIVATE_KEY: Final = "id_rsa"
    PUBLIC_KEY: Final = "id_rsa.pub"
    AUTHORIZED_KEYS: Final = "authorized_keys"
    CONFIG: Final = "config"

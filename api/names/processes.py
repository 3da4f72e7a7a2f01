"""Environment variables of our own processes."""

from __future__ import annotations

from typing import Final


class SchedulerEnv:
    """Read by the schedulers."""

    DEBUG_SOCKET_DIR: Final = "DEBUG_SOCKET_DIR"  # where the log-level socket lies
    BATCH_BIND_NUM: Final = "BATCH_BIND_NUM"  # tasks a batch of binds
    MULTI_SCHEDULER_ENABLE: Final = "MULTI_SCHEDULER_ENABLE"  # "true": replicas share the cluster
    SCHEDULER_POD_NAME: Final = "SCHEDULER_POD_NAME"  # own name among the replicas
    SCHEDULER_NUM: Final = "SCHEDULER_NUM"  # how many replicas
    PANIC_ON_ERROR: Final = "PANIC_ON_ERROR"  # "false": failed assertions are logged


class ControllerEnv:
    """Read by the controllers."""

    NAMESPACE: Final = "KUBE_POD_NAMESPACE"
    RELEASE: Final = "HELM_RELEASE_NAME"


class AgentEnv:
    """Read by the node agent."""

    NODE_NAME: Final = "KUBE_NODE_NAME"
    POD_NAME: Final = "KUBE_POD_NAME"
    POD_NAMESPACE: Final = "KUBE_POD_NAMESPACE"
    SYS_FS_PATH: Final = "SYS_FS_PATH"
    CNI_CONF_FILE_PATH: Final = "CNI_CONF_FILE_PATH"
    HOST_OS_RELEASE: Final = "HOST_OS_RELEASE"
    KUBELET_ROOT_DIR: Final = "KUBELET_ROOT_DIR"
    CGROUP_DRIVER: Final = "CGROUP_DRIVER"
    CGROUP_VERSION: Final = "VOLCANO_TEST_CGROUP_VERSION"
    PROC_STAT_PATH: Final = "PROC_STAT_PATH"
    MEM_INFO_PATH: Final = "MEM_INFO_PATH_ENV"  # with its suffix


class NetworkQosEnv:
    """Read by the network-qos command and CNI plugin."""

    CNI_COMMAND: Final = "CNI_COMMAND"
    CNI_CONF_FILE_PATH: Final = "CNI_CONF_FILE_PATH"


class CliEnv:
    """Read by vcctl and the short commands."""

    SCHEDULER_NAME: Final = "VOLCANO_SCHEDULER_NAME"
    IMAGE: Final = "VOLCANO_DEFAULT_IMAGE"
    JOB_NAMESPACE: Final = "VOLCANO_DEFAULT_JOB_NAMESPACE"


KUBECONFIG_ENV: Final = "KUBECONFIG"  # path list of kubeconfig files, read by every client

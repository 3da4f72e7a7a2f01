"""Objects and files of an installation, and the defaults that go without saying."""

from __future__ import annotations

from typing import Final

DEFAULT_RELEASE: Final = "volcano"
DEFAULT_NAMESPACE: Final = "volcano-system"
DEFAULT_SCHEDULER_NAME: Final = "volcano"
AGENT_SCHEDULER_NAME: Final = "agent-scheduler"
DEFAULT_QUEUE: Final = "default"
ROOT_QUEUE: Final = "root"
DEFAULT_TASK_NAME: Final = "default"  # the controller's word for a task without name
DEFAULT_MAX_RETRY: Final = 3  # restarts of a job, and failures of a task, when not given
DNS_WITH_HOST_NETWORK: Final = "ClusterFirstWithHostNet"  # of pods in their node's network, when not given
QUEUE_FIELD_MANAGER: Final = "queue-controller"  # applies the state of queues
DEPLOY_FIELD_MANAGER: Final = "stromboli-deploy"  # applies the manifests of an installation


class ConfigMap:
    """Config maps of a default installation."""

    SCHEDULER: Final = "volcano-scheduler-configmap"
    ADMISSION: Final = "volcano-admission-configmap"
    CONTROLLER: Final = "volcano-controller-configmap"
    SHARDING: Final = "volcano-sharding-configmap"
    AGENT_SCHEDULER: Final = "volcano-agent-scheduler-configmap"
    AGENT: Final = "volcano-agent-configuration"


class ConfigKey:
    """Their data keys, which are file names where they are mounted."""

    SCHEDULER: Final = "volcano-scheduler.conf"
    ADMISSION: Final = "volcano-admission.conf"
    CONTROLLER: Final = "volcano-controller.conf"
    SHARDING: Final = "sharding.yaml"
    AGENT_SCHEDULER: Final = "agent-scheduler.conf"
    AGENT: Final = "colocation-config"


class Secret:
    """Secrets of a default installation, and their keys."""

    ADMISSION: Final = "volcano-admission-secret"
    TLS_CERTIFICATE: Final = "tls.crt"
    TLS_KEY: Final = "tls.key"
    CA_CERTIFICATE: Final = "ca.crt"
    UFM_USERNAME: Final = "username"
    UFM_PASSWORD: Final = "password"  # noqa: S105  # the name of a key


class Service:
    """Services of a default installation."""

    SCHEDULER: Final = "volcano-scheduler-service"


class Lease:
    """Leases of the processes; a scheduler's is called like the scheduler."""

    CONTROLLERS: Final = "vc-controller-manager"
    HYPERNODE_CONTROLLER: Final = "vc-hypernode-controller-manager"


COMPONENT_LABEL: Final = "volcano.sh/component"  # on objects of the installation
MIGRATION_LABEL: Final = "volcano.sh/migration"  # on policies that stand in for webhooks
WEBHOOK_CONFIGURATION_PREFIX: Final = "volcano-admission-service"  # the same for every release


def controller_config_map(release: str) -> str:
    """The config map that the controllers of a release watch."""
    return f"{release}-controller-configmap"


def admission_service(release: str) -> str:
    """The service in front of a release's webhooks."""
    return f"{release}-admission-service"


def webhook_configuration(path: str) -> str:
    """The configuration object of one admission path: `volcano-admission-service-jobs-mutate` for `/jobs/mutate`."""
    return WEBHOOK_CONFIGURATION_PREFIX + path.replace("/", "-")

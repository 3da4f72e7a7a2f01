"""The command line of `vc-webhook-manager` (webhooks.md 1.1)."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import msgspec

from api import names
from runtime.features import VOLCANO, FeatureGates
from runtime.flags import FlagParser
from runtime.flagtypes import BOOL, DURATION, INT, STRING, STRING_ARRAY
from runtime.kubegates import HONOURED, TOLERATED
from runtime.options import ServingOptions, add_client_flags, add_feature_flag, add_log_flags, add_tls_flags, tls_files

PROGRAM = "vc-webhook-manager"
_GATES = ("PodLevelResources",)


def feature_gates() -> FeatureGates:
    """The gates that handlers ask for; the others of Kubernetes are accepted."""
    honoured = [gate for gate in HONOURED if gate.name in _GATES]
    return FeatureGates((*VOLCANO, *honoured), tolerated=TOLERATED | {gate.name for gate in HONOURED})


class Options(msgspec.Struct, frozen=True):
    """What the handlers themselves read."""

    scheduler_names: tuple[str, ...] = (names.DEFAULT_SCHEDULER_NAME,)
    """The names that this installation owns."""
    admission_conf: str = ""
    """Path of the file of resource groups; empty for none."""
    checks_allocated_pods: bool = False
    """Whether a queue with allocated pods may not be deleted."""
    max_queue_depth: int = 5
    protects_root_queue: bool = True
    checks_pod_groups: bool = False
    """Whether a queue with PodGroups may not be deleted."""
    requires_leaf_queues: bool = False
    """Whether PodGroups may go to leaves of the tree of queues only."""
    fixes_started_flows: bool = False
    """Whether the flows of a JobFlow that has started may not change."""
    allows_template_updates: bool = False
    """Whether the pods of a job that has none yet may be changed."""
    gates: FeatureGates = msgspec.field(default_factory=feature_gates)


class Service(msgspec.Struct, frozen=True):
    """How the process is reached, and how it proves who it is."""

    host: str = ""
    port: int = 8443
    drain_seconds: float = 30.0
    namespace: str = ""
    name: str = ""
    """Name of the Service in front of us."""
    cert: str = ""
    key: str = ""
    ca: str = ""
    secret: str = ""
    """Secret in `namespace` in which we keep a certificate of our own making; empty: use the files."""
    client_ca: str = ""
    requires_client_cert: bool = False
    manages_bundle: bool = True


def parser(gates: FeatureGates, enabled: str) -> FlagParser:
    """All flags of the process; `enabled` are the paths that are served by default."""
    flags = FlagParser(PROGRAM, "Serves the admission webhooks of jobs, queues, pod groups and their kin.")
    add_client_flags(flags)
    add_tls_flags(flags)
    add_feature_flag(flags, gates)
    add_log_flags(flags)
    flags.flag("listen-address", STRING, "", "The address to listen on; empty for all interfaces")
    flags.flag("port", INT, 8443, "The port to listen on")
    flags.flag("webhook-namespace", STRING, "", "The namespace of the service in front of the webhooks")
    flags.flag("webhook-service-name", STRING, "", "The name of the service in front of the webhooks")
    flags.flag("webhook-url", STRING, "", "The URL of the webhooks, where there is no service")
    flags.flag("enabled-admission", STRING, enabled, "The paths to serve, separated by commas")
    flags.flag(
        "scheduler-name", STRING_ARRAY, Options().scheduler_names, "Judge pods whose schedulerName is one of these"
    )
    flags.flag("admission-conf", STRING, "", "The file of resource groups")
    flags.flag("enable-healthz", BOOL, False, "Enable the health check, and the metrics beside it")
    flags.flag("healthz-address", STRING, ":11251", "The address to listen on for the health check server")
    flags.flag("graceful-shutdown-time", DURATION, 30.0, "How long running requests may take at the end")
    flags.flag("enable-queue-allocated-pods-check", BOOL, False, "Deny the deletion of queues with allocated pods")
    flags.flag("max-queue-depth", INT, 5, "How deep queues may be nested")
    flags.flag("enable-root-queue-protection", BOOL, True, "Deny resource settings of the root queue")
    flags.flag("enable-queue-podgroups-check", BOOL, False, "Deny the deletion of queues with PodGroups")
    flags.flag("enable-podgroup-leaf-queue-check", BOOL, False, "Deny PodGroups in root and parent queues")
    flags.flag("enable-jobflow-update-check", BOOL, False, "Deny changes to the flows of JobFlows that have started")
    flags.flag("enable-job-template-update", BOOL, False, "Let the templates of jobs without pods be changed")
    flags.flag("manage-webhook-ca-bundle", BOOL, True, "Keep our CA in the webhook configurations")
    flags.flag("tls-secret-name", STRING, "", "Make and rotate a certificate in this secret instead of using files")
    flags.flag("client-ca-file", STRING, "", "The CA that client certificates are verified by")
    flags.flag("require-client-cert", BOOL, False, "Turn away clients without a certificate")
    return flags


def problems(flags: Namespace) -> list[str]:
    """What can't be used, or contradicts itself."""
    found = []
    if not 1 <= flags.port <= 65535:
        found.append("Configured port is invalid: the port should be in the range of 1 and 65535")
    if not (flags.webhook_url or flags.webhook_namespace or flags.webhook_service_name):
        found.append("failed to start webhooks as both 'url' and 'namespace/name' of webhook are empty")
    if flags.tls_secret_name and not (flags.webhook_namespace and flags.webhook_service_name):
        found.append(
            "tls-secret-name needs webhook-namespace and webhook-service-name: the certificate is made for them"
        )
    if flags.tls_secret_name and (flags.tls_cert_file or flags.tls_private_key_file):
        found.append("tls-secret-name and tls-cert-file exclude each other: choose where the certificate comes from")
    if flags.require_client_cert and not flags.client_ca_file:
        found.append("require-client-cert needs client-ca-file: there is no CA to verify client certificates by")
    return found


def read(flags: Namespace, gates: FeatureGates) -> Options:
    """The handlers' options out of parsed flags. Raises FeatureError."""
    gates.set(flags.feature_gates)
    return Options(
        scheduler_names=flags.scheduler_name,
        admission_conf=flags.admission_conf,
        checks_allocated_pods=flags.enable_queue_allocated_pods_check,
        max_queue_depth=flags.max_queue_depth,
        protects_root_queue=flags.enable_root_queue_protection,
        checks_pod_groups=flags.enable_queue_podgroups_check,
        requires_leaf_queues=flags.enable_podgroup_leaf_queue_check,
        fixes_started_flows=flags.enable_jobflow_update_check,
        allows_template_updates=flags.enable_job_template_update,
        gates=gates,
    )


def service(flags: Namespace) -> Service:
    """How to serve, out of parsed flags."""
    return Service(
        host=flags.listen_address,
        port=flags.port,
        drain_seconds=flags.graceful_shutdown_time,
        namespace=flags.webhook_namespace,
        name=flags.webhook_service_name,
        cert=flags.tls_cert_file,
        key=flags.tls_private_key_file,
        ca=flags.ca_cert_file,
        secret=flags.tls_secret_name,
        client_ca=flags.client_ca_file,
        requires_client_cert=flags.require_client_cert,
        manages_bundle=flags.manage_webhook_ca_bundle,
    )


def serving(flags: Namespace) -> ServingOptions:
    """Health and metrics share one listener: the process has no other one that people may ask."""
    return ServingOptions(
        healthz_address=flags.healthz_address,
        enable_healthz=flags.enable_healthz,
        listen_address=flags.healthz_address,
        enable_metrics=flags.enable_healthz,
        tls=tls_files(flags),
    )


def file_problems(service: Service) -> list[str]:
    """Files that can't be read, each by the flag that names it."""
    named = {
        "tls-cert-file": service.cert,
        "tls-private-key-file": service.key,
        "ca-cert-file": service.ca,
        "client-ca-file": service.client_ca,
    }
    found = []
    for flag, path in named.items():
        try:
            if path:
                Path(path).read_bytes()
        except OSError as error:
            found.append(f"--{flag}: unable to read {path}: {error.strerror}")
    return found

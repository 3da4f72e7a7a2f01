"""
The groups of flags that components share, and the settings that come out of them.

A component declares the groups it has, each with its own defaults, parses once, and reads each group back as a
value. What contradicts itself is collected, so that a user sees all of it at once.
"""

from __future__ import annotations

from argparse import Namespace
from ipaddress import ip_address

import msgspec
from msgspec.structs import replace

from runtime.features import FeatureError, FeatureGates
from runtime.flags import FlagParser
from runtime.flagtypes import BOOL, DURATION, FLOAT, GATES, INT, LEVEL, MODULES, SEVERITY, STRING, parse_gates
from runtime.lease import Terms
from runtime.listening import split_address
from runtime.log import LogOptions


class ClientOptions(msgspec.Struct, frozen=True):
    """How to reach the API server."""

    master: str = ""
    kubeconfig: str = ""
    qps: float = 50.0
    """Requests a second in the long run."""
    burst: int = 100
    """Requests that may come at once."""

    def problems(self) -> list[str]:
        """What can't be used; for components whose flags are checked."""
        found = []
        if self.qps <= 0:
            found.append("kube-api-qps must be greater than 0")
        if self.burst <= 0:
            found.append("kube-api-burst must be greater than 0")
        return found


class TlsFiles(msgspec.Struct, frozen=True):
    """Paths of a CA, a certificate and its key. Used only when all three are given."""

    ca: str = ""
    certificate: str = ""
    key: str = ""

    @property
    def is_complete(self) -> bool:
        return bool(self.ca and self.certificate and self.key)


class ServingOptions(msgspec.Struct, frozen=True):
    """The listeners for operators."""

    healthz_address: str = ":11251"
    enable_healthz: bool = False
    listen_address: str = ":8080"
    """Of metrics and profiles."""
    enable_metrics: bool = False
    enable_pprof: bool = False
    tls: TlsFiles = msgspec.field(default_factory=TlsFiles)
    """Of the health listener."""

    def problems(self) -> list[str]:
        """Two listeners on one address; for components whose flags are checked."""
        if self.enable_healthz and self.enable_metrics and _overlap(self.healthz_address, self.listen_address):
            return ["healthz-address and listen-address must be different when both endpoints are enabled"]
        return []


class ElectionOptions(msgspec.Struct, frozen=True):
    """Whether and how to elect a leader."""

    is_enabled: bool = True
    terms: Terms = msgspec.field(default_factory=Terms)
    resource_lock: str = "leases"
    name: str = ""
    namespace: str = "volcano-system"

    def problems(self) -> list[str]:
        """What contradicts itself; nothing is checked when there is no election."""
        if not self.is_enabled:
            return []
        found = self.terms.problems()
        for flag, value in (
            ("resourceLock", self.resource_lock),
            ("resourceName", self.name),
            ("resourceNamespace", self.namespace),
        ):
            if not value:
                found.append(f"{flag} is required")
        return found


def add_client_flags(parser: FlagParser, *, qps: float = 50.0, burst: int = 100) -> None:
    parser.flag("master", STRING, "", "The address of the Kubernetes API server (overrides any value in kubeconfig)")
    parser.flag("kubeconfig", STRING, "", "Path to kubeconfig file with authorization and master location information")
    parser.flag("kube-api-qps", FLOAT, qps, "QPS to use while talking with kubernetes apiserver")
    parser.flag("kube-api-burst", INT, burst, "Burst to use while talking with kubernetes apiserver")


def client_options(flags: Namespace) -> ClientOptions:
    return ClientOptions(flags.master, flags.kubeconfig, flags.kube_api_qps, flags.kube_api_burst)


def add_tls_flags(parser: FlagParser) -> None:
    parser.flag("ca-cert-file", STRING, "", "File containing the x509 CA certificate, with the two flags below")
    parser.flag("tls-cert-file", STRING, "", "File containing the x509 certificate for HTTPS (and its chain)")
    parser.flag("tls-private-key-file", STRING, "", "File containing the x509 private key of --tls-cert-file")


def tls_files(flags: Namespace) -> TlsFiles:
    return TlsFiles(flags.ca_cert_file, flags.tls_cert_file, flags.tls_private_key_file)


def add_serving_flags(parser: FlagParser, *, listen_address: str = ":8080", has_pprof: bool = False) -> None:
    """Health and metrics. The TLS files are a group of their own, since not every component has them."""
    parser.flag("healthz-address", STRING, ":11251", "The address to listen on for the health check server")
    parser.flag("enable-healthz", BOOL, False, "Enable the health check")
    parser.flag("listen-address", STRING, listen_address, "The address to listen on for metrics and profiles")
    parser.flag("enable-metrics", BOOL, False, "Enable the metrics endpoint")
    if has_pprof:
        parser.flag("enable-pprof", BOOL, False, "Enable the profiling endpoints under /debug/pprof/")


def serving_options(flags: Namespace) -> ServingOptions:
    return ServingOptions(
        healthz_address=flags.healthz_address,
        enable_healthz=flags.enable_healthz,
        listen_address=flags.listen_address,
        enable_metrics=flags.enable_metrics,
        enable_pprof=getattr(flags, "enable_pprof", False),
        tls=tls_files(flags) if hasattr(flags, "ca_cert_file") else TlsFiles(),
    )


def add_election_flags(parser: FlagParser, name: str) -> None:
    """`name` is the default name of the Lease."""
    terms = Terms()
    parser.flag("leader-elect", BOOL, True, "Start only after winning a leader election")
    parser.flag(
        "leader-elect-lease-duration",
        DURATION,
        terms.lease_duration,
        "How long others wait after the holder's last sign of life before they take the lease",
    )
    parser.flag(
        "leader-elect-renew-deadline",
        DURATION,
        terms.renew_deadline,
        "How long the holder goes on without a renewal before it stops writing",
    )
    parser.flag("leader-elect-retry-period", DURATION, terms.retry_period, "Pause between two tries")
    parser.flag("leader-elect-resource-lock", STRING, "leases", "Ignored: a Lease is always used")
    parser.flag("leader-elect-resource-name", STRING, name, "Name of the Lease")
    parser.flag("leader-elect-resource-namespace", STRING, "volcano-system", "Namespace of the Lease")


def add_lock_namespace_flag(parser: FlagParser) -> None:
    parser.flag("lock-object-namespace", STRING, "", "Deprecated: use --leader-elect-resource-namespace")


def election_options(flags: Namespace) -> ElectionOptions:
    return ElectionOptions(
        is_enabled=flags.leader_elect,
        terms=Terms(
            flags.leader_elect_lease_duration, flags.leader_elect_renew_deadline, flags.leader_elect_retry_period
        ),
        resource_lock=flags.leader_elect_resource_lock,
        name=flags.leader_elect_resource_name,
        namespace=getattr(flags, "lock_object_namespace", "") or flags.leader_elect_resource_namespace,
    )


def add_feature_flag(parser: FlagParser, gates: FeatureGates) -> None:
    """An unknown gate is an unreadable flag."""

    def parse(text: str) -> dict[str, bool]:
        settings = parse_gates(text)
        try:
            gates.check(settings)
        except FeatureError as error:
            raise ValueError(str(error)) from error
        return settings

    names = ", ".join(gates.names)
    parser.flag("feature-gates", replace(GATES, parse=parse), {}, f"Name=true|false pairs. Known: {names}")


def add_log_flags(parser: FlagParser) -> None:
    """The flags of klog, and `--log-flush-frequency`."""
    parser.flag("v", LEVEL, 0, "number for the log level verbosity", short="v")
    parser.flag("vmodule", MODULES, {}, "comma-separated list of pattern=N settings for single modules")
    parser.flag("logtostderr", BOOL, True, "log to standard error instead of files")
    parser.flag("alsologtostderr", BOOL, False, "log to standard error as well as files (with --logtostderr=false)")
    parser.flag("stderrthreshold", SEVERITY, 2, "severity from which lines go to stderr beside the files")
    parser.flag("legacy-stderr-threshold-behavior", BOOL, True, "accepted, without effect")
    parser.flag("log-dir", STRING, "", "write log files in this directory (with --logtostderr=false)")
    parser.flag("log-file", STRING, "", "use this log file (with --logtostderr=false)")
    parser.flag("log-file-max-size", INT, 1800, "size in megabytes at which --log-file begins anew, 0 for never")
    parser.flag("one-output", BOOL, False, "write each line only to the file of its own severity")
    parser.flag("skip-headers", BOOL, False, "leave out the header of each line")
    parser.flag("skip-log-headers", BOOL, False, "accepted: our files begin without a header")
    parser.flag("add-dir-header", BOOL, False, "accepted: lines always name the whole module")
    parser.flag("log-backtrace-at", STRING, "", "module:line whose log lines carry a stack trace")
    parser.flag("log-flush-frequency", DURATION, 5.0, "Maximum number of seconds between log flushes")


def log_options(flags: Namespace) -> LogOptions:
    return LogOptions(
        verbosity=flags.v,
        modules=flags.vmodule,
        to_stderr=flags.logtostderr,
        also_to_stderr=flags.alsologtostderr,
        stderr_threshold=flags.stderrthreshold,
        directory=flags.log_dir,
        file=flags.log_file,
        file_max_megabytes=flags.log_file_max_size,
        one_output=flags.one_output,
        skip_headers=flags.skip_headers,
        backtrace_at=flags.log_backtrace_at,
        flush_period=flags.log_flush_frequency,
    )


def _overlap(one: str, other: str) -> bool:
    """Whether two addresses can't both be listened on; one that can't be read is told when it is listened on."""
    try:
        (host, port), (other_host, other_port) = split_address(one), split_address(other)
    except ValueError:
        return False
    if port != other_port or port == 0:
        return False
    return _is_unspecified(host) or _is_unspecified(other_host) or _same_host(host, other_host)


def _is_unspecified(host: str) -> bool:
    try:
        return not host or ip_address(host).is_unspecified
    except ValueError:
        return False


def _same_host(*hosts: str) -> bool:
    try:
        return len({ip_address(host) for host in hosts}) == 1
    except ValueError:
        return len(set(hosts)) == 1

"""The command line of `vc-agent-scheduler` (scheduler.md 17), as far as the fast path reads it."""

from __future__ import annotations

from argparse import Namespace

from runtime.features import FeatureGates
from runtime.flags import FlagParser
from runtime.flagtypes import BOOL, DURATION, INT32, STRING, STRING_SLICE, UINT32
from runtime.options import (
    add_client_flags,
    add_election_flags,
    add_feature_flag,
    add_lock_namespace_flag,
    add_log_flags,
    add_serving_flags,
    add_tls_flags,
)

PROGRAM = "vc-agent-scheduler"
NAME = "agent-scheduler"
"""Default name of the scheduler, of its Lease and of its NodeShard."""


def parser(gates: FeatureGates) -> FlagParser:
    """All flags of the process."""
    flags = FlagParser(PROGRAM, "Schedules pods one by one, with little delay.")
    add_client_flags(flags, qps=2000.0, burst=2000)
    add_tls_flags(flags)
    add_serving_flags(flags, listen_address=":8080")
    add_election_flags(flags, NAME)
    add_lock_namespace_flag(flags)
    add_feature_flag(flags, gates)
    add_log_flags(flags)
    _add_scheduling_flags(flags)
    flags.flag("cache-dumper", BOOL, True, "Dump the state at SIGUSR1 to a file, at SIGUSR2 to the log")
    flags.flag("cache-dump-dir", STRING, "/tmp", "Directory of the dumps")  # noqa: S108  # the documented default
    flags.flag("node-worker-threads", UINT32, 20, "Accepted: one thread keeps the state")
    flags.flag("csi-storage", BOOL, True, "Accepted: storage capacity is looked at when volumes are")
    flags.flag("minimum-percentage-nodes-to-find", INT32, 5, "Accepted: without a percentage all nodes are looked at")
    return flags


def _add_scheduling_flags(flags: FlagParser) -> None:
    flags.flag("scheduler-name", STRING, NAME, "Schedule pods whose schedulerName is this one")
    flags.flag("scheduler-worker-count", UINT32, 1, "How many turns of pods are decided on before news is looked at")
    flags.flag("scheduler-conf", STRING, "", "Path of the configuration file")
    flags.flag(
        "disable-default-scheduler-config", BOOL, False, "End when the configuration file can't be used, also later"
    )
    flags.flag(
        "scheduler-sharding-mode", STRING, "none",
        "none: use every node; hard: those of the NodeShard alone; soft: those of the NodeShard first",
    )  # fmt: skip
    flags.flag("scheduler-sharding-name", STRING, NAME, "Name of the NodeShard of this scheduler")
    flags.flag("node-selector", STRING_SLICE, (), "Use nodes with any of these labels only, key:value")
    flags.flag("resync-period", DURATION, 0.0, "Look at every object again after this time; 0 for never")
    flags.flag(
        "resource-sync-timeout", DURATION, 60.0, "How long the first pod waits for the first lists; 0 for not at all"
    )
    flags.flag(
        "percentage-nodes-to-find",
        INT32,
        0,
        "Stop the search for a pod when this share of the nodes takes it; 0: never",
    )
    flags.flag("minimum-feasible-nodes", INT32, 100, "With a percentage: so many nodes are looked for at least")


def problems(flags: Namespace) -> list[str]:
    """What is wrong with the values of flags, one sentence each."""
    return [] if flags.scheduler_worker_count > 0 else ["scheduler-worker-count must be greater than 0"]

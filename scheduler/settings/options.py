"""The command line of `vc-scheduler` (scheduler.md 1.1), as far as the scheduler reads it."""

from __future__ import annotations

from runtime.features import VOLCANO, FeatureGates
from runtime.flags import FlagParser
from runtime.flagtypes import BOOL, DURATION, INT, INT32, STRING, STRING_ARRAY, STRING_SLICE, UINT32
from runtime.kubegates import HONOURED
from runtime.options import (
    add_client_flags,
    add_election_flags,
    add_feature_flag,
    add_lock_namespace_flag,
    add_log_flags,
    add_serving_flags,
    add_tls_flags,
)

PROGRAM = "vc-scheduler"


def feature_gates() -> FeatureGates:
    """The gates that the scheduler knows."""
    return FeatureGates((*VOLCANO, *HONOURED))


def parser(gates: FeatureGates) -> FlagParser:
    """All flags of the process."""
    flags = FlagParser(PROGRAM, "Schedules the pods of jobs in gangs, by queues and plugins.")
    add_client_flags(flags, qps=2000.0, burst=2000)
    add_tls_flags(flags)
    add_serving_flags(flags, listen_address=":8080", has_pprof=True)
    add_election_flags(flags, "volcano")  # compat: SCHED-2
    add_lock_namespace_flag(flags)
    add_feature_flag(flags, gates)
    add_log_flags(flags)
    _add_scheduling_flags(flags)
    _add_debugging_flags(flags)
    _add_accepted(flags)
    return flags


def _add_scheduling_flags(flags: FlagParser) -> None:
    flags.flag("scheduler-name", STRING_ARRAY, ("volcano",), "Schedule pods whose schedulerName is one of these")
    flags.flag("scheduler-conf", STRING, "", "Path of the configuration file")
    flags.flag(
        "disable-default-scheduler-config", BOOL, False, "End when the configuration file can't be used, also later"
    )
    flags.flag("plugins-dir", STRING, "", "Directory of custom plugins and actions, a Python file each")
    flags.flag(
        "scheduler-sharding-mode", STRING, "none",
        "none: use every node; hard: those of the NodeShard alone; soft: those of the NodeShard first",
    )  # fmt: skip
    flags.flag("scheduler-sharding-name", STRING, "volcano", "Name of the NodeShard of this scheduler")
    flags.flag("gate-removal-worker-num", INT, 5, "How many queue admission gates are removed at a time; below 1: 5")
    flags.flag("schedule-period", DURATION, 1.0, "Longest pause between two cycles")
    flags.flag("default-queue", STRING, "default", "Queue of pod groups that name none")
    flags.flag("priority-class", BOOL, True, "Let priority classes decide on the priority of jobs")
    flags.flag("node-selector", STRING_SLICE, (), "Use nodes with any of these labels only, key:value")
    flags.flag("resync-period", DURATION, 0.0, "Look at every object again after this time; 0 for never")
    flags.flag(
        "resource-sync-timeout", DURATION, 60.0, "How long the first cycle waits for the first lists; 0 for not at all"
    )
    flags.flag(
        "percentage-nodes-to-find",
        INT32,
        0,
        "Stop the search for a pod when this share of the nodes takes it; 0: never",
    )
    flags.flag("minimum-percentage-nodes-to-find", INT32, 5, "Accepted: without a percentage all nodes are looked at")
    flags.flag("minimum-feasible-nodes", INT32, 100, "With a percentage: so many nodes are looked for at least")


def _add_debugging_flags(flags: FlagParser) -> None:
    flags.flag("cache-dumper", BOOL, True, "Dump the state at SIGUSR1 to a file, at SIGUSR2 to the log")
    flags.flag("cache-dump-dir", STRING, "/tmp", "Directory of the dumps")  # noqa: S108  # the documented default


def _add_accepted(flags: FlagParser) -> None:
    """Flags of existing manifests without an effect here."""
    flags.flag("node-worker-threads", UINT32, 20, "Accepted: one thread keeps the state")
    flags.flag("csi-storage", BOOL, True, "Accepted: storage capacity is looked at when volumes are")
    flags.flag("ignored-provisioners", STRING_SLICE, (), "Accepted: provisioners whose volumes are not counted")

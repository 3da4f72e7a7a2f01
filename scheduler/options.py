"""The command line of `vc-scheduler` (scheduler.md 1.1), as far as the scheduler reads it."""

from __future__ import annotations

from runtime.features import VOLCANO, FeatureGates
from runtime.flags import FlagParser
from runtime.flagtypes import BOOL, DURATION, INT, STRING, STRING_ARRAY, STRING_SLICE, UINT32
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
    add_election_flags(flags, "volcano")
    add_lock_namespace_flag(flags)
    add_feature_flag(flags, gates)
    add_log_flags(flags)
    flags.flag("scheduler-name", STRING_ARRAY, ("volcano",), "Schedule pods whose schedulerName is one of these")
    flags.flag("scheduler-conf", STRING, "", "Path of the configuration file")
    flags.flag("schedule-period", DURATION, 1.0, "Longest pause between two cycles")
    flags.flag("default-queue", STRING, "default", "Queue of pod groups that name none")
    _add_planned(flags)
    return flags


def _add_planned(flags: FlagParser) -> None:
    """Flags of existing manifests whose parts are still to come; they are read, and told of when set."""
    for name, kind, default, text in (
        ("resync-period", DURATION, 0.0, "Accepted: informers need no resync"),
        ("priority-class", BOOL, True, "Accepted: priority classes always count"),
        ("minimum-feasible-nodes", INT, 100, "Accepted: the search looks at all nodes"),
        ("minimum-percentage-nodes-to-find", INT, 5, "Accepted: the search looks at all nodes"),
        ("node-worker-threads", UINT32, 20, "Accepted: one thread keeps the state"),
        ("cache-dumper", BOOL, True, "Accepted"),
        ("cache-dump-dir", STRING, "/tmp", "Accepted"),  # noqa: S108  # the documented default
        ("ignored-provisioners", STRING_SLICE, (), "Accepted"),
    ):
        flags.flag(name, kind, default, text)  # type: ignore[misc]  # a table of several types

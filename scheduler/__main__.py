"""
`vc-scheduler`: informers, the scheduling thread and the writers in one process.

`replay DUMP` runs a recorded cycle again, `simulate FILES...` decides about manifests or a dump without a server.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runtime import log as logs
from runtime import options
from runtime.flags import exit_invalid
from runtime.manager import Ending, Endings, Manager
from scheduler.process import Process
from scheduler.settings.options import PROGRAM, feature_gates, parser

WITHOUT_ELECTION = Ending(1, "finished without leader elect")
"""compat: SCHED-1"""
DRAIN_SECONDS = 20.0
REPLAY, SIMULATE = "replay", "simulate"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; gives the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    # Imported where they are asked for: a scheduler that starts needs neither.
    if words[:1] == [REPLAY]:
        from scheduler.dump import replay  # noqa: PLC0415

        return replay.main(words[1:])
    if words[:1] == [SIMULATE]:
        from scheduler.simulate import command  # noqa: PLC0415

        return command.main(words[1:])
    gates = feature_gates()
    flags = parser(gates).parse(words)
    election = options.election_options(flags)
    exit_invalid(election.problems())
    logs.setup(options.log_options(flags), PROGRAM)
    gates.set(flags.feature_gates)
    manager = Manager(
        PROGRAM,
        serving=options.serving_options(flags),
        election=election,
        endings=Endings(stopped_without_election=WITHOUT_ELECTION),
        drain_seconds=DRAIN_SECONDS,
        has_level_socket=True,
    )
    return manager.run(Process(flags, gates).setup)


def entry() -> None:
    """The console script. Ctrl-C before the manager takes the signals over ends it as shells expect, without words."""
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    entry()

"""`vc-agent-scheduler`: informers, the scheduling thread and the writers of the fast path in one process."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from runtime import log as logs
from runtime import options
from runtime.flags import exit_invalid
from runtime.manager import Endings, Manager
from scheduler.__main__ import DRAIN_SECONDS, WITHOUT_ELECTION
from scheduler.agentscheduler.options import PROGRAM, parser, problems
from scheduler.agentscheduler.process import AgentProcess
from scheduler.settings.options import feature_gates


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; gives the exit code."""
    gates = feature_gates()
    flags = parser(gates).parse(sys.argv[1:] if arguments is None else arguments)
    election = options.election_options(flags)
    exit_invalid([*problems(flags), *election.problems()])
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
    return manager.run(AgentProcess(flags, gates).setup)


def entry() -> None:
    """The console script. Ctrl-C before the manager takes the signals over ends it as shells expect, without words."""
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    entry()

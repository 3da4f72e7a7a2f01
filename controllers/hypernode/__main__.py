"""
`vc-hypernode-controller-manager`: the HyperNode controller alone (controllers.md 1.7).

Where this process runs, the controller manager has its own switched off (`--controllers=*,-hyperNode-controller`).
HyperNodes are found by their labels, so ownership moves in either direction without one being made anew.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from controllers.blueprint import Context
from controllers.hypernode import BLUEPRINT
from controllers.hypernode.options import PROGRAM, parser, problems
from generated.clients.clientset import Clientset
from runtime import log as logs
from runtime import options
from runtime.component import connect
from runtime.flags import exit_invalid
from runtime.manager import Ending, Endings, Manager
from runtime.runnables import Runnable

ENDINGS = Endings(lease_lost=Ending(1, "lost lease"))
"""A signal ends it well, whether it leads or not."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; gives the exit code."""
    flags = parser().parse(sys.argv[1:] if arguments is None else arguments)
    exit_invalid(problems(flags))
    logs.setup(options.log_options(flags), PROGRAM)
    client = options.client_options(flags)

    async def setup(manager: Manager) -> None:
        connection = connect(manager, client, component=PROGRAM)
        context = Context(Clientset(connection.client), connection.informers, connection.events)
        controller = BLUEPRINT.build(context)
        manager.add(Runnable(BLUEPRINT.name, controller.run, stop=controller.shut_down))
        manager.require("caches", lambda: "" if context.informers.has_synced else "caches are not synced")

    election, serving = options.election_options(flags), options.serving_options(flags)
    return Manager(PROGRAM, serving=serving, election=election, endings=ENDINGS).run(setup)


def entry() -> None:
    """The console script. Ctrl-C before the manager takes the signals over ends it as shells expect, without words."""
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    entry()

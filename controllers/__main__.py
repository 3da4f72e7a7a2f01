"""`vc-controller-manager`: runs the enabled controllers in one process (controllers.md 1.3)."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from controllers import CONTROLLERS, gates
from controllers.blueprint import Context
from controllers.options import PROGRAM, feature_gates, parser, read
from generated.clients.clientset import Clientset
from runtime import log as logs
from runtime import options
from runtime.component import align, connect
from runtime.controller import Controller
from runtime.flags import exit_invalid
from runtime.manager import Ending, Endings, Manager
from runtime.runnables import Runnable

log = logging.getLogger(__name__)

WITHOUT_ELECTION = Ending(1, "finished without leader elect")
"""How scripts know the end of a process that held no election."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; gives the exit code."""
    known = feature_gates()
    flags = parser(known).parse(sys.argv[1:] if arguments is None else arguments)
    election = options.election_options(flags)
    exit_invalid([*gates.problems(flags.controllers), *election.problems()])
    logs.setup(options.log_options(flags), PROGRAM)
    settings = read(flags, known)
    for entry in gates.unknown(settings.controllers, [blueprint.name for blueprint in CONTROLLERS]):
        log.warning("no controller has this name flag=--controllers entry=%s", entry)
    client = options.client_options(flags)

    async def setup(manager: Manager) -> None:
        connection = connect(manager, client, component=PROGRAM)
        await align(known, connection.client)
        context = Context(Clientset(connection.client), connection.informers, connection.events, settings)
        start(manager, context)

    endings = Endings(stopped_without_election=WITHOUT_ELECTION)
    return Manager(PROGRAM, serving=options.serving_options(flags), election=election, endings=endings).run(setup)


def start(manager: Manager, context: Context) -> None:
    """Hand the enabled controllers to the manager; one that can't be built is reported, and the others run."""
    for blueprint in CONTROLLERS:
        if not gates.is_enabled(blueprint.name, context.options.controllers):
            continue
        try:
            controller = blueprint.build(context)
        except Exception:
            log.exception("controller could not be built controller=%s: it does not run", blueprint.name)
            continue
        manager.add(_runnable(blueprint.name, controller))
    manager.require("caches", lambda: "" if context.informers.has_synced else "caches are not synced")


def _runnable(name: str, controller: Controller[object]) -> Runnable:
    return Runnable(name, controller.run, stop=controller.shut_down)


def entry() -> None:
    """The console script. Ctrl-C before the manager takes the signals over ends it as shells expect, without words."""
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    entry()

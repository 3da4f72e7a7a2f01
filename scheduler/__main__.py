"""`vc-scheduler`: informers, the scheduling thread and the writers in one process."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from generated.clients.clientset import Clientset
from runtime import log as logs
from runtime import options
from runtime.component import align, connect
from runtime.flags import exit_invalid
from runtime.manager import Ending, Endings, Manager
from runtime.runnables import Runnable, threaded
from scheduler import conf
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.cache.facts import Facts
from scheduler.cache.feed import feed
from scheduler.cache.queues import ensure
from scheduler.cache.writers import Writers
from scheduler.cycle import Result
from scheduler.loop import Scheduler
from scheduler.memory import Memory
from scheduler.options import PROGRAM, feature_gates, parser
from scheduler.plugins import BUILT_IN as PLUGINS
from scheduler.state.cluster import Cluster

log = logging.getLogger(__name__)

WITHOUT_ELECTION = Ending(1, "finished without leader elect")
DRAIN_SECONDS = 20.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; gives the exit code."""
    gates = feature_gates()
    flags = parser(gates).parse(sys.argv[1:] if arguments is None else arguments)
    election = options.election_options(flags)
    exit_invalid(election.problems())
    logs.setup(options.log_options(flags), PROGRAM)
    gates.set(flags.feature_gates)
    client = options.client_options(flags)

    async def setup(manager: Manager) -> None:
        connection = connect(manager, client, component=PROGRAM, source=component_name(flags))
        await align(gates, connection.client)
        clients = Clientset(connection.client)
        cluster = Cluster()
        facts = Facts(cluster, scheduler_names=flags.scheduler_name, default_queue=flags.default_queue)
        memory = Memory(cluster, load(flags.scheduler_conf), PLUGINS)
        loop = asyncio.get_running_loop()

        def hand_on(result: Result) -> None:
            loop.call_soon_threadsafe(writers.submit, result)

        scheduler = Scheduler(facts, memory, ACTIONS, hand_on, period=flags.schedule_period)
        writers = Writers(clients, connection.events, unbound=scheduler.unbound, clock=time.time)
        informers = list(feed(connection.informers, scheduler.push))
        ready = threading.Event()

        async def begin() -> None:
            await ensure(clients, flags.default_queue)
            for informer in informers:
                await informer.wait_synced()
            ready.set()

        manager.add(Runnable("writers", writers.run, stop=writers.drain))
        manager.add(Runnable("begin", begin, may_finish=True))
        manager.add(threaded("scheduling", lambda stop: scheduler.run(stop, ready)))
        manager.require("caches", lambda: "" if ready.is_set() else "caches are not synced")

    endings = Endings(stopped_without_election=WITHOUT_ELECTION)
    manager = Manager(
        PROGRAM,
        serving=options.serving_options(flags),
        election=election,
        endings=endings,
        drain_seconds=DRAIN_SECONDS,
        has_level_socket=True,
    )
    return manager.run(setup)


def component_name(flags: Namespace) -> str:
    """The source that users see on events: the scheduler's name when it has one, else `volcano`."""
    names: tuple[str, ...] = flags.scheduler_name
    return names[0] if len(names) == 1 else "volcano"


def load(path: str) -> conf.Configuration:
    """
    The configuration file, or the built-in default where none is given.

    The default is cut to the plugins that this build has. Raises ConfigError.
    """
    text = Path(path).read_text(encoding="utf-8") if path else conf.DEFAULT
    found = conf.parse(text, actions=ACTIONS, plugins=PLUGINS)
    for warning in found.warnings:
        log.warning("scheduler configuration: %s", warning)
    log.info("Successfully loaded Scheduler conf as follows:")
    for line in text.strip().splitlines():
        log.info("%s", line)
    return found


def entry() -> None:
    """The console script. Ctrl-C before the manager takes the signals over ends it as shells expect, without words."""
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    entry()

"""
The scheduler's parts, built and handed to the manager in the order of scheduler.md 1.2.

Caches fill and the state follows them from the start, also in a standby; cycles and writes begin with the lease. At the
end no further cycle starts, what was decided is still carried out, and then the lease is released.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from api.names import SchedulerReason
from generated.clients.clientset import Clientset
from generated.scheduling.v1 import PriorityClass
from runtime import options
from runtime.component import Connection, align, connect
from runtime.events import WARNING
from runtime.features import FeatureGates
from runtime.informer import Informer
from runtime.manager import Manager
from runtime.objects import Key
from runtime.runnables import Runnable, Stage, threaded
from runtime.wire import ObjectReference
from scheduler.cache.facts import Facts
from scheduler.cache.feed import Forgetting, feed
from scheduler.cache.foreign import ForeignPods
from scheduler.cache.gates import GateRemovals
from scheduler.cache.queues import QueueMissing, ensure
from scheduler.cache.queuewriter import QueueWriter
from scheduler.cache.selection import Selection, selector_of, share_of
from scheduler.cache.shards import ShardWriter
from scheduler.cache.writers import Writers
from scheduler.contract.decisions import OpenGate
from scheduler.cycle import Result
from scheduler.dump import files
from scheduler.explain import endpoint, obstacles
from scheduler.explain.obstacles import Obstacle
from scheduler.gates import FEATURE
from scheduler.loop import Scheduler
from scheduler.placing.sampling import Sampling
from scheduler.reporting.publishing import Publisher
from scheduler.settings.loading import built_in, installed
from scheduler.settings.options import PROGRAM
from scheduler.settings.reload import Configurations
from scheduler.shards import ShardStatus, shards_of
from scheduler.state.cluster import Cluster
from scheduler.state.job import Job
from scheduler.state.workloads import WORKLOADS

log = logging.getLogger(__name__)

HALT_SECONDS = 10.0
"""How long the cycle under way may take at the end; its budget and some more."""
CONFIG_MAP = "volcano-scheduler-configmap"
NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class Process:
    """One scheduler. `setup` is what the manager calls."""

    def __init__(self, flags: Namespace, gates: FeatureGates) -> None:
        self._flags = flags
        self._gates = gates
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self.publisher: Publisher
        self.scheduler: Scheduler
        self.writers: Writers
        self.queue_writer: QueueWriter
        self.gate_removals: GateRemovals
        self.shard_writer: ShardWriter
        self.informers: Mapping[str, Informer[Any]]

    async def setup(self, manager: Manager) -> None:
        """Build everything. Raises ConfigError before anything is written to the cluster."""
        flags = self._flags
        self._loop = asyncio.get_running_loop()
        source = component_name(flags)
        resync = flags.resync_period or None
        connection = connect(manager, options.client_options(flags), component=PROGRAM, source=source, resync=resync)
        selection = Selection(selector_of(flags.node_selector), share_of(os.environ))
        await align(self._gates, connection.client)
        configurations = self._configurations(connection)
        loaded = configurations.start()
        clients = Clientset(connection.client)
        cluster = Cluster()
        self.shard_writer = ShardWriter(
            clients, flags.scheduler_sharding_name, clock=time.time, pause=flags.schedule_period
        )
        shards = shards_of(cluster, flags.scheduler_sharding_mode, flags.scheduler_sharding_name, self._tell_shard)
        facts = Facts(cluster, scheduler_names=flags.scheduler_name, default_queue=flags.default_queue, shards=shards)
        self.publisher = Publisher(cluster)
        self.scheduler = Scheduler(
            facts,
            loaded,
            self._hand_on,
            period=flags.schedule_period,
            keep=self._keep,
            sampling=sampling_of(flags),
            opens_gates=self._gates.enabled(FEATURE),
            shards=shards,
        )
        self.writers = Writers(clients, connection.events, unbound=self.scheduler.unbound, clock=time.time)
        self.gate_removals = GateRemovals(
            clients,
            workers=flags.gate_removal_worker_num,
            refused=self.scheduler.still_gated,
            pause=flags.schedule_period,
        )
        self.queue_writer = QueueWriter(clients, period=flags.schedule_period, clock=time.monotonic)
        self.informers = feed(connection.informers, self.scheduler.push, self._kinds(facts), selection)
        for kind in ("Pod", "PodGroup"):
            self.informers[kind].add_handler(Forgetting(self.writers.forget))
        foreign = ForeignPods(flags.scheduler_name)
        self.informers["Pod"].add_handler(foreign)
        self.scheduler.questions.known = known_of(foreign, self.informers.get("PriorityClass"))
        self._hand_over(manager, configurations, clients)

    def _configurations(self, connection: Connection) -> Configurations:
        flags = self._flags
        subject = subject_of(flags)

        def complain(text: str) -> None:
            connection.events.record(subject, WARNING, SchedulerReason.INVALID_CONFIGURATION, text)

        return Configurations(
            flags.scheduler_conf,
            flags.plugins_dir,
            installed().over(built_in()),
            is_strict=flags.disable_default_scheduler_config,
            complain=complain,
        )

    def _kinds(self, facts: Facts) -> frozenset[str]:
        """What is watched: without priority classes the priority of every job is 0."""
        kinds = frozenset(facts.kinds)
        if not (self._flags.priority_class and self._gates.enabled("PriorityClass")):
            kinds -= {"PriorityClass"}
        return kinds if self._gates.enabled("WorkLoadSupport") else kinds - WORKLOADS

    def _hand_over(self, manager: Manager, configurations: Configurations, clients: Clientset) -> None:
        scheduler = self.scheduler

        async def begin() -> None:
            await ensure(clients, self._flags.default_queue)
            await wait_synced(self.informers, self._flags.resource_sync_timeout)
            self._ready.set()

        manager.add(Runnable("configuration", lambda: configurations.run(scheduler.configure), Stage.CACHES))
        manager.add(threaded("scheduling", lambda stop: scheduler.run(stop, self._ready), stage=Stage.CACHES))
        manager.add(Runnable("writers", self.writers.run, stop=self._finish))
        manager.add(Runnable("queue statuses", self.queue_writer.run))
        manager.add(Runnable("shard status", self.shard_writer.run))
        manager.add(Runnable("gates", self.gate_removals.run))
        manager.add(Runnable("begin", begin, may_finish=True, plain=(QueueMissing,)))
        manager.endpoints.routes.add(endpoint.PATTERN, endpoint.Endpoint(scheduler.questions.ask, standby_of(manager)))
        manager.require("caches", lambda: "" if self._ready.is_set() else "caches are not synced")
        if self._flags.cache_dumper:
            manager.on_signal(signal.SIGUSR1, scheduler.dump)
            manager.on_signal(signal.SIGUSR2, scheduler.show)

    async def _finish(self) -> None:
        """No cycle starts any more; wait for the one under way, and until what was decided is written."""
        if not await asyncio.to_thread(self.scheduler.halt, HALT_SECONDS):
            log.warning("the cycle under way does not end, what it decides is lost seconds=%.0f", HALT_SECONDS)
        await asyncio.sleep(0)  # lets the last result, which the thread handed on, arrive
        await self.writers.drain()

    # On the scheduling thread.

    def _hand_on(self, result: Result) -> None:
        self.publisher.cycle(result, time.time(), self.scheduler.memory.failures)
        self._loop.call_soon_threadsafe(self._submit, result)

    def _tell_shard(self, status: ShardStatus | None) -> None:
        self._loop.call_soon_threadsafe(self.shard_writer.submit, status)

    def _submit(self, result: Result) -> None:
        self.writers.submit(result)
        self.queue_writer.submit(result.levels)
        for decision in result.decisions:
            if isinstance(decision, OpenGate):
                self.gate_removals.submit(decision.task)

    def _keep(self, content: bytes) -> None:
        directory = Path(self._flags.cache_dump_dir)

        def write() -> None:
            try:
                path = files.write(directory, content, time.time())
            except OSError as error:
                log.error("dump could not be written directory=%s error=%s", directory, error)  # noqa: TRY400
            else:
                log.info("dump written path=%s bytes=%d", path, len(content))

        threading.Thread(target=write, name="dump", daemon=True).start()


async def wait_synced(informers: Mapping[str, Informer[Any]], seconds: float) -> None:
    """Wait for the first lists, but not for ever; 0 means not at all. Says which kinds are late."""
    if not seconds:
        return
    waits = {asyncio.ensure_future(informer.wait_synced()): kind for kind, informer in informers.items()}
    _, late = await asyncio.wait(waits, timeout=seconds)
    for wait in late:
        wait.cancel()
    if late:
        kinds = ",".join(sorted(waits[wait] for wait in late))
        log.warning("going on without the first lists seconds=%.0f kinds=%s", seconds, kinds)


def known_of(foreign: ForeignPods, classes: Informer[PriorityClass] | None) -> Callable[[Job], Sequence[Obstacle]]:
    """What the process knows to be in a job's way, beside what the state shows."""
    checks = [foreign.known, *([class_check(classes)] if classes is not None else [])]
    return lambda job: [found for check in checks for found in check(job)]


def class_check(classes: Informer[PriorityClass]) -> Callable[[Job], Sequence[Obstacle]]:
    """Tells of a job whose priority class doesn't exist, as far as that is known."""

    def exists(name: str) -> bool:
        return not classes.has_synced or classes.lister.get(Key("", name)) is not None

    return partial(obstacles.no_class, exists=exists)


def standby_of(manager: Manager) -> Callable[[], str]:
    """Says who leads while this process doesn't; nothing while it does, or where there is no election."""

    def standby() -> str:
        elector = manager.elector
        return "" if elector is None or elector.is_leader else endpoint.standby_text(elector.leader)

    return standby


def sampling_of(flags: Namespace) -> Sampling | None:
    """How the search for nodes is cut short: only where the command line asks for it."""
    if flags.percentage_nodes_to_find <= 0:
        return None
    return Sampling(flags.percentage_nodes_to_find, flags.minimum_feasible_nodes)


def component_name(flags: Namespace) -> str:
    """The source that users see on events: the scheduler's name when it has one, else `volcano`."""
    names: tuple[str, ...] = flags.scheduler_name
    return names[0] if len(names) == 1 else "volcano"


def subject_of(flags: Namespace, namespace_file: Path = NAMESPACE_FILE) -> ObjectReference:
    """What events about the configuration are about: the own pod, outside of a cluster the ConfigMap of the chart."""
    try:
        namespace = namespace_file.read_text().strip()
    except OSError:
        namespace = options.election_options(flags).namespace
        return ObjectReference(api_version="v1", kind="ConfigMap", namespace=namespace, name=CONFIG_MAP)
    return ObjectReference(api_version="v1", kind="Pod", namespace=namespace, name=socket.gethostname())

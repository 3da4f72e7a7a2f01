"""The parts of the fast path, built and handed to the manager: those of the scheduler, without jobs and queues."""

from __future__ import annotations

import asyncio
import os
import signal
import time

from api.names import SchedulerReason
from generated.clients.clientset import Clientset
from runtime import options
from runtime.component import Connection, align, connect
from runtime.events import WARNING
from runtime.manager import Manager
from runtime.runnables import Runnable, Stage, threaded
from scheduler.agentscheduler import configuration
from scheduler.agentscheduler.facts import AgentFacts
from scheduler.agentscheduler.loop import AgentScheduler
from scheduler.agentscheduler.options import PROGRAM
from scheduler.agentscheduler.queue import PodQueue
from scheduler.cache.facts import Facts
from scheduler.cache.feed import Forgetting, feed
from scheduler.cache.selection import Selection, selector_of, share_of
from scheduler.cache.shards import ShardWriter
from scheduler.cache.writers import Writers
from scheduler.cycle import Result
from scheduler.process import Process, sampling_of, subject_of, wait_synced
from scheduler.reporting.publishing import Publisher
from scheduler.settings.reload import Configurations
from scheduler.shards import shards_of
from scheduler.state.cluster import Cluster
from scheduler.state.job import Job

RETRY_SECONDS = 1.0
"""After which a status that couldn't be written is written again."""


class AgentPublisher(Publisher):
    """Metrics of the fast path: what it keeps as a job is none to users."""

    def _placed(self, job: Job, now: float) -> None:
        del job, now


class AgentProcess(Process):
    """One scheduler of the fast path. `setup` is what the manager calls."""

    async def setup(self, manager: Manager) -> None:
        """Build everything. Raises ConfigError before anything is written to the cluster."""
        flags = self._flags
        self._loop = asyncio.get_running_loop()
        connection = connect(
            manager,
            options.client_options(flags),
            component=PROGRAM,
            source=flags.scheduler_name,
            resync=flags.resync_period or None,
        )
        await align(self._gates, connection.client)
        configurations = self._configurations(connection)
        loaded = configurations.start()
        clients = Clientset(connection.client)
        cluster, name = Cluster(), flags.scheduler_sharding_name
        shards = shards_of(cluster, flags.scheduler_sharding_mode, name, self._tell_shard)
        facts = AgentFacts(
            cluster, scheduler_name=flags.scheduler_name, queue=PodQueue(), clock=time.monotonic, shards=shards
        )
        self.publisher = AgentPublisher(cluster)
        self.scheduler = AgentScheduler(
            facts, loaded, self._hand_on, workers=flags.scheduler_worker_count, keep=self._keep,
            sampling=sampling_of(flags), shards=shards,
        )  # fmt: skip
        self.shard_writer = ShardWriter(clients, name, clock=time.time, pause=RETRY_SECONDS)
        self.writers = Writers(
            clients, connection.events, unbound=self.scheduler.unbound, clock=time.time, carries_annotations=True
        )
        selection = Selection(selector_of(flags.node_selector), share_of(os.environ))
        self.informers = feed(connection.informers, self.scheduler.push, self._kinds(facts), selection)
        self.informers["Pod"].add_handler(Forgetting(self.writers.forget))
        self._hand_over(manager, configurations, clients)

    def _configurations(self, connection: Connection) -> Configurations:
        subject = subject_of(self._flags)

        def complain(text: str) -> None:
            connection.events.record(subject, WARNING, SchedulerReason.INVALID_CONFIGURATION, text)

        return Configurations(
            self._flags.scheduler_conf,
            "",
            configuration.catalog(),
            is_strict=self._flags.disable_default_scheduler_config,
            complain=complain,
            default=configuration.DEFAULT,
            parse=configuration.parse,
        )

    def _kinds(self, facts: Facts) -> frozenset[str]:
        """What is watched: everything that the state is made of."""
        return frozenset(facts.kinds)

    def _hand_over(self, manager: Manager, configurations: Configurations, clients: Clientset) -> None:
        del clients
        scheduler = self.scheduler

        async def begin() -> None:
            await wait_synced(self.informers, self._flags.resource_sync_timeout)
            self._ready.set()

        manager.add(Runnable("configuration", lambda: configurations.run(scheduler.configure), Stage.CACHES))
        manager.add(threaded("scheduling", lambda stop: scheduler.run(stop, self._ready), stage=Stage.CACHES))
        manager.add(Runnable("writers", self.writers.run, stop=self._finish))
        manager.add(Runnable("shard status", self.shard_writer.run))
        manager.add(Runnable("begin", begin, may_finish=True))
        manager.require("caches", lambda: "" if self._ready.is_set() else "caches are not synced")
        if self._flags.cache_dumper:
            manager.on_signal(signal.SIGUSR1, scheduler.dump)
            manager.on_signal(signal.SIGUSR2, scheduler.show)

    def _submit(self, result: Result) -> None:
        self.writers.submit(result)

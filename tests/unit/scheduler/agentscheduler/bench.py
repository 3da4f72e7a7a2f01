"""The fast path over facts, with a clock of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from generated.core.v1 import Pod
from scheduler.agentscheduler import configuration
from scheduler.agentscheduler.facts import AgentFacts
from scheduler.agentscheduler.loop import AgentScheduler
from scheduler.agentscheduler.queue import Place, PodQueue
from scheduler.contract.decisions import Bind
from scheduler.cycle import Result
from scheduler.plugin import Plugin
from scheduler.settings.loading import Catalog
from scheduler.settings.reload import Loaded
from scheduler.shards import Mode, Shards
from scheduler.state.cluster import Cluster
from tests.unit.scheduler.cache.test_facts import node
from tests.unit.scheduler.cache.test_facts import pod as any_pod

OWN = "agent-scheduler"


def own_pod(name: str, cpu: str | None = "1", spec: dict[str, Any] | None = None, **rest: Any) -> Pod:
    """A pod of the fast path that waits."""
    requests = {"cpu": cpu} if cpu else {}
    return any_pod(
        name,
        metadata={"annotations": {}, **rest.pop("metadata", {})},
        spec={
            "schedulerName": OWN, "containers": [{"name": "c", "resources": {"requests": requests}}], **(spec or {}),
        },
        **rest,
    )  # fmt: skip


def on(pod: Pod, node_name: str, phase: str = "Pending") -> Pod:
    """The same pod on a node."""
    document = msgspec.to_builtins(pod)
    document["spec"]["nodeName"], document["status"]["phase"] = node_name, phase
    return msgspec.convert(document, Pod)


def loaded(text: str = configuration.DEFAULT, plugins: dict[str, type[Plugin]] | None = None) -> Loaded:
    catalog = Catalog(plugins or {}).over(configuration.catalog())
    return Loaded(configuration.parse(text, actions=catalog.actions, plugins=catalog.plugins), catalog, text)


class Bench:
    """A scheduler of the fast path; nodes have 4 CPUs."""

    def __init__(
        self, *nodes: str, mode: Mode = Mode.NONE, workers: int = 1, found: Loaded | None = None, **rest: Any
    ) -> None:
        self.now = 0.0
        self.cluster = Cluster()
        self.shards = Shards(self.cluster, mode, "mine") if mode is not Mode.NONE else None
        self.facts = AgentFacts(
            self.cluster, scheduler_name=OWN, queue=PodQueue(), clock=lambda: self.now, shards=self.shards
        )
        self.results: list[Result] = []
        self.scheduler = AgentScheduler(
            self.facts, found or loaded(), self.results.append, workers=workers, stopwatch=lambda: self.now,
            clock=lambda: 1000.0, shards=self.shards, **rest,
        )  # fmt: skip
        self.pods: dict[str, Pod] = {}
        for name in nodes:
            self.see("Node", None, node(name))

    def see(self, kind: str, old: Any, new: Any) -> None:
        self.scheduler.push((kind, old, new))
        self.scheduler.drain()

    def pod(self, made: Pod) -> None:
        """A pod came or changed."""
        self.see("Pod", self.pods.get(made.metadata.name), made)
        self.pods[made.metadata.name] = made

    def lose(self, name: str) -> None:
        self.see("Pod", self.pods.pop(name), None)

    def turn(self) -> list[tuple[str, str]]:
        """The binds of one turn, as (pod, node)."""
        result = self.scheduler.cycle()
        if result is None:
            return []
        assert not self.scheduler.memory.failures
        return [(decision.task.name, decision.node) for decision in result.decisions if isinstance(decision, Bind)]

    def messages(self) -> dict[str, str]:
        """What the last turn says of pods without a node."""
        return {told.task.name: told.message for told in self.results[-1].outcome.tasks}

    def place(self, name: str) -> Place | None:
        return self.facts.queue.place_of(f"uid-{name}")

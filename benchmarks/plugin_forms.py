"""
One scheduler plugin in the forms of docs/plugins/writing.md: placements a second of CPU for each.

    python -m benchmarks.plugin_forms [--nodes 1000] [--gangs 20] [--pods 100] [--tries 2]

The plugin is the guide's own code, taken from the page. Gangs of identical pods of 1 cpu and 1 GiB, nodes of 32 cpu, five
plugins (priority, gang, predicates, nodeorder, binpack) and the measured one; one cycle from opening the session to the last
commit, without a server. The forms take turns, the best of the tries counts. All of them must decide the same.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from generated.core.v1 import Container, PodSpec
from generated.core.v1 import Node as NodeObject
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import PodGroup
from generated.scheduling.v1beta1 import Queue as QueueObject
from scheduler.contract.decisions import Bind
from scheduler.contract.effects import UNIQUE, Effect
from scheduler.cycle import run_cycle
from scheduler.memory import Memory
from scheduler.plugin import Plugin
from scheduler.session import Session
from scheduler.settings import conf
from scheduler.settings.loading import Catalog, Directory, built_in
from scheduler.state.cluster import Cluster
from scheduler.state.dimensions import Request
from scheduler.state.task import Shape, Task

GUIDE = Path(__file__).parent.parent / "docs" / "plugins" / "writing.md"
GIB = 2.0**30
PRICES = 10
"""Different prices of power among the nodes."""
FORMS = {
    "": "without the plugin",
    "thrifty": "a node at a time",
    "thrifty-batch": "all nodes in one call, rating only",
    "undeclared": "arrays, nothing declared",
    "thrifty-fast": "arrays, effects declared",
}
"""By name of the plugin in the guide; `undeclared` is made from the last one."""
_BLOCK = re.compile(r"^```(?:python|yaml|text)\n# (?P<name>\S+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Load:
    """Sizes of the case."""

    nodes: int = 1_000
    gangs: int = 20
    pods: int = 100


def blocks(page: Path) -> dict[str, str]:
    """The files that a page shows: code blocks whose first line is a comment with a name."""
    return {found["name"]: found["code"] for found in _BLOCK.finditer(page.read_text())}


def catalog_of(files: dict[str, str]) -> Catalog:
    """The plugins and actions of files as of a plugins directory, over those of the tree. Raises LoadError."""
    directory = Directory()
    problems = directory.take({Path(name): code.encode() for name, code in files.items() if name.endswith(".py")})
    if problems:
        raise problems[0]
    return directory.catalog.over(built_in())


def undeclared(plugin: type[Plugin]) -> type[Plugin]:
    """The same plugin, but its functions declare nothing."""

    class Undeclared(plugin):  # type: ignore[valid-type,misc]  # the class is only known now
        name = "undeclared"

        def on_session_open(self, session: Session) -> None:
            super().on_session_open(session)
            filters, scores = session.filters[self.name], session.scores[self.name]
            session.filters[self.name] = [replace(found, reads=UNIQUE, effect=Effect.ALL) for found in filters]
            session.scores[self.name] = [replace(found, reads=UNIQUE, effect=Effect.ALL) for found in scores]

    return Undeclared


def guide() -> Catalog:
    """The plugins of the guide and of the tree. Raises LoadError."""
    catalog = catalog_of(blocks(GUIDE))
    return Catalog({"undeclared": undeclared(catalog.plugins["thrifty-fast"])}).over(catalog)


def build(load: Load) -> Cluster:
    """Empty nodes and pending gangs of identical pods."""
    cluster = Cluster()
    for number in range(load.nodes):
        labels = {"power-price": str(10 * (number % PRICES))}
        node = NodeObject(metadata=ObjectMeta(name=f"node-{number:05d}", labels=labels))
        cluster.set_node(node, {"cpu": 32_000.0, "memory": 128.0 * GIB, "pods": 110.0})
    cluster.queue("default").object = QueueObject(metadata=ObjectMeta(name="default"))
    spec = PodSpec(containers=(Container(name="main", image="busybox"),))
    shape = Shape(spec, Request({"cpu": 1000.0, "memory": GIB, "pods": 1.0}, (1000.0, GIB)))
    for number in range(load.gangs):
        name = f"gang-{number:03d}"
        job = cluster.job(f"ns/{name}")
        job.pod_group = PodGroup(metadata=ObjectMeta(name=name, namespace="ns"))
        job.min_available, job.created, job.uid = load.pods, float(number), name
        cluster.set_job_queue(job, "default")
        for ordinal in range(load.pods):
            pod = f"{name}-w-{ordinal}"
            cluster.add_task(Task(uid=pod, namespace="ns", name=pod, job=job.id, shape=shape, role="w"))
    return cluster


def configuration(plugin: str) -> str:
    """Five plugins and, if it is named, one more."""
    names = ["predicates", "nodeorder", "binpack", *([plugin] if plugin else [])]
    return (
        'actions: "enqueue, allocate, backfill"\ntiers:\n- plugins: [{name: priority}, {name: gang}]\n'
        f"- plugins: [{', '.join(f'{{name: {name}}}' for name in names)}]\n"
    )


def decide(load: Load, catalog: Catalog, plugin: str) -> tuple[list[tuple[str, str]], float]:
    """((pod, node) of each bind, CPU seconds) of one cycle over a fresh cluster."""
    cluster = build(load)
    parsed = conf.parse(configuration(plugin), actions=catalog.actions, plugins=catalog.plugins)
    memory = Memory(cluster, parsed, dict(catalog.plugins))
    start = time.process_time()
    result = run_cycle(cluster, memory, catalog.actions, uid="session", now=0.0)
    seconds = time.process_time() - start
    return [(found.task.name, found.node) for found in result.decisions if isinstance(found, Bind)], seconds


def measure(load: Load, catalog: Catalog, plugins: Iterable[str], tries: int) -> dict[str, float]:
    """Placements a second of CPU by plugin. Raises ValueError when two forms decide differently."""
    fastest: dict[str, float] = {}
    decided: dict[str, list[tuple[str, str]]] = {}
    for _ in range(tries):
        for plugin in plugins:
            decided[plugin], seconds = decide(load, catalog, plugin)
            fastest[plugin] = max(fastest.get(plugin, 0.0), len(decided[plugin]) / seconds)
    forms = {plugin: found for plugin, found in decided.items() if plugin}
    for plugin, found in forms.items():
        if found != next(iter(forms.values())):
            raise ValueError(f"plugin {plugin} decides otherwise than the other forms")
    return fastest


def main() -> None:
    """Print the figures as the guide has them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=Load.nodes)
    parser.add_argument("--gangs", type=int, default=Load.gangs)
    parser.add_argument("--pods", type=int, default=Load.pods)
    parser.add_argument("--tries", type=int, default=2)
    options = parser.parse_args()
    load = Load(options.nodes, options.gangs, options.pods)
    found = measure(load, guide(), FORMS, options.tries)
    print(f"{load.nodes:,} nodes, {load.gangs} gangs of {load.pods} pods, placements a second of CPU")
    for plugin, title in FORMS.items():
        print(f"{title:36} {found[plugin]:>8,.0f}")


if __name__ == "__main__":
    main()

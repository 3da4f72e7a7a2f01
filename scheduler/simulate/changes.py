"""What a question changes: a queue's figures, nodes that are gone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from generated.core.v1 import PodStatus
from generated.scheduling.v1beta1 import QueueSpec
from runtime.quantity import Quantity, QuantityError, parse
from scheduler.simulate.building import World
from scheduler.simulate.manifests import InputError

_TIMES = re.compile(r"([0-9]+(?:\.[0-9]+)?)x")
_LISTS = ("capability", "deserved", "guarantee")
_NUMBERS = ("weight", "priority")
KEYS = "weight, priority, parent, capability, deserved and guarantee, as in capability.cpu:8"


def change_queue(world: World, change: str) -> None:
    """
    Apply `NAME=KEY:VALUE,...` to a queue. A value such as `2x` multiplies what is there. Raises InputError.

    `capability`, `deserved` and `guarantee` mean all resources that they name, `capability.cpu` means one.
    """
    name, separator, pairs = change.partition("=")
    queue = world.cluster.queues.get(name)
    if not separator or not name or not pairs:
        raise InputError(f"--queue {change}: NAME=KEY:VALUE is needed, such as team=weight:2x")
    if queue is None or queue.object is None:
        raise InputError(f"--queue {change}: there is no queue {name}")
    spec = queue.object.spec
    for pair in pairs.split(","):
        key, separator, value = pair.partition(":")
        if not separator or not value:
            raise InputError(f"--queue {change}: {pair}: KEY:VALUE is needed")
        try:
            spec = _changed(spec, key, value)
        except (ValueError, QuantityError) as error:
            raise InputError(f"--queue {change}: {key}: {error}") from error
    world.facts.apply(("Queue", queue.object, replace(queue.object, spec=spec)))


def _changed(spec: QueueSpec, key: str, value: str) -> QueueSpec:
    what, _, resource = key.partition(".")
    if what in _NUMBERS and not resource:
        return replace(spec, **{what: _number(value, getattr(spec, what) or int(what == "weight"))})
    if what == "parent" and not resource:
        return replace(spec, parent=value)
    if what not in _LISTS:
        raise ValueError(f"it can't be changed, only {KEYS}")
    held: Mapping[str, Any] = (spec.guarantee.resource if what == "guarantee" else getattr(spec, what)) or {}
    names = [resource] if resource else list(held)
    if not names:
        raise ValueError("the queue names no resource there: say which, such as capability.cpu:8")
    amounts = {**held, **{name: _amount(value, held.get(name)) for name in names}}
    if what == "guarantee":
        return replace(spec, guarantee=replace(spec.guarantee, resource=amounts))
    return replace(spec, **{what: amounts})


def _number(value: str, held: int) -> int:
    times = _TIMES.fullmatch(value)
    if times is not None:
        return round(held * Fraction(times[1]))
    if not re.fullmatch(r"-?[0-9]{1,10}", value):
        raise ValueError(f"{value} is no whole number, and no multiple such as 2x")
    return int(value)


def _amount(value: str, held: Any) -> str:
    times = _TIMES.fullmatch(value)
    if times is None:
        return str(parse(value))
    if held is None:
        raise ValueError(f"there is nothing that {value} could multiply")
    amount = parse(held)
    return str(Quantity(round(amount.nano * Fraction(times[1])), amount.format))


def take_node(world: World, name: str) -> None:
    """Take a node away. Pods of jobs that stood there wait again; others are gone with it. Raises InputError."""
    node = world.cluster.node_by_name.get(name)
    if node is None or node.object is None:
        raise InputError(f"--without-node {name}: there is no such node")
    for task in list(node.tasks.values()):
        pod = task.pod
        if pod is None:
            world.cluster.remove_task(task.uid)
        elif task.job and pod.spec.scheduler_name in world.scheduler_names:
            back = replace(pod, spec=replace(pod.spec, node_name=""), status=PodStatus(phase="Pending"))
            # In two steps: a pod that is bound here and nowhere yet would pass for the echo of its bind.
            world.facts.apply(("Pod", pod, None))
            world.facts.apply(("Pod", None, back))
        else:
            world.facts.apply(("Pod", pod, None))
    world.facts.apply(("Node", node.object, None))
    world.cluster.settle()

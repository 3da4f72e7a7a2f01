"""A port of a node goes to one pod (plugins.md 18.2)."""

from __future__ import annotations

import pytest

from generated.core.v1 import Container, ContainerPort
from scheduler.contract.view import View
from scheduler.kube import ports
from scheduler.state.status import Status
from scheduler.state.task import Shape
from tests.unit.scheduler.build import World, shape
from tests.unit.scheduler.sociable import pod_task


def taking(port: int, address: str = "", protocol: str | None = None, *, where: str = "containers") -> Shape:
    taken = ContainerPort(container_port=1, host_port=port, host_ip=address, protocol=protocol)
    container = Container(name="c", ports=(taken,), restart_policy="Always" if where == "sidecar" else None)
    if where == "containers":
        return shape(containers=(container,))
    return shape(containers=(Container(name="main"),), init_containers=(container,))


@pytest.mark.parametrize(
    ("there", "wanted", "is_free"),
    [
        (taking(80), taking(80), False),
        (taking(80), taking(81), True),
        (taking(80), taking(80, protocol="TCP"), False),
        (taking(80), taking(80, protocol="UDP"), True),
        (taking(80, "10.0.0.1"), taking(80, "10.0.0.2"), True),
        (taking(80, "10.0.0.1"), taking(80, "10.0.0.1"), False),
        (taking(80, "10.0.0.1"), taking(80), False),
        (taking(80, "0.0.0.0"), taking(80, "10.0.0.1"), False),  # nothing listens
        (taking(80, where="sidecar"), taking(80), False),
        (taking(80, where="init"), taking(80), True),
        (shape(), taking(80), True),
    ],
)
def test_a_port_that_another_pod_has_is_not_free(there: Shape, wanted: Shape, is_free: bool) -> None:
    world = World()
    world.node("a")
    world.node("b")
    world.cluster.add_task(pod_task("old", "other", {}, there, job="", status=Status.RUNNING), "a")
    task = pod_task("new", "ns", {}, wanted, job="")
    world.cluster.add_task(task)
    world.cluster.settle()
    assert ports.wants_ports(task)
    assert ports.free_ports(task, View.all(world.cluster)).tolist() == [0 if is_free else 1, 0]


def test_a_port_is_free_again_when_its_pod_is_gone() -> None:
    world = World()
    world.node("a")
    old = pod_task("old", "other", {}, taking(80), job="", status=Status.RUNNING)
    world.cluster.add_task(old, "a")
    task = pod_task("new", "ns", {}, taking(80), job="")
    world.cluster.add_task(task)
    world.cluster.settle()
    assert ports.free_ports(task, View.all(world.cluster)).tolist() == [1]
    world.cluster.remove_task(old.uid)
    assert ports.free_ports(task, View.all(world.cluster)).tolist() == [0]


def test_pods_without_host_ports_are_not_asked() -> None:
    assert not ports.wants_ports(pod_task("new", "ns", {}, taking(0), job=""))

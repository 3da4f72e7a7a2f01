"""Pods carry the colocation settings that are theirs, and a trace of those that were."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from controllers.colocation import ColocationReconciler, OnConfiguration, OnPod
from generated.config.v1alpha1 import ColocationConfiguration
from generated.core.v1 import PODS, Pod, PodStatus
from generated.fakes.fakes import Fakes
from generated.meta.v1 import ObjectMeta
from runtime.controller import DONE
from runtime.errors import Conflict, Forbidden, NotFound
from runtime.objects import Key
from runtime.queue import WorkQueue
from tests.unit.controllers.fakes import status

NAME, VALUE = "volcano.sh/colocation-config-name", "volcano.sh/colocation-config"
QOS = {"highRatio": 80, "lowRatio": 20, "minRatio": 10}
TEXT = '{"memoryQos":{"highRatio":80,"lowRatio":20,"minRatio":10}}'
APP = {"matchLabels": {"app": "a"}}


def pod(name: str | None = None, value: str | None = None, phase: str = "Running", **labels: str) -> Pod:
    annotations = {key: text for key, text in ((NAME, name), (VALUE, value)) if text is not None}
    meta = ObjectMeta(name="p", namespace="ns", uid="u", labels=labels, annotations=annotations)
    return Pod(metadata=meta, status=PodStatus(phase=phase))


def config(
    name: str = "c", selector: Any = APP, qos: Any = QOS, created: str = "2026-05-01T12:00:00Z", namespace: str = "ns"
) -> ColocationConfiguration:
    spec = {"selector": selector, "memoryQos": qos}
    document = {
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": created},
        "spec": {key: value for key, value in spec.items() if value is not None},
    }
    return msgspec.json.decode(msgspec.json.encode(document), type=ColocationConfiguration)


async def looked(found: Pod | None, *configs: ColocationConfiguration) -> tuple[dict[str, Any] | None, Fakes]:
    """The annotations that are patched, None for no write."""
    fakes = Fakes(*configs, *([found] if found else []))
    reconciler = ColocationReconciler(
        fakes.clients, fakes.core_v1.pods.lister, fakes.config_v1alpha1.colocation_configurations.lister
    )
    assert await reconciler.reconcile(Key("ns", "p")) == DONE
    return (fakes.writes[0].body["metadata"]["annotations"] if fakes.writes else None), fakes


OLD, NEW = "2026-05-01T11:00:00Z", "2026-05-01T13:00:00Z"


@pytest.mark.parametrize(
    ("found", "configs", "written"),
    [
        (pod(app="a"), [config()], {NAME: "c", VALUE: TEXT}),
        (pod("c", TEXT, app="a"), [config()], None),
        (pod("c", '{ "memoryQos": {"minRatio":10,"lowRatio":20,"highRatio":80} }', app="a"), [config()], None),
        (pod("c", "{", app="a"), [config()], {NAME: "c", VALUE: TEXT}),
        (pod("c", "[]", app="a"), [config()], {NAME: "c", VALUE: TEXT}),
        (pod("other", TEXT, app="a"), [config()], {NAME: "c", VALUE: TEXT}),
        (pod("c", "{}", app="a"), [config()], {NAME: "c", VALUE: TEXT}),
        (pod("c", app="a"), [config()], {NAME: "c", VALUE: TEXT}),
        (pod(app="a"), [config(qos=None)], {NAME: "c", VALUE: "{}"}),
        (
            pod(app="a"),
            [config(qos={"highRatio": 100, "lowRatio": 0})],
            {NAME: "c", VALUE: '{"memoryQos":{"highRatio":100}}'},
        ),
        (pod(app="a"), [config(qos={})], {NAME: "c", VALUE: '{"memoryQos":{}}'}),
        # which configuration
        (pod(app="a"), [config("old", created=OLD), config("new", created=NEW, qos=None)], {NAME: "new", VALUE: "{}"}),
        (pod(app="a"), [config("b", qos=None), config("a", qos=None)], {NAME: "a", VALUE: "{}"}),
        (pod(app="a"), [config("x", {"matchLabels": {"app": "b"}}, created=NEW), config()], {NAME: "c", VALUE: TEXT}),
        (pod(app="a"), [config(selector={})], {NAME: "c", VALUE: TEXT}),
        (pod(app="a"), [config(selector=None)], None),
        (pod(app="a"), [config("x", {"matchLabels": {"a b": "c"}}, created=NEW), config()], {NAME: "c", VALUE: TEXT}),
        (pod(app="a"), [config(namespace="other")], None),
        # no configuration
        (pod(), [config()], None),
        (pod("c", TEXT), [config()], {NAME: None, VALUE: "{}"}),
        (pod("c"), [], {NAME: None, VALUE: "{}"}),
        (pod(None, TEXT), [], {NAME: None, VALUE: "{}"}),
        (pod("c", "{}"), [], {NAME: None, VALUE: "{}"}),
        (pod(None, "{}"), [], None),
        # not looked at
        (pod(phase="Succeeded", app="a"), [config()], None),
        (pod(phase="Failed", app="a"), [config()], None),
        (None, [config()], None),
    ],
)
async def test_what_is_written_on_a_pod(
    found: Pod | None, configs: list[ColocationConfiguration], written: dict[str, Any] | None
) -> None:
    assert (await looked(found, *configs))[0] == written


async def test_a_write_touches_annotations_only_of_this_very_pod() -> None:
    _, fakes = await looked(pod(app="a"), config())
    (write,) = fakes.writes
    assert (write.verb, write.media_type) == ("patch", "application/merge-patch+json")
    assert write.body == {"metadata": {"uid": "u", "annotations": {NAME: "c", VALUE: TEXT}}}


def failing(error: Exception) -> ColocationReconciler:
    fakes = Fakes(pod(app="a"), config())
    fakes.log.fail(error, "patch", PODS)
    return ColocationReconciler(
        fakes.clients, fakes.core_v1.pods.lister, fakes.config_v1alpha1.colocation_configurations.lister
    )


@pytest.mark.parametrize("error", [NotFound(status(404, "NotFound")), Conflict(status(409, "Conflict"))])
async def test_a_pod_that_goes_meanwhile_is_no_error(error: Exception) -> None:
    assert await failing(error).reconcile(Key("ns", "p")) == DONE


async def test_other_errors_are_the_queues() -> None:
    with pytest.raises(Forbidden):
        await failing(Forbidden(status(403, "Forbidden"))).reconcile(Key("ns", "p"))


@pytest.mark.virtual_time
async def test_a_write_that_hangs_is_broken_off() -> None:
    fakes = Fakes(pod(app="a"), config())

    async def hang(*_: object) -> Pod:
        await asyncio.sleep(3600)
        raise AssertionError

    fakes.clients.core_v1.pods.patch = hang  # type: ignore[method-assign,assignment]  # a server that hangs
    reconciler = ColocationReconciler(
        fakes.clients, fakes.core_v1.pods.lister, fakes.config_v1alpha1.colocation_configurations.lister
    )
    began = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        await reconciler.reconcile(Key("ns", "p"))
    assert asyncio.get_running_loop().time() - began == pytest.approx(10)


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("configs", "happen", "wakes"),
    [
        ([config()], lambda on: on[0].on_add(pod(app="b"), initial=True), True),
        ([], lambda on: on[0].on_add(pod(app="a"), initial=True), False),
        ([], lambda on: on[0].on_add(pod(None, "{}"), initial=False), True),
        ([config(namespace="other")], lambda on: on[0].on_add(pod(app="a"), initial=False), False),
        ([config()], lambda on: on[0].on_update(pod(app="a"), pod(app="b")), True),
        ([config()], lambda on: on[0].on_update(pod(app="a"), pod("c", TEXT, app="a")), False),
        ([config()], lambda on: on[0].on_delete(pod(app="a")), False),
        ([], lambda on: on[1].on_add(config(), initial=True), True),
        ([], lambda on: on[1].on_add(config(selector=None), initial=True), False),
        ([], lambda on: on[1].on_add(config(selector={"matchLabels": {"app": "b"}}), initial=True), False),
        ([], lambda on: on[1].on_add(config(namespace="other"), initial=False), False),
        ([], lambda on: on[1].on_delete(config()), True),
        ([], lambda on: on[1].on_update(config(), config()), False),
        ([], lambda on: on[1].on_update(config(), config(qos=None)), True),
        ([], lambda on: on[1].on_update(config(), config(selector={"matchLabels": {"app": "b"}})), True),
        ([], lambda on: on[1].on_update(config(selector=None), config()), True),
    ],
)
async def test_what_wakes_a_pod_a_second_later(
    configs: list[ColocationConfiguration], happen: Callable[[Any], None], wakes: bool
) -> None:
    fakes = Fakes(pod(app="a"), *configs)
    queue: WorkQueue[Key] = WorkQueue("test")
    handlers = (
        OnPod(queue, fakes.config_v1alpha1.colocation_configurations.lister),
        OnConfiguration(queue, fakes.core_v1.pods.lister),
    )
    happen(handlers)
    now = queue._now()
    assert len(queue) == 0
    assert {key: due - now for key, (due, *_) in queue._due.items()} == ({Key("ns", "p"): 1.0} if wakes else {})

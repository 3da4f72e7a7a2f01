"""
The colocation controller: writes on pods which colocation settings are theirs (controllers.md 13).

The node agent reads them there. Of several configurations that select a pod the newest counts. A pod that had one and
has none any more keeps an empty value, by which the agent knows that it has something to undo.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec

from api import names
from controllers.blueprint import Blueprint, Context
from controllers.stored import POD_DECODER
from generated.clients.clientset import Clientset
from generated.config.v1alpha1 import COLOCATION_CONFIGURATIONS, ColocationConfiguration, MemoryQos
from generated.core.v1 import PODS, Pod
from generated.meta.v1 import LabelSelector
from runtime import timestamps
from runtime.controller import DONE, Controller, Result
from runtime.errors import Conflict, NotFound
from runtime.lister import Lister
from runtime.model import Model
from runtime.objects import Key, key_of
from runtime.patches import MergePatch
from runtime.queue import WorkQueue
from runtime.rbac import READ, Rule
from runtime.selector import InvalidSelector, Selector, from_label_selector

_log = logging.getLogger(__name__)

NAME: Final = "colocation-config-controller"
RULES: Final = (
    Rule(COLOCATION_CONFIGURATIONS.group, (COLOCATION_CONFIGURATIONS.plural,), READ),
    Rule("", (PODS.plural,), (*READ, "patch")),
)
SETTLE: Final = 1.0
"""Seconds between a change and the look at a pod, so that a pod and its configuration may come in any order."""
WRITE_SECONDS: Final = 10.0
NOTHING: Final = "{}"
_OVER: Final = frozenset(("Succeeded", "Failed"))


class Content(Model, kw_only=True):
    """What the annotation holds."""

    memory_qos: MemoryQos | None = None


def selector_of(selector: LabelSelector | None) -> Selector | None:
    """A selector as it can be used; None for one that selects nothing, as it is absent or can't be read."""
    if selector is None:
        return None
    found = from_label_selector(selector)
    return None if isinstance(found, InvalidSelector) else found


def configuration_of(pod: Pod, configurations: Iterable[ColocationConfiguration]) -> ColocationConfiguration | None:
    """The newest configuration that selects a pod, of several of one age the first by name."""
    for each in sorted(configurations, key=_age):
        selector = selector_of(each.spec.selector)
        if selector is not None and selector.matches(pod.metadata.labels):
            return each
    return None


def annotations_for(pod: Pod, found: ColocationConfiguration | None) -> dict[str, str | None]:
    """What to change in a pod's annotations, None for what goes. Empty when they are right."""
    held = pod.metadata.annotations
    name, value = held.get(names.COLOCATION_CONFIG_NAME_ANNOTATION), held.get(names.COLOCATION_CONFIG_ANNOTATION)
    if found is None:
        if (name, value) in {(None, None), (None, NOTHING)}:
            return {}
        return {names.COLOCATION_CONFIG_NAME_ANNOTATION: None, names.COLOCATION_CONFIG_ANNOTATION: NOTHING}
    wanted = Content(memory_qos=found.spec.memory_qos)
    if name == found.metadata.name and _is_same(value, wanted):
        return {}
    return {
        names.COLOCATION_CONFIG_NAME_ANNOTATION: found.metadata.name,
        names.COLOCATION_CONFIG_ANNOTATION: msgspec.json.encode(wanted).decode(),
    }


def _age(each: ColocationConfiguration) -> tuple[int, str]:
    """Sorts newest first."""
    created = each.metadata.creation_timestamp
    return -timestamps.parse_nanoseconds(created) if created else 0, each.metadata.name


def _is_same(text: str | None, wanted: Content) -> bool:
    if text is None:
        return False
    try:
        return msgspec.json.decode(text, type=Content) == wanted
    except (msgspec.MsgspecError, UnicodeError):
        return False


class ColocationReconciler:
    """`reconcile` looks at one pod."""

    def __init__(self, clients: Clientset, pods: Lister[Pod], configurations: Lister[ColocationConfiguration]) -> None:
        self._client = clients.core_v1.pods
        self._pods = pods
        self._configurations = configurations

    async def reconcile(self, key: Key) -> Result:
        """Raises ApiError, ConnectionFailed, TimeoutError."""
        pod = self._pods.get(key)
        if pod is None or pod.status.phase in _OVER:
            return DONE
        found = configuration_of(pod, self._configurations.list(key.namespace))
        changed = annotations_for(pod, found)
        if not changed:
            return DONE
        body = {"metadata": {"uid": pod.metadata.uid, "annotations": changed}}
        with suppress(NotFound, Conflict):  # gone, or another one of that name
            async with asyncio.timeout(WRITE_SECONDS):
                await self._client.patch(key.name, key.namespace, MergePatch(body))
            _log.info("pod.configured pod=%s configuration=%s", key, found.metadata.name if found else "none")
        return DONE


class OnPod:
    """Pods that come or change their labels, where there is anything to look at."""

    def __init__(self, queue: WorkQueue[Key], configurations: Lister[ColocationConfiguration]) -> None:
        self._queue = queue
        self._configurations = configurations

    def on_add(self, obj: Pod, initial: bool) -> None:  # noqa: ARG002, FBT001  # as Handler
        self._wake(obj)

    def on_update(self, old: Pod, new: Pod) -> None:
        if old.metadata.labels != new.metadata.labels:
            self._wake(new)

    def on_delete(self, obj: Pod) -> None:
        """Its annotations went with it."""

    def _wake(self, pod: Pod) -> None:
        """A configuration that comes later wakes its pods itself."""
        is_managed = not pod.metadata.annotations.keys().isdisjoint(
            (names.COLOCATION_CONFIG_NAME_ANNOTATION, names.COLOCATION_CONFIG_ANNOTATION)
        )
        if is_managed or self._configurations.list(pod.metadata.namespace):
            self._queue.add_after(key_of(pod), SETTLE)


class OnConfiguration:
    """Configurations wake the pods that they select, or selected."""

    def __init__(self, queue: WorkQueue[Key], pods: Lister[Pod]) -> None:
        self._queue = queue
        self._pods = pods

    def on_add(self, obj: ColocationConfiguration, initial: bool) -> None:  # noqa: ARG002, FBT001  # as Handler
        self._wake(obj)

    def on_update(self, old: ColocationConfiguration, new: ColocationConfiguration) -> None:
        if old.spec.selector != new.spec.selector:
            self._wake(old)
        if old.spec != new.spec:
            self._wake(new)

    def on_delete(self, obj: ColocationConfiguration) -> None:
        self._wake(obj)

    def _wake(self, found: ColocationConfiguration) -> None:
        selector = selector_of(found.spec.selector)
        if selector is None:
            return
        for pod in self._pods.list(found.metadata.namespace, selector):
            self._queue.add_after(key_of(pod), SETTLE)


def build(context: Context) -> Controller[Key]:
    """The controller on the process's informers."""
    pods = context.informers.of(PODS, decoder=POD_DECODER)
    configurations = context.informers.of(COLOCATION_CONFIGURATIONS)
    reconciler = ColocationReconciler(context.clients, pods.lister, configurations.lister)
    controller: Controller[Key] = Controller(
        NAME, reconciler.reconcile, watches=(), reads=[pods, configurations], workers=1
    )
    pods.add_handler(OnPod(controller.queue, configurations.lister))
    configurations.add_handler(OnConfiguration(controller.queue, pods.lister))
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES)

"""
Follows the configuration, lets each enabled source discover HyperNodes, and counts their nodes.

Sources stand for themselves: each is a key of the work queue, so its looks come one after the other, and what fails in
one is retried without the others. A look whose source was changed or stopped meanwhile is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from api.names import ControllerReason as Reason
from controllers.hypernode import fabric, label, ufm
from controllers.hypernode.apply import Arrange, Writer
from controllers.hypernode.counts import Counter
from controllers.hypernode.label import Hierarchy, LabelError
from controllers.hypernode.requests import CountAll, CountOne, Discover, Reload, Work
from controllers.hypernode.settings import LABEL, Settings, SettingsError, Source, read
from generated.clients.clientset import Clientset
from generated.core.v1 import CONFIG_MAPS, ConfigMap, Node
from generated.topology.v1alpha1 import HyperNode
from runtime.controller import DONE, Result, again_after
from runtime.errors import ApiError, ConnectionFailed
from runtime.events import EventRecorder
from runtime.lister import Lister
from runtime.objects import Key

_log = logging.getLogger(__name__)

RETRY: Final = 30.0
"""Seconds after which a fabric manager that gave no answer is asked again; doubled each time up to the interval."""


class HyperNodeReconciler:
    """`reconcile` carries out one request; `ask` queues a further one. `place` is the config map."""

    def __init__(
        self,
        clients: Clientset,
        place: Key,
        *,
        configs: Lister[ConfigMap],
        hypernodes: Lister[HyperNode],
        nodes: Lister[Node],
        events: EventRecorder,
        ask: Callable[[Work], None],
    ) -> None:
        self._clients = clients
        self._place = place
        self._configs = configs
        self._nodes = nodes
        self._events = events
        self._ask = ask
        self._writer = Writer(clients, hypernodes)
        self._counter = Counter(clients, hypernodes, nodes)
        self._sources: dict[str, Source] = {}
        self._types: tuple[Hierarchy, ...] = ()
        self._failures: dict[str, int] = {}
        self._told: dict[str, str] = {}
        """What was said last of a source that can't be used."""
        self.watched: frozenset[str] = frozenset()
        """The node labels that make HyperNodes."""

    async def reconcile(self, work: Work) -> Result:
        """Raises ApplyError, LabelError, ApiError, ConnectionFailed."""
        if isinstance(work, Discover):
            return await self._discover(work.source)
        if isinstance(work, CountOne):
            await self._counter.count(work.hypernode)
        elif isinstance(work, CountAll):
            for name in await self._counter.outdated():
                self._ask(CountOne(name))
        elif isinstance(work, Reload):
            self._reload()
        return DONE

    def _reload(self) -> None:
        """Take over what changed in the configuration. What can't be read leaves things as they are."""
        config = self._configs.get(self._place)
        try:
            settings = read(config.data) if config is not None else Settings()
        except SettingsError as error:
            self._tell("", Reason.INVALID_CONFIGURATION, str(error))
            return
        self._told.pop("", None)
        for name, problem in settings.problems.items():
            self._tell(name, Reason.INVALID_CONFIGURATION, problem)
        named = {*settings.sources, *settings.problems}
        for name in [name for name in self._sources if name not in named]:
            self._stop(name)
        for name, source in settings.sources.items():
            if self._sources.get(name) != source:
                self._start(source)

    def _stop(self, name: str) -> None:
        """The HyperNodes of a source that was switched off stay."""
        del self._sources[name]
        self._failures.pop(name, None)
        self._told.pop(name, None)
        if name == LABEL:
            self._types, self.watched = (), frozenset()
        _log.info("discovery.stopped source=%s", name)

    def _start(self, source: Source) -> None:
        if source.name == LABEL:
            try:
                types = label.hierarchies(source)
            except LabelError as error:
                self._tell(LABEL, Reason.INVALID_CONFIGURATION, str(error))
                return
            self._types, self.watched = types, label.labels_of(types)
        self._sources[source.name] = source
        self._failures.pop(source.name, None)
        self._told.pop(source.name, None)
        _log.info("discovery.started source=%s interval=%g", source.name, source.interval)
        self._ask(Discover(source.name))

    async def _discover(self, name: str) -> Result:
        source = self._sources.get(name)
        if source is None:
            return DONE

        def is_current() -> bool:
            return self._sources.get(name) is source

        if name == LABEL:
            types, nodes = self._types, self._nodes.list()
            await self._writer.apply(name, lambda existing: label.arrange(types, nodes, existing), is_current)
            return DONE
        arrange = await self._ask_fabric(source)
        if not is_current():
            return DONE  # the changed source is asked for itself
        if arrange is None:
            failures = self._failures[name] = self._failures.get(name, 0) + 1
            return again_after(min(source.interval, RETRY * 2 ** min(failures - 1, 10)))
        self._failures.pop(name, None)
        self._told.pop(name, None)
        await self._writer.apply(name, arrange, is_current)
        return again_after(source.interval)

    async def _ask_fabric(self, source: Source) -> Arrange | None:
        """None when there is no usable answer: then the HyperNodes stay as they are."""
        try:
            found = fabric.groups(await ufm.ports(self._clients, source, self._place.namespace))
        except (ufm.UfmError, ApiError, ConnectionFailed) as error:
            if self._sources.get(source.name) is source:
                self._tell(source.name, Reason.DISCOVERY_FAILED, str(error))
            return None
        return lambda existing: fabric.arrange(found, existing)

    def _tell(self, source: str, reason: str, problem: str) -> None:
        """Say what is wrong with a source, or with the configuration, in the log and where it is configured."""
        _log.warning("discovery.problem source=%s config=%s problem=%s", source or "*", self._place, problem)
        config = self._configs.get(self._place)
        if config is not None and self._told.get(source) != problem:
            text = f"network topology source {source}: {problem}" if source else problem
            self._events.warning(CONFIG_MAPS, config, reason, text)
        self._told[source] = problem

"""
Keeps the shards of the schedulers as the configuration says: at each period, and soon after nodes changed much.

An assignment is always made for all schedulers at once, also when only one shard is to be written.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from api.names import ControllerReason as Reason
from controllers.sharding.assignment import assign
from controllers.sharding.policies import Candidate
from controllers.sharding.requests import Measure, Shard, Sync, Work, is_usable
from controllers.sharding.settings import Settings, SettingsError, from_data
from controllers.sharding.shards import Shards
from controllers.sharding.usage import Usage
from generated.core.v1 import CONFIG_MAPS, ConfigMap, Node
from runtime.controller import DONE, GiveUp, Result, again_after
from runtime.events import EventRecorder
from runtime.lister import Lister
from runtime.objects import Key

_log = logging.getLogger(__name__)

SOON: Final = 0.2
"""Seconds between a change and the look at it."""
REST: Final = 1.0
"""Seconds between two looks at all nodes, whatever changes."""
VALID_FOR: Final = 300.0
"""Seconds that an assignment may be used for."""


class ShardingReconciler:
    """`reconcile` carries out one request; `ask` queues a further one. `place` is the config map, if there is one."""

    def __init__(
        self,
        flags: Settings,
        place: Key | None,
        *,
        configs: Lister[ConfigMap],
        nodes: Lister[Node],
        usage: Usage,
        shards: Shards,
        events: EventRecorder,
        ask: Callable[[Work], None],
        clock: Callable[[], float],
    ) -> None:
        self.settings = flags
        self._place = place
        self._configs = configs
        self._nodes = nodes
        self._usage = usage
        self._shards = shards
        self._events = events
        self._ask = ask
        self._clock = clock
        self._seen = ""
        """The resourceVersion of the config map that was read last."""
        self._is_refused = False
        """There is a config map, and none of its states could be used so far."""
        self._assigned: dict[str, tuple[str, ...]] = {}
        self._assigned_at: float | None = None

    @property
    def rest(self) -> float:
        """Seconds until all nodes may be looked at again."""
        since = self._clock() - self._assigned_at if self._assigned_at is not None else REST
        return max(SOON, min(REST, REST - since))

    async def reconcile(self, work: Work) -> Result:
        """Raises GiveUp, ApiError, ConnectionFailed."""
        if isinstance(work, Sync):
            return await self._sync()
        if isinstance(work, Measure):
            if await self._usage.refresh():
                self._ask(Sync())
        elif isinstance(work, Shard):
            await self._write(work.scheduler)
        return DONE

    async def _sync(self) -> Result:
        self._load()
        await self._assign()
        for scheduler in self.settings.schedulers:
            self._ask(Shard(scheduler.name))
        if self.settings.schedulers and not self._is_refused:
            await self._shards.drop_others(self._assigned)
        return again_after(self.settings.period)

    async def _write(self, name: str) -> None:
        self._load()
        if all(scheduler.name != name for scheduler in self.settings.schedulers):
            if not self._shards.has(name):
                return  # it was deleted, as it should be
            raise GiveUp(f"scheduler config not found for {name}")
        if self._assigned_at is None or self._clock() - self._assigned_at > VALID_FOR:
            await self._assign()
        await self._shards.write(name, self._assigned[name])

    async def _assign(self) -> None:
        await self._usage.refresh()
        candidates = [self._candidate(node) for node in self._nodes if is_usable(node)]
        # With thousands of nodes this takes long enough to be done beside the loop.
        self._assigned = await asyncio.to_thread(assign, self.settings.schedulers, candidates)
        self._assigned_at = self._clock()

    def _candidate(self, node: Node) -> Candidate:
        load = self._usage.of(node.metadata.name)
        return Candidate(node.metadata.name, node.metadata.labels, load.cpu if load is not None else None)

    def _load(self) -> None:
        """Take over a changed config map. One that can't be used leaves things as they are."""
        config = self._configs.get(self._place) if self._place is not None else None
        if config is None or config.metadata.resource_version == self._seen:
            return
        is_first = not self._seen
        self._seen = config.metadata.resource_version
        try:
            settings = from_data(config.data, self.settings)
        except SettingsError as error:
            self._is_refused |= is_first
            _log.warning("sharding configuration refused config=%s reason=%s", self._place, error)
            self._events.warning(CONFIG_MAPS, config, Reason.INVALID_CONFIGURATION, str(error))
            return
        self._is_refused = False
        self.settings = settings
        self._assigned_at = None
        names = ",".join(scheduler.name for scheduler in settings.schedulers)
        _log.info("sharding configuration read config=%s schedulers=%s", self._place, names)

"""The plugins of the tree, by name."""

from __future__ import annotations

from scheduler.plugin import Plugin
from scheduler.plugins.binpack import BinPack
from scheduler.plugins.gang import Gang
from scheduler.plugins.nodeorder import NodeOrder
from scheduler.plugins.predicates import Predicates
from scheduler.plugins.priority import Priority

BUILT_IN: dict[str, type[Plugin]] = {plugin.name: plugin for plugin in (BinPack, Gang, NodeOrder, Predicates, Priority)}

"""The plugins of the tree, by name."""

from __future__ import annotations

from scheduler.plugin import Plugin
from scheduler.plugins.binpack import BinPack
from scheduler.plugins.capacity import Capacity
from scheduler.plugins.conformance import Conformance
from scheduler.plugins.drf import Drf
from scheduler.plugins.gang import Gang
from scheduler.plugins.network_topology_aware import NetworkTopologyAware
from scheduler.plugins.nodeorder import NodeOrder
from scheduler.plugins.overcommit import Overcommit
from scheduler.plugins.predicates import Predicates
from scheduler.plugins.priority import Priority
from scheduler.plugins.proportion import Proportion

BUILT_IN: dict[str, type[Plugin]] = {
    plugin.name: plugin
    for plugin in (
        BinPack,
        Capacity,
        Conformance,
        Drf,
        Gang,
        NetworkTopologyAware,
        NodeOrder,
        Overcommit,
        Predicates,
        Priority,
        Proportion,
    )
}

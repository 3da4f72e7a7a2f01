"""HyperNodes and sub-group policies as the API server has them, taken into the state."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import PodGroup
    from generated.topology.v1alpha1 import HyperNode
    from scheduler.state.cluster import Cluster

log = logging.getLogger(__name__)


def apply_hypernode(cluster: Cluster, old: HyperNode | None, new: HyperNode | None) -> None:
    """Take in a change of a HyperNode. One that changes nothing which scheduling reads starts no cycle."""
    if new is not None:
        if old is not None and old.spec == new.spec and new.metadata.name in cluster.hypernodes:
            return
        cluster.hypernodes.set(new)
    elif old is not None:
        cluster.hypernodes.remove(old.metadata.name)
    cluster.version += 1


def warn_of_policies(old: PodGroup | None, new: PodGroup) -> None:
    """Say once of a PodGroup which of its sub-group policies can take no pod."""
    policies = new.spec.sub_group_policy
    if old is not None and old.spec.sub_group_policy == policies:
        return
    for policy in policies:
        if not policy.match_label_keys:
            log.warning(
                "sub-group policy has no effect podgroup=%s/%s policy=%s: it names no matchLabelKeys, "
                "its pods belong to no sub-group",
                new.metadata.namespace,
                new.metadata.name,
                policy.name,
            )

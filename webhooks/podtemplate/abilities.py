"""
What the connected API server lets into a pod, by its release.

The set of templates that pass is the server's own: what it has learned since is let pass with it, what it drops
isn't judged. Only features that are on by default count: gates of the server can't be asked for.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from runtime.features import Release

_NEWEST: Release = (1, 36)


class Abilities(msgspec.Struct, frozen=True):
    """Which newer rules are in force."""

    has_restart_rules: bool = True
    """Containers that aren't init containers may have a restart policy, and rules beside it."""
    restarts_all_containers: bool = True
    """A rule may restart the whole pod."""
    has_env_files: bool = True
    """Variables may come from a file."""
    has_pod_resources: bool = True
    """Pods have resources of their own. Follows the gate `PodLevelResources` of this process."""
    has_hostname_override: bool = True


@lru_cache(maxsize=16)
def abilities(release: Release | None, *, pod_resources: bool) -> Abilities:
    """Those of a release; of the newest one known when it is None."""
    known = release or _NEWEST
    return Abilities(
        has_restart_rules=known >= (1, 35),
        restarts_all_containers=known >= (1, 36),
        has_env_files=known >= (1, 35),
        has_pod_resources=pod_resources,
        has_hostname_override=known >= (1, 35),
    )

"""What is known of volume claims, as far as a pod waits for them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class VolumeClaim(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim. `is_bound`: it has a volume, and the binding is complete."""

    is_bound: bool
    is_leaving: bool = False
    phase: str = ""
    volume: str = ""
    owner: str = ""
    """Uid of the pod that it was made for, empty where it stands by itself."""


class Claims:
    """By `namespace/name`. `version` changes with every change."""

    def __init__(self) -> None:
        self.version = 0
        self._claims: dict[str, VolumeClaim] = {}

    def get(self, key: str) -> VolumeClaim | None:
        """The claim, None when there is none."""
        return self._claims.get(key)

    @property
    def known(self) -> Mapping[str, VolumeClaim]:
        """All claims."""
        return self._claims

    def set(self, key: str, claim: VolumeClaim | None) -> bool:
        """Take in a claim, None when it is gone; whether that is news."""
        if self._claims.get(key) == claim:
            return False
        self.version += 1
        if claim is None:
            del self._claims[key]
        else:
            self._claims[key] = claim
        return True

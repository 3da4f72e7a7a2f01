"""What queues and PodGroups ask for or are limited to, read from their objects once and kept as plain numbers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from api.resources import RawList, amounts, numbers
from generated.scheduling.v1beta1 import QueueState
from runtime.quantity import QuantityError

if TYPE_CHECKING:
    from generated.scheduling.v1beta1 import Queue as QueueObject

log = logging.getLogger(__name__)

Numbers = Mapping[str, float]
"""Amounts by name, in the units of `scheduler.state.dimensions`."""


class Limits(msgspec.Struct, frozen=True):
    """A queue's part of the cluster, as its spec says. None is a list that isn't given."""

    weight: int = 1
    priority: int = 0
    is_open: bool = True
    """Whether the queue takes new work. One that its controller hasn't looked at yet does."""
    capability: Numbers | None = None
    deserved: Numbers | None = None
    guarantee: Numbers = msgspec.field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """All resources that are named."""
        return {*(self.capability or ()), *(self.deserved or ()), *self.guarantee}


def limits_of(queue: QueueObject) -> Limits:
    """Read a queue. An amount that can't be read counts as absent, with a word."""
    spec, name = queue.spec, queue.metadata.name
    return Limits(
        weight=1 if spec.weight is None else max(0, spec.weight),
        priority=spec.priority,
        is_open=queue.status.state in {"", QueueState.OPEN},
        capability=None if spec.capability is None else readable(spec.capability, f"queue {name} capability"),
        deserved=None if spec.deserved is None else readable(spec.deserved, f"queue {name} deserved"),
        guarantee=readable(spec.guarantee.resource, f"queue {name} guarantee"),
    )


def readable(raw: RawList, subject: str) -> dict[str, float]:
    """The amounts that can be read and that the scheduler counts."""
    found: dict[str, float] = {}
    for name, value in raw.items():
        try:
            found |= {key: float(amount) for key, amount in numbers(amounts({name: value})).items()}
        except QuantityError as error:
            log.warning("amount can't be read and is left out of=%s error=%s", subject, error)
    return found

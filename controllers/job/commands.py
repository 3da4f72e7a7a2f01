"""Commands on jobs: each is deleted first and carried out then, so that it happens at most once (controllers.md 3.9)."""

from __future__ import annotations

from typing import NamedTuple

from controllers.job.requests import Request
from generated.batch.v1alpha1 import JOBS
from generated.bus.v1alpha1 import Command, Event
from runtime.objects import Key


class Order(NamedTuple):
    """A Command that waits to be taken."""

    namespace: str
    name: str
    uid: str
    job: str
    action: str

    @property
    def job_key(self) -> Key:
        return Key(self.namespace, self.job)

    def request(self) -> Request:
        """What it asks of the job."""
        return Request(event=Event.COMMAND_ISSUED, action=self.action)

    def message(self) -> str:
        """What the job's users are told."""
        return f"Start to execute command {self.action}, and clean it up to make sure executed not more than once."


def order_of(command: Command) -> Order | None:
    """What a Command asks, None when it isn't for a job."""
    target = command.target
    if target is None or target.api_version != JOBS.api_version or target.kind != JOBS.kind:
        return None
    meta = command.metadata
    return Order(meta.namespace, meta.name, meta.uid, target.name, command.action)

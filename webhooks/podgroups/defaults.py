"""`/podgroups/mutate`: a group of nobody's choice goes to the queue of its namespace (webhooks.md 7.1)."""

from __future__ import annotations

import logging
from typing import ClassVar

from api import names
from generated.core.v1 import NAMESPACES, Namespace
from generated.listers.core_v1 import NamespaceLister
from generated.scheduling.v1beta1 import PodGroup
from generated.webhooks.base import MutationAnswer
from generated.webhooks.scheduling_v1beta1 import PodGroupDefaulter
from runtime.admission import ALLOWED, Allowed, Mutation, Patch, WrongOperation
from runtime.patches import add
from runtime.rbac import READ, Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context
from webhooks.readers import LookupFailed

log = logging.getLogger(__name__)


class PodGroupDefaults(PodGroupDefaulter):
    """Reads one annotation of the namespace."""

    WRONG_OPERATION: ClassVar[WrongOperation] = WrongOperation.INVALID
    RULES: ClassVar[tuple[Rule, ...]] = (Rule(NAMESPACES.group, (NAMESPACES.plural,), READ),)

    def __init__(self, context: Context) -> None:
        self._readers = context.readers
        self._namespaces = context.readers.lister(NamespaceLister)

    def default_create(self, request: AdmissionRequest, obj: PodGroup) -> MutationAnswer[PodGroup]:
        """Only `default` is replaced: it is what the API server writes where nobody chose."""
        if obj.spec.queue != names.DEFAULT_QUEUE:
            return ALLOWED
        name = obj.metadata.namespace or request.namespace
        cached = self._namespaces.get(name)
        return _queue_of(cached) if cached is not None else self._look_up(name, obj)

    async def _look_up(self, name: str, group: PodGroup) -> Mutation[PodGroup]:
        try:
            found = await self._readers.find(NAMESPACES, name)
        except LookupFailed as error:
            problem = str(error)
        else:
            if found is not None:
                return _queue_of(found)
            problem = f"there is no namespace {name}"
        log.warning("podgroup=%s/%s keeps queue %s: %s", name, group.metadata.name, names.DEFAULT_QUEUE, problem)
        return Allowed((f"spec.queue stays {names.DEFAULT_QUEUE}: the queue of the namespace is unknown: {problem}",))


def _queue_of(namespace: Namespace) -> Mutation[PodGroup]:
    queue = namespace.metadata.annotations.get(names.GROUP_QUEUE_NAME_ANNOTATION)
    return Patch((add("/spec/queue", queue),)) if queue else ALLOWED

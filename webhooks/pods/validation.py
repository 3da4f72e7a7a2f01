"""`/pods/validate`: the disruption annotations of pods that we schedule (webhooks.md 5.2)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import ClassVar, Final

from api import names
from api.names import PodReason
from api.owners import controller_of
from generated.core.v1 import Pod
from generated.webhooks.core_v1 import PodValidator
from runtime import integers
from runtime.admission import ALLOWED, Denial, Validation
from runtime.events import WARNING
from runtime.rbac import Rule
from runtime.wire import AdmissionRequest, ObjectReference
from webhooks.blueprint import Context
from webhooks.causes import shown

log = logging.getLogger(__name__)

_ANNOTATIONS: Final = (names.JDB_MIN_AVAILABLE_ANNOTATION, names.JDB_MAX_UNAVAILABLE_ANNOTATION)
_INT32: Final = 32
_INT64: Final = 64
"""Bits."""


class PodRules(PodValidator):
    """Looks at pods of our schedulers only."""

    RULES: ClassVar[tuple[Rule, ...]] = ()

    def __init__(self, context: Context) -> None:
        self._ours = frozenset(context.options.scheduler_names)
        self._events = context.events

    def validate_create(self, request: AdmissionRequest, obj: Pod) -> Validation:
        """Whether the annotations say something; who made the pod hears of it when they don't."""
        if obj.spec.scheduler_name not in self._ours:
            return ALLOWED
        problem = annotation_problem(obj.metadata.annotations)
        if not problem:
            return ALLOWED
        if not request.is_dry_run:
            self._tell_owner(request, obj, problem)
        return Denial(problem)

    def _tell_owner(self, request: AdmissionRequest, pod: Pod, problem: str) -> None:
        """The pod never exists, so the event goes to its controller. It is sent later, and may fail by itself."""
        owner = controller_of(pod.metadata)
        if owner is None or self._events is None:
            return
        place = ObjectReference(
            api_version=owner.api_version,
            kind=owner.kind,
            namespace=pod.metadata.namespace or request.namespace,
            name=owner.name,
            uid=owner.uid,
        )
        self._events.record(place, WARNING, PodReason.ADMIT, f"Create pod failed due to {problem}")


def annotation_problem(annotations: Mapping[str, str]) -> str:
    """The first annotation with a value that means nothing, or that there are two; empty when all is well."""
    given = [key for key in _ANNOTATIONS if key in annotations]
    for key in given:
        if problem := _value_problem(key, annotations[key]):
            return problem
    if len(given) > 1:
        return f"not allow configure multiple annotations <[{' '.join(_ANNOTATIONS)}]> at same time"
    return ""


def _value_problem(key: str, value: str) -> str:
    """A positive number of pods, or a share of them between 1 % and 99 %."""
    count = integers.read(value, _INT32)
    if count is not None:
        return "" if count > 0 else f'invalid value <"{value}"> for {key}, it must be a positive integer'
    share = value.replace("%", "")  # compat: ADM-2
    if not integers.is_integer(share):
        return f"invalid value strconv.Atoi: parsing {shown(share)}: invalid syntax for {key}"
    percent = integers.read(share, _INT64)
    if percent is None:
        return f"invalid value strconv.Atoi: parsing {shown(share)}: value out of range for {key}"
    if not 1 <= percent <= 99:
        return f'invalid value <"{value}"> for {key}, it must be a valid percentage which between 1% ~ 99%'
    return ""

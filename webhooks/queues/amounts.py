"""The resources that a queue names: each amount, and guarantee <= deserved <= capability (webhooks.md 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from api.resources import Amounts, is_extended
from generated.scheduling.v1beta1 import QueueSpec
from runtime.quantity import Quantity, QuantityError, Raw, parse
from webhooks.causes import Causes

BODY: Final = "requestBody"
"""Where field paths begin."""
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
WHOLE: Final = "must be an integer"
COUNTS: Final = frozenset(
    (
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    )
)
"""Resources that are counted in objects."""
_MILLI: Final = 1000


def check(causes: Causes, spec: QueueSpec) -> None:
    """All amounts by themselves first, then beside each other; by resource name."""
    capability = _read(causes, f"{BODY}.spec.capability", spec.capability or {})
    deserved = _read(causes, f"{BODY}.spec.deserved", spec.deserved or {})
    for name, value in sorted(spec.guarantee.resource.items()):
        guaranteed = _amount(causes, f"{BODY}.spec.guarantee.resource.{name}", name, value)
        if guaranteed is not None and (name in deserved or name not in (spec.deserved or {})):
            _check_guarantee(causes, name, guaranteed, deserved.get(name))
    for name, amount in deserved.items():
        if name in capability and amount > capability[name]:
            detail = f"deserved[{name}]={amount} must be <= capability[{name}]={capability[name]}"
            causes.invalid(f"{BODY}.spec.deserved.{name}", str(amount), detail)


def _check_guarantee(causes: Causes, name: str, guaranteed: Quantity, deserved: Quantity | None) -> None:
    field = f"{BODY}.spec.deserved.{name}"
    if deserved is None:
        causes.invalid(field, "<nil>", f"deserved[{name}] must be >= guarantee[{name}]={guaranteed}")
    elif deserved < guaranteed:
        detail = f"deserved[{name}]={deserved} must be >= guarantee[{name}]={guaranteed}"
        causes.invalid(field, str(deserved), detail)


def _read(causes: Causes, field: str, given: Mapping[str, Raw]) -> Amounts:
    """The amounts that can be read, by name."""
    read = {name: _amount(causes, f"{field}.{name}", name, given[name]) for name in sorted(given)}
    return {name: amount for name, amount in read.items() if amount is not None}


def _amount(causes: Causes, field: str, name: str, value: Raw) -> Quantity | None:
    try:
        amount = parse(value)
    except QuantityError as error:
        causes.invalid(field, value, str(error))
        return None
    if amount.nano < 0:
        causes.invalid(field, str(amount), NOT_NEGATIVE)
    if (name in COUNTS or is_extended(name)) and amount.milli % _MILLI:
        causes.invalid(field, str(amount), WHOLE)
    return amount

"""The disruption annotations of pods that we schedule (webhooks.md 5.2)."""

from __future__ import annotations

from typing import Final

from api import names
from generated.core.v1 import PODS
from webhooks.options import Options
from webhooks.policies.policy import Policy, Rule, literal

_KEYS: Final = (names.JDB_MIN_AVAILABLE_ANNOTATION, names.JDB_MAX_UNAVAILABLE_ANNOTATION)
_INT32: Final = 2**31
_NUMBER: Final = "^[+-]?[0-9]{1,10}$"
_SHARE: Final = "^[+]?0*[1-9][0-9]?$"


def _value(key: str) -> str:
    return f"variables.annotations[{literal(key)}]"


def _rule(key: str) -> Rule:
    """A positive number of pods, or a share between 1 % and 99 %."""
    value = _value(key)
    is_number = f"{value}.matches({literal(_NUMBER)}) && int({value}) >= {-_INT32} && int({value}) < {_INT32}"
    holds = f"({is_number}) ? int({value}) > 0 : {value}.replace('%', '').matches({literal(_SHARE)})"
    told = (
        f"'invalid value <\"' + {value} + '\"> for {key}, ' + (({is_number}) ? 'it must be a positive integer'"
        " : 'it must be a valid percentage which between 1% ~ 99%')"
    )
    return Rule(f"!({literal(key)} in variables.annotations) || ({holds})", f"invalid value for {key}", told)


_BOTH: Final = " && ".join(f"{literal(key)} in variables.annotations" for key in _KEYS)
POLICY: Final[Policy] = Policy(
    "pod-validation-policy",
    PODS,
    ("CREATE",),
    (
        *map(_rule, _KEYS),
        Rule(f"!({_BOTH})", f"not allow configure multiple annotations <[{' '.join(_KEYS)}]> at same time"),
    ),
    {"annotations": "has(object.metadata.annotations) ? object.metadata.annotations : {}"},
    {"our-scheduler": f"object.spec.schedulerName in {literal(Options().scheduler_names)}"},
)

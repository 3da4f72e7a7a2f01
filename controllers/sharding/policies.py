"""
Policies of a shard: which nodes come into question, in what order, and how many (controllers.md 12.3).

A policy is built from its arguments, once, when the configuration is read; what can't be built spoils the configuration.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from api import names

_log = logging.getLogger(__name__)

ALLOCATION_RATE: Final = "allocation-rate"
WARMUP: Final = "warmup"
NODE_LIMIT: Final = "node-limit"
MIN_CPU: Final = "minCPUUtil"
MAX_CPU: Final = "maxCPUUtil"
MIN_NODES: Final = "minNodes"
MAX_NODES: Final = "maxNodes"
_WARMUP_LABEL: Final = "warmupLabel"
_WARMUP_VALUE: Final = "warmupLabelValue"


class PolicyError(Exception):
    """A policy can't be built. Says why."""


class Candidate(msgspec.Struct, frozen=True):
    """A node as policies see it."""

    name: str
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    cpu: float | None = None
    """The requested share of the cpu, 0 to 1; None where it isn't known."""


class Policy(msgspec.Struct, frozen=True):
    """A policy that can be used. What it doesn't do is None."""

    name: str
    weight: int = 1
    accepts: Callable[[Candidate], bool] | None = None
    score: Callable[[Candidate], float] | None = None
    select: Callable[[Sequence[Candidate]], Sequence[Candidate]] | None = None


def round2(value: float) -> float:
    """Two decimals, halves away from zero."""
    return math.copysign(math.floor(abs(value) * 100 + 0.5) / 100, value)


def build(name: str, weight: int, arguments: Mapping[str, Any]) -> Policy:
    """The policy of a name. Raises PolicyError."""
    maker = _MAKERS.get(name)
    if maker is None:
        raise PolicyError(f"unknown policy {name!r}, expected one of {', '.join(_MAKERS)}")
    return maker(weight, arguments)


def _allocation_rate(weight: int, arguments: Mapping[str, Any]) -> Policy:
    low = _number(ALLOCATION_RATE, arguments, MIN_CPU)
    high = _number(ALLOCATION_RATE, arguments, MAX_CPU)
    if not 0 <= low <= high <= 1:
        raise PolicyError(f"policy {ALLOCATION_RATE}: 0 <= {MIN_CPU} <= {MAX_CPU} <= 1 is needed, got {low} and {high}")

    def accepts(node: Candidate) -> bool:
        return node.cpu is not None and node.cpu >= 0 and round2(low) <= round2(node.cpu) <= round2(high)

    def score(node: Candidate) -> float:
        if node.cpu is None:
            return 0.0
        return 1.0 if high == low else min(1.0, max(0.0, (round2(node.cpu) - low) / (high - low)))

    return Policy(ALLOCATION_RATE, weight, accepts=accepts, score=score)


def _warmup(weight: int, arguments: Mapping[str, Any]) -> Policy:
    label = _text(WARMUP, arguments, _WARMUP_LABEL, names.WARMUP_LABEL)
    value = _text(WARMUP, arguments, _WARMUP_VALUE, "true")
    return Policy(WARMUP, weight, score=lambda node: 1.0 if node.labels.get(label) == value else 0.0)


def _node_limit(weight: int, arguments: Mapping[str, Any]) -> Policy:
    least = int(_number(NODE_LIMIT, arguments, MIN_NODES))
    most = int(_number(NODE_LIMIT, arguments, MAX_NODES))
    if least < 0 or 0 < most < least:
        raise PolicyError(f"policy {NODE_LIMIT}: 0 <= {MIN_NODES} <= {MAX_NODES} is needed, got {least} and {most}")

    def select(nodes: Sequence[Candidate]) -> Sequence[Candidate]:
        if len(nodes) < least:
            _log.info("fewer nodes than wanted policy=%s nodes=%d wanted=%d", NODE_LIMIT, len(nodes), least)
        return nodes[:most] if most > 0 else nodes

    return Policy(NODE_LIMIT, weight, select=select)


_MAKERS: Final[Mapping[str, Callable[[int, Mapping[str, Any]], Policy]]] = {
    ALLOCATION_RATE: _allocation_rate,
    WARMUP: _warmup,
    NODE_LIMIT: _node_limit,
}


def _number(policy: str, arguments: Mapping[str, Any], key: str) -> float:
    """An argument, 0 when it is absent or, with a warning, of another type (compat: SHARD-1)."""
    value = arguments.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        _log.warning("argument left out policy=%s argument=%s value=%r reason=no number", policy, key, value)
        return 0
    return value


def _text(policy: str, arguments: Mapping[str, Any], key: str, default: str) -> str:
    value = arguments.get(key, default)
    if not isinstance(value, str):
        _log.warning("argument left out policy=%s argument=%s value=%r reason=no text", policy, key, value)
        return default
    return value

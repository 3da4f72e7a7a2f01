"""
Feature gates: `--feature-gates=Name=true,Other=false`.

A gate's default may depend on the version of the connected API server, which is known only after the flags
are read. So settings are kept apart from defaults, and a gate is decided when it is asked for.
"""

from __future__ import annotations

import logging
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

log = logging.getLogger(__name__)

Release = tuple[int, int]
"""Major and minor version of Kubernetes, such as (1, 36)."""


class FeatureError(Exception):
    """A gate is unknown, or cannot be set to the value asked for."""


class Stage(Enum):
    """Maturity of a feature: `AllAlpha=` and `AllBeta=` set a whole stage."""

    ALPHA = "alpha"
    BETA = "beta"
    GA = "GA"


class Phase(msgspec.Struct, frozen=True):
    """What a gate was from one release on."""

    release: Release
    stage: Stage
    default: bool
    locked: bool = False
    """A locked gate can't be set to anything but its default."""


class Gate(msgspec.Struct, frozen=True):
    """A feature that can be switched, with its history in ascending releases."""

    name: str
    phases: tuple[Phase, ...] = ()
    requires: tuple[str, ...] = ()
    """Gates without which this one is off."""

    def since(self, release: Release, stage: Stage, *, default: bool, locked: bool = False) -> Gate:
        """This gate with one more phase."""
        return replace(self, phases=(*self.phases, Phase(release, stage, default, locked)))

    def at(self, release: Release | None) -> Phase | None:
        """The phase in force at a release (None: the newest known), or None when the feature did not exist yet."""
        reached = [phase for phase in self.phases if release is None or phase.release <= release]
        return reached[-1] if reached else None


def alpha(name: str, *, default: bool) -> Gate:
    """A gate of our own: alpha, whatever the server's version."""
    return Gate(name).since((0, 0), Stage.ALPHA, default=default)


VOLCANO = (
    alpha("WorkLoadSupport", default=True),
    alpha("VolcanoJobSupport", default=True),
    alpha("PodDisruptionBudgetsSupport", default=True),
    alpha("QueueCommandSync", default=True),
    alpha("PriorityClass", default=True),
    alpha("CSIStorage", default=False),
    alpha("ResourceTopology", default=True),
    alpha("CronVolcanoJobSupport", default=True),
    alpha("SchedulingGatesQueueAdmission", default=False),
)

_WHOLE_STAGES = {"AllAlpha": Stage.ALPHA, "AllBeta": Stage.BETA}


class FeatureGates:
    """The gates of a process. Set from the flag, aligned with the server once, then only read, from any thread."""

    def __init__(self, gates: Iterable[Gate], tolerated: Iterable[str] = ()) -> None:
        """`tolerated` are names that may be set but change nothing."""
        self._gates = {gate.name: gate for gate in gates}
        self._tolerated = frozenset(tolerated)
        self._settings: dict[str, bool] = {}
        self._stages: dict[Stage, bool] = {}
        self._release: Release | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The gates that have an effect, sorted."""
        return tuple(sorted(self._gates))

    @property
    def release(self) -> Release | None:
        """The server's release that defaults follow; None before `align`."""
        return self._release

    def check(self, names: Iterable[str]) -> None:
        """Raise FeatureError when a gate is unknown."""
        known = self._gates.keys() | self._tolerated | _WHOLE_STAGES.keys()
        unknown = [name for name in names if name not in known]
        if unknown:
            raise FeatureError(f"unrecognized feature gate: {', '.join(unknown)}")

    def set(self, settings: Mapping[str, bool]) -> None:
        """Override defaults; a later call wins. Raises FeatureError for an unknown gate, and then sets nothing."""
        self.check(settings)
        for name, value in settings.items():
            if name in _WHOLE_STAGES:
                self._stages[_WHOLE_STAGES[name]] = value
            elif name in self._gates:
                self._settings[name] = value
            else:
                log.warning("feature gate has no effect in this process gate=%s value=%s", name, value)

    def align(self, release: Release) -> None:
        """Follow the defaults of the server's release. Raises FeatureError when a setting contradicts a locked gate."""
        for name, value in self._settings.items():
            phase = self._gates[name].at(release)
            if phase is not None and phase.locked and value != phase.default:
                raise FeatureError(
                    f"cannot set feature gate {name} to {_word(value)}, feature is locked to {_word(phase.default)} "
                    f"in Kubernetes {release[0]}.{release[1]}: remove it from --feature-gates"
                )
        self._release = release

    def enabled(self, name: str) -> bool:
        """Whether a feature is on. Raises KeyError for a name that no gate has: a mistake in the program."""
        gate = self._gates[name]
        return self._decide(gate) and all(self.enabled(required) for required in gate.requires)

    def _decide(self, gate: Gate) -> bool:
        if gate.name in self._settings:
            return self._settings[gate.name]
        phase = gate.at(self._release)
        if phase is None:
            return False
        return phase.default if phase.locked else self._stages.get(phase.stage, phase.default)

    def __str__(self) -> str:
        return ",".join(f"{name}={_word(self.enabled(name))}" for name in self.names)


def parse_release(major: str, minor: str) -> Release:
    """The release in a server's /version answer; clouds append a plus sign (`34+`). Raises ValueError."""
    return int(major.rstrip("+")), int(minor.rstrip("+"))


def _word(value: bool) -> str:  # noqa: FBT001  # a formatter of one value
    return "true" if value else "false"

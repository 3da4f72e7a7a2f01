"""
Verdicts on pod templates, each given once.

Jobs of one kind come with the same template again and again, and within a job tasks often share one. Reviews are read
so that equal templates are one object (`interned`), so a verdict can be found again by the object that it is about.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Generic, TypeVar

from generated.batch.v1alpha1 import TaskSpec
from generated.core.v1 import PodTemplateSpec
from runtime.features import FeatureGates, Release
from webhooks import remembering
from webhooks.causes import Cause
from webhooks.podtemplate import Abilities, abilities, check

_OF_CONTAINERS: Final = (
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "ports",
    "resources",
    "securityContext",
    "volumeMounts",
)
_OF_TEMPLATES: Final = (
    "metadata",
    "spec.affinity",
    "spec.tolerations",
    "spec.topologySpreadConstraints",
    "spec.volumes",
    *(f"spec.{word}[].{part}" for word in ("containers", "initContainers") for part in _OF_CONTAINERS),
)
"""What is alike in templates that differ, and takes longer to read and judge than to find again."""
MOST_KEPT: Final = 256
MOST_TASKS_KEPT: Final = 32
"""Lists of tasks, which hold all their templates: more of either would outgrow the processor's caches."""

P = TypeVar("P")
V = TypeVar("V")


def interned(tasks: str) -> tuple[str, ...]:
    """For the registration of a handler: the tasks at this path, their templates, and what those have in common."""
    template = f"{tasks}[].template"
    return (tasks, template, *(f"{template}.{part}" for part in _OF_TEMPLATES))


class Verdicts(Generic[P, V]):
    """Verdicts by the identity of what they are about; the ones that were longest not asked for are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[int, tuple[P, Abilities, V]] = OrderedDict()
        """Holding the part keeps its identity from being taken by another one."""
        remembering.forget_with_others(self)

    def clear(self) -> None:
        """Have nothing found again."""
        self._held.clear()

    def find(self, part: P, able: Abilities) -> V | None:
        """What was said about this very part, to a server of these abilities."""
        held = self._held.get(id(part))
        if held is None or held[1] is not able:
            return None
        self._held.move_to_end(id(part))
        return held[2]

    def keep(self, part: P, able: Abilities, verdict: V) -> None:
        """Have it found again."""
        self._held[id(part)] = (part, able, verdict)
        if len(self._held) > self._most:
            self._held.popitem(last=False)


class TemplateJudge:
    """What is wrong with templates. `able` is asked each time, since the server's release is learned late."""

    def __init__(self, able: Callable[[], Abilities]) -> None:
        self._able = able
        self._templates: Verdicts[PodTemplateSpec, tuple[Cause, ...]] = Verdicts(MOST_KEPT)
        self._tasks: Verdicts[tuple[TaskSpec, ...], bool] = Verdicts(MOST_TASKS_KEPT)

    def causes(self, template: PodTemplateSpec) -> tuple[Cause, ...]:
        """Why the server would refuse it."""
        able = self._able()
        found = self._templates.find(template, able)
        if found is None:
            found = tuple(check(template, able))
            self._templates.keep(template, able, found)
        return found

    def knows_right(self, tasks: tuple[TaskSpec, ...]) -> bool:
        """Whether these very tasks were found right, templates and all."""
        return bool(self._tasks.find(tasks, self._able()))

    def note_right(self, tasks: tuple[TaskSpec, ...]) -> None:
        """They were."""
        self._tasks.keep(tasks, self._able(), verdict=True)


def judge_for(gates: FeatureGates) -> TemplateJudge:
    """A judge for the release that the gates were aligned with."""

    @lru_cache(maxsize=1)
    def able(release: Release | None) -> Abilities:
        return abilities(release, pod_resources=gates.enabled("PodLevelResources"))

    return TemplateJudge(lambda: able(gates.release))

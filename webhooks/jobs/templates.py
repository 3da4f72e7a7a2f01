"""
Verdicts on pod templates, each given once.

Jobs of one kind come with the same template again and again, and within a job tasks often share one. Reviews are read
so that equal templates are one object (`INTERN`), so a verdict can be found again by the object that it is about.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from generated.core.v1 import PodTemplateSpec
from runtime.features import FeatureGates
from webhooks.causes import Cause
from webhooks.podtemplate import Abilities, abilities, check

INTERN: Final = ("spec.tasks[].template",)
"""For the registration of handlers whose objects are Jobs."""
MOST_KEPT: Final = 512


class TemplateJudge:
    """What is wrong with templates. `able` is asked each time, since the server's release is learned late."""

    def __init__(self, able: Callable[[], Abilities]) -> None:
        self._able = able
        self._known: OrderedDict[int, tuple[PodTemplateSpec, Abilities, tuple[Cause, ...]]] = OrderedDict()
        """By identity; holding the template keeps its identity from being taken by another one."""

    def causes(self, template: PodTemplateSpec) -> tuple[Cause, ...]:
        """Why the server would refuse it."""
        able = self._able()
        known = self._known.get(id(template))
        if known is not None and known[1] is able:
            self._known.move_to_end(id(template))
            return known[2]
        found = tuple(check(template, able))
        self._known[id(template)] = (template, able, found)
        if len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)
        return found


def judge_for(gates: FeatureGates) -> TemplateJudge:
    """A judge for the release that the gates were aligned with."""
    return TemplateJudge(lambda: abilities(gates.release, pod_resources=gates.enabled("PodLevelResources")))

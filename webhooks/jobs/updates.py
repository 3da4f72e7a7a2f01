"""What may change in a job that exists (webhooks.md 4.10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from api import jobs
from generated.batch.v1alpha1 import Job, JobPhase, JobSpec, TaskSpec, VolumeSpec
from generated.core.v1 import PodTemplateSpec
from webhooks.jobs import topology
from webhooks.jobs.changes import first_change
from webhooks.jobs.defaults import understood
from webhooks.jobs.tasks import growth_problem, template_problem
from webhooks.jobs.templates import TemplateJudge

FIXED: Final = (
    "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` and"
    " `PriorityClassName`"
)
TOO_FEW: Final = "job 'minAvailable' must not be greater than total replicas"
TASKS_ARE_FIXED: Final = "job updates may not add or remove tasks"
_WITHOUT_PODS: Final = frozenset(("", JobPhase.PENDING, JobPhase.ABORTED))


def is_free(new: Job, old: Job) -> bool:
    """Whether nothing is to be judged: the spec says what it said, or the job is on its way out."""
    return bool(new.metadata.deletion_timestamp) or old.spec == new.spec or not first_change(*_meant(old, new), "spec")


def is_waiting(old: Job) -> bool:
    """Whether the job hasn't started, or has to start anew."""
    return old.status.state.phase in _WITHOUT_PODS


def problem(new: Job, old: Job, judge: TemplateJudge, *, changes_templates: bool) -> str:
    """
    The first thing that is wrong with an update, empty when nothing is.

    `changes_templates`: the pods of a job that has none may become others.
    """
    return next(filter(None, _problems(new, old, judge, changes_templates)), "")


def _problems(new: Job, old: Job, judge: TemplateJudge, changes_templates: bool) -> Iterator[str]:  # noqa: FBT001
    spec = new.spec
    for task in spec.tasks:
        yield _numbers_problem(task)
        yield topology.partition_problem(task, new.metadata.name).strip()
    if spec.min_available > (total := jobs.total_replicas(spec)):
        is_raised = spec.min_available > old.spec.min_available
        advice = f"at most {total} can be asked for" if is_raised else "lower spec.minAvailable as well"
        yield f"{TOO_FEW}: {spec.min_available} > {total}, {advice}"
    if spec.min_available < 0:
        yield "job 'minAvailable' must be >= 0"
    if topology.network_problem(spec.network_topology):
        yield topology.TIER_TWICE
    if len(spec.tasks) != len(old.spec.tasks):
        yield TASKS_ARE_FIXED
    may_change = changes_templates and is_waiting(old)
    before, after = _meant(old, new)
    changed = first_change(_fixed(before, may_change), _fixed(after, may_change), "spec")
    if changed:
        yield f"{FIXED}: {changed}"
    yield growth_problem(new.metadata.name, old.spec.tasks, spec.tasks)
    if may_change:
        for index, task in enumerate(spec.tasks):
            yield template_problem(task, index, judge).strip()


def _meant(old: Job, new: Job) -> tuple[JobSpec, JobSpec]:
    """Both specs as the controller understands them: what their author never wrote is no change."""
    return understood(old.spec, new.spec), understood(new.spec, old.spec)


def _numbers_problem(task: TaskSpec) -> str:
    least = task.min_available
    if task.replicas < 0:
        return f"'replicas' must be >= 0 in task: {task.name}"
    if least is not None and least < 0:
        return f"'minAvailable' must be >= 0 in task: {task.name}"
    if least is not None and least > task.replicas:
        return f"'minAvailable' must be <= 'replicas' in task: {task.name}"
    return ""


def _fixed(spec: JobSpec, may_change: bool) -> JobSpec:  # noqa: FBT001
    """The spec without what may change. The controller names claims that it made."""
    tasks = tuple(_fixed_task(task, may_change) for task in spec.tasks)
    volumes = tuple(map(_fixed_volume, spec.volumes))
    return msgspec.structs.replace(spec, min_available=0, priority_class_name="", tasks=tasks, volumes=volumes)


def _fixed_task(task: TaskSpec, may_change: bool) -> TaskSpec:  # noqa: FBT001
    template = PodTemplateSpec() if may_change else task.template
    return msgspec.structs.replace(task, replicas=0, min_available=None, template=template)


def _fixed_volume(volume: VolumeSpec) -> VolumeSpec:
    return volume if volume.volume_claim is None else msgspec.structs.replace(volume, volume_claim_name="")

"""`/cronjobs/validate`: schedule, time zone and name of a CronJob, and the job that it is to create."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator
from datetime import UTC, datetime
from typing import ClassVar, Final

from msgspec.structs import replace

from api import cron, jobs
from generated.batch.v1alpha1 import CronJob, CronJobSpec
from generated.scheduling.v1beta1 import QUEUES
from generated.webhooks.batch_v1alpha1 import CronJobValidator
from runtime import duration
from runtime.admission import ALLOWED, Allowed, Denial, Validation, Validator
from runtime.rbac import READ, Rule
from runtime.wire import AdmissionRequest
from webhooks import wellformed
from webhooks.blueprint import Context
from webhooks.causes import shortened
from webhooks.jobs import plugins, spec, templates
from webhooks.jobs.changes import first_change
from webhooks.jobs.defaults import defaulted, first_scheduler
from webhooks.jobs.submission import QueueRules
from webhooks.readers import LookupFailed

_MAX_NAME: Final = 52
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_EVERY: Final = "@every "
_RUN: Final = "00000000"
"""Stands for the minutes since 1970 that a run has in its name."""


class CronJobRules(CronJobValidator):
    """A CronJob that is let in can create its jobs."""

    RULES: ClassVar[tuple[Rule, ...]] = (Rule(QUEUES.group, (QUEUES.plural,), READ),)

    def __init__(self, context: Context) -> None:
        self._queues = QueueRules(context.readers)
        self._judge = templates.judge_for(context.options.gates)
        self._scheduler = first_scheduler(context.options.scheduler_names)
        self._clock = context.clock

    def handler(self) -> Validator[CronJob]:
        """What to register, read so that equal templates are judged once."""
        return replace(super().handler(), intern=templates.interned("spec.jobTemplate.spec.tasks"))

    def validate_create(self, request: AdmissionRequest, obj: CronJob) -> Validation | Awaitable[Validation]:
        """Everything."""
        return self._validate(obj, checks_template=True)

    def validate_update(
        self,
        request: AdmissionRequest,
        obj: CronJob,
        old: CronJob,
    ) -> Validation | Awaitable[Validation]:
        """Everything but a template that stays as it is: a stored one must not keep a CronJob from being suspended."""
        if obj.metadata.deletion_timestamp or not first_change(old.spec, obj.spec, "spec"):
            return ALLOWED
        changed = first_change(old.spec.job_template.spec, obj.spec.job_template.spec, "spec")
        return self._validate(obj, checks_template=bool(changed))

    def _validate(self, obj: CronJob, *, checks_template: bool) -> Validation | Awaitable[Validation]:
        schedule = "".join(shortened(_schedule_problems(obj.spec))).strip()
        messages = list(filter(None, (schedule, name_problem(obj.metadata.name))))
        warnings = () if schedule else tuple(self._schedule_warnings(obj.spec))
        if checks_template:
            template, told = self._judge_template(obj)
            messages += [template] if template else []
            warnings = (*warnings, *told)
        if messages:
            return Denial("; ".join(messages), warnings=warnings)
        return self._allow(obj, warnings)

    def _judge_template(self, obj: CronJob) -> tuple[str, tuple[str, ...]]:
        """What is wrong with the jobs to come, and what their plugins won't understand."""
        job = defaulted(obj.spec.job_template.spec, self._scheduler)
        text = spec.fatal_problem(job)
        if not text:
            parts = shortened(spec.problems(f"{obj.metadata.name}-{_RUN}", job, self._judge))
            text = "".join([*parts, spec.dependency_problem(job)]).strip()
        if text:
            return f"spec.jobTemplate: {text}", plugins.warnings(job)
        return "", spec.warnings(job)

    def _allow(self, obj: CronJob, warnings: tuple[str, ...]) -> Validation | Awaitable[Validation]:
        queue = self._queues.problem(jobs.queue_of(obj.spec.job_template.spec))
        if isinstance(queue, str):
            return _allowed(warnings, queue)
        return _allow_later(warnings, queue)

    def _schedule_warnings(self, cron_job: CronJobSpec) -> Iterator[str]:
        text = cron_job.schedule
        now = datetime.fromtimestamp(self._clock(), UTC)
        if cron.parse(text).next_after(now) is None:
            yield f"spec.schedule: {cron_job.schedule!r} names a date that never comes: no job will be created"
        if text.startswith(_EVERY) and duration.parse_nanoseconds(text.removeprefix(_EVERY)) < duration.SECOND:
            yield f"spec.schedule: {cron_job.schedule!r} is less than a second and taken as one second"


async def _allow_later(warnings: tuple[str, ...], queue: Awaitable[str]) -> Validation:
    try:
        problem = await queue
    except LookupFailed as error:
        problem = str(error)
    return _allowed(warnings, problem)


def _allowed(warnings: tuple[str, ...], queue: str) -> Validation:
    """The queue may come later, or open: its state now is only told."""
    if queue:
        warnings = (*warnings, f"spec.jobTemplate.spec.queue: {queue.strip().rstrip(';')}")
    return Allowed(warnings) if warnings else ALLOWED


def _schedule_problems(cron_job: CronJobSpec) -> Iterator[str]:
    """Parts of the message, each with its own separator before it."""
    schedule = cron_job.schedule
    if not schedule:
        yield "schedule is required, but got empty"
    elif "TZ" in schedule:
        yield "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field"
    else:
        try:
            cron.parse(schedule)
        except cron.CronError as error:
            yield f"schedule is not a valid cron expression: {error}"
    yield from _zone_problems(cron_job.time_zone)


def _zone_problems(zone: str | None) -> Iterator[str]:
    if zone is None:
        return
    if not zone:
        yield "timeZone must be nil or non-empty string, got empty string"
        return
    for part in zone.split("/"):
        if part in {".", ".."} or part.startswith("-") or not _ZONE_PART.fullmatch(part):
            yield " unknown timeZone"
    if zone.lower() == "local":
        yield " timeZone can't be Local, and must be defined in https://www.iana.org/time-zones"
        return
    try:
        cron.load_zone(zone)
    except cron.CronError:
        yield " invalid timeZone"


def name_problem(name: str) -> str:
    """Jobs are named after their CronJob."""
    if wellformed.size(name) > _MAX_NAME:
        return f"cronJob name must be no more than {_MAX_NAME} characters to accommodate job name suffix (max 63 total)"
    faults = wellformed.qualified_name(name)
    return f'invalid cronJob name "{name}": {"; ".join(faults)}' if faults else ""

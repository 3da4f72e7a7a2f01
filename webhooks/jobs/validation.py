"""`/jobs/validate`: every job that is created or changed."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import ClassVar

from msgspec.structs import replace

from api import jobs
from generated.batch.v1alpha1 import Job
from generated.scheduling.v1beta1 import QUEUES
from generated.webhooks.batch_v1alpha1 import JobValidator
from runtime.admission import ALLOWED, Allowed, Denial, Validation, Validator
from runtime.rbac import READ, Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context
from webhooks.causes import shortened
from webhooks.jobs import deadlock, plugins, spec, templates, updates
from webhooks.jobs.submission import QueueRules


class JobRules(JobValidator):
    """Says all that is wrong with a new job, and the first thing that is wrong with a change."""

    RULES: ClassVar[tuple[Rule, ...]] = (Rule(QUEUES.group, (QUEUES.plural,), READ),)

    def __init__(self, context: Context) -> None:
        self._queues = QueueRules(context.readers)
        self._judge = templates.judge_for(context.options.gates)
        self._changes_templates = context.options.allows_template_updates

    def handler(self) -> Validator[Job]:
        """What to register, read so that equal tasks and templates are judged once."""
        return replace(super().handler(), intern=templates.interned("spec.tasks"))

    def validate_create(self, request: AdmissionRequest, obj: Job) -> Validation | Awaitable[Validation]:
        """Whether the job could run as it is."""
        fatal = spec.fatal_problem(obj.spec)
        if fatal:
            return Denial(fatal)
        parts = shortened(spec.problems(obj.metadata.name, obj.spec, self._judge))
        queue = self._queues.problem(jobs.queue_of(obj.spec))
        if isinstance(queue, str):
            return _conclude(obj, parts, queue)
        return _conclude_later(obj, parts, queue)

    def validate_update(self, request: AdmissionRequest, obj: Job, old: Job) -> Validation:
        """Whether only that changes which may."""
        if updates.is_free(obj, old):
            return ALLOWED
        problem = updates.problem(obj, old, self._judge, changes_templates=self._changes_templates)
        if problem:
            return Denial(problem)
        return _allow(deadlock.warnings(obj.spec) if updates.is_waiting(old) else ())


async def _conclude_later(obj: Job, parts: list[str], queue: Awaitable[str]) -> Validation:
    return _conclude(obj, parts, await queue)


def _conclude(obj: Job, parts: list[str], queue: str) -> Validation:
    message = "".join([*parts, queue, spec.dependency_problem(obj.spec)]).strip()
    if message:
        return Denial(message, warnings=plugins.warnings(obj.spec) if obj.spec.plugins else ())
    return _allow(spec.warnings(obj.spec))


def _allow(warnings: tuple[str, ...]) -> Validation:
    return Allowed(warnings) if warnings else ALLOWED

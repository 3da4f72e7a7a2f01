"""Webhooks for the tests of the process around them."""

from __future__ import annotations

from typing import ClassVar

from generated.batch.v1alpha1 import Job
from generated.listers.scheduling_v1beta1 import QueueLister
from generated.webhooks.batch_v1alpha1 import JobDefaulter, JobValidator
from runtime.admission import ALLOWED, Denial, Mutation, Validation
from runtime.rbac import READ, Rule
from runtime.wire import AdmissionRequest
from webhooks.blueprint import Context, WebhookClass


class JobDefaults(JobDefaulter):
    SERVED_BY_DEFAULT: ClassVar[bool] = False
    RULES: ClassVar[tuple[Rule, ...]] = ()

    def __init__(self, context: Context) -> None:
        self.context = context

    def default_create(self, request: AdmissionRequest, obj: Job) -> Mutation[Job]:
        return ALLOWED


class JobRules(JobValidator):
    """Wants the scheduler to be one of ours."""

    RULES: ClassVar[tuple[Rule, ...]] = (Rule("scheduling.volcano.sh", ("queues",), READ),)

    def __init__(self, context: Context) -> None:
        self.ours = context.options.scheduler_names
        self.queues = context.readers.lister(QueueLister)

    def validate_create(self, request: AdmissionRequest, obj: Job) -> Validation:
        return ALLOWED if obj.spec.scheduler_name in self.ours else Denial("not ours")

    def validate_update(self, request: AdmissionRequest, obj: Job, old: Job) -> Validation:
        return ALLOWED


WEBHOOKS: tuple[WebhookClass, ...] = (JobDefaults, JobRules)

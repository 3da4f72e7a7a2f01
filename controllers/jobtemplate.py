"""The JobTemplate controller: a template's status lists the jobs that were made from it (controllers.md 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from api import names
from controllers.blueprint import Blueprint, Context
from controllers.freshest import Freshest
from controllers.jobflow.texts import TEMPLATE_DECODER
from controllers.stored import DECODER
from generated.batch.v1alpha1 import JOBS, Job
from generated.clients.clientset import Clientset
from generated.flow.v1alpha1 import JOB_TEMPLATES, JobTemplate, JobTemplateStatus
from generated.meta.v1 import ObjectMeta
from runtime.controller import DONE, Controller, Result
from runtime.errors import NotFound
from runtime.events import EventRecorder
from runtime.lister import Indexer, Lister
from runtime.objects import Key, key_of
from runtime.queue import WorkQueue
from runtime.rbac import READ, Rule

NAME: Final = "jobtemplate-controller"
RULES: Final = (
    Rule(JOB_TEMPLATES.group, ("jobtemplates",), READ),
    Rule(JOB_TEMPLATES.group, ("jobtemplates/status",), ("update",)),
    Rule(JOBS.group, ("jobs",), READ),
)
_BY_TEMPLATE: Final = "template"


def template_key(job: Job) -> Key | None:
    """
    The template that a job was made from, None when it was made from none.

    A label can't hold every name, so the annotation counts before it.
    """
    key = names.CREATED_BY_JOB_TEMPLATE_KEY
    value = job.metadata.annotations.get(key) or job.metadata.labels.get(key, "")
    creator = names.creator_of(value)
    return Key(*creator) if creator is not None and creator[0] == job.metadata.namespace else None


def _by_template(job: Job) -> Iterator[str]:
    if (key := template_key(job)) is not None:
        yield str(key)


JOB_INDEXERS: Final[Mapping[str, Indexer[Job]]] = {_BY_TEMPLATE: _by_template}


class JobTemplateReconciler:
    """`reconcile` looks at one template."""

    def __init__(
        self, clients: Clientset, templates: Lister[JobTemplate], jobs: Lister[Job], events: EventRecorder
    ) -> None:
        self._client = clients.flow_v1alpha1.job_templates
        self._templates = templates
        self._jobs = jobs
        self._events = events
        self.fresh: Freshest[JobTemplate] = Freshest()

    async def reconcile(self, key: Key) -> Result:
        """Raises ApiError, ConnectionFailed."""
        template = self._read(key)
        if template is None:
            return DONE
        made = tuple(sorted(job.metadata.name for job in self._jobs.by_index(_BY_TEMPLATE, str(key))))
        if made == template.status.job_depends_on_list:
            return DONE
        meta = template.metadata
        body = JobTemplate(
            metadata=ObjectMeta(
                name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=meta.resource_version
            ),
            status=JobTemplateStatus(job_depends_on_list=made),
        )
        try:
            answer = await self._client.update_status(body)
        except NotFound:
            return DONE
        self.fresh.note(replace(answer, spec=template.spec))
        return DONE

    async def give_up(self, key: Key, error: Exception) -> None:
        """Tell on the template that its status could not be written (compat: TEMPLATE-1)."""
        template = self._read(key)
        if template is not None:
            self._events.warning(JOB_TEMPLATES, template, "", f" JobTemplate failed for {error}")

    def _read(self, key: Key) -> JobTemplate | None:
        cached = self._templates.get(key)
        return self.fresh.of(cached) if cached is not None else None


class OnTemplate:
    """Templates that come."""

    def __init__(self, queue: WorkQueue[Key], fresh: Freshest[JobTemplate]) -> None:
        self._queue = queue
        self._fresh = fresh

    def on_add(self, obj: JobTemplate, initial: bool) -> None:  # noqa: FBT001  # as Handler
        self._queue.add(key_of(obj), is_urgent=not initial)

    def on_update(self, old: JobTemplate, new: JobTemplate) -> None:
        """What a template says does not change what was made from it."""

    def on_delete(self, obj: JobTemplate) -> None:
        self._fresh.forget(key_of(obj))


class OnJob:
    """Jobs that come or go."""

    def __init__(self, queue: WorkQueue[Key]) -> None:
        self._queue = queue

    def on_add(self, obj: Job, initial: bool) -> None:  # noqa: FBT001  # as Handler
        if not initial and (key := template_key(obj)) is not None:
            self._queue.add(key)

    def on_update(self, old: Job, new: Job) -> None:
        for key in {template_key(old), template_key(new)} if template_key(old) != template_key(new) else ():
            if key is not None:
                self._queue.add(key)

    def on_delete(self, obj: Job) -> None:
        self.on_add(obj, initial=False)


def build(context: Context) -> Controller[Key]:
    """The controller on the process's informers."""
    templates = context.informers.of(JOB_TEMPLATES, decoder=TEMPLATE_DECODER)
    jobs = context.informers.of(JOBS, indexers=JOB_INDEXERS, decoder=DECODER)
    reconciler = JobTemplateReconciler(context.clients, templates.lister, jobs.lister, context.events)
    controller: Controller[Key] = Controller(
        NAME,
        reconciler.reconcile,
        watches=(),
        reads=[templates, jobs],
        workers=context.options.workers[""],
        max_retries=context.options.max_requeue,
        on_give_up=reconciler.give_up,
    )
    templates.add_handler(OnTemplate(controller.queue, reconciler.fresh))
    jobs.add_handler(OnJob(controller.queue))
    return controller


BLUEPRINT: Final = Blueprint(NAME, build, RULES)

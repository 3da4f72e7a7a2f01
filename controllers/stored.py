"""
Jobs as controllers hold them: typed, and with each task's pod template as its author wrote it.

A model knows fewer fields of a template than the server may (a newer release, an addition of the site), and leaves out
zero values. Pods are made from the text, so nothing of that is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from api.jobs import task_name
from api.poddecoding import pod_decoder
from generated.batch.v1alpha1 import Job, TaskSpec
from runtime.decoding import decoder_of
from runtime.model import Model


class StoredTask(TaskSpec, kw_only=True):
    """A task together with the JSON of its template."""

    document: bytes = b"{}"


class _TaskText(Model, kw_only=True):
    template: msgspec.Raw = msgspec.Raw(b"{}")


class _SpecText(Model, kw_only=True):
    tasks: tuple[_TaskText, ...] = ()


class _JobText(Model, kw_only=True):
    spec: _SpecText = _SpecText()


class JobDecoder:
    """Decodes Jobs whose tasks are StoredTasks. For every informer of Jobs in this process: they share one cache."""

    def decode(self, data: bytes | msgspec.Raw, /) -> Job:
        """Raises msgspec.DecodeError, msgspec.ValidationError."""
        job = decoder_of(Job).decode(data)
        if not job.spec.tasks:
            return job
        texts = decoder_of(_JobText).decode(data).spec.tasks
        pairs = zip(job.spec.tasks, texts, strict=True)
        tasks = tuple(_stored(task, index, text.template) for index, (task, text) in enumerate(pairs))
        return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, tasks=tasks))


DECODER: Final = JobDecoder()


def template_document(task: TaskSpec) -> dict[str, Any]:
    """The template as it was written, as a document of the caller's own."""
    if isinstance(task, StoredTask):
        document: dict[str, Any] = msgspec.json.decode(task.document)
        return document
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(task.template))
    return built


def _stored(task: TaskSpec, index: int, text: msgspec.Raw) -> StoredTask:
    fields: Mapping[str, Any] = {name: getattr(task, name) for name in task.__struct_fields__}
    named = {**fields, "name": task_name(task, index)}  # an update may have dropped the name that admission gave
    return StoredTask(**named, document=bytes(text))


POD_DECODER: Final = pod_decoder(with_addresses=True)
"""For every informer of pods in this process; flows probe pods at their addresses."""

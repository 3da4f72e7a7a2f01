"""
CronJobs as the controller holds them: typed, and with the template of their jobs as its author wrote it.

Jobs are made from the text, so that a field which the models don't know is kept (as `controllers.stored` does for jobs).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from generated.batch.v1alpha1 import CronJob
from runtime.decoding import decoder_of
from runtime.model import Model


class StoredCronJob(CronJob, kw_only=True):
    """A CronJob together with the JSON of its template's spec."""

    document: bytes = b"{}"


class _TemplateText(Model, kw_only=True):
    spec: msgspec.Raw = msgspec.Raw(b"{}")


class _SpecText(Model, kw_only=True):
    job_template: _TemplateText = _TemplateText()


class _CronJobText(Model, kw_only=True):
    spec: _SpecText = _SpecText()


class CronJobDecoder:
    """Decodes CronJobs as StoredCronJobs."""

    def decode(self, data: bytes | msgspec.Raw, /) -> CronJob:
        """Raises msgspec.DecodeError, msgspec.ValidationError."""
        cron_job = decoder_of(CronJob).decode(data)
        text = decoder_of(_CronJobText).decode(data).spec.job_template.spec
        fields = {name: getattr(cron_job, name) for name in cron_job.__struct_fields__}
        return StoredCronJob(**fields, document=bytes(text))


DECODER: Final = CronJobDecoder()


def job_spec(cron_job: CronJob) -> dict[str, Any]:
    """The spec of the jobs to come as it was written, as a document of the caller's own."""
    template = cron_job.spec.job_template.spec
    text = cron_job.document if isinstance(cron_job, StoredCronJob) else msgspec.json.encode(template)
    document: dict[str, Any] = msgspec.json.decode(text)
    return document

"""
Flows and templates as the controller holds them: typed, and with the job specs in them as their authors wrote them.

Jobs are made from the texts, so that a field which the models don't know, and the difference between an absent and a
zero value in a patch, are kept (as `controllers.stored` does for jobs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from api import names
from generated.flow.v1alpha1 import Flow, JobFlow, JobTemplate
from runtime.decoding import decoder_of
from runtime.model import Model

_EMPTY: Final = msgspec.Raw(b"{}")
_FILLED_IN: Final = {"queue": names.DEFAULT_QUEUE, "maxRetry": names.DEFAULT_MAX_RETRY}
"""What the server adds to the job spec of every patch."""


class StoredTemplate(JobTemplate, kw_only=True):
    """A template together with the JSON of its spec."""

    document: bytes = b"{}"


class StoredEntry(Flow, kw_only=True):
    """A flow's entry together with the JSON of the changes that it makes to its template."""

    changes: bytes = b"{}"


class _TemplateText(Model, kw_only=True):
    spec: msgspec.Raw = _EMPTY


class _PatchText(Model, kw_only=True):
    job_spec: msgspec.Raw = _EMPTY


class _EntryText(Model, kw_only=True):
    patch: _PatchText | None = None


class _FlowSpecText(Model, kw_only=True):
    flows: tuple[_EntryText, ...] = ()


class _FlowText(Model, kw_only=True):
    spec: _FlowSpecText = _FlowSpecText()


class TemplateDecoder:
    """Decodes JobTemplates as StoredTemplates."""

    def decode(self, data: bytes | msgspec.Raw, /) -> JobTemplate:
        """Raises msgspec.DecodeError, msgspec.ValidationError."""
        text = decoder_of(_TemplateText).decode(data).spec
        return StoredTemplate(**_fields(decoder_of(JobTemplate).decode(data)), document=bytes(text))


class FlowDecoder:
    """Decodes JobFlows whose entries are StoredEntries."""

    def decode(self, data: bytes | msgspec.Raw, /) -> JobFlow:
        """Raises msgspec.DecodeError, msgspec.ValidationError."""
        flow = decoder_of(JobFlow).decode(data)
        texts = decoder_of(_FlowText).decode(data).spec.flows
        entries = tuple(
            StoredEntry(**_fields(entry), changes=bytes(text.patch.job_spec) if text.patch else b"{}")
            for entry, text in zip(flow.spec.flows, texts, strict=True)
        )
        return msgspec.structs.replace(flow, spec=msgspec.structs.replace(flow.spec, flows=entries))


TEMPLATE_DECODER: Final = TemplateDecoder()
FLOW_DECODER: Final = FlowDecoder()


def spec_document(template: JobTemplate) -> dict[str, Any]:
    """The template's spec as it was written, as a document of the caller's own."""
    text = template.document if isinstance(template, StoredTemplate) else msgspec.json.encode(template.spec)
    document: dict[str, Any] = msgspec.json.decode(text)
    return document


def changes_of(entry: Flow, base: Mapping[str, Any]) -> dict[str, Any]:
    """
    What an entry changes in its template's spec, which is `base`.

    The server fills in a default queue and maxRetry, so those two count as unset where the template has others
    (api.md 12, item 2).
    """
    changes = _changes_of(entry)
    return {
        name: value
        for name, value in changes.items()
        if name not in _FILLED_IN or value != _FILLED_IN[name] or base.get(name) is None
    }


def _changes_of(entry: Flow) -> dict[str, Any]:
    if not isinstance(entry, StoredEntry):
        return {} if entry.patch is None else dict(msgspec.json.decode(msgspec.json.encode(entry.patch.job_spec)))
    changes: dict[str, Any] = msgspec.json.decode(entry.changes)
    return changes


def _fields(model: Model) -> dict[str, Any]:
    return {name: getattr(model, name) for name in model.__struct_fields__}

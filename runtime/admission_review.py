"""
From the bytes of an AdmissionReview to the bytes of its answer, without a server around it.

An `Endpoint` stands for one registered handler: it checks that the question is for it, decodes the objects,
calls the handler and turns its verdict into a response. What it does with objects that don't fit the model:

- a mutating handler isn't called: the object passes unchanged, with a warning, and the API server's schema
  validation, which comes later, says what is wrong in its own words;
- a validating handler isn't called either: the request is denied with the path of every such field. But a field
  that the stored object has wrong in the same way only gives a warning, and the handler sees the object without
  it: what is stored must stay editable, or its finalizers could never go;
- the old object is always read as far as it goes.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any, Generic, TypeVar

import msgspec

from runtime.admission import Allowed, Changed, Denial, Handler, Mutator, Patch, Verdict
from runtime.jsondiff import overlay_diff
from runtime.jsonpatch import with_parents
from runtime.lenient import LenientDecoder, Problem
from runtime.patches import Operation
from runtime.wire import AdmissionRequest, AdmissionResponse, AdmissionReview, Status, Wire

T = TypeVar("T")

logger = logging.getLogger(__name__)

API_VERSIONS = frozenset({"admission.k8s.io/v1", "admission.k8s.io/v1beta1"})
KIND = "AdmissionReview"
JSON_PATCH = "JSONPatch"


class _Named(Wire, frozen=True):
    generate_name: str = ""


class _Prefixed(Wire, frozen=True):
    metadata: _Named = _Named()


_prefixes = msgspec.json.Decoder(_Prefixed)
_reviews = msgspec.json.Decoder(AdmissionReview)
_anything = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


class MalformedReview(Exception):  # noqa: N818  # named for what happened, as runtime.errors are
    """What was sent is no AdmissionReview that could be answered. Says why."""


def read_review(body: bytes) -> tuple[AdmissionReview, AdmissionRequest]:
    """The review and its request. Raises MalformedReview."""
    try:
        review = _reviews.decode(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MalformedReview(f"the body is no AdmissionReview: {error}") from error
    if review.kind != KIND or review.api_version not in API_VERSIONS:
        named = f"{review.api_version} {review.kind}".strip() or "an object without apiVersion and kind"
        raise MalformedReview(f"expected an AdmissionReview of admission.k8s.io/v1 or v1beta1, got {named}")
    if review.request is None:
        raise MalformedReview("the AdmissionReview has no request")
    return review, review.request


def write_review(asked: AdmissionReview, response: AdmissionResponse) -> bytes:
    """The answer, in the version of the question."""
    return _encoder.encode(AdmissionReview(api_version=asked.api_version, kind=KIND, response=response))


class Endpoint(Generic[T]):
    """Answers the requests of one registered handler."""

    def __init__(self, handler: Handler) -> None:
        """Raises ValueError when the handler's model can't stand for an absent object."""
        self.handler = handler
        self._is_mutating = isinstance(handler, Mutator)
        self._call = handler.mutate if isinstance(handler, Mutator) else handler.validate
        self._decoder: LenientDecoder[T] = LenientDecoder(handler.model, handler.intern)

    def answer(self, request: AdmissionRequest) -> AdmissionResponse | Awaitable[AdmissionResponse]:
        """
        The response, or the promise of one when the handler is asynchronous.

        Raises MalformedReview for objects that are no JSON, whatever the handler raises, and PatchError when its
        operations don't fit the object.
        """
        refusal = self._check_target(request)
        if refusal is not None:
            return respond(request, refusal)
        try:
            new, old = self._decoder.read(request.object), self._decoder.read(request.old_object)
        except (msgspec.DecodeError, RecursionError) as error:
            raise MalformedReview(f"the object of the request can't be read: {error}") from error
        warnings: tuple[str, ...] = ()
        if new.problems:
            judgement = self._judge_problems(new.problems, old.problems)
            if judgement is not None:
                return respond(request, judgement)
            warnings = tuple(f"{problem}; taken as absent" for problem in new.problems)
        verdict = self._call(request, new.obj, old.obj if _is_present(request.old_object) else None)
        if isinstance(verdict, Awaitable):
            return self._answer_later(request, new.obj, verdict, warnings)
        return self._conclude(request, new.obj, verdict, warnings)

    def _check_target(self, request: AdmissionRequest) -> Verdict | None:
        handler = self.handler
        if not handler.serves(request.resource):
            expected = " or ".join(f"{{{r.group} {r.version} {r.plural}}}" for r in handler.resources)
            return Denial(f"expect resource to be {expected}")
        if request.operation not in handler.operations:
            return handler.wrong_operation.verdict(request.operation, handler.operations)
        return None

    def _judge_problems(self, new: tuple[Problem, ...], old: tuple[Problem, ...]) -> Verdict | None:
        """The verdict on an object that doesn't fit the model; None when the handler may look at the rest of it."""
        if self._is_mutating:
            return Allowed(tuple(f"{problem}; defaults are not applied" for problem in new))
        fresh = [str(problem) for problem in new if problem not in old]
        if not fresh:
            return None
        return Denial(fresh[0] if len(fresh) == 1 else f"[{', '.join(fresh)}]")

    async def _answer_later(
        self, request: AdmissionRequest, obj: T, verdict: Awaitable[Verdict], warnings: tuple[str, ...]
    ) -> AdmissionResponse:
        return self._conclude(request, obj, await verdict, warnings)

    def _conclude(
        self, request: AdmissionRequest, obj: T, verdict: Verdict, warnings: tuple[str, ...]
    ) -> AdmissionResponse:
        patch = b""
        if isinstance(verdict, Changed | Patch):
            if not self._is_mutating:
                raise TypeError(f"the validating handler of {self.handler.path} answered with a change")
            operations = _operations(request, obj, verdict)
            patch = _encoder.encode(operations) if operations else b""
        return respond(request, verdict, patch=patch, warnings=warnings)


def respond(
    request: AdmissionRequest, verdict: Verdict, *, patch: bytes = b"", warnings: tuple[str, ...] = ()
) -> AdmissionResponse:
    """The response to a verdict. `patchType` stands only beside a patch: alone it fails every request."""
    told = (*warnings, *verdict.warnings)
    shown = tuple(" ".join(text.split()) for text in told) if told else msgspec.UNSET
    if isinstance(verdict, Denial):
        status = Status(message=verdict.message, reason=verdict.reason, code=verdict.code)
        return AdmissionResponse(uid=request.uid, allowed=False, status=status, warnings=shown)
    if patch:
        return AdmissionResponse(uid=request.uid, allowed=True, patch=patch, patch_type=JSON_PATCH, warnings=shown)
    return AdmissionResponse(uid=request.uid, allowed=True, warnings=shown)


def _operations(request: AdmissionRequest, obj: Any, verdict: Changed[Any] | Patch) -> tuple[Operation, ...]:
    if isinstance(verdict, Patch) and not verdict.operations:
        return ()
    if isinstance(verdict, Changed) and verdict.obj is obj:
        return ()

    def document() -> Any:
        if not _is_present(request.object):
            return {}
        try:
            return _anything.decode(request.object)
        except (msgspec.DecodeError, RecursionError) as error:  # in a part that the model doesn't know
            raise MalformedReview(f"the object of the request can't be read: {error}") from error

    if isinstance(verdict, Patch):
        return with_parents(document(), _plain(verdict.operations))
    return overlay_diff(document, obj, verdict.obj)


def _plain(value: Any) -> Any:
    """The value as decoded JSON; by way of text, since models may hold raw parts."""
    return _anything.decode(_encoder.encode(value))


def _is_present(raw: msgspec.Raw) -> bool:
    view = memoryview(raw)
    return len(view) > len(b"null") or bytes(view) not in {b"", b"null"}


def describe(request: AdmissionRequest) -> str:
    """What the request is about, for messages: resource, namespace and name, or the prefix of the name to come."""
    name = request.name
    if not name and _is_present(request.object):
        try:
            name = f"{_prefixes.decode(request.object).metadata.generate_name}*"
        except msgspec.MsgspecError:
            name = "*"
    place = f"{request.namespace}/{name}" if request.namespace else name
    return f"{request.resource.resource} {place}".strip()

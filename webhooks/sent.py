"""The object of a review as it was sent, for patches that must not lose what our models don't know."""

from __future__ import annotations

from typing import Any

import msgspec

from runtime.admission_review import MalformedReview
from runtime.wire import AdmissionRequest

_anything = msgspec.json.Decoder()


def sent_spec(request: AdmissionRequest) -> dict[str, Any]:
    """The spec as decoded JSON; empty when there is none. Raises MalformedReview."""
    if bytes(request.object) in {b"", b"null"}:
        return {}
    try:
        spec = _anything.decode(request.object).get("spec")
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedReview(f"the object of the request can't be read: {error}") from error
    return spec if isinstance(spec, dict) else {}

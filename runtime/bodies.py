"""
Request bodies: typed objects, mappings and raw JSON to the bytes that the API server reads.

Models leave `apiVersion` and `kind` empty in most objects (list items carry none), yet the server wants them
on writes. They are spliced into the encoded text, which costs a copy of the body and no second encoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from runtime.resource import Resource
from runtime.wire import Head

Body: TypeAlias = msgspec.Struct | Mapping[str, Any] | bytes
"""A model or apply builder, plain data, or JSON text (sent as it is, apart from the spliced type)."""

_encoder = msgspec.json.Encoder()
_head = msgspec.json.Decoder(Head)


def encode(body: object) -> bytes:
    """JSON of a body. Bytes are taken to be JSON already."""
    return body if isinstance(body, bytes) else _encoder.encode(body)


def read_head(body: object) -> Head:
    """
    The type and identity of a body: apiVersion, kind, and the names in metadata.

    Raises ValueError when the body isn't a JSON object with such a head.
    """
    try:
        return _head.decode(encode(body))
    except msgspec.MsgspecError as error:
        raise ValueError(f"not a Kubernetes object: {error}") from error


def encode_object(resource: Resource[Any], body: object, name: str = "") -> tuple[bytes, Head]:
    """
    Encode an object of a kind with its apiVersion and kind, and tell its head; `name` is put in if it has none.

    Raises ValueError when the body says that it is of another kind, or is no object.
    """
    text = encode(body)
    head = read_head(text)
    if name and not head.metadata.name:
        text = _named(text, name)
    if head.api_version not in ("", resource.api_version) or head.kind not in ("", resource.kind):
        named = f"{head.api_version} {head.kind}".strip()
        raise ValueError(f"the object is a {named}, expected {resource.api_version} {resource.kind}")
    if head.api_version and head.kind:
        return text, head
    return _splice(text, resource, head), head


def _named(text: bytes, name: str) -> bytes:
    """Put a name into metadata; not worth splicing, since those who write often name their objects."""
    document = msgspec.json.decode(text)
    document["metadata"] = {**document.get("metadata", {}), "name": name}
    return _encoder.encode(document)


def _splice(text: bytes, resource: Resource[Any], head: Head) -> bytes:
    """Insert the missing type fields after the opening brace."""
    missing = []
    if not head.api_version:
        missing.append(f'"apiVersion":"{resource.api_version}"')
    if not head.kind:
        missing.append(f'"kind":"{resource.kind}"')
    inside = text.lstrip()[1:].lstrip()
    joint = b"" if inside.startswith(b"}") else b","
    return b"{" + ",".join(missing).encode() + joint + inside

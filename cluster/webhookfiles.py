"""
Files of webhook configurations: read, and held against what we change in them.

What else may be wrong with a configuration the API server tells better; but a file that holds something else is
refused before any of it is applied.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from cluster.contents import WEBHOOKS
from cluster.errors import UsageError
from runtime.yamlguard import SafeLoader

_API_VERSION: Final = "admissionregistration.k8s.io/v1"


class _Service(msgspec.Struct):
    path: str | None = None


class _ClientConfig(msgspec.Struct):
    service: _Service | None = None


class _Webhook(msgspec.Struct, rename="camel"):
    client_config: _ClientConfig


class _Metadata(msgspec.Struct):
    name: str


class _Kind(msgspec.Struct, rename="camel"):
    """What a document says that it is."""

    api_version: str = ""
    kind: str = ""


class _Configuration(msgspec.Struct):
    """The parts of a configuration that lead to its place or are changed."""

    metadata: _Metadata
    webhooks: list[_Webhook] | None = None


def read(file: Path) -> list[dict[str, Any]]:
    """The webhook configurations in a file, one or more. UsageError, in one line, names the file and the field."""
    try:
        documents = list(yaml.load_all(file.read_bytes(), Loader=SafeLoader))
    except OSError as error:
        raise UsageError(f"{file}: can't be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(f"{file}: no valid YAML: {' '.join(str(error).split())}") from error
    found = [document for document in documents if document is not None]
    if not found:
        raise UsageError(f"{file}: holds no webhook configuration")
    for number, document in enumerate(found, 1):
        if problem := _problem(document):
            place = f"document {number}: " if len(found) > 1 else ""
            raise UsageError(f"{file}: {place}{problem}")
    return found


def _problem(document: object) -> str:
    """Why a document is no webhook configuration that can be applied, empty when it is one."""
    try:
        if problem := _problem_of_kind(msgspec.convert(document, _Kind)):
            return problem
        said = msgspec.convert(document, _Configuration)
        msgspec.json.encode(document)  # how it will be sent
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        problem, _, path = str(error).partition(" - at `$")
        return f"{path.removesuffix('`').removeprefix('.') or 'top level'}: {problem}"
    return "" if said.metadata.name else "metadata.name: is empty"


def _problem_of_kind(said: _Kind) -> str:
    if said.kind not in WEBHOOKS:
        return f"kind: expected {' or '.join(WEBHOOKS)}, got {said.kind!r}"
    return "" if said.api_version == _API_VERSION else f"apiVersion: expected {_API_VERSION}, got {said.api_version!r}"

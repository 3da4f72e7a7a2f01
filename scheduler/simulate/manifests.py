"""Manifests as typed objects. What is wrong is told with file, object and field."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from generated.apps.v1 import ReplicaSet, StatefulSet
from generated.batch.v1alpha1 import Job
from generated.core.v1 import Namespace, Node, PersistentVolumeClaim, Pod, ReplicationController, Service
from generated.scheduling.v1 import PriorityClass
from generated.scheduling.v1beta1 import PodGroup, Queue
from generated.topology.v1alpha1 import HyperNode
from runtime import errors
from runtime.decoding import without_nulls
from runtime.lenient import LenientDecoder
from scheduler.settings import yamltext
from scheduler.simulate.fields import unknown_fields

STDIN = "-"
MODELS: Mapping[tuple[str, str], Any] = {
    ("", "Namespace"): Namespace,
    ("", "Node"): Node,
    ("", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("", "Pod"): Pod,
    ("", "ReplicationController"): ReplicationController,
    ("", "Service"): Service,
    ("apps", "ReplicaSet"): ReplicaSet,
    ("apps", "StatefulSet"): StatefulSet,
    ("batch.volcano.sh", "Job"): Job,
    ("scheduling.k8s.io", "PriorityClass"): PriorityClass,
    ("scheduling.volcano.sh", "PodGroup"): PodGroup,
    ("scheduling.volcano.sh", "Queue"): Queue,
    ("topology.volcano.sh", "HyperNode"): HyperNode,
}
"""What bears on scheduling, by group and kind."""
CLUSTER_SCOPED = frozenset({"Namespace", "Node", "PriorityClass", "Queue", "HyperNode"})
DEFAULT_NAMESPACE = "default"


class InputError(errors.ConfigError):
    """Input that can't be used; the message names file, object and field."""


class Entry(msgspec.Struct, frozen=True):
    """One object of a file. `document` is it as written, `number` its place in all that was read."""

    file: str
    kind: str
    object: Any
    document: Mapping[str, Any]
    number: int

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone."""
        meta = self.object.metadata
        return meta.name if self.kind in CLUSTER_SCOPED else f"{meta.namespace}/{meta.name}"

    def error(self, field: str, problem: str) -> InputError:
        """Something is wrong with a field."""
        return InputError(f"{self.file}: {self.kind} {self.key}: {field}: {problem}")


class Reader:
    """Reads files one after the other; `warnings` tell what was left out."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self._number = 0

    def read(self, path: str) -> list[Entry]:
        """The objects of a file, `-` for standard input. Raises InputError."""
        return [
            self._entry(path, document)
            for document in self._documents(path, read_text(path))
            if self._is_known(path, document)
        ]

    def _documents(self, path: str, text: str) -> Iterator[dict[str, Any]]:
        try:
            for number, value in enumerate(yamltext.documents(text), 1):
                yield from self._flat(path, f"document {number}", value)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InputError(f"{path}: not YAML: {error}") from error

    def _flat(self, path: str, place: str, value: Any) -> Iterator[dict[str, Any]]:
        """An object, or those of a List."""
        if not isinstance(value, dict):
            raise InputError(f"{path}: {place}: an object is needed, not a {type(value).__name__}")
        kind = value.get("kind")
        if not isinstance(kind, str) or not kind:
            raise InputError(f"{path}: {place}: kind: it is missing")
        if not isinstance(value.get("apiVersion"), str):
            raise InputError(f"{path}: {place}: apiVersion: it is missing")
        items = value.get("items")
        if kind.endswith("List") and isinstance(items, list):
            item_kind = kind.removesuffix("List")
            for number, item in enumerate(items):
                filled = (
                    {"apiVersion": value["apiVersion"], "kind": item_kind} | item if isinstance(item, dict) else item
                )
                yield from self._flat(path, f"{place} items[{number}]", filled)
        else:
            yield value

    def _is_known(self, path: str, document: Mapping[str, Any]) -> bool:
        if _model_of(document) is not None:
            return True
        name = (document.get("metadata") or {}).get("name", "")
        self.warnings.append(f"{path}: {document['kind']} {name}: left out, this kind is not simulated")
        return False

    def _entry(self, path: str, document: dict[str, Any]) -> Entry:
        kind, model = str(document["kind"]), _model_of(document)
        document = without_nulls(copy.deepcopy(document))
        meta = document.get("metadata")
        name = meta.get("name") if isinstance(meta, dict) else None
        if not isinstance(meta, dict) or not isinstance(name, str) or not name:
            raise InputError(f"{path}: {kind}: metadata.name: it is missing")
        if kind in CLUSTER_SCOPED:
            meta.pop("namespace", None)
        else:
            meta.setdefault("namespace", DEFAULT_NAMESPACE)
        self._number += 1
        # Whoever gives no uid gets one that keeps the order of the files.
        meta.setdefault("uid", f"simulated-{self._number:06d}")
        try:
            found = msgspec.convert(document, model)
        except msgspec.ValidationError as error:
            shown = name if kind in CLUSTER_SCOPED else f"{meta['namespace']}/{name}"
            problems = LenientDecoder(model).read(msgspec.json.encode(document)).problems
            raise InputError("\n".join(f"{path}: {kind} {shown}: {problem}" for problem in problems)) from error
        entry = Entry(path, kind, found, document, self._number)
        self.warnings += [
            f"{path}: {kind} {entry.key}: no such field: {told}" for told in unknown_fields(document, model)
        ]
        return entry


def read_text(path: str) -> str:
    """The text of a file, or standard input. Raises InputError."""
    try:
        return sys.stdin.read() if path == STDIN else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: it can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: it is not UTF-8: byte {error.start}") from error


def _model_of(document: Mapping[str, Any]) -> Any:
    group, _, _ = str(document["apiVersion"]).rpartition("/")
    return MODELS.get((group, str(document["kind"])))

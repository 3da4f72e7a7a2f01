"""Names that a new part may have: what the API server, Python and our own folders each allow."""

from __future__ import annotations

import keyword
import re

from codegen.scaffold.errors import ScaffoldError

_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_GROUP = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,57}")  # with `Status` behind it still a name of 63
_PACKAGE = re.compile(r"[a-z][a-z0-9]*")
_TAKEN_KINDS = {
    "Any", "Builder", "ClassVar", "Duration", "Final", "Indexer", "IntOrString", "Iterator", "Mapping", "MicroTime",
    "Model", "ObjectMeta", "Quantity", "Resource", "Sequence", "Time", "TypeAlias", "UnsetType",
}  # fmt: skip
"""Names that generated modules use themselves."""
_TAKEN_PACKAGES = {
    "apply", "clients", "core", "defaults", "extensions", "fakes", "k8s", "listers", "meta", "names", "registry",
    "webhooks",
}  # fmt: skip
"""Folders of `api/` and `generated/` that hold something else than a group."""


def kind(value: str) -> str:
    """A kind in CamelCase. Raises ScaffoldError."""
    if not _KIND.fullmatch(value):
        raise ScaffoldError(
            "--kind", f"{value!r} is no kind: write it in CamelCase, at most 58 characters, as in TrainingJob"
        )
    if keyword.iskeyword(value) or keyword.iskeyword(value.lower()):
        raise ScaffoldError(
            "--kind", f"{value!r} is a keyword of Python, and names a class and a module: choose another"
        )
    if value in _TAKEN_KINDS:
        raise ScaffoldError("--kind", f"{value!r} is used by the generated modules themselves: choose another")
    if value.endswith("List"):
        raise ScaffoldError("--kind", f"{value!r} looks like the list of another kind: choose another")
    return value


def group(value: str, domain: str) -> str:
    """An API group; a single word gets the project's domain. Raises ScaffoldError."""
    full = value if "." in value else f"{value}.{domain}"
    if not _GROUP.fullmatch(full):
        raise ScaffoldError(
            "--group", f"{value!r} is no API group: write a DNS name such as fleet or fleet.example.com"
        )
    short = full.split(".", 1)[0]
    if not _PACKAGE.fullmatch(short) or keyword.iskeyword(short):
        message = f"{short!r} names a Python package: use lower-case letters and digits, and no keyword of Python"
        raise ScaffoldError("--group", message)
    if short in _TAKEN_PACKAGES:
        raise ScaffoldError("--group", f"{short!r} is a folder of our own in api/ or generated/: choose another")
    return full


def version(value: str) -> str:
    """An API version. Raises ScaffoldError."""
    if not _VERSION.fullmatch(value):
        raise ScaffoldError("--version", f"{value!r} is no API version: write v1, v1beta1 or v1alpha1")
    return value


def plural(value: str) -> str:
    """The name under which objects are addressed. Raises ScaffoldError."""
    if not _LABEL.fullmatch(value):
        raise ScaffoldError("--plural", f"{value!r} is no plural: write lower-case letters, digits and dashes")
    return value


def plural_of(kind: str) -> str:
    """The usual plural: `JobFlow` -> `jobflows`, `Policy` -> `policies`, `Class` -> `classes`."""
    word = kind.lower()
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search(r"(s|x|z|ch|sh)$", word) else f"{word}s"


def module(value: str) -> str:
    """The Python module for a name with dashes: `quota-guard` -> `quota_guard`. Raises ScaffoldError."""
    if not _LABEL.fullmatch(value):
        message = f"{value!r} is no name: write lower-case letters, digits and dashes, as in quota-guard"
        raise ScaffoldError("--name", message)
    if keyword.iskeyword(value):
        raise ScaffoldError("--name", f"{value!r} is a keyword of Python, and names a module: choose another")
    return value.replace("-", "_")


def class_name(value: str) -> str:
    """The Python class for a name with dashes: `quota-guard` -> `QuotaGuard`."""
    return "".join(part.capitalize() for part in value.split("-"))

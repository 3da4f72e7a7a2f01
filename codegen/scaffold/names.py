"""Names that a new part may have: what the API server, Python and our own folders each allow."""

from __future__ import annotations

import keyword
import re

from codegen.kinds import KIND, TAKEN_KINDS, VERSION, package_fault
from codegen.scaffold.errors import ScaffoldError

_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_GROUP = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")


def kind(value: str) -> str:
    """A kind in CamelCase. Raises ScaffoldError."""
    if not KIND.fullmatch(value):
        raise ScaffoldError(
            "--kind", f"{value!r} is no kind: write it in CamelCase, at most 58 characters, as in TrainingJob"
        )
    if keyword.iskeyword(value) or keyword.iskeyword(value.lower()):
        raise ScaffoldError(
            "--kind", f"{value!r} is a keyword of Python, and names a class and a module: choose another"
        )
    if value in TAKEN_KINDS:
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
    if fault := package_fault(full):
        raise ScaffoldError("--group", fault)
    return full


def version(value: str) -> str:
    """An API version. Raises ScaffoldError."""
    if not VERSION.fullmatch(value):
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

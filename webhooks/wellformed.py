"""
Which texts are names: labels, subdomains, keys, variables, ports, addresses, paths.

Each question answers with what is wrong in the words that API servers use; no words, no mistake. Answers are kept:
the same few names come again in every template.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from webhooks.remembering import forgetful

Faults = tuple[str, ...]

LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
LABEL_1035: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_SEARCH: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')"
)
_KEY: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    " (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_KEY_SHAPE: Final = (
    f"a valid label key {_KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_LABEL_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_VARIABLE: Final = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_CONFIG_KEY: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',"
    "  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_HEADER: Final = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
    " validation is '[-A-Za-z0-9]+')"
)
_SYSCTL: Final = (
    r"must have at most 253 characters and match regex"
    r" ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)
ADDRESS: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"

_LABEL_RE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035_RE = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN_RE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SEARCH_RE = re.compile(r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
_KEY_RE = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VARIABLE_RE = re.compile(r"[ -<>-~]+")
_CONFIG_KEY_RE = re.compile(r"[-._a-zA-Z0-9]+")
_HEADER_RE = re.compile(r"[-A-Za-z0-9]+")
_PORT_RE = re.compile(r"[-a-z0-9]+")
_LEADING_ZEROS = re.compile(r"\b0+(?=[0-9])")
_SYSCTL_RE = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")

LABEL_LENGTH: Final = 63
SUBDOMAIN_LENGTH: Final = 253
_PORT_LENGTH: Final = 15


def _remembered(judge: Callable[[str], Faults]) -> Callable[[str], Faults]:
    return forgetful(lru_cache(maxsize=1 << 14)(judge))


def size(text: str) -> int:
    """Bytes of a text."""
    return len(text) if text.isascii() else len(text.encode())


def _checked(text: str, pattern: re.Pattern[str], shape: str, most: int, unit: str = "characters") -> Faults:
    faults = () if size(text) <= most else (f"must be no more than {most} {unit}",)
    return faults if pattern.fullmatch(text) else (*faults, shape)


def is_label(text: str) -> bool:
    """Whether it is a DNS-1123 label, and so any other sort of name as well. For texts that don't come again."""
    return len(text) <= LABEL_LENGTH and _LABEL_RE.fullmatch(text) is not None


@_remembered
def label(text: str) -> Faults:
    """A DNS-1123 label, as containers, volumes and host names need it."""
    shape = "must not contain dots" if "." in text and _SUBDOMAIN_RE.fullmatch(text) else LABEL
    return _checked(text, _LABEL_RE, shape, LABEL_LENGTH)


@_remembered
def label_1035(text: str) -> Faults:
    """A DNS-1035 label, as Services need it."""
    return _checked(text, _LABEL_1035_RE, LABEL_1035, LABEL_LENGTH)


@_remembered
def subdomain(text: str) -> Faults:
    """A DNS-1123 subdomain, as most objects need it."""
    return _checked(text, _SUBDOMAIN_RE, SUBDOMAIN, SUBDOMAIN_LENGTH)


@_remembered
def search_domain(text: str) -> Faults:
    """A DNS search path: a subdomain in which parts may begin with `_`; a dot at its end, or alone, is fine."""
    stem = text.removesuffix(".")
    return () if text == "." else _checked(stem, _SEARCH_RE, _SEARCH, SUBDOMAIN_LENGTH)


@_remembered
def qualified_name(text: str) -> Faults:
    """The key of a label: a name, with an optional subdomain before a slash."""
    parts = text.split("/")
    if len(parts) > 2:
        return (_KEY_SHAPE,)
    faults: list[str] = []
    name = parts[-1]
    if len(parts) == 2:
        prefix = _checked(parts[0], _SUBDOMAIN_RE, SUBDOMAIN, SUBDOMAIN_LENGTH, "bytes")
        faults += [f"prefix part {fault}" for fault in prefix] if parts[0] else ["prefix part must be non-empty"]
    if not name:
        faults.append("name part must be non-empty")
    elif size(name) > LABEL_LENGTH:
        faults.append(f"name part must be no more than {LABEL_LENGTH} bytes")
    if not _KEY_RE.fullmatch(name):
        faults.append(f"name part {_KEY}")
    return tuple(faults)


@_remembered
def label_value(text: str) -> Faults:
    """The value of a label."""
    faults = () if size(text) <= LABEL_LENGTH else (f"must be no more than {LABEL_LENGTH} bytes",)
    return faults if not text or _KEY_RE.fullmatch(text) else (*faults, _LABEL_VALUE)


@_remembered
def variable(text: str) -> Faults:
    """The name of an environment variable."""
    return () if _VARIABLE_RE.fullmatch(text) else (_VARIABLE,)


@_remembered
def config_key(text: str) -> Faults:
    """A key of a ConfigMap or Secret."""
    faults = _checked(text, _CONFIG_KEY_RE, _CONFIG_KEY, SUBDOMAIN_LENGTH)
    if text in {".", ".."}:
        return (*faults, f"must not be '{text}'")
    return (*faults, "must not start with '..'") if text.startswith("..") else faults


@_remembered
def header(text: str) -> Faults:
    """The name of an HTTP header."""
    return () if _HEADER_RE.fullmatch(text) else (_HEADER,)


@_remembered
def port_name(text: str) -> Faults:
    """The name of a port."""
    faults = [] if size(text) <= _PORT_LENGTH else [f"must be no more than {_PORT_LENGTH} characters"]
    if not _PORT_RE.fullmatch(text):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= character <= "z" for character in text):
        faults.append("must contain at least one letter (a-z)")
    if "--" in text:
        faults.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        faults.append("must not begin or end with a hyphen")
    return tuple(faults)


@_remembered
def sysctl(text: str) -> Faults:
    """The name of a kernel parameter."""
    return () if size(text) <= SUBDOMAIN_LENGTH and _SYSCTL_RE.fullmatch(text) else (_SYSCTL,)


@_remembered
def address(text: str) -> Faults:
    """An IP address without a zone. Numbers of IPv4 may have leading zeros, which mean nothing."""
    try:
        ipaddress.ip_address(text if ":" in text else _LEADING_ZEROS.sub("", text))
    except ValueError:
        return (ADDRESS,)
    return () if "%" not in text else (ADDRESS,)


def backsteps(text: str) -> Faults:
    """A path that must stay below where it begins."""
    return ("must not contain '..'",) if ".." in text.split("/") else ()


def descending(text: str) -> Faults:
    """A relative path that stays below where it begins."""
    return (*(("must be a relative path",) if text.startswith("/") else ()), *backsteps(text))


def descending_name(text: str) -> Faults:
    """The same, for files that a volume makes: it must not begin with `..` either."""
    faults = descending(text)
    return (*faults, "must not start with '..'") if text.startswith("..") and not text.startswith("../") else faults

"""URLs of servers and proxies that people wrote: which can be dialled, and how to show one without its password."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

_USER_INFO = re.compile(r"^([^/?#@]*//)?[^/?#]*@")
_ANYTHING_BEFORE_AT = re.compile(r"^([^/?#@]*//)?.*@", re.DOTALL)


def usable_url(text: str) -> SplitResult | None:
    """The parts of an absolute URL whose host can be looked up, None for any other text."""
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.port != 0 and is_host_name(parts.hostname or "")
    except ValueError:  # brackets that don't match, ports that are none
        return None
    plain = all("!" <= character != "\x7f" for character in text)  # urlsplit drops line ends, a request can't
    return parts if usable and plain and (parts.path + parts.query + parts.fragment).isascii() else None


def is_host_name(text: str) -> bool:
    """Whether TLS and the resolver accept a name: no empty label, none too long, none that IDNA lacks."""
    try:
        text.encode("idna")
    except ValueError:
        return False
    return text.isprintable()


def shown(url: str) -> str:
    """The URL for messages and logs, with `***` where a user and password stand."""
    pattern = _USER_INFO if usable_url(url) is not None else _ANYTHING_BEFORE_AT  # a broken one may hide more
    return pattern.sub(lambda found: f"{found[1] or ''}***@", url, count=1)

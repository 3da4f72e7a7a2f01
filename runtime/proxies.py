"""Which HTTP proxy leads to the API server, by the environment variables that other cluster tools obey."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from runtime.errors import ConfigError
from runtime.urls import shown, usable_url


def proxy_for(server: str, environ: Mapping[str, str]) -> str:
    """
    URL of the proxy for a server, empty for none. Raises ConfigError for other kinds of proxy.

    `server` is a usable URL. Loopback addresses never go through a proxy.
    """
    parts = urlsplit(server)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    name = f"{parts.scheme}_proxy"
    proxy = environ.get(name) or environ.get(name.upper()) or ""
    excluded = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if not proxy or _is_loopback(host) or any(_matches(rule.strip(), host, port) for rule in excluded.split(",")):
        return ""
    url = proxy if "://" in proxy else f"http://{proxy}"
    if problem := proxy_problem(url):
        raise ConfigError(f"{name.upper()}: {problem}")
    return url


def proxy_problem(url: str) -> str:
    """Why a proxy can't be used, empty when it can."""
    if "://" in url and not url.startswith("http://"):
        return f"{shown(url)!r}: only http:// proxies are supported"
    parts = usable_url(url)
    return "" if parts is not None and parts.scheme == "http" else f"{shown(url)!r} is no http URL"


def _matches(rule: str, host: str, port: int) -> bool:
    """
    Whether a `NO_PROXY` entry covers a host: `*`, a network, an address or a domain, the last two maybe with a port.

    A domain stands for itself and what is below it, with a dot in front (`.example.org`, `*.example.org`) only for
    the latter; so it is in Go, whose tools read the same variable.
    """
    if rule == "*":
        return True
    if not rule:
        return False
    if "/" in rule:
        return _in_network(host, rule)
    name, wanted_port = _split_port(rule.lower())
    if wanted_port and wanted_port != str(port):
        return False
    domain = name.removeprefix("*") if name.startswith("*.") else name
    if domain.startswith("."):
        return host.endswith(domain)
    return bool(domain) and (host == domain or host.endswith(f".{domain}") or _is_same_address(host, domain))


def _split_port(rule: str) -> tuple[str, str]:
    """Name or address of an entry, and its port, empty for any."""
    if rule.startswith("["):
        address, _, rest = rule[1:].partition("]")
        return address, rest.removeprefix(":")
    name, _, port = rule.partition(":") if rule.count(":") == 1 else (rule, "", "")
    return name, port


def _is_same_address(host: str, other: str) -> bool:
    """Whether two texts are one IP address, which may be spelled in several ways."""
    import ipaddress  # noqa: PLC0415  # only for those who have a proxy

    try:
        return ipaddress.ip_address(host) == ipaddress.ip_address(other)
    except ValueError:
        return False


def _in_network(host: str, network: str) -> bool:
    import ipaddress  # noqa: PLC0415  # only for those who have a proxy

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    import ipaddress  # noqa: PLC0415  # see above

    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

"""How a pod is named and finds others: host names, name servers, the node's network."""

from __future__ import annotations

from typing import Final

from generated.core.v1 import PodDNSConfig, PodSpec
from webhooks import wellformed
from webhooks.causes import Causes
from webhooks.podtemplate.abilities import Abilities

_MAX_SERVERS: Final = 3
_MAX_SEARCHES: Final = 32
_MAX_SEARCH_TEXT: Final = 2048
_MAX_OVERRIDE: Final = 64
_NO_USERS: Final = "when `hostUsers` is false"


def check_host_network(causes: Causes, field: str, spec: PodSpec) -> None:
    """On the node's network a port has the same number inside and outside."""
    if not spec.host_network:
        return
    for index, container in enumerate(spec.containers):
        for number, port in enumerate(container.ports):
            if port.host_port not in {0, port.container_port}:
                place = f"{field}.containers[{index}].ports[{number}].hostPort"
                causes.invalid(place, port.host_port, "must match `containerPort` when `hostNetwork` is true")


def check_host_users(causes: Causes, field: str, spec: PodSpec) -> None:
    """Users of their own don't go with other parts of the node."""
    if spec.host_users is not False:
        return
    if spec.host_network:
        causes.forbidden(f"{field}.hostNetwork", _NO_USERS)
    if spec.host_pid:
        causes.forbidden(f"{field}.HostPID", _NO_USERS)
    if spec.host_ipc:
        causes.forbidden(f"{field}.HostIPC", _NO_USERS)
    for word, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers):
            if container.volume_devices:
                causes.forbidden(f"{field}.{word}[{index}].volumeDevices", _NO_USERS)


def check_dns(causes: Causes, field: str, spec: PodSpec) -> None:
    """Name servers and search paths."""
    config = spec.dns_config
    if spec.dns_policy == "None":
        if config is None:
            causes.required(field, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.nameservers:
            how = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            causes.required(f"{field}.nameservers", how)
            return
    if config is not None:
        _check_config(causes, field, config)


def _check_config(causes: Causes, field: str, config: PodDNSConfig) -> None:
    if len(config.nameservers) > _MAX_SERVERS:
        causes.invalid(
            f"{field}.nameservers", config.nameservers, f"must not have more than {_MAX_SERVERS} nameservers"
        )
    for index, server in enumerate(config.nameservers):
        causes.invalid(f"{field}.nameservers[{index}]", server, *wellformed.address(server))
    if len(config.searches) > _MAX_SEARCHES:
        how = f"must not have more than {_MAX_SEARCHES} search paths"
        causes.invalid(f"{field}.searches", config.searches, how)
    if len(" ".join(config.searches)) > _MAX_SEARCH_TEXT:
        how = f"must not have more than {_MAX_SEARCH_TEXT} characters (including spaces) in the search list"
        causes.invalid(f"{field}.searches", config.searches, how)
    for index, search in enumerate(config.searches):
        causes.invalid(f"{field}.searches[{index}]", search, *wellformed.search_domain(search))
    for index, option in enumerate(config.options):
        if not option.name:
            causes.required(f"{field}.options[{index}]", "must not be empty")


def check_names(causes: Causes, field: str, spec: PodSpec) -> None:
    """The host name and the domain it is in."""
    if spec.hostname:
        causes.invalid(f"{field}.hostname", spec.hostname, *wellformed.label(spec.hostname))
    if spec.subdomain:
        causes.invalid(f"{field}.subdomain", spec.subdomain, *wellformed.label(spec.subdomain))


def check_override(causes: Causes, field: str, spec: PodSpec, able: Abilities) -> None:
    """A host name that leaves the pod's name out of account."""
    name = spec.hostname_override
    if name is None or not able.has_hostname_override:
        return
    place = f"{field}.hostnameOverride"
    if spec.set_hostname_as_fqdn:
        causes.forbidden(place, "may not be specified when setHostnameAsFQDN is true")
    if spec.host_network:
        causes.forbidden(place, "may not be specified when hostNetwork is true")
    if wellformed.size(name) > _MAX_OVERRIDE:
        causes.too_long(place, _MAX_OVERRIDE)
    causes.invalid(place, name, *wellformed.subdomain(name))


def check_aliases(causes: Causes, field: str, spec: PodSpec) -> None:
    """Lines of the pod's hosts file."""
    for index, alias in enumerate(spec.host_aliases):
        causes.invalid(f"{field}[{index}].ip", alias.ip, *wellformed.address(alias.ip))
        for number, name in enumerate(alias.hostnames):
            causes.invalid(f"{field}[{index}].hostnames[{number}]", name, *wellformed.subdomain(name))

"""Amounts that containers and pods ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from generated.core.v1 import PodSpec, ResourceClaim, ResourceRequirements
from runtime.quantity import ZERO, Quantity, QuantityError, Raw, parse
from webhooks import wellformed
from webhooks.causes import Causes, remembered
from webhooks.remembering import forgetful

HUGE_PAGES: Final = "hugepages-"
_COMPUTE: Final = frozenset(("cpu", "memory"))
_OF_CONTAINERS: Final = frozenset(("cpu", "memory", "ephemeral-storage"))
_COUNTED: Final = frozenset(
    (
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    )
)
_STANDARD: Final = (
    _OF_CONTAINERS
    | _COUNTED
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _OF_CONTAINERS}
    | {"requests.storage", "storage"}
)
_OF_PODS: Final = ("cpu", HUGE_PAGES, "memory")

NameRule = Callable[[str], tuple[str, ...]]
Amounts = Mapping[str, Raw]


def check_container(causes: Causes, field: str, resources: ResourceRequirements, claims: Collection[str]) -> None:
    """The resources of the container at `field`. `claims` are the names of the pod's resource claims."""
    if found := _amounts_of_container(resources):
        causes.below(f"{field}.resources", found)
    if resources.claims:
        check_claims(causes, f"{field}.resources.claims", resources.claims, claims)


@remembered
def _amounts_of_container(causes: Causes, field: str, resources: ResourceRequirements) -> None:
    _check_amounts(causes, field, resources.limits, resources.requests, _FOR_CONTAINERS)


def check_overhead(causes: Causes, field: str, overhead: Amounts) -> None:
    """What a pod needs beside its containers."""
    _check_amounts(causes, field, overhead, {}, _FOR_CONTAINERS)


def check_pod(causes: Causes, field: str, spec: PodSpec, claims: Collection[str]) -> None:
    """The resources of a pod as a whole."""
    resources = spec.resources
    if resources is None:
        return
    if spec.os is not None and spec.os.name == "windows":
        causes.forbidden(field, "may not be set for a windows pod")
        return
    if resources.claims:
        causes.forbidden(f"{field}.claims", "claims may not be set for Resources at pod-level")
    _check_amounts(causes, field, resources.limits, resources.requests, _FOR_PODS)
    if resources.claims:
        check_claims(causes, f"{field}.claims", resources.claims, claims)
    _check_sums(causes, field, spec, resources)


def amount(value: Raw) -> Quantity:
    """A quantity of an object; what is none counts as nothing, since the API server's schema refuses it."""
    try:
        return parse(value)
    except QuantityError:
        return ZERO


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


@forgetful
@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    """Whether a resource is one of a device plugin, counted in whole numbers."""
    return not (_is_native(name) or name.startswith("requests.") or wellformed.qualified_name(f"requests.{name}"))


@forgetful
@lru_cache(maxsize=4096)
def _may_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith(HUGE_PAGES)


@forgetful
@lru_cache(maxsize=4096)
def resource_faults(name: str) -> tuple[str, ...]:
    """What is wrong with the name of any resource."""
    faults = wellformed.qualified_name(name)
    if faults or "/" in name or name in _STANDARD or name.startswith(HUGE_PAGES):
        return faults
    return ("must be a standard resource type or fully qualified",)


@forgetful
@lru_cache(maxsize=4096)
def container_resource_faults(name: str) -> tuple[str, ...]:
    """What is wrong with the name of a container's resource."""
    faults = resource_faults(name)
    if "/" not in name:
        known = name in _OF_CONTAINERS or name.startswith(HUGE_PAGES)
        return faults if known else (*faults, "must be a standard resource for containers")
    if _is_native(name) or is_extended(name):
        return faults
    return (*faults, "doesn't follow extended resource name standard")


class _Rules(NamedTuple):
    faults: NameRule
    supported: tuple[str, ...] = ()
    """The names that may be used; empty for all without faults."""


_FOR_CONTAINERS: Final = _Rules(container_resource_faults)
_FOR_PODS: Final = _Rules(resource_faults, _OF_PODS)


def _check_amounts(causes: Causes, field: str, limits: Amounts, requests: Amounts, rules: _Rules) -> None:
    for name, value in limits.items():
        _check_amount(causes, f"{field}.limits[{name}]", name, value, rules)
    for name, value in requests.items():
        _check_amount(causes, f"{field}.requests[{name}]", name, value, rules)
        _compare(causes, field, name, value, limits.get(name))
    has_huge = any(map(_is_huge, limits)) or any(map(_is_huge, requests))
    if has_huge and not (_COMPUTE & limits.keys() or _COMPUTE & requests.keys()):
        causes.forbidden(field, "HugePages require cpu or memory")


def _is_huge(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def _check_amount(causes: Causes, field: str, name: str, value: Raw, rules: _Rules) -> None:
    faults, supported = rules
    found = faults(name)
    if found:
        causes.invalid(field, name, *found)
    elif supported and not (name in supported or name.startswith(HUGE_PAGES)):
        causes.unsupported(field, name, supported)
    quantity = amount(value)
    if quantity.nano < 0:
        causes.invalid(field, str(quantity), "must be greater than or equal to 0")
    if (name in _COUNTED or is_extended(name)) and not quantity.is_whole:
        causes.invalid(field, str(quantity), "must be an integer")
    if name.startswith(HUGE_PAGES) and not _is_divisible(name, quantity):
        causes.invalid(field, str(quantity), f"{quantity} is not positive integer multiple of {name}")


def _is_divisible(name: str, quantity: Quantity) -> bool:
    try:
        page = parse(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        return False
    return page.nano > 0 and not quantity.nano % page.nano


def _compare(causes: Causes, field: str, name: str, request: Raw, limit: Raw | None) -> None:
    if limit is None:
        if not _may_overcommit(name):
            causes.required(f"{field}.limits", "Limit must be set for non overcommitable resources")
        return
    wanted, most = amount(request), amount(limit)
    if wanted != most and not _may_overcommit(name):
        causes.invalid(f"{field}.requests", str(wanted), f"must be equal to {name} limit of {most}")
    elif wanted > most:
        causes.invalid(f"{field}.requests", str(wanted), f"must be less than or equal to {name} limit of {most}")


def check_claims(causes: Causes, field: str, wanted: tuple[ResourceClaim, ...], known: Collection[str]) -> None:
    """Devices that a container takes from the pod's claims."""
    seen: set[str] = set()
    requests: Counter[str] = Counter()  # so many of `seen` are requests of a claim
    for index, claim in enumerate(wanted):
        place = f"{field}[{index}]"
        if not claim.name:
            causes.required(place)
            continue
        key = claim.name
        if claim.request:
            causes.invalid(f"{place}.request", claim.request, *wellformed.label(claim.request))
            key = f"{claim.name}/{claim.request}"
        clashes = _clashes(claim.name, key, seen, requests)
        if clashes:
            causes.duplicate(place, key if key in seen and claim.name not in seen else claim.name, times=clashes)
        else:
            seen.add(key)
            requests.update(_owners(key))
        if claim.name not in known:
            among = "" if causes.is_full else f": {', '.join(sorted(known))}" if known else " which is empty"
            causes.not_found(place, claim.name, f"must be one of the names in pod.spec.resourceClaims{among}")


def _clashes(name: str, key: str, seen: Collection[str], requests: Mapping[str, int]) -> int:
    """How many there are already: the same request, or requests of what is now wanted as a whole, or the whole."""
    if name in seen or key in seen:
        return 1
    return 0 if "/" in key else requests.get(key, 0)


def _owners(key: str) -> Iterator[str]:
    """The claim that a request is one of; a whole claim is a request of none."""
    claim, slash, _ = key.partition("/")
    if slash:
        yield claim


def _check_sums(causes: Causes, field: str, spec: PodSpec, resources: ResourceRequirements) -> None:
    totals = _total_requests(spec)
    for name, value in resources.requests.items():
        wanted, total = amount(value), totals.get(name, ZERO)
        if name in totals and total > wanted:
            causes.invalid(
                f"{field}.requests[{name}]",
                str(wanted),
                f"must be greater than or equal to aggregate container requests of {total}",
            )
    for index, container in enumerate(spec.containers):
        for name, value in container.resources.limits.items():
            most = resources.limits.get(name)
            if most is not None and amount(value) > amount(most):
                causes.invalid(
                    f"{field}.containers[{index}][{name}].limits",
                    str(amount(value)),
                    f"must be less than or equal to pod limits of {amount(most)}",
                )


def _total_requests(spec: PodSpec) -> Mapping[str, Quantity]:
    """What the pod's containers ask for while most of them run: init containers run one by one beside the sidecars."""
    beside: dict[str, Quantity] = {}
    peaks: dict[str, Quantity] = {}
    for container in spec.init_containers:
        for name, value in container.resources.requests.items():
            running = beside.get(name, ZERO) + amount(value)
            if container.restart_policy == "Always":
                beside[name] = running
            peaks[name] = max(peaks.get(name, ZERO), running)
    totals = dict(beside)
    for container in spec.containers:
        for name, value in container.resources.requests.items():
            totals[name] = totals.get(name, ZERO) + amount(value)
    return {name: max(totals.get(name, ZERO), peaks.get(name, ZERO)) for name in totals.keys() | peaks.keys()}

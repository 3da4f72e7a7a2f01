"""
What pods ask for, and arithmetic on maps of resources.

Controllers, webhooks and scheduler have to agree on the size of a pod, so it is computed here and nowhere else, in
exact quantities. The scheduler counts in plain numbers (`numbers`): millicores, bytes, whole pods, and thousandths of
everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, Literal

from generated.core.v1 import Container, ContainerStatus, Pod, PodSpec, PodStatus, ResourceRequirements
from runtime.quantity import INT64_MAX, ZERO, Format, Quantity, QuantityError, Raw, parse
from runtime.selector import is_label_key

RawList = Mapping[str, Raw]
"""Resources as an object holds them, unparsed."""
Amounts = dict[str, Quantity]
"""Resources by name. An absent name is zero, but is not the same as a present zero."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
HUGE_PAGES_PREFIX: Final = "hugepages-"
_COUNT_PREFIX: Final = "count/"
_REQUESTS_PREFIX: Final = "requests."
_ATTACHABLE_PREFIX: Final = "attachable-volumes-"
_NATIVE_DOMAIN: Final = "kubernetes.io/"
_MOST_COUNTED: Final = 2**48
_MOST_MEMORY: Final = 2**56
_MOST_OTHERS: Final = 1000 * _MOST_MEMORY
"""
What `numbers` counts at most: 281 billion cores, 64 PiB of memory, and as much of everything else, which may be bytes too.

No cluster has more, so the limits of a queue count in full. Amounts become float64, which is exact for any whole number
below 2**53, and further on for multiples: of memory every whole byte up to 8 PiB, and at 64 PiB what is a multiple of 8
bytes; of what is in thousandths every whole unit up to 64 Ti, and at 64 PiB what is a multiple of 1 KiB.
"""
_POD_MEMORY: Final = 2**50
_POD_OTHERS: Final = 1000 * _POD_MEMORY
_POD_EXTENDED: Final = 2**55
"""
What one pod counts for at most: more than any machine has (1 PiB of memory or storage, 36 trillion devices), and less
than a queue may be limited to.

A pod is anybody's, and what it asks for is added to its queue's account while it waits: a billion times as much would
take the small digits of all others out of that sum. So beside a pod that asks for an absurd amount of it memory stays
exact to the byte, and devices to the last one; of storage what is a multiple of 32 bytes.
"""
_ONE: Final = Quantity.from_units(1)
_PRESUMED: Final[Amounts] = {
    CPU: Quantity.from_milli(100),
    MEMORY: Quantity.from_units(200 * 1024 * 1024, Format.BINARY_SI),
}
"""What a container that names no request counts as in Kubernetes' scores."""
_SIDECAR: Final = "Always"
_INFEASIBLE: Final = "Infeasible"


def amounts(raw: RawList) -> Amounts:
    """Parse a list of resources. Raises QuantityError naming the resource."""
    parsed: Amounts = {}
    for name, value in raw.items():
        try:
            parsed[name] = parse(value)
        except QuantityError as error:
            raise QuantityError(f"resource {name}: {error}") from None
    return parsed


def raw(held: Mapping[str, Quantity]) -> dict[str, Raw]:
    """The canonical texts of amounts, as objects hold them."""
    return {name: str(amount) for name, amount in held.items()}


def add(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Amounts:
    """Sum by name."""
    total = dict(left)
    _put(total, right)
    return total


def total_of(parts: Iterable[Mapping[str, Quantity]]) -> Amounts:
    """Sum of any number of parts by name, in time that grows with what they hold."""
    total: Amounts = {}
    for part in parts:
        _put(total, part)
    return total


def subtract(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Amounts:
    """Difference by name; may go below zero, also for a name that only `right` has."""
    rest = dict(left)
    for name, amount in right.items():
        rest[name] = rest.get(name, ZERO) - amount
    return rest


def scale(held: Mapping[str, Quantity], factor: int) -> Amounts:
    """So many times as much; of nothing, or zero times, nothing is left."""
    return {name: amount * factor for name, amount in held.items()} if factor else {}


def maximum(left: Mapping[str, Quantity], right: Mapping[str, Quantity]) -> Amounts:
    """The larger one by name."""
    largest = dict(left)
    for name, amount in right.items():
        if name not in largest or amount > largest[name]:
            largest[name] = amount
    return largest


def is_same(left: RawList | None, right: RawList | None) -> bool:
    """Whether two lists mean the same: quantities count by amount, none is the same as an empty one."""
    return amounts(left or {}) == amounts(right or {})


def pod_requests(pod: Pod, *, in_place: bool = True, pod_level: bool = True) -> Amounts:
    """
    What the scheduler has to find room for.

    Init containers run one after the other, sidecars stay, so the largest step counts. While a resize is under way
    the larger of wanted and held counts (`in_place`); resources of the pod as a whole replace those of its containers
    (`pod_level`). Raises QuantityError.
    """
    pick = _picker(pod.status, "requests") if in_place else _requests
    return _total_requests(pod.spec, pick, pod_level=pod_level)


def scheduling_numbers(pod: Pod, *, in_place: bool = True, pod_level: bool = True) -> dict[str, int]:
    """
    A pod's requests in the scheduler's plain numbers, and one more of `pods` for itself. Raises QuantityError.

    Nothing counts for more than any machine has.
    """
    requests = pod_requests(pod, in_place=in_place, pod_level=pod_level)
    return _of_pod(add(requests, {PODS: _ONE}))


def pod_limits(pod: Pod, *, in_place: bool = True, pod_level: bool = True) -> Amounts:
    """What a pod may use at most, by name as far as it is limited. Raises QuantityError."""
    pick = _picker(pod.status, "limits") if in_place else _limits
    return _total_limits(pod.spec, pick, pod_level=pod_level)


def template_requests(spec: PodSpec, *, default_from_limits: bool = False) -> Amounts:
    """
    Requests of a pod that doesn't exist yet.

    With `default_from_limits` a resource that a container only limits counts as requested, as it will be once the API
    server has created the pod. Raises QuantityError.
    """
    return _total_requests(spec, _defaulted_requests if default_from_limits else _requests, pod_level=True)


def nonzero_requests(spec: PodSpec) -> tuple[float, float]:
    """
    How much cpu (millicores) and memory (bytes) a pod counts for, with Kubernetes' defaults for containers that name none.

    Its scores count a container without a cpu request as 100 millicores, one without memory as 200 MiB, so that pods
    that ask for nothing spread all the same. An explicit zero stays zero. Raises QuantityError.
    """
    held = _of_pod(_total_requests(spec, _presumed_requests, pod_level=True))
    return float(held.get(CPU, 0)), float(held.get(MEMORY, 0))


def template_limits(spec: PodSpec) -> Amounts:
    """Limits of a pod that doesn't exist yet. Raises QuantityError."""
    return _total_limits(spec, _limits, pod_level=True)


@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    """Whether a vendor defined the resource: it has a domain, which is not Kubernetes' own."""
    if "/" not in name or _NATIVE_DOMAIN in name or name.startswith(_REQUESTS_PREFIX):
        return False
    return is_label_key(_REQUESTS_PREFIX + name)


@lru_cache(maxsize=4096)
def is_counted(name: str) -> bool:
    """Whether the scheduler counts the resource at all: not `gpu`, `storage` or `count/pods` (compat: RES-1)."""
    if name in {CPU, MEMORY, PODS, EPHEMERAL_STORAGE}:
        return True
    if name.startswith(_COUNT_PREFIX):
        return False
    return name.startswith((HUGE_PAGES_PREFIX, _ATTACHABLE_PREFIX)) or _NATIVE_DOMAIN in name or is_extended(name)


def numbers(held: Mapping[str, Quantity]) -> dict[str, int]:
    """
    The counted resources as the scheduler's plain numbers.

    Bytes of memory, whole pods, thousandths of everything else (millicores; one GPU is 1000); rounded up (compat: RES-2).
    Nothing counts for more than any cluster has.
    """
    return {name: _number(name, amount) for name, amount in held.items() if is_counted(name)}


def _number(name: str, amount: Quantity) -> int:
    if name == MEMORY:
        return min(amount.units, _MOST_MEMORY)
    if name == PODS:
        return min(amount.units, _MOST_COUNTED)
    if name == CPU:
        return min(amount.milli, _MOST_COUNTED)
    milli = amount.milli
    return milli if milli < INT64_MAX else min(1000 * amount.units, _MOST_OTHERS)  # more than 8 PiB, so in whole bytes


def _of_pod(held: Mapping[str, Quantity]) -> dict[str, int]:
    """`numbers` of one pod."""
    return {name: min(number, _most_of_pod(name)) for name, number in numbers(held).items()}


@lru_cache(maxsize=4096)
def _most_of_pod(name: str) -> int:
    if name in {CPU, PODS}:
        return _MOST_COUNTED
    if name == MEMORY:
        return _POD_MEMORY
    return _POD_EXTENDED if is_extended(name) else _POD_OTHERS


def from_numbers(counted: Mapping[str, float]) -> Amounts:
    """The quantities of plain numbers, cut to whole ones; cpu and memory are always present."""
    held = {CPU: ZERO, MEMORY: Quantity(0, Format.BINARY_SI)}
    for name, number in counted.items():
        if name == MEMORY:
            held[name] = Quantity.from_units(int(number), Format.BINARY_SI)
        else:
            held[name] = Quantity.from_units(int(number)) if name == PODS else Quantity.from_milli(int(number))
    return held


_Picker = Callable[[Container], Amounts]
_Kind = Literal["requests", "limits"]


def _total_requests(spec: PodSpec, pick: _Picker, *, pod_level: bool) -> Amounts:
    total = _effective(spec, pick)
    if pod_level and spec.resources:
        total |= _pod_level(spec.resources.requests)
    return add(total, amounts(spec.overhead))


def _total_limits(spec: PodSpec, pick: _Picker, *, pod_level: bool) -> Amounts:
    total = _effective(spec, pick)
    if pod_level and spec.resources:
        total |= _pod_level(spec.resources.limits)
    overhead = amounts(spec.overhead)
    limited = {name: amount for name, amount in overhead.items() if name in total and not total[name].is_zero}
    return add(total, limited)


def _effective(spec: PodSpec, pick: _Picker) -> Amounts:
    """
    The larger of what runs in the end and of each step on the way there. Linear in what the containers name.

    A step is the sum of the sidecars so far and of the init container that runs beside them. What it doesn't name
    itself stands in `peak` already, since the sidecar that named it was a step of its own.
    """
    running = total_of(pick(container) for container in spec.containers)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        own = pick(container)
        if container.restart_policy == _SIDECAR:
            _put(running, own)
            _put(sidecars, own)
            step = {name: sidecars[name] for name in own}
        else:
            step = {name: amount + sidecars[name] if name in sidecars else amount for name, amount in own.items()}
        for name, amount in step.items():
            if name not in peak or amount > peak[name]:
                peak[name] = amount
    return maximum(running, peak)


def _put(total: Amounts, more: Mapping[str, Quantity]) -> None:
    """`add` in place, for sums of many parts."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _pod_level(given: RawList) -> Amounts:
    """Resources of the pod as a whole; only these can be given that way."""
    names = {
        name: value for name, value in given.items() if name in {CPU, MEMORY} or name.startswith(HUGE_PAGES_PREFIX)
    }
    return amounts(names)


def _requests(container: Container) -> Amounts:
    return amounts(container.resources.requests)


def _presumed_requests(container: Container) -> Amounts:
    return _PRESUMED | _requests(container)


def _limits(container: Container) -> Amounts:
    return amounts(container.resources.limits)


def _defaulted_requests(container: Container) -> Amounts:
    return amounts({**container.resources.limits, **container.resources.requests})


def _picker(status: PodStatus, what: _Kind) -> _Picker:
    """Picks from a container what it wants or still holds, by its status."""
    statuses = {each.name: each for each in (*status.init_container_statuses, *status.container_statuses)}
    is_infeasible = status.resize == _INFEASIBLE or any(
        each.type == "PodResizePending" and each.reason == _INFEASIBLE for each in status.conditions
    )

    def pick(container: Container) -> Amounts:
        wanted = amounts(_of_kind(container.resources, what))
        held = _held(statuses.get(container.name), what)
        if held is None:
            return wanted
        return held if is_infeasible else maximum(wanted, held)

    return pick


def _held(status: ContainerStatus | None, what: _Kind) -> Amounts | None:
    """What a container holds now; None when its status doesn't say."""
    resources = status.resources if status else None
    if status is None or resources is None:
        return None
    amounts_held = amounts(_of_kind(resources, what))
    return maximum(amounts_held, amounts(status.allocated_resources)) if what == "requests" else amounts_held


def _of_kind(resources: ResourceRequirements, what: _Kind) -> RawList:
    return resources.requests if what == "requests" else resources.limits

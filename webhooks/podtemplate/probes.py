"""What is done to containers while they run: probes, and hooks at their start and end."""

from __future__ import annotations

from typing import Final

from generated.core.v1 import Container, HTTPGetAction, Lifecycle, LifecycleHandler, Probe
from webhooks import wellformed
from webhooks.causes import Causes, not_negative, one_of, remembered, within

_SCHEMES: Final = ("HTTP", "HTTPS")
_MAX_PORT: Final = 65535
_FEW: Final = "may not specify more than 1 handler type"


def check(causes: Causes, field: str, container: Container, grace: int) -> None:
    """Hooks and probes. `grace` are the seconds that the pod has to end."""
    if container.lifecycle is not None:
        _check_lifecycle(causes, f"{field}.lifecycle", container.lifecycle, grace)
    if container.liveness_probe is not None and (found := _of_single(container.liveness_probe)):
        causes.below(f"{field}.livenessProbe", found)
    if container.readiness_probe is not None and (found := _of_readiness(container.readiness_probe)):
        causes.below(f"{field}.readinessProbe", found)
    if container.startup_probe is not None and (found := _of_single(container.startup_probe)):
        causes.below(f"{field}.startupProbe", found)


@remembered
def _of_readiness(causes: Causes, field: str, probe: Probe) -> None:
    _check_probe(causes, field, probe)
    seconds = probe.termination_grace_period_seconds
    if seconds is not None:
        causes.invalid(f"{field}.terminationGracePeriodSeconds", seconds, "must not be set for readinessProbes")


@remembered
def _of_single(causes: Causes, field: str, probe: Probe) -> None:
    """Of a probe for which a single success is enough, by necessity."""
    _check_probe(causes, field, probe)
    if probe.success_threshold not in {0, 1}:
        causes.invalid(f"{field}.successThreshold", probe.success_threshold, "must be 1")


def _check_probe(causes: Causes, field: str, probe: Probe) -> None:
    _check_handler(causes, field, probe)
    if probe.initial_delay_seconds < 0:
        not_negative(causes, f"{field}.initialDelaySeconds", probe.initial_delay_seconds)
    if probe.timeout_seconds < 0:
        not_negative(causes, f"{field}.timeoutSeconds", probe.timeout_seconds)
    if probe.period_seconds < 0:
        not_negative(causes, f"{field}.periodSeconds", probe.period_seconds)
    if probe.success_threshold < 0:
        not_negative(causes, f"{field}.successThreshold", probe.success_threshold)
    if probe.failure_threshold < 0:
        not_negative(causes, f"{field}.failureThreshold", probe.failure_threshold)
    seconds = probe.termination_grace_period_seconds
    if seconds is not None and seconds <= 0:
        causes.invalid(f"{field}.terminationGracePeriodSeconds", seconds, "must be greater than 0")


def _check_lifecycle(causes: Causes, field: str, lifecycle: Lifecycle, grace: int) -> None:
    for word, handler in (("postStart", lifecycle.post_start), ("preStop", lifecycle.pre_stop)):
        if handler is None:
            continue
        has_one = _check_handler(causes, f"{field}.{word}", handler, can_sleep=handler.sleep is not None)
        if handler.sleep is None:
            continue
        if has_one:
            causes.forbidden(f"{field}.{word}.sleep", _FEW)
        elif not 0 <= handler.sleep.seconds <= grace:
            how = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            causes.invalid(f"{field}.{word}.sleep", handler.sleep.seconds, how)


def _check_handler(causes: Causes, field: str, handler: Probe | LifecycleHandler, *, can_sleep: bool = False) -> bool:
    """Exactly one way to ask or to act. Gives whether there is one beside sleeping."""
    has_one = False
    if handler.exec is not None:
        has_one = True
        if not handler.exec.command:
            causes.required(f"{field}.exec.command")
    if handler.http_get is not None:
        if has_one:
            causes.forbidden(f"{field}.httpGet", _FEW)
        else:
            has_one = True
            _check_http(causes, f"{field}.httpGet", handler.http_get)
    if handler.tcp_socket is not None:
        if has_one:
            causes.forbidden(f"{field}.tcpSocket", _FEW)
        else:
            has_one = True
            _check_port(causes, f"{field}.tcpSocket.port", handler.tcp_socket.port)
    if isinstance(handler, Probe) and handler.grpc is not None:
        if has_one:
            causes.forbidden(f"{field}.grpc", _FEW)
        else:
            has_one = True
            _check_port(causes, f"{field}.grpc.port", handler.grpc.port)
    if not has_one and not can_sleep:
        causes.required(field, "must specify a handler type")
    return has_one


def _check_http(causes: Causes, field: str, action: HTTPGetAction) -> None:
    _check_port(causes, f"{field}.port", action.port)
    if action.scheme:
        one_of(causes, f"{field}.scheme", action.scheme, _SCHEMES)
    for header in action.http_headers:
        causes.invalid(f"{field}.httpHeaders", header.name, *wellformed.header(header.name))


def _check_port(causes: Causes, field: str, port: int | str) -> None:
    if isinstance(port, int):
        within(causes, field, port, 1, _MAX_PORT)
    else:
        causes.invalid(field, port, *wellformed.port_name(port))

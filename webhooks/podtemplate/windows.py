"""What differs between Linux and Windows pods."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from generated.core.v1 import Container, PodSecurityContext, PodSpec, WindowsSecurityContextOptions
from webhooks import wellformed
from webhooks.causes import Causes

_MAX_SPEC: Final = 64 * 1024
_MAX_USER: Final = 104
_MAX_DOMAIN: Final = 256
_USER_CHARACTERS: Final = re.compile(r'["/\\:;|=,+*?<>@\[\]]')
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_DOMAIN: Final = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*")
_OF_PODS: Final = (  # in the order of the checks: JSON path below the spec, attribute, whether of the security context
    ("securityContext.appArmorProfile", "app_armor_profile", True),
    ("securityContext.seLinuxOptions", "se_linux_options", True),
    ("hostUsers", "host_users", False),
    ("hostPID", "host_pid", False),
    ("hostIPC", "host_ipc", False),
    ("securityContext.seccompProfile", "seccomp_profile", True),
    ("securityContext.fsGroup", "fs_group", True),
    ("securityContext.fsGroupChangePolicy", "fs_group_change_policy", True),
    ("securityContext.sysctls", "sysctls", True),
    ("shareProcessNamespace", "share_process_namespace", False),
    ("securityContext.runAsUser", "run_as_user", True),
    ("securityContext.runAsGroup", "run_as_group", True),
    ("securityContext.supplementalGroups", "supplemental_groups", True),
    ("securityContext.supplementalGroupsPolicy", "supplemental_groups_policy", True),
    ("securityContext.seLinuxChangePolicy", "se_linux_change_policy", True),
)
_PLAIN: Final = frozenset(("host_pid", "host_ipc"))
"""Here false is the same as absent."""
_OF_CONTAINERS: Final = (
    ("appArmorProfile", "app_armor_profile"),
    ("seLinuxOptions", "se_linux_options"),
    ("seccompProfile", "seccomp_profile"),
    ("capabilities", "capabilities"),
    ("readOnlyRootFilesystem", "read_only_root_filesystem"),
    ("privileged", "privileged"),
    ("allowPrivilegeEscalation", "allow_privilege_escalation"),
    ("procMount", "proc_mount"),
    ("runAsUser", "run_as_user"),
    ("runAsGroup", "run_as_group"),
)


def check_os(causes: Causes, field: str, spec: PodSpec) -> None:
    """The system that the pod names, and what it then must not ask for."""
    system = spec.os
    if system is None:
        return
    if not system.name:
        causes.required(f"{field}.os.name")
    elif system.name == "windows":
        _check_windows(causes, field, spec)
    elif system.name == "linux":
        _check_linux(causes, field, spec)
    else:
        causes.unsupported(f"{field}.os", system.name, ("linux", "windows"))


def _check_linux(causes: Causes, field: str, spec: PodSpec) -> None:
    how = "windows options cannot be set for a linux pod"
    if spec.security_context is not None and spec.security_context.windows_options is not None:
        causes.forbidden(f"{field}.securityContext.windowsOptions", how)
    for place, container in _containers(field, spec):
        if container.security_context is not None and container.security_context.windows_options is not None:
            causes.forbidden(f"{place}.securityContext.windowsOptions", how)


def _check_windows(causes: Causes, field: str, spec: PodSpec) -> None:
    how = "cannot be set for a windows pod"
    context = spec.security_context or PodSecurityContext()
    for word, attribute, is_context in _OF_PODS:
        value = getattr(context if is_context else spec, attribute)
        if value is not None and value != () and (value is not False or attribute not in _PLAIN):
            causes.forbidden(f"{field}.{word}", how)
    for place, container in _containers(field, spec):
        if container.security_context is None:
            continue
        for word, attribute in _OF_CONTAINERS:
            if getattr(container.security_context, attribute) is not None:
                causes.forbidden(f"{place}.securityContext.{word}", how)


def _containers(field: str, spec: PodSpec) -> Iterator[tuple[str, Container]]:
    for word, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers):
            yield f"{field}.{word}[{index}]", container


def check_host_process(causes: Causes, field: str, spec: PodSpec) -> None:
    """Containers that run as processes of the host: all or none, and on the host's network."""
    of_pod = _host_process(spec.security_context)
    if of_pod is None and all(one.security_context is None for one in (*spec.init_containers, *spec.containers)):
        return
    answers = []
    for place, container in _containers(field, spec):
        own = _host_process(container.security_context)
        if own is not None and of_pod is not None and own != of_pod:
            what = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            causes.invalid(f"{place}.securityContext.windowsOptions.hostProcess", own, what)
        answers.append(bool(of_pod if own is None else own))
    if not any(answers):
        return
    if not all(answers):
        how = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        causes.invalid(field, "", how)
    if not spec.host_network:
        how = "hostNetwork must be true if pod contains any hostProcess containers"
        causes.invalid(f"{field}.hostNetwork", spec.host_network, how)


def _host_process(context: Any) -> bool | None:
    options: WindowsSecurityContextOptions | None = context.windows_options if context is not None else None
    return options.host_process if options is not None else None


def check_options(causes: Causes, field: str, options: WindowsSecurityContextOptions) -> None:
    """Accounts of Windows containers."""
    name, text, user = options.gmsa_credential_spec_name, options.gmsa_credential_spec, options.run_as_user_name
    if name is not None:
        causes.invalid(f"{field}.gmsaCredentialSpecName", name, *wellformed.subdomain(name))
    if text is not None:
        place = f"{field}.gmsaCredentialSpec"
        if not text:
            causes.invalid(place, text, "gmsaCredentialSpec cannot be an empty string")
        elif wellformed.size(text) > _MAX_SPEC:
            causes.invalid(place, text, f"gmsaCredentialSpec size must be under {_MAX_SPEC // 1024} KiB")
    if user is not None:
        causes.invalid(f"{field}.runAsUserName", user, *_user_faults(user))


def _user_faults(user: str) -> list[str]:
    if not user:
        return ["runAsUserName cannot be an empty string"]
    if _CONTROL.search(user):
        return ["runAsUserName cannot contain control characters"]
    if user.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, name = user.rpartition("\\")
    faults = _domain_faults(domain) if backslash else []
    if not name:
        faults.append("runAsUserName's User cannot be empty")
    elif len(name) > _MAX_USER:
        faults.append(f"runAsUserName's User length must not be longer than {_MAX_USER} characters")
    if _USER_CHARACTERS.search(name):
        faults.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    if name and not name.replace(".", "").replace(" ", ""):
        faults.append("runAsUserName's User cannot contain only periods or spaces")
    return faults


def _domain_faults(domain: str) -> list[str]:
    if len(domain) >= _MAX_DOMAIN:
        return [f"runAsUserName's Domain length must be under {_MAX_DOMAIN} characters"]
    if not _NET_BIOS.fullmatch(domain) and not _DNS_DOMAIN.fullmatch(domain):
        return ["runAsUserName's Domain doesn't match the NetBios nor the DNS format"]
    return []

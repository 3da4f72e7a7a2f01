"""Security contexts of containers and pods."""

from __future__ import annotations

from typing import Any, Final

from generated.core.v1 import (
    AppArmorProfile,
    PodSecurityContext,
    PodSpec,
    SeccompProfile,
    SecurityContext,
    SELinuxOptions,
    WindowsSecurityContextOptions,
)
from webhooks import wellformed
from webhooks.causes import Causes, within
from webhooks.podtemplate import windows

_MAX_ID: Final = 2**31 - 1
_PROC_MOUNTS: Final = ("Default", "Unmasked")
_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_ADMIN: Final = ("CAP_SYS_ADMIN",)
_FIELDS: Final = (  # of a security context, in the order and spelling in which a whole one is shown
    ("Capabilities", "capabilities"),
    ("Privileged", "privileged"),
    ("SELinuxOptions", "se_linux_options"),
    ("WindowsOptions", "windows_options"),
    ("RunAsUser", "run_as_user"),
    ("RunAsGroup", "run_as_group"),
    ("RunAsNonRoot", "run_as_non_root"),
    ("ReadOnlyRootFilesystem", "read_only_root_filesystem"),
    ("AllowPrivilegeEscalation", "allow_privilege_escalation"),
    ("ProcMount", "proc_mount"),
    ("SeccompProfile", "seccomp_profile"),
    ("AppArmorProfile", "app_armor_profile"),
)
_PROFILE: Final = (("Type", "type"), ("LocalhostProfile", "localhost_profile"))
_PARTS: Final[dict[type, tuple[tuple[str, str], ...]]] = {  # the same of its parts
    SELinuxOptions: (("User", "user"), ("Role", "role"), ("Type", "type"), ("Level", "level")),
    WindowsSecurityContextOptions: (
        ("GMSACredentialSpecName", "gmsa_credential_spec_name"),
        ("GMSACredentialSpec", "gmsa_credential_spec"),
        ("RunAsUserName", "run_as_user_name"),
        ("HostProcess", "host_process"),
    ),
    SeccompProfile: _PROFILE,
    AppArmorProfile: _PROFILE,
}
_HOST_IPC_SYSCTLS: Final = ("kernel.shm", "kernel.msg", "fs.mqueue.")


def check_container(causes: Causes, field: str, context: SecurityContext, spec: PodSpec) -> None:
    """The context of one container of the pod."""
    if context.run_as_user is not None:
        within(causes, f"{field}.runAsUser", context.run_as_user, 0, _MAX_ID)
    if context.run_as_group is not None:
        within(causes, f"{field}.runAsGroup", context.run_as_group, 0, _MAX_ID)
    if context.proc_mount is not None:
        if context.proc_mount not in _PROC_MOUNTS:
            causes.unsupported(f"{field}.procMount", context.proc_mount, _PROC_MOUNTS)
        if context.proc_mount == "Unmasked" and spec.host_users is not False:
            causes.invalid(f"{field}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    if context.seccomp_profile is not None:
        _check_seccomp(causes, f"{field}.seccompProfile", context.seccomp_profile)
    if context.allow_privilege_escalation is False:
        _check_escalation(causes, field, context)
    if context.windows_options is not None:
        windows.check_options(causes, f"{field}.windowsOptions", context.windows_options)
    if context.app_armor_profile is not None:
        _check_app_armor(causes, f"{field}.appArmorProfile", context.app_armor_profile)


def _check_escalation(causes: Causes, field: str, context: SecurityContext) -> None:
    if context.privileged:
        how = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        causes.invalid(field, _whole(context), how)
    added = context.capabilities.add if context.capabilities is not None else ()
    for capability in added:
        if capability in _ADMIN:
            how = f"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` {capability}"
            causes.invalid(field, _whole(context), how)


def _whole(context: SecurityContext) -> dict[str, Any]:
    """The context as a message shows it: in the server's internal spelling, with everything that is absent."""
    shown = {word: _in_internal_words(getattr(context, attribute)) for word, attribute in _FIELDS}
    capabilities = context.capabilities
    if capabilities is not None:
        shown["Capabilities"] = {"Add": capabilities.add or None, "Drop": capabilities.drop or None}
    return shown


def _in_internal_words(value: Any) -> Any:
    words = _PARTS.get(type(value))
    return value if words is None else {word: getattr(value, attribute) for word, attribute in words}


def _check_seccomp(causes: Causes, field: str, profile: SeccompProfile) -> None:
    _check_type(causes, field, profile.type, "seccompProfile")
    local = profile.localhost_profile
    place = f"{field}.localhostProfile"
    if profile.type == "Localhost":
        if local is None:
            causes.required(place, "must be set when seccomp type is Localhost")
        else:
            causes.invalid(place, local, *wellformed.descending(local))
    elif local is not None:
        whole = {"Type": profile.type, "LocalhostProfile": local}
        causes.invalid(place, whole, "can only be set when seccomp type is Localhost")


def _check_app_armor(causes: Causes, field: str, profile: AppArmorProfile) -> None:
    _check_type(causes, field, profile.type, "appArmorProfile")
    local = profile.localhost_profile
    place = f"{field}.localhostProfile"
    if profile.type != "Localhost":
        if local is not None and profile.type in _PROFILES:
            causes.invalid(place, local, "can only be set when AppArmor type is Localhost")
    elif not (local or "").strip():
        causes.required(place, "must be set when AppArmor type is Localhost")
    elif local and local != local.strip():
        causes.invalid(place, local, "must not be padded with whitespace")


def _check_type(causes: Causes, field: str, kind: str, word: str) -> None:
    if not kind:
        causes.required(f"{field}.type", f"type is required when {word} is set")
    elif kind not in _PROFILES:
        causes.unsupported(f"{field}.type", kind, _PROFILES)


def check_pod(causes: Causes, field: str, spec: PodSpec) -> None:
    """What holds for all containers of the pod. Sharing processes is no field of it, but is told under its path."""
    context = spec.security_context or PodSecurityContext()
    if context.fs_group is not None:
        within(causes, f"{field}.fsGroup", context.fs_group, 0, _MAX_ID)
    if context.run_as_user is not None:
        within(causes, f"{field}.runAsUser", context.run_as_user, 0, _MAX_ID)
    if context.run_as_group is not None:
        within(causes, f"{field}.runAsGroup", context.run_as_group, 0, _MAX_ID)
    for index, group in enumerate(context.supplemental_groups):
        within(causes, f"{field}.supplementalGroups[{index}]", group, 0, _MAX_ID)
    if spec.share_process_namespace and spec.host_pid:
        how = "ShareProcessNamespace and HostPID cannot both be enabled"
        causes.invalid(f"{field}.shareProcessNamespace", True, how)
    if context.sysctls:
        _check_sysctls(causes, f"{field}.sysctls", spec, context)
    _check_policy(causes, f"{field}.fsGroupChangePolicy", context.fs_group_change_policy, ("Always", "OnRootMismatch"))
    if context.seccomp_profile is not None:
        _check_seccomp(causes, f"{field}.seccompProfile", context.seccomp_profile)
    if context.windows_options is not None:
        windows.check_options(causes, f"{field}.windowsOptions", context.windows_options)
    if context.app_armor_profile is not None:
        _check_app_armor(causes, f"{field}.appArmorProfile", context.app_armor_profile)
    _check_policy(causes, f"{field}.supplementalGroupsPolicy", context.supplemental_groups_policy, ("Merge", "Strict"))
    _check_policy(causes, f"{field}.seLinuxChangePolicy", context.se_linux_change_policy, ("Recursive",))


def _check_policy(causes: Causes, field: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        causes.unsupported(field, value, known)


def _check_sysctls(causes: Causes, field: str, spec: PodSpec, context: PodSecurityContext) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(context.sysctls):
        place = f"{field}[{index}].name"
        name = sysctl.name.replace("/", ".")  # for the groups; duplicates are told by what is written
        if not sysctl.name:
            causes.required(place)
        elif faults := wellformed.sysctl(sysctl.name):
            causes.invalid(place, sysctl.name, *faults)
        elif sysctl.name in seen:
            causes.duplicate(place, sysctl.name)
        if spec.host_network and name.startswith("net."):
            causes.invalid(place, sysctl.name, "may not be specified when 'hostNetwork' is true")
        if spec.host_ipc and (name.startswith(_HOST_IPC_SYSCTLS) or name == "kernel.sem"):
            causes.invalid(place, sysctl.name, "may not be specified when 'hostIPC' is true")
        seen.add(sysctl.name)

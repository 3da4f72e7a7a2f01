"""Environment variables, and the fields of a pod that they and volumes may show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from generated.core.v1 import (
    Container,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    FileKeySelector,
    ObjectFieldSelector,
    PodSpec,
    ResourceFieldSelector,
    Volume,
)
from webhooks import wellformed
from webhooks.causes import Causes
from webhooks.podtemplate.abilities import Abilities
from webhooks.podtemplate.resources import amount

_OF_VARIABLES: Final = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
OF_VOLUMES: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_VERSIONS: Final = ("v1", "")
_FIELDS: Final = {*_OF_VARIABLES, *OF_VOLUMES, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
_KEYED: Final = {"metadata.annotations", "metadata.labels"}
_SUBSCRIPT = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL)
_RESOURCES: Final = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE: Final = ("limits.hugepages-", "requests.hugepages-")
_BYTES: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS: Final = {
    "cpu": ("cpu", ("1m", "1")),
    "memory": ("memory", _BYTES),
    "ephemeral-storage": ("local ephemeral storage", _BYTES),
    "hugepages-": ("hugepages", _BYTES),
}


def check(causes: Causes, field: str, container: Container, able: Abilities) -> None:
    """All variables of a container."""
    if container.env:
        _check_variables(causes, f"{field}.env", container.env, able)
    if container.env_from:
        _check_sources(causes, f"{field}.envFrom", container.env_from)


def _check_variables(causes: Causes, field: str, variables: tuple[EnvVar, ...], able: Abilities) -> None:
    for index, variable in enumerate(variables):
        if faults := wellformed.variable(variable.name):
            _refuse_name(causes, f"{field}[{index}].name", variable.name, faults)
        source = variable.value_from
        if source is not None and (variable.value or not _is_plain_field(source)):
            _check_origin(causes, f"{field}[{index}].valueFrom", source, bool(variable.value), able)


def _refuse_name(causes: Causes, field: str, name: str, faults: tuple[str, ...]) -> None:
    if name:
        causes.invalid(field, name, *faults)
    else:
        causes.required(field)


def _is_plain_field(source: EnvVarSource) -> bool:
    """Whether it is what most are: one of the known fields of the pod, and nothing else."""
    field = source.field_ref
    return (
        field is not None
        and field.field_path in _OF_VARIABLES
        and field.api_version in _VERSIONS
        and source.config_map_key_ref is None
        and source.secret_key_ref is None
        and source.resource_field_ref is None
        and source.file_key_ref is None
    )


def has_files(containers: tuple[Container, ...]) -> bool:
    """Whether a variable comes from a file."""
    for container in containers:  # a generator would take longer than all that it looks at
        for variable in container.env:
            if variable.value_from is not None and variable.value_from.file_key_ref is not None:
                return True
    return False


def check_file_volumes(causes: Causes, field: str, spec: PodSpec) -> None:
    """Files of variables lie in empty directories, valid ones or not."""
    volumes = {volume.name: volume for volume in spec.volumes}
    for word, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for place, container in enumerate(containers):
            for index, variable in enumerate(container.env):
                source = variable.value_from
                if source is not None and source.file_key_ref is not None:
                    where = f"{field}.{word}[{place}].env[{index}].valueFrom.fileKeyRef.volumeName"
                    _check_file_volume(causes, where, source.file_key_ref.volume_name, volumes)


def _check_file_volume(causes: Causes, place: str, name: str, volumes: Mapping[str, Volume]) -> None:
    volume = volumes.get(name)
    if volume is None:
        causes.not_found(place, name)
    elif volume.empty_dir is None:
        causes.invalid(place, name, "referenced volume must be of type emptyDir")


def _check_origin(
    causes: Causes,
    field: str,
    source: EnvVarSource,
    has_value: bool,  # noqa: FBT001  # of its own, which the variable must not have beside
    able: Abilities,
) -> None:
    count = 0
    if source.field_ref is not None:
        count += 1
        check_field(causes, f"{field}.fieldRef", source.field_ref, _OF_VARIABLES)
    if source.resource_field_ref is not None:
        count += 1
        check_resource(causes, f"{field}.resourceFieldRef", source.resource_field_ref, needs_container=False)
    for word, key in (("configMapKeyRef", source.config_map_key_ref), ("secretKeyRef", source.secret_key_ref)):
        if key is not None:
            count += 1
            _check_name(causes, f"{field}.{word}.name", key.name)
            _check_text(causes, f"{field}.{word}.key", key.key, wellformed.config_key)
    if able.has_env_files and source.file_key_ref is not None:
        count += 1
        _check_file(causes, f"{field}.fileKeyRef", source.file_key_ref)
    if count == 0:
        words = ["`fieldRef`", "`resourceFieldRef`", "`configMapKeyRef`", "`secretKeyRef`", "`fileKeyRef`"]
        known = words if able.has_env_files else words[:-1]
        causes.invalid(field, "", f"must specify one of: {', '.join(known[:-1])} or {known[-1]}")
    elif has_value:
        causes.invalid(field, "", "may not be specified when `value` is not empty")
    elif count > 1:
        causes.invalid(field, "", "may not have more than one field specified at a time")


def _check_name(causes: Causes, field: str, name: str) -> None:
    """Of a ConfigMap or Secret; an empty one is taken for a name that nothing has."""
    causes.invalid(field, name, *wellformed.subdomain(name))


def _check_text(causes: Causes, field: str, text: str, faults: Callable[[str], tuple[str, ...]]) -> None:
    if not text:
        causes.required(field)
    else:
        causes.invalid(field, text, *faults(text))


def _check_file(causes: Causes, field: str, file: FileKeySelector) -> None:
    _check_text(causes, f"{field}.key", file.key, wellformed.variable)
    _check_text(causes, f"{field}.volumeName", file.volume_name, wellformed.label)
    _check_text(causes, f"{field}.path", file.path, wellformed.backsteps)


def _check_sources(causes: Causes, field: str, sources: tuple[EnvFromSource, ...]) -> None:
    for index, source in enumerate(sources):
        place = f"{field}[{index}]"
        if source.prefix:
            causes.invalid(f"{place}.prefix", source.prefix, *wellformed.variable(source.prefix))
        count = 0
        for word, ref in (("configMapRef", source.config_map_ref), ("secretRef", source.secret_ref)):
            if ref is not None:
                count += 1
                _check_text(causes, f"{place}.{word}.name", ref.name, wellformed.subdomain)
        if count != 1:
            how = "may not have more than one field specified at a time"
            causes.invalid(field, "", how if count else "must specify one of: `configMapRef` or `secretRef`")


def check_field(causes: Causes, field: str, ref: ObjectFieldSelector, supported: tuple[str, ...]) -> None:
    """A field of the pod. Keys of labels and annotations may follow in brackets."""
    path = ref.field_path
    if not path:
        causes.required(f"{field}.fieldPath")
        return
    subscript = _SUBSCRIPT.fullmatch(path) if path.endswith("']") else None  # a search for it would be quadratic
    if problem := _conversion_problem(path, subscript, ref.api_version):
        causes.invalid(f"{field}.fieldPath", path, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        name = subscript[2].lower() if subscript[1] == "metadata.annotations" else subscript[2]
        causes.invalid(field, name, *wellformed.qualified_name(name))
    else:
        known = "spec.nodeName" if path == "spec.host" else path
        if known not in supported:
            causes.unsupported(f"{field}.fieldPath", known, supported)


def _conversion_problem(path: str, subscript: re.Match[str] | None, version: str) -> str:
    if version not in _VERSIONS:
        return f"unsupported pod version: {version}"
    if subscript is not None:
        return "" if subscript[1] in _KEYED else f"field label does not support subscript: {path}"
    return "" if path in _FIELDS else f"field label not supported: {path}"


def check_resource(causes: Causes, field: str, ref: ResourceFieldSelector, *, needs_container: bool) -> None:
    """An amount of a container, in units of a divisor."""
    if needs_container and not ref.container_name:
        causes.required(f"{field}.containerName")
    elif not ref.resource:
        causes.required(f"{field}.resource")
    elif ref.resource not in _RESOURCES and not ref.resource.startswith(_HUGE):
        causes.unsupported(f"{field}.resource", ref.resource, _RESOURCES)
    if ref.divisor in {None, 0, "0", ""}:
        return
    family = ref.resource.partition(".")[2]
    for start, (name, divisors) in _DIVISORS.items():
        if (family == start or (start.endswith("-") and family.startswith(start))) and (
            str(amount(ref.divisor or 0)) not in divisors
        ):
            known = "1m and 1" if start == "cpu" else ", ".join(divisors)
            causes.invalid(
                f"{field}.divisor",
                ref.resource,
                f"only divisor's values {known} are supported with the {name} resource",
            )

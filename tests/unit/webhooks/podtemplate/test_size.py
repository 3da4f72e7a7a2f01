"""What one request may hold is judged in time that grows with it: any of these would take minutes if it were squared."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from generated.core.v1 import PodTemplateSpec
from webhooks import causes
from webhooks.podtemplate import abilities, check

NEWEST = abilities((1, 36), pod_resources=True)
MANY = 30_000
Json = dict[str, Any]


def found(spec: Json, annotations: Json | None = None, **of_container: Any) -> list[str]:
    container = {"name": "c", "image": "i", "terminationMessagePolicy": "File", **of_container}
    raw = {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [container], **spec}}
    template = msgspec.json.decode(msgspec.json.encode(raw), type=PodTemplateSpec)
    return list(map(str, check(template, NEWEST)))


def names(start: str) -> list[str]:
    return [f"{start}{number}" for number in range(MANY)]


def hidden(count: int) -> str:
    return f"template: {count} more mistakes are not shown"


def test_known_claims() -> None:
    pod = [{"name": name, "resourceClaimName": "r"} for name in names("c")]
    assert found({"resourceClaims": pod}, resources={"claims": [{"name": name} for name in names("c")]}) == []


def test_unknown_claims_beside_many_known_ones() -> None:
    pod = [{"name": name, "resourceClaimName": "r"} for name in names("c")]
    told = found({"resourceClaims": pod}, resources={"claims": [{"name": name} for name in names("d")]})
    assert told[-1] == hidden(MANY - len(told) + 1)
    assert sum(map(len, told)) < 2 * causes.LONGEST_TOLD + MANY * 10


def test_whole_claims_beside_their_requests() -> None:
    claims = [{"name": "c", "request": name} for name in names("r")] + [{"name": "c"}] * MANY
    told = found({"resourceClaims": [{"name": "c", "resourceClaimName": "r"}]}, resources={"claims": claims})
    assert len(told) == causes.MOST_TOLD + 1
    assert told[0] == f'template.spec.containers[0].resources.claims[{MANY}]: Duplicate value: "c"'
    assert told[-1] == hidden(MANY * MANY - causes.MOST_TOLD)


def test_spread_constraints() -> None:
    one = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    constraints = [{**one, "topologyKey": name} for name in (*names("k"), "k0")]
    place = "template.spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"
    assert found({"topologySpreadConstraints": constraints}) == [f'{place}: Duplicate value: "{{k0, DoNotSchedule}}"']


def test_label_keys_of_affinity() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {},
        "matchLabelKeys": [*names("a"), "b0"],
        "mismatchLabelKeys": names("b"),
    }
    told = found({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}})
    assert [text.rpartition(": ")[2] for text in told] == ["exists in both matchLabelKeys and mismatchLabelKeys"]


def test_files_of_variables() -> None:
    volumes = [{"name": name, "emptyDir": {}} for name in names("v")]
    env = [
        {"name": "E", "valueFrom": {"fileKeyRef": {"key": "k", "volumeName": name, "path": "p"}}} for name in names("v")
    ]
    assert found({"volumes": volumes}, env=env) == []


def test_mounts_beside_devices() -> None:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": "p"}} for name in (*names("d"), *names("m"))]
    devices = [{"name": name, "devicePath": f"/dev/{name}"} for name in names("d")]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in names("m")]
    assert found({"volumes": volumes}, volumeDevices=devices, volumeMounts=mounts) == []


def test_profiles_of_containers() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/"
    containers = [{"name": name, "image": "i", "terminationMessagePolicy": "File"} for name in names("c")]
    told = found({"containers": containers}, {f"{key}{name}": "unconfined" for name in names("d")})
    assert len(told) == causes.MOST_TOLD + 1


def test_sums_of_many_resources_over_many_containers() -> None:
    asked = {f"hugepages-{number}Ki": "0" for number in range(1, MANY)}
    containers = [
        {"name": name, "image": "i", "resources": {"requests": {"cpu": 1}}, "terminationMessagePolicy": "File"}
        for name in names("c")
    ]
    told = found({"containers": containers, "resources": {"requests": {"cpu": 1, **asked}}})
    assert len(told) == causes.MOST_TOLD + 1


def test_brackets_in_paths_of_fields() -> None:
    env = [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "['" * 200_000}}}]
    assert len(found({}, env=env)) == 1


@pytest.mark.parametrize("cost", ["9" * 5000, "-" + "9" * 5000])
def test_digits_without_end_are_no_cost(cost: str) -> None:
    told = found({}, {"controller.kubernetes.io/pod-deletion-cost": cost})
    assert [text.rpartition(": ")[2] for text in told] == ["must be a 32bit integer"]

"""How components hold pods."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.poddecoding import pod_decoder


def a_pod(number: int, node: str = "", /, **status: Any) -> bytes:
    token = f"kube-api-access-abcd{number}"
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": token, "mountPath": "/var"}]}
    spec = {"containers": [container], "volumes": [{"name": token, "projected": {}}], "schedulerName": "volcano"}
    if node:
        spec["nodeName"] = node
    return msgspec.json.encode(
        {
            "metadata": {"name": f"p-{number}"},
            "spec": spec,
            "status": {"phase": "Running", "podIP": "10.0.0.1", **status},
        }
    )


def test_pods_of_one_template_share_what_is_in_their_spec() -> None:
    decoder = pod_decoder()
    first, second = (decoder.decode(a_pod(number)) for number in (1, 2))
    assert first.spec == second.spec
    assert first.spec.containers is second.spec.containers
    assert first.spec.volumes[0].name == "kube-api-access"


def test_pods_that_differ_in_their_node_share_all_but_that() -> None:
    decoder = pod_decoder()
    first, second = (decoder.decode(a_pod(number, f"n-{number}")) for number in (1, 2))
    assert (first.spec.node_name, second.spec.node_name) == ("n-1", "n-2")
    assert first.spec.containers is second.spec.containers


@pytest.mark.parametrize(("keeps", "address"), [(False, ""), (True, "10.0.0.1")])
def test_addresses_are_kept_for_those_who_ask(keeps: bool, address: str) -> None:
    assert pod_decoder(with_addresses=keeps).decode(a_pod(1)).status.pod_ip == address


def test_what_decides_about_a_pod_is_kept() -> None:
    status = {
        "name": "c",
        "restartCount": 3,
        "ready": True,
        "state": {"terminated": {"exitCode": 7, "containerID": "x"}},
    }
    pod = pod_decoder().decode(a_pod(1, containerStatuses=[status]))
    (found,) = pod.status.container_statuses
    assert (found.restart_count, found.ready) == (3, True)
    assert found.state.terminated is not None
    assert (found.state.terminated.exit_code, found.state.terminated.container_id) == (7, "")


SIZE = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}


def test_what_the_kubelet_says_of_the_size_of_containers_is_shared() -> None:
    decoder = pod_decoder()
    held = {"name": "c", "resources": SIZE, "allocatedResources": SIZE["requests"]}
    statuses = {"containerStatuses": [held], "initContainerStatuses": [held]}
    first, second = (decoder.decode(a_pod(number, **statuses)).status for number in (1, 2))
    for one, other in (
        (first.container_statuses[0], second.container_statuses[0]),
        (first.init_container_statuses[0], second.init_container_statuses[0]),
    ):
        assert msgspec.to_builtins(one.resources) == SIZE
        assert one.resources is other.resources
        assert one.allocated_resources is other.allocated_resources


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("resources", SIZE),
        ("schedulingGates", [{"name": "a"}]),
        ("resourceClaims", [{"name": "a", "resourceClaimTemplateName": "t"}]),
        ("imagePullSecrets", [{"name": "registry"}]),
    ],
)
def test_pods_with_host_names_of_their_own_share_what_else_is_in_their_spec(field: str, value: Any) -> None:
    decoder = pod_decoder()
    specs = [
        decoder.decode(msgspec.json.encode({"spec": {"hostname": name, "containers": [], field: value}})).spec
        for name in ("a", "b")
    ]
    first, second = (msgspec.structs.asdict(spec) for spec in specs)
    name = {info.encode_name: info.name for info in msgspec.structs.fields(specs[0])}[field]
    assert msgspec.json.decode(msgspec.json.encode(first[name])) == value
    assert first[name] is second[name]

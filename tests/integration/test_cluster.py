"""The control plane as a library: what it offers, what options change, and that several live side by side."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from cluster import ControlPlane, NodePool, Options
from cluster.annotations import GPU, RACK, RUN_SECONDS, ZONE
from cluster.binaries import Binaries
from cluster.errors import AlreadyRunningError, NotRunningError
from cluster.hints import typed
from cluster.nodes import Taint
from cluster.pki import Files
from cluster.processes import marked_with, wait_until
from cluster.rest import Api
from runtime.errors import ApiError, ConnectionFailed, Invalid, NotFound
from tests.integration import versions

PATIENCE = 60.0

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "things%(number)s.test.stromboli.dev"}
spec:
  group: test.stromboli.dev
  names: {plural: "things%(number)s", singular: "thing%(number)s", kind: "Thing%(number)s"}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {size: {type: integer, minimum: 1}}}
"""


def succeeds(plane: ControlPlane, path: str) -> bool:
    return wait_until(lambda: plane.api.get(path)["status"]["phase"] == "Succeeded", PATIENCE)


def short_pod(name: str, node: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "annotations": {RUN_SECONDS: "0"}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "busybox"}]},
    }


def test_the_kubeconfig_works_with_kubectl(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    kubectl = Binaries(control_plane.options.kubernetes, print).find("kubectl")
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(tmp_path)}
    command = [str(kubectl), "get", "namespace", namespace, "-o", "jsonpath={.status.phase}"]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert answer.stdout == "Active"


def test_the_kubeconfig_works_with_the_official_client(kubeconfig: Path, namespace: str) -> None:
    configuration = client.Configuration()
    config.load_kube_config(  # type: ignore[no-untyped-call]
        str(kubeconfig), client_configuration=configuration, persist_config=False
    )
    with client.ApiClient(configuration) as api:
        assert client.CoreV1Api(api).read_namespace(namespace).to_dict()["status"]["phase"] == "Active"
        assert client.VersionApi(api).get_code().git_version == "v1.36.1"


def test_each_test_has_a_namespace_in_which_pods_can_be_created(
    control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    assert namespace.startswith("test-each-test-has-a-namespace")
    (node,) = kwok_nodes(1)
    path = f"/api/v1/namespaces/{namespace}/pods"
    control_plane.api.create(path, short_pod("first", node))
    assert succeeds(control_plane, f"{path}/first")


def test_nodes_have_the_sizes_labels_and_taints_that_were_asked_for(
    control_plane: ControlPlane, kwok_nodes: Callable[..., list[str]]
) -> None:
    names = kwok_nodes(
        4,
        resources={"cpu": "64", GPU: "8", "example.com/fpga": "2"},
        labels={"pool": "gpu"},
        taints=(Taint("dedicated", "gpu", "NoSchedule"),),
        racks=2,
        zones=2,
    )
    nodes = [control_plane.api.get(f"/api/v1/nodes/{name}") for name in names]
    for node in nodes:
        assert node["status"]["allocatable"]["cpu"] == "64"
        assert node["status"]["allocatable"][GPU] == "8"
        assert node["status"]["capacity"]["example.com/fpga"] == "2"
        assert node["status"]["capacity"]["memory"] == "32Gi"
        assert node["metadata"]["labels"]["pool"] == "gpu"
        assert {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"} in node["spec"]["taints"]
    places = [(node["metadata"]["labels"][RACK], node["metadata"]["labels"][ZONE]) for node in nodes]
    assert places == [("rack-0", "zone-0"), ("rack-1", "zone-1")] * 2


def test_nodes_renew_their_leases(control_plane: ControlPlane, kwok_nodes: Callable[..., list[str]]) -> None:
    (name,) = kwok_nodes(1)
    path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}"

    def renewed() -> str:
        try:
            return str(control_plane.api.get(path)["spec"]["renewTime"])
        except NotFound:
            return ""

    assert wait_until(lambda: bool(renewed()), PATIENCE)
    first = renewed()
    assert wait_until(lambda: renewed() != first, PATIENCE, pause=0.5)


def test_definitions_are_established_when_applied(control_plane: ControlPlane) -> None:
    control_plane.apply_crds(yaml.safe_load(CRD % {"number": number}) for number in range(3))
    things = "/apis/test.stromboli.dev/v1/things2"
    manifest = {"apiVersion": "test.stromboli.dev/v1", "kind": "Thing2", "metadata": {"name": "a"}}
    control_plane.api.create(things, {**manifest, "size": 1})
    with pytest.raises(Invalid):
        control_plane.api.create(things, {**manifest, "metadata": {"name": "b"}, "size": 0})


def test_access_control_is_real(control_plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    token = control_plane.api.create(
        f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )["status"]["token"]
    kubectl = Binaries(control_plane.options.kubernetes, print).find("kubectl")
    # Not the kubeconfig itself: its client certificate would win over the token.
    certificate = control_plane.layout.pki / "ca.crt"
    command = [
        str(kubectl),
        f"--server={control_plane.server}",
        f"--certificate-authority={certificate}",
        f"--token={token}",
    ]
    who = subprocess.run(
        [*command, "auth", "whoami"], check=True, capture_output=True, text=True, env={"HOME": str(tmp_path)}
    )
    assert f"system:serviceaccount:{namespace}:default" in who.stdout
    pods = subprocess.run(
        [*command, "get", "pods"], check=False, capture_output=True, text=True, env={"HOME": str(tmp_path)}
    )
    assert pods.returncode == 1
    assert "is forbidden" in pods.stderr


def webhook(name: str) -> dict[str, Any]:
    """A webhook that is asked for every ConfigMap, and must answer."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.stromboli.dev",
                "clientConfig": {"service": {"name": "nobody", "namespace": "nowhere", "path": "/check"}},
                "rules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
                ],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "failurePolicy": "Fail",
                "timeoutSeconds": 1,
            }
        ],
    }


def test_webhooks_are_called_at_the_given_address(control_plane: ControlPlane, namespace: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))  # bound and not listening: calls are refused
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        pem = (control_plane.layout.pki / "ca.crt").read_bytes()
        control_plane.apply_webhooks([webhook(namespace)], url, pem)
        refusals: list[str] = []

        def is_refused() -> bool:
            try:
                control_plane.api.create(
                    f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"generateName": "a-"}}
                )
            except ApiError as error:
                refusals.append(str(error))
            return bool(refusals)

        assert wait_until(is_refused, PATIENCE)
    assert f"{url}/check" in refusals[0]
    path = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{namespace}"
    control_plane.api.delete(path)


def test_two_live_side_by_side(control_plane: ControlPlane, tmp_path: Path) -> None:
    with ControlPlane("second", directory=tmp_path / "second", nodes=[NodePool(2, prefix="second")]) as second:
        assert second.server != control_plane.server
        assert second.kubeconfig != control_plane.kubeconfig
        first_nodes = {node["metadata"]["name"] for node in control_plane.api.items("/api/v1/nodes")}
        second_nodes = {node["metadata"]["name"] for node in second.api.items("/api/v1/nodes")}
        assert second_nodes == {"second-0", "second-1"}
        assert not first_nodes & second_nodes
        facts, files = control_plane.status().facts, Files(second.layout.pki)
        assert facts is not None
        with pytest.raises(ConnectionFailed, match="certificate verify failed"):
            Api(facts.api_port, files.ca, files.client).get("/readyz")
        with pytest.raises(AlreadyRunningError, match="control plane 'second' runs already"):
            ControlPlane("second", directory=tmp_path / "second").start()
        assert second.status().is_running
    assert control_plane.status().is_running
    assert not second.status().is_running
    assert not (tmp_path / "second").exists()
    assert marked_with(tmp_path / "second") == []


def arguments(plane: ControlPlane, component: str) -> list[str]:
    processes = plane.status().processes
    assert processes is not None
    (pid,) = (record.pid for record in processes.components if record.name == component)
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def test_options_reach_the_servers(tmp_path: Path) -> None:
    options = Options(
        heartbeats=False,
        webhooks=False,
        feature_gates={"AllAlpha": False},
        runtime_config=("internal.apiserver.k8s.io/v1alpha1=true",),
        apiserver_args=("--max-requests-inflight=77",),
        # Shortened, so that a node without heartbeats shows what the option's own value protects it from.
        controller_manager_args=("--node-monitor-grace-period=3s", "--node-monitor-period=1s"),
    )
    with ControlPlane("options", directory=tmp_path / "x", options=options, nodes=[NodePool(3)]) as plane:
        nodes = plane.api.items("/api/v1/nodes")
        assert [node["spec"].get("taints", []) for node in nodes] == [[], [], []]
        pods = "/api/v1/namespaces/default/pods"
        plane.api.create(pods, short_pod("first", "node-0"))
        assert succeeds(plane, f"{pods}/first")
        assert plane.api.items("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases") == []
        assert plane.api.get("/apis/internal.apiserver.k8s.io/v1alpha1")["resources"]
        assert "--max-requests-inflight=77" in arguments(plane, "kube-apiserver")
        assert "--max-requests-inflight=2000" not in arguments(plane, "kube-apiserver")
        plane.apply_webhooks([webhook("default")], "https://127.0.0.1:1", b"not asked")
        plane.api.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "unchecked"}})
        late = {"fieldSelector": "reason=NodeNotReady"}
        assert wait_until(lambda: bool(plane.api.items("/api/v1/events", **late)), PATIENCE)


@pytest.mark.parametrize("version", versions.ALL)
def test_each_supported_version_works(version: str, tmp_path: Path, report: Callable[[str], None]) -> None:
    versions.need(version)
    options = Options(kubernetes=version)
    plane = ControlPlane("x", directory=tmp_path / "x", options=options, nodes=[NodePool(1)], report=report)
    with plane:
        assert plane.api.get("/version")["gitVersion"] == version
        pods = "/api/v1/namespaces/default/pods"
        plane.api.create(pods, short_pod("first", "node-0"))
        assert succeeds(plane, f"{pods}/first")
        plane.apply_crds([yaml.safe_load(CRD % {"number": 1})])
        assert plane.api.get("/apis/test.stromboli.dev/v1/things1")["items"] == []


def test_what_is_not_there_says_how_to_start_it(tmp_path: Path) -> None:
    plane = ControlPlane("x", directory=tmp_path / "x")
    assert plane.status().problem == "was never started, or was taken down"
    with pytest.raises(NotRunningError, match=rf"start one: {re.escape(typed('up', directory=tmp_path / 'x'))}$"):
        _ = plane.server
    plane.stop()
    assert not (tmp_path / "x").exists()

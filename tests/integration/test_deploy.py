"""
`make deploy` on the real control plane: every overlay and feature, in any order, and the system that comes of it.

The pods of the installation are simulated; what they would run is started on this machine in their place, as their
service accounts. Each test brings about what it begins with; they stand in an order in which that takes the least time.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane, NodePool, Options
from cluster.binaries import Binaries
from cluster.processes import wait_until
from cluster.versions import DEFAULT_KUBERNETES
from hack.deploy import order, rendering, waiting
from hack.deploy.__main__ import main
from hack.deploy.kubectl import MANAGER, Kubectl, Object, load
from runtime.errors import ApiError, NotFound
from tests.integration.installation import SYSTEM, Process, route_webhooks

ROOT = Path(__file__).resolve().parents[2]
OTHERS = ROOT / "hack" / "tools" / "custom-resources"
CRDS = {
    "github.com/cert-manager/cert-manager": "deploy/crds/cert-manager.io_*.yaml",
    "github.com/prometheus-operator/prometheus-operator": (
        "example/prometheus-operator-crd/monitoring.coreos.com_*ors.yaml"
    ),
}
RULES = "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
MINUTE = 60.0
FEATURES = rendering.features()
PROCESSES = ["agent-scheduler", "hypernode"]
"""Features with a process of their own."""
TOGETHER = [name for name in FEATURES if name != "policies"]
"""Features that can all be there at once: policies stand in the place of what others belong to."""
LABEL = "app.kubernetes.io/part-of=volcano"
NAMESPACES = (SYSTEM, "volcano-monitoring")
ANYWHERE = (
    f"{REGISTRATION}/mutatingwebhookconfigurations", f"{REGISTRATION}/validatingwebhookconfigurations",
    f"{REGISTRATION}/validatingadmissionpolicies", f"{REGISTRATION}/validatingadmissionpolicybindings",
    "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies",
    "/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicybindings",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
)  # fmt: skip
"""What of an installation is outside of its namespaces."""
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RENDER = rendering.render
pytestmark = pytest.mark.xdist_group("deploy")  # one control plane after another would be made otherwise


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory, report: Callable[[str], None]) -> Iterator[ControlPlane]:
    """A cluster of its own, since an installation belongs to a whole cluster, with Kubernetes' scheduler."""
    directory = tmp_path_factory.mktemp("deploy")
    program = Binaries(DEFAULT_KUBERNETES, report).find("kube-scheduler")
    nodes = [NodePool(3, prefix="node", resources={"cpu": "16", "memory": "64Gi"})]
    options = Options(  # for the mutating ones among the policies, and as strict about owners as OpenShift's
        runtime_config=("admissionregistration.k8s.io/v1beta1=true",), feature_gates={"MutatingAdmissionPolicy": True},
        apiserver_args=("--enable-admission-plugins=OwnerReferencesPermissionEnforcement",),
    )  # fmt: skip
    with ControlPlane("deploy", directory=directory / "cluster", options=options, nodes=nodes, report=report) as made:
        apply_crds_of_others(made)
        command = [str(program), f"--kubeconfig={made.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        with (directory / "kube-scheduler.log").open("wb") as log:
            scheduler = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield made
        finally:
            scheduler.kill()
            scheduler.wait()


def apply_crds_of_others(plane: ControlPlane) -> None:
    """Kinds of other operators, from their pinned Go modules; their controllers don't run here."""
    go = shutil.which("go")
    assert go, "Go is needed to fetch the pinned modules in hack/tools/custom-resources"
    done = subprocess.run(
        [go, "mod", "download", "-json", *CRDS],
        cwd=OTHERS, check=False, capture_output=True, text=True, env={**os.environ, "GOFLAGS": "-mod=readonly"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr or done.stdout
    decoder, text, folders = json.JSONDecoder(), done.stdout.strip(), {}
    while text:
        module, end = decoder.raw_decode(text)
        folders[module["Path"]] = Path(module["Dir"])
        text = text[end:].strip()
    paths = [path for name, pattern in CRDS.items() for path in sorted(folders[name].glob(pattern))]
    paths.append(next(folder / RULES for folder in folders.values() if (folder / RULES).exists()))
    plane.apply_crds(found for path in paths for found in load(path.read_text()))


@pytest.fixture
def deploy(plane: ControlPlane) -> Callable[..., int]:
    """`python -m hack.deploy` against the control plane; gives the exit code."""

    def run(command: str, *flags: str) -> int:
        cluster = [] if command == "manifest" else [f"--kubeconfig={plane.kubeconfig}"]
        return main([command, *cluster, *flags])

    return run


@pytest.fixture
def kubectl(plane: ControlPlane) -> Kubectl:
    return Kubectl(str(plane.kubeconfig))


@pytest.fixture(autouse=True)
def rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rendering takes seconds and gives the same for the same words."""

    def render(environment: str, extra: Sequence[str] = (), image: str = "") -> list[Object]:
        return copy.deepcopy(rendered(environment, tuple(extra), image))

    monkeypatch.setattr(rendering, "render", render)


@cache
def rendered(environment: str, extra: tuple[str, ...], image: str) -> list[Object]:
    return RENDER(environment, extra, image)


@pytest.fixture
def cleared(plane: ControlPlane) -> None:
    """Nothing of an installation is there but its kinds."""
    for place in ANYWHERE:
        plane.api.request("DELETE", place, query={"labelSelector": LABEL})
    remove(plane, [f"/api/v1/namespaces/{name}" for name in NAMESPACES])


@pytest.fixture
def bare(plane: ControlPlane, cleared: None) -> None:
    """Not even its kinds. A server that gets or loses many of these is busy for long, so few tests ask for that."""
    ours = plane.api.items(DEFINITIONS, labelSelector=LABEL)
    remove(plane, [f"{DEFINITIONS}/{found['metadata']['name']}" for found in ours])


def remove(plane: ControlPlane, paths: list[str]) -> None:
    there = [path for path in paths if is_there(plane, path)]
    plane.api.each(plane.api.delete, there)
    for path in there:
        assert wait_until(partial(is_gone, plane, path), MINUTE), path


@pytest.fixture
def installed(deploy: Callable[..., int]) -> None:
    assert deploy("apply", "--env=dev", "--wait=0", "--take-over", "--accept=rival") == 0


def is_there(plane: ControlPlane, path: str) -> bool:
    try:
        plane.api.get(path)
    except NotFound:
        return False
    return True


def is_gone(plane: ControlPlane, path: str) -> bool:
    return not is_there(plane, path)


def versions(kubectl: Kubectl, objects: list[dict[str, Any]]) -> dict[str, str]:
    """The generations of all objects, or where they have none their versions: statuses change by themselves."""
    return {
        order.label(found): str(found["metadata"].get("generation", found["metadata"]["resourceVersion"]))
        for found in kubectl.live(objects)
        if found["kind"] != "Namespace"
    }


@pytest.mark.usefixtures("bare")
def test_a_foreign_scheduler_without_a_lease_stops_everything(
    plane: ControlPlane, deploy: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = next(found for found in rendering.render("dev") if found["kind"] == "Deployment"
                   and found["metadata"]["name"] == "volcano-scheduler")  # fmt: skip
    foreign["metadata"]["namespace"] = "default"
    plane.api.create(DEPLOYMENTS.format("default"), foreign)
    try:
        assert deploy("apply", "--env=dev", "--wait=0") == 1
        assert "Deployment default/volcano-scheduler runs 1 replicas and holds no lease" in capsys.readouterr().err
        assert not is_there(plane, f"/api/v1/namespaces/{SYSTEM}")
        plane.api.merge(f"{DEPLOYMENTS.format('default')}/volcano-scheduler", {"spec": {"replicas": 0}})
        assert deploy("preflight", "--env=dev") == 0
    finally:
        plane.api.delete(f"{DEPLOYMENTS.format('default')}/volcano-scheduler")


@pytest.mark.usefixtures("bare")
def test_every_overlay_goes_up_in_one_command_and_doing_it_again_changes_nothing(
    plane: ControlPlane, deploy: Callable[..., int], kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    for environment in rendering.environments():  # one after the other, as one moves on to the next
        assert deploy("apply", f"--env={environment}", "--wait=60") == 0, capsys.readouterr().err
        objects = rendering.render(environment)
        before = versions(kubectl, objects)
        assert len(before) == len(objects) - len(NAMESPACES)
        if environment == "production":
            replicas_stand_on_different_nodes(plane)
            assert deploy("apply", f"--env={environment}", "--wait=60") == 0, capsys.readouterr().err
            assert versions(kubectl, objects) == before


def replicas_stand_on_different_nodes(plane: ControlPlane) -> None:
    nodes: dict[str, list[str]] = {}
    for pod in plane.api.items(f"/api/v1/namespaces/{SYSTEM}/pods"):
        if "deletionTimestamp" not in pod["metadata"]:
            nodes.setdefault(pod["metadata"]["labels"]["app"], []).append(pod["spec"]["nodeName"])
    assert set(nodes) == {"volcano-scheduler", "volcano-controller", "volcano-admission"}
    assert all(len(found) == len(set(found)) == 2 for found in nodes.values()), nodes


@pytest.mark.usefixtures("cleared")
def test_in_any_order_everything_is_there_after_a_few_tries(kubectl: Kubectl) -> None:
    objects = rendering.render("dev")
    random.Random(1).shuffle(objects)
    places = [found["kind"] for found in objects]
    assert places.index("Deployment") < places.index("Namespace")  # this order is a bad one

    def applied() -> bool:
        return not kubectl.attempt("apply", "--server-side", MANAGER, "--filename=-", objects=objects)

    assert wait_until(applied, MINUTE, 0.5)
    assert len(versions(kubectl, objects)) == len(objects) - len(NAMESPACES)
    waiting.wait(kubectl, objects, 60, print)


@pytest.mark.usefixtures("cleared")
def test_the_one_file_is_taken_in_one_go_by_a_plain_kubectl_apply(
    tmp_path: Path, deploy: Callable[..., int], kubectl: Kubectl
) -> None:
    file = tmp_path / "out" / "install.yaml"
    assert deploy("manifest", "--env=production", f"--output={file}", "--image=example/volcano@sha256:" + "0" * 64) == 0
    kubectl.run("apply", f"--filename={file}")
    objects = load(file.read_text())
    assert len(versions(kubectl, objects)) == len(objects) - len(NAMESPACES)
    images = {found["spec"]["template"]["spec"]["containers"][0]["image"]
              for found in objects if found["kind"] == "Deployment"}  # fmt: skip
    assert images == {"example/volcano@sha256:" + "0" * 64}


@pytest.mark.usefixtures("cleared")
def test_what_helm_installed_becomes_ours_and_nothing_of_it_is_left_over(
    plane: ControlPlane, deploy: Callable[..., int], kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = rendering.render("dev")
    theirs = [found for found in copy.deepcopy(objects) if found["kind"] in {"Namespace", "ConfigMap", "Deployment"}]
    for found in theirs:
        found["metadata"].setdefault("annotations", {}).update({
            "meta.helm.sh/release-name": "volcano", "meta.helm.sh/release-namespace": SYSTEM,
        })  # fmt: skip
        if found["kind"] == "Deployment":
            found["spec"]["replicas"] = 0
            container = found["spec"]["template"]["spec"]["containers"][0]
            container["args"] = ["--leader-elect=false", "2>&1"]
            container["env"] = [{"name": "GOMEMLIMIT", "value": "1GiB"}]
    for stage in order.stages(theirs):
        kubectl.run("create", "--field-manager=helm", "--filename=-", objects=stage)
    assert deploy("apply", "--env=dev", "--wait=0") == 1
    assert "belong to the helm release volcano-system/volcano" in capsys.readouterr().err
    assert deploy("apply", "--env=dev", "--wait=0", "--take-over") == 0, capsys.readouterr().err
    for found in kubectl.live(objects):
        assert "meta.helm.sh/release-name" not in found["metadata"].get("annotations", {}), order.label(found)
        if found["kind"] == "Deployment":
            [container] = found["spec"]["template"]["spec"]["containers"]
            assert "GOMEMLIMIT" not in {entry["name"] for entry in container.get("env", ())}
            assert "2>&1" not in container["args"]


@pytest.mark.usefixtures("installed")
def test_what_others_changed_is_named_and_replaced_only_when_asked(
    plane: ControlPlane, deploy: Callable[..., int], kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl.run("scale", "deployment/volcano-controllers", f"--namespace={SYSTEM}", "--replicas=3")
    assert deploy("apply", "--env=dev", "--wait=0") == 1
    assert "Deployment volcano-system/volcano-controllers: kubectl set .spec.replicas otherwise" in (
        capsys.readouterr().err
    )
    assert deploy("apply", "--env=dev", "--wait=0", "--take-over") == 0
    assert plane.api.get(f"{DEPLOYMENTS.format(SYSTEM)}/volcano-controllers")["spec"]["replicas"] == 1


@pytest.mark.usefixtures("installed")
def test_policies_take_the_place_of_the_webhooks_and_leave_it_again(
    plane: ControlPlane, deploy: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    webhooks = f"{REGISTRATION}/validatingwebhookconfigurations"
    policies = f"{REGISTRATION}/validatingadmissionpolicies"
    manager = f"{DEPLOYMENTS.format(SYSTEM)}/volcano-admission"
    assert plane.api.items(webhooks)
    assert deploy("apply", "--env=dev", "--components=policies", "--wait=0") == 0, capsys.readouterr().err
    assert not plane.api.items(webhooks)
    assert not is_there(plane, manager)
    jobs = JOBS.format("default")

    def refusal() -> str:
        try:
            plane.api.request("POST", jobs, job("wrong", minAvailable=9), query={"dryRun": "All"})
        except ApiError as error:
            return str(error)
        return ""

    assert wait_until(lambda: "should not be greater than total replicas" in refusal(), MINUTE), refusal()
    assert deploy("apply", "--env=dev", "--wait=0") == 0, capsys.readouterr().err
    assert plane.api.items(webhooks)
    assert is_there(plane, manager)
    assert not plane.api.items(policies)


@pytest.mark.usefixtures("installed")
def test_a_dry_run_lets_the_server_judge_every_feature_and_stores_nothing(
    deploy: Callable[..., int], kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = rendering.render("dev")
    before = versions(kubectl, objects)
    for environment, features in (("dev", TOGETHER), ("staging", ["policies"])):
        flags = (f"--env={environment}", f"--components={','.join(features)}")
        assert deploy("apply", *flags, "--dry-run") == 0, capsys.readouterr().err
    assert versions(kubectl, objects) == before


def test_who_may_only_read_is_told_so_before_anything_is_applied(
    plane: ControlPlane, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, roles = "looks-only", "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
    plane.api.create(roles, {"metadata": {"name": name}, "rules": [rule]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [{"kind": "User", "name": name}]}
    plane.api.create(roles.replace("roles", "rolebindings"), binding)
    document = yaml.safe_load(plane.kubeconfig.read_text())
    document["users"][0]["user"]["as"] = name
    (tmp_path / "config").write_text(yaml.safe_dump(document))
    assert main(["apply", "--env=dev", f"--kubeconfig={tmp_path / 'config'}", "--take-over", "--accept=rival"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert any(line.startswith("error: rights: the user of context") for line in told)
    assert any("create or patch clusterrolebindings, clusterroles, customresourcedefinitions" in line for line in told)
    assert told[-1] == "nothing was applied; ACCEPT=rights goes on in spite of it"


@pytest.fixture
def running(plane: ControlPlane, tmp_path: Path, deploy: Callable[..., int]) -> Iterator[list[Process]]:
    """All processes that there are, started in any order."""
    components = f"--components={','.join(PROCESSES)}"
    assert deploy("apply", "--env=dev", components, "--wait=0", "--take-over", "--accept=rival") == 0
    objects = rendering.render("dev", PROCESSES)
    made: list[Process] = []
    try:
        deployments = [found for found in objects if found["kind"] == "Deployment"]
        random.Random(0).shuffle(deployments)
        for deployment in deployments:
            made.append(Process(plane, objects, deployment, tmp_path))
            if made[-1].name == "volcano-admission":
                route_webhooks(plane, made[-1].port)
        yield made
    finally:
        codes = {process.name: process.end() for process in made}
    assert set(codes.values()) == {0}, codes


def job(name: str, **spec: Any) -> dict[str, Any]:
    """A gang whose pods end after a second."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name},
        "spec": {"schedulerName": "volcano", "plugins": {"svc": [], "ssh": [], "env": []}, **spec, "tasks": [{
            "replicas": 3,
            "policies": [{"event": "TaskCompleted", "action": "CompleteJob"}],
            "template": {
                "metadata": {"annotations": {"stromboli.dev/run-seconds": "1"}},
                "spec": {"restartPolicy": "Never", "containers": [
                    {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}},
                ]},
            },
        }]},
    }  # fmt: skip


def test_processes_with_their_accounts_rights_and_no_more_run_a_job_through(
    plane: ControlPlane, running: list[Process]
) -> None:
    assert len(running) == 5
    assert wait_until(lambda: all(process.is_ready for process in running), MINUTE), {
        process.name: process.is_ready for process in running
    }
    namespace = f"user-{secrets.token_hex(3)}"
    plane.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})

    def state(queue: str) -> str:
        found = {item["metadata"]["name"]: item for item in plane.api.items(QUEUES)}
        return str(found.get(queue, {}).get("status", {}).get("state", ""))

    assert wait_until(lambda: state("default") == "Open", MINUTE)
    jobs = JOBS.format(namespace)
    stored = plane.api.create(jobs, job("gang"))
    assert stored["spec"]["tasks"][0]["name"] == "default0"  # the webhooks were asked
    with pytest.raises(ApiError, match="denied the request"):
        plane.api.create(jobs, job("wrong", minAvailable=9))

    def phase() -> str:
        return str(plane.api.get(f"{jobs}/gang").get("status", {}).get("state", {}).get("phase", ""))

    assert wait_until(lambda: phase() == "Completed", MINUTE), phase()
    events = {event["reason"] for event in plane.api.items(f"/api/v1/namespaces/{namespace}/events")}
    assert "Scheduled" in events
    pods = f"/api/v1/namespaces/{namespace}/pods"
    plane.api.create(pods, {"metadata": {"name": "single"}, "spec": {
        "schedulerName": "agent-scheduler", "containers": [{"name": "c", "image": "x"}],
    }})  # fmt: skip
    assert wait_until(lambda: plane.api.get(f"{pods}/single")["spec"].get("nodeName"), MINUTE)
    plane.api.create(DEPLOYMENTS.format(namespace), {"metadata": {"name": "web"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "image": "x"}]},
        },
    }})  # fmt: skip
    assert wait_until(lambda: ("ReplicaSet", True) in blocked_owners(plane, namespace), MINUTE)
    for process in running:
        refused = [line for line in process.log.read_text().splitlines() if "forbidden" in line.lower()]
        assert refused == [], process.name
    plane.api.delete(f"/api/v1/namespaces/{namespace}")


def blocked_owners(plane: ControlPlane, namespace: str) -> set[tuple[str, bool]]:
    """The kinds of the owners of pod groups, and whether these block their deletion."""
    groups = plane.api.items(f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups")
    owners = (owner for group in groups for owner in group["metadata"].get("ownerReferences", ()))
    return {(owner["kind"], owner.get("blockOwnerDeletion", False)) for owner in owners}


def test_all_features_go_up_together_and_come_down_and_only_a_confirmed_command_deletes_queues(
    plane: ControlPlane, deploy: Callable[..., int], kubectl: Kubectl, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--env=production", f"--components={','.join(TOGETHER)}")
    started = ("--wait=0", "--take-over", "--accept=rival")
    assert deploy("apply", *flags, *started) == 0, capsys.readouterr().err
    objects = rendering.render("production", TOGETHER)
    assert len(versions(kubectl, objects)) == len(objects) - len(NAMESPACES)
    assert deploy("undeploy", *flags) == 0, capsys.readouterr().err
    assert {found["kind"] for found in kubectl.live(objects)} == {"Namespace", "CustomResourceDefinition"}
    plane.api.create(QUEUES, {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "kept"}, "spec": {},
    })  # fmt: skip
    assert deploy("undeploy", "--env=dev") == 0  # again: nothing to do
    assert deploy("undeploy-crds") == 1
    assert re.search(r"with them \d+ queues\.scheduling\.volcano\.sh.* CONFIRM=yes", capsys.readouterr().err)
    assert is_there(plane, f"{QUEUES}/kept")
    assert deploy("undeploy-crds", "--confirm") == 0
    assert wait_until(lambda: not is_there(plane, QUEUES), MINUTE)

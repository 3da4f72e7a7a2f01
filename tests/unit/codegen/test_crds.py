from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen import crds
from codegen.problems import SourceError
from codegen.source import load
from tests.unit.codegen.projects import PROJECT, real, real_kind, with_spec, write

TEMPLATED = ("Job", "CronJob", "JobFlow", "JobTemplate", "HyperJob")
NAMES: dict[str, tuple[str, str, list[str] | None, str, dict[str, object] | None]] = {
    "Job": ("jobs.batch.volcano.sh", "job", ["vcjob", "vj"], "Namespaced", {"status": {}}),
    "CronJob": ("cronjobs.batch.volcano.sh", "cronjob", ["cronvcjob", "cronvj"], "Namespaced", {"status": {}}),
    "Command": ("commands.bus.volcano.sh", "command", None, "Namespaced", None),
    "PodGroup": ("podgroups.scheduling.volcano.sh", "podgroup", ["pg", "podgroup-v1beta1"], "Namespaced", {}),
    "Queue": ("queues.scheduling.volcano.sh", "queue", ["q", "queue-v1beta1"], "Cluster", {"status": {}}),
    "JobFlow": ("jobflows.flow.volcano.sh", "jobflow", ["jf"], "Namespaced", {"status": {}}),
    "JobTemplate": ("jobtemplates.flow.volcano.sh", "jobtemplate", ["jt"], "Namespaced", {"status": {}}),
    "HyperNode": ("hypernodes.topology.volcano.sh", "hypernode", ["hn"], "Cluster", {"status": {}}),
    "Numatopology": ("numatopologies.nodeinfo.volcano.sh", "numatopology", ["numatopo"], "Cluster", None),
    "NodeShard": ("nodeshards.shard.volcano.sh", "nodeshard", ["nsh"], "Cluster", {"status": {}}),
    "ColocationConfiguration": (
        "colocationconfigurations.config.volcano.sh",
        "colocationconfiguration",
        None,
        "Namespaced",
        {"status": {}},
    ),
    "HyperJob": ("hyperjobs.training.volcano.sh", "hyperjob", ["hyperjob", "hj"], "Namespaced", {"status": {}}),
    "DataSource": ("datasources.datadependency.volcano.sh", "datasource", None, "Cluster", {"status": {}}),
    "DataSourceClaim": (
        "datasourceclaims.datadependency.volcano.sh",
        "datasourceclaim",
        None,
        "Namespaced",
        {"status": {}},
    ),
}
COLUMNS = {
    "Job": [
        ("STATUS", "string", ".status.state.phase", 0),
        ("minAvailable", "integer", ".status.minAvailable", 0),
        ("RUNNINGS", "integer", ".status.running", 0),
        ("AGE", "date", ".metadata.creationTimestamp", 0),
        ("QUEUE", "string", ".spec.queue", 1),
    ],
    "PodGroup": [
        ("STATUS", "string", ".status.phase", 0),
        ("minMember", "integer", ".spec.minMember", 0),
        ("RUNNINGS", "integer", ".status.running", 0),
        ("AGE", "date", ".metadata.creationTimestamp", 0),
        ("QUEUE", "string", ".spec.queue", 1),
    ],
    "Queue": [("PARENT", "string", ".spec.parent", 0)],
    "JobFlow": [
        ("Status", "string", ".status.state.phase", 0),
        ("Age", "date", ".metadata.creationTimestamp", 0),
    ],
    "HyperNode": [
        ("Tier", "string", ".spec.tier", 0),
        ("TierName", "string", ".spec.tierName", 0),
        ("NodeCount", "integer", ".status.nodeCount", 0),
        ("Age", "date", ".metadata.creationTimestamp", 0),
    ],
    "NodeShard": [("AGE", "date", ".metadata.creationTimestamp", 0)],
}
"""What Volcano shows; where a kind has more here, the additions are wide columns."""


def crd(name: str) -> dict[str, Any]:
    return crds.manifest(real(), real_kind(name))


@pytest.mark.parametrize("kind", NAMES)
def test_names_scope_and_subresources_are_those_that_are_installed(kind: str) -> None:
    name, singular, short_names, scope, subresources = NAMES[kind]
    document = crd(kind)
    spec = document["spec"]
    assert document["metadata"]["name"] == name
    assert f"{spec['names']['plural']}.{spec['group']}" == name
    assert (spec["names"]["kind"], spec["names"]["listKind"]) == (kind, f"{kind}List")
    assert spec["names"]["singular"] == singular
    assert spec["names"].get("shortNames") == short_names
    assert spec["scope"] == scope
    (version,) = spec["versions"]
    assert (version["served"], version["storage"]) == (True, True)
    assert version.get("subresources") == subresources
    assert document["metadata"]["annotations"] == {
        "controller-gen.kubebuilder.io/version": "v0.20.0",
        "helm.sh/resource-policy": "keep",
    }


@pytest.mark.parametrize("kind", NAMES)
def test_columns_are_volcanos_and_further_ones_are_wide(kind: str) -> None:
    found = [
        (column["name"], column["type"], column["jsonPath"], column.get("priority", 0))
        for column in crd(kind)["spec"]["versions"][0].get("additionalPrinterColumns", [])
    ]
    expected = COLUMNS.get(kind, [])
    further = [column for column in found if column not in expected]
    assert [column for column in found if column in expected] == expected
    age = ("AGE", "date", ".metadata.creationTimestamp", 0)
    assert all(column[3] == 1 or (not expected and column == age) for column in further)
    assert expected or not further or age in further


@pytest.mark.parametrize("kind", TEMPLATED)
def test_a_crd_with_a_pod_template_stays_below_what_client_side_apply_stores(kind: str) -> None:
    assert len(json.dumps(crd(kind), separators=(",", ":"))) < 100_000


@pytest.mark.parametrize("kind", NAMES)
def test_our_fields_are_described_and_those_of_kubernetes_are_not(kind: str) -> None:
    root = crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert root["description"]
    for name, node in root["properties"].items():
        assert ("description" in node) is (name != "metadata")
    if kind == "Job":
        tasks = root["properties"]["spec"]["properties"]["tasks"]
        assert tasks["description"] == "Groups of equal pods, in order."
        assert "description" not in tasks["items"]["properties"]["template"]["properties"]["spec"]


def test_every_kind_has_a_file_that_a_kustomization_lists() -> None:
    texts = crds.outputs(real())
    for folder in ("config/crd", "config/crd/optional"):
        listed = yaml.safe_load(texts[f"{folder}/kustomization.yaml"])["resources"]
        assert listed == sorted(listed)
        assert all(f"{folder}/{path}" in texts for path in listed)
    assert len(texts) == len(real().kinds) + 2
    assert "config/crd/optional/training.volcano.sh_hyperjobs.yaml" in texts
    assert "config/crd/bases/batch.volcano.sh_jobs.yaml" in texts


def test_the_text_of_a_crd_is_the_crd_and_names_its_source() -> None:
    texts = crds.outputs(real())
    for kind in real().kinds:
        text = texts[crds.file_of(kind)]
        assert text.startswith(f"# Generated by `python -m codegen generate` from {kind_file(kind.component)}. Do not")
        assert yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) == crds.manifest(real(), kind)
        assert "&id" not in text


def kind_file(component: str) -> str:
    group, version, _ = component.split(".")
    return f"api/{group}/{version}.yaml"


def test_the_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    root = write(tmp_path)
    assert crds.outputs(load(root)) == crds.outputs(load(root))


def test_a_schema_too_big_for_client_side_apply_is_a_mistake(tmp_path: Path) -> None:
    fields = "\n".join(f"field{i}: {{type: string, description: '{'long ' * 50}'}}" for i in range(1200))
    project = load(write(tmp_path, {"test/v1.yaml": with_spec(fields)}))
    with pytest.raises(SourceError, match=r"kinds\.\[Widget\]: its CRD has \d+ bytes.*write `descriptions: drop`"):
        crds.outputs(project)
    crds.outputs(replace(project, kinds=(replace(project.kinds[0], descriptions="drop"),)))


def test_a_kind_brings_its_own_annotations(tmp_path: Path) -> None:
    project = PROJECT.replace("plural: widgets}", 'plural: widgets, annotations: {a.example.com/b: "1"}}')
    loaded = load(write(tmp_path, {"project.yaml": project}))
    annotations = crds.manifest(loaded, loaded.kinds[0])["metadata"]["annotations"]
    assert annotations == {**crds.ANNOTATIONS, "a.example.com/b": "1"}

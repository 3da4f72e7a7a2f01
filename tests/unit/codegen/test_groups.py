from __future__ import annotations

from pathlib import Path

import pytest

from codegen.groups import group_versions
from codegen.problems import SourceError
from codegen.source import load
from tests.unit.codegen.projects import PROJECT, WIDGET, real, write


def test_group_versions_are_described_by_their_modules() -> None:
    groups = {group.module: group for group in group_versions(real())}
    assert list(groups) == sorted(groups)
    batch = groups["batch.v1alpha1"]
    assert (batch.group, batch.version, batch.file, batch.class_name) == (
        "batch",
        "v1alpha1",
        "batch_v1alpha1",
        "BatchV1alpha1",
    )
    assert (batch.api_version, batch.is_external) == ("batch.volcano.sh/v1alpha1", False)
    assert (groups["core.v1"].api_version, groups["core.v1"].is_external) == ("core v1", True)


def test_kinds_stand_in_the_order_of_their_names() -> None:
    for group in group_versions(real()):
        names = [kind.name for kind in group.kinds]
        assert names == sorted(names)


def test_a_kind_knows_its_python_names() -> None:
    kinds = {kind.name: kind for group in group_versions(real()) for kind in group.kinds if not group.is_external}
    hyper_node = kinds["HyperNode"]
    assert (hyper_node.constant, hyper_node.attribute, hyper_node.short_names) == (
        "HYPER_NODES",
        "hyper_nodes",
        ['"hn"'],
    )


def test_two_groups_cannot_share_a_module(tmp_path: Path) -> None:
    other = "external:\n      - {group: test, version: v1, kind: Gadget, plural: gadgets, status: false}"
    files = {
        "project.yaml": PROJECT.replace("external: []", other),
        "test/v1.yaml": WIDGET + "      Gadget: {properties: {metadata: {$ref: meta.v1.ObjectMeta}}}\n",
    }
    with pytest.raises(SourceError, match=r"test.example.com/v1 and test/v1 would share the module test.v1"):
        group_versions(load(write(tmp_path, files)))

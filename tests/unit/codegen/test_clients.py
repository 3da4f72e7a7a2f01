from __future__ import annotations

from pathlib import Path

import pytest

from codegen.clients import files
from codegen.source import load
from tests.unit.codegen.projects import write

PROJECT = """
    domain: example.com
    kinds:
      - {{group: test.example.com, version: v1, kind: Widget, plural: widgets, scope: {scope}, status: {status}}}
    external: []
"""


@pytest.mark.parametrize(
    ("scope", "status", "verbs"),
    [
        ("Namespaced", "true", "NamespacedStatusVerbs"),
        ("Namespaced", "false", "NamespacedVerbs"),
        ("Cluster", "true", "ClusterStatusVerbs"),
        ("Cluster", "false", "ClusterVerbs"),
    ],
)
@pytest.mark.parametrize("suffix", ["", "_sync"])
def test_a_kind_has_the_verbs_of_its_scope_and_status(
    tmp_path: Path, scope: str, status: str, verbs: str, suffix: str
) -> None:
    texts = files(load(write(tmp_path, {"project.yaml": PROJECT.format(scope=scope, status=status)})))
    made = texts[f"generated/clients/test_v1{suffix}.py"]
    assert f"self.widgets = {verbs}(client, v1.WIDGETS)" in made
    assert f"from generated.clients.verbs{suffix} import CustomPatch, {verbs}\n" in made
    assert "PodVerbs" not in made


def test_the_twins_differ_in_async_alone(tmp_path: Path) -> None:
    texts = files(load(write(tmp_path)))
    plain, sync = texts["generated/clients/verbs.py"], texts["generated/clients/verbs_sync.py"]
    assert "await " in plain
    assert "await " not in sync
    assert "async " not in sync.replace("without async", "")
    assert plain.count("    def ") + plain.count("    async def ") == sync.count("    def ")


def test_kubernetes_kinds_may_be_merged_strategically() -> None:
    project = load(Path(__file__).resolve().parents[3])
    texts = files(project)
    assert "CorePatch]" in texts["generated/clients/core_v1.py"]
    assert "CustomPatch]" not in texts["generated/clients/core_v1.py"]
    assert "CorePatch]" not in texts["generated/clients/batch_v1alpha1.py"]
    assert "class PodVerbs(" in texts["generated/clients/core_v1_sync.py"]

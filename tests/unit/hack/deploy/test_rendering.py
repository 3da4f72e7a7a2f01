from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from hack.deploy import rendering
from hack.deploy.errors import DeployError
from hack.deploy.kubectl import Object, dump, kustomize, load
from tests.unit.hack.deploy.rendered import deployments, of_kind, rendered


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("", "stromboli:0.1.0"),
        ("stromboli:7", "stromboli:7"),
        ("example/volcano", "example/volcano:latest"),
        ("mirror:5000/batch/volcano:7", "mirror:5000/batch/volcano:7"),
        ("mirror:5000/batch/volcano@sha256:abc", "mirror:5000/batch/volcano@sha256:abc"),
    ],
)
def test_the_image_that_is_asked_for_runs_everywhere(image: str, expected: str) -> None:
    found = rendering.render("production", image=image)
    images = {pod["containers"][0]["image"] for pod in deployments(found).values()}
    assert images == {expected}


def test_an_image_counts_whatever_an_overlay_calls_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def renamed(place: Path) -> list[Object]:
        found = kustomize(place)
        for pod in deployments(found).values():
            pod["containers"][0]["image"] = "mirror/own:3"
            pod["containers"].append({"name": "sidecar", "image": "proxy:1", "command": ["/bin/proxy"]})
        return found

    monkeypatch.setattr(rendering, "kustomize", renamed)
    found = rendering.render("production", image="foo:1")
    assert {tuple(each["image"] for each in pod["containers"]) for pod in deployments(found).values()} == {
        ("foo:1", "proxy:1")
    }


def test_an_image_that_nothing_would_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "kustomize", lambda _: [])
    with pytest.raises(DeployError, match="nothing runs the image foo:1"):
        rendering.render("dev", image="foo:1")


@pytest.mark.parametrize("image", [":::", "a b", "Upper/case:1", "a:b:c", "-x", "a@b", "a/:1", "a\nb"])
def test_what_is_no_image_is_refused(image: str) -> None:
    with pytest.raises(DeployError, match="is no image such as"):
        rendering.render("dev", image=image)


@pytest.mark.parametrize(
    ("environment", "extra", "words"),
    [
        ("moon", (), "there is no overlay 'moon'; known are dev, production, staging"),
        ("dev", ("moon",), "there is no component 'moon'; known are agent-scheduler, cert-manager, "),
    ],
)
def test_what_there_is_not_is_said_with_what_there_is(environment: str, extra: tuple[str, ...], words: str) -> None:
    with pytest.raises(DeployError, match=words):
        rendering.render(environment, extra)


def test_rendering_twice_gives_the_same() -> None:
    assert rendering.render("dev") == rendering.render("dev")


@pytest.mark.parametrize("environment", rendering.environments())
def test_a_manifest_reads_back_as_what_was_written(environment: str) -> None:
    found = list(rendered(environment))
    assert load(dump(found)) == found


def test_production_holds_all_that_dev_holds() -> None:
    def names(found: tuple[Object, ...]) -> set[tuple[str, str]]:
        return {(one["kind"], one["metadata"]["name"]) for one in found}

    assert names(rendered("dev")) < names(rendered("production"))


def test_a_feature_that_the_overlay_has_already_is_no_mistake() -> None:
    features = ["network-policy", "high-availability", "network-policy"]
    assert rendering.render("production", features) == list(rendered("production"))


@pytest.mark.parametrize(
    ("fields", "features"),
    [
        ({"resources": ["../../default"], "components": ["../../components/high-availability"]}, ["hypernode"]),
        ({"resources": ["../../default"], "components": ["../../components/hypernode"]}, ["high-availability"]),
        ({"resources": ["../staging"]}, ["hypernode"]),
        ({"resources": ["../staging"]}, ["hypernode", "high-availability"]),
        (
            {
                "resources": ["../../default"],
                "components": [
                    "../../components/high-availability",
                    "../../components/hypernode",
                    "../../components/hypernode/high-availability",
                ],
            },
            [],
        ),
    ],
)
def test_a_feature_holds_for_processes_of_other_features_however_both_were_named(
    fields: dict[str, Any], features: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Path(shutil.copytree(rendering.CONFIG, tmp_path / "config"))
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **fields}
    (config / "overlays" / "own").mkdir()
    (config / "overlays" / "own" / "kustomization.yaml").write_text(dump([kustomization]))
    monkeypatch.setattr(rendering, "CONFIG", config)
    found = rendering.render("own", features)
    replicas = {one["metadata"]["name"]: one["spec"]["replicas"] for one in of_kind(found, "Deployment")}
    assert set(replicas.values()) == {2}
    assert {one["metadata"]["name"] for one in of_kind(found, "PodDisruptionBudget")} == set(replicas)
    assert "volcano-hypernode-controller" in replicas

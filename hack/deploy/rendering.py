"""From an overlay, features and an image to the objects of an installation."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from hack.deploy.errors import DeployError
from hack.deploy.kubectl import Object, kustomize

CONFIG = Path(__file__).resolve().parents[2] / "config"
IMAGE = "stromboli"
"""The image's name in the manifests, which `--image` replaces."""


def environments() -> list[str]:
    """The overlays that there are."""
    return sorted(path.parent.name for path in (CONFIG / "overlays").glob("*/kustomization.yaml"))


def features() -> list[str]:
    """The components that an overlay may switch on."""
    return sorted(path.parent.name for path in (CONFIG / "components").glob("*/kustomization.yaml"))


def render(environment: str, extra: Sequence[str] = (), image: str = "") -> list[Object]:
    """
    All objects of an overlay, with further components; `image` such as `example/stromboli:1` takes the place of ours.

    Raises DeployError.
    """
    _check("overlay", environment, environments())
    for name in extra:
        _check("component", name, features())
    with tempfile.TemporaryDirectory(prefix="deploy-") as folder:
        place = Path(folder).resolve()
        kustomization: Object = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [_path(place, "overlays", environment)],
            "components": [
                _path(place, "components", name)
                for name in dict.fromkeys(extra)
                if name not in _switched_on(environment)
            ],
        }
        if image:
            kustomization["images"] = [_replacement(image)]
        (place / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
        return kustomize(place)


def _switched_on(environment: str) -> set[str]:
    """The features that an overlay has by itself."""
    text = CONFIG.joinpath("overlays", environment, "kustomization.yaml").read_text(encoding="utf-8")
    return {path.rpartition("/")[2] for path in yaml.safe_load(text).get("components", ())}


def _check(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise DeployError(f"there is no {what} {name!r}; known are {', '.join(known)}")


def _path(place: Path, *parts: str) -> str:
    """Kustomize takes no absolute paths."""
    return os.path.relpath(CONFIG.joinpath(*parts), place)


def _replacement(image: str) -> Object:
    """Kustomize's words for an image: a digest stands after @, a tag after the last colon of the last part."""
    name, _, digest = image.partition("@")
    if digest:
        return {"name": IMAGE, "newName": name, "digest": digest}
    path, _, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    replaced = {"name": IMAGE, "newName": f"{path}/{last}" if path else last}
    return replaced | {"newTag": tag or "latest"}

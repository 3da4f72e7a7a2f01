"""From an overlay, features and an image to the objects of an installation."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from hack.deploy.errors import DeployError
from hack.deploy.kubectl import WORKLOADS, Object, kustomize

CONFIG = Path(__file__).resolve().parents[2] / "config"
_PROGRAMS = "vc-"
"""How the commands of our containers begin."""
_WORD = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?:localhost|[A-Za-z0-9-]+(?=:)|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)(?::[0-9]+)?"
_TAG = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_IMAGE = re.compile(rf"(?:{_HOST}/)?{_WORD}(?:/{_WORD})*(?::{_TAG})?(?:@[a-z0-9]+:[0-9a-f]+)?")
"""A reference as container engines take it."""


def environments() -> list[str]:
    """The overlays that there are."""
    return sorted(path.parent.name for path in (CONFIG / "overlays").glob("*/kustomization.yaml"))


def features() -> list[str]:
    """The components that an overlay may switch on."""
    return sorted(path.parent.name for path in (CONFIG / "components").glob("*/kustomization.yaml"))


def render(environment: str, extra: Sequence[str] = (), image: str = "") -> list[Object]:
    """
    All objects of an overlay, with further components; `image` such as `example/stromboli:1` is what our programs run,
    whatever the overlay says.

    Raises DeployError.
    """
    _check("overlay", environment, environments())
    for name in extra:
        _check("component", name, features())
    if image and not _IMAGE.fullmatch(image):
        raise DeployError(f"{image!r} is no image such as example/stromboli:1 or example/stromboli@sha256:...")
    with tempfile.TemporaryDirectory(prefix="deploy-") as folder:
        place = Path(folder).resolve()
        kustomization: Object = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [_path(place, "overlays", environment)],
            "components": [_path(place, "components", name) for name in _to_switch_on(environment, extra)],
        }
        (place / "kustomization.yaml").write_text(yaml.safe_dump(kustomization), encoding="utf-8")
        found = kustomize(place)
    if image:
        _run(found, image)
    return found


def _run(objects: Sequence[Object], image: str) -> None:
    """Have our programs run in this image. Kustomize would look for it by a name that an overlay may have changed."""
    containers = [each for found in objects for each in _containers(found) if _is_ours(each)]
    if not containers:
        raise DeployError(f"nothing runs the image {image}: no container of the overlay has a command of ours")
    for container in containers:
        container["image"] = _complete(image)


def _containers(found: Object) -> list[Object]:
    template = found["spec"].get("template", {}) if found["kind"] in WORKLOADS else {}
    spec = template.get("spec", {})
    return [*spec.get("containers", ()), *spec.get("initContainers", ())]


def _is_ours(container: Object) -> bool:
    return str(next(iter(container.get("command", ())), "")).rpartition("/")[2].startswith(_PROGRAMS)


def _to_switch_on(environment: str, extra: Sequence[str]) -> list[str]:
    """
    The features that an overlay doesn't have by itself, and after them what each two of them are to each other.

    A component that brings a process has a folder for each feature that deals with processes, such as
    `hypernode/high-availability`, and one for an overlay that knows how large it is.
    """
    layers = _layers(CONFIG / "overlays" / environment)
    there = [name for layer in layers for name in _listed(layer, "components")]
    features = [name for name in dict.fromkeys(extra) if name not in there]
    each = [*there, *features]
    pairs = (f"{one}/{other}" for one in each for other in (*each, *(layer.name for layer in layers)))
    return [*features, *(pair for pair in pairs if pair not in there and _is_component(pair))]


def _layers(overlay: Path) -> list[Path]:
    """An overlay and those that it stands on, as its resources name them."""
    names = _listed(overlay, "resources", "overlays")
    return [overlay, *(layer for name in names for layer in _layers(CONFIG / "overlays" / name))]


def _listed(overlay: Path, field: str, folder: str = "components") -> list[str]:
    """What an overlay names of a folder of ours, by path in it."""
    listed = yaml.safe_load((overlay / "kustomization.yaml").read_text(encoding="utf-8")).get(field) or ()
    ours, paths = (CONFIG / folder).resolve(), [(overlay / path).resolve() for path in listed]
    return [path.relative_to(ours).as_posix() for path in paths if path.is_relative_to(ours) and path != overlay]


def _is_component(name: str) -> bool:
    return CONFIG.joinpath("components", name, "kustomization.yaml").exists()


def _check(what: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise DeployError(f"there is no {what} {name!r}; known are {', '.join(known)}")


def _path(place: Path, *parts: str) -> str:
    """Kustomize takes no absolute paths."""
    return os.path.relpath(CONFIG.joinpath(*parts), place)


def _complete(image: str) -> str:
    """With the tag that a container engine would take where there is none."""
    return image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"

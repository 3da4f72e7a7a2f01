"""kubectl against one cluster: found as the local control plane finds it, never asking questions back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from api import names
from cluster.binaries import KUBECTL, Binaries
from cluster.errors import ClusterError
from cluster.versions import DEFAULT_KUBERNETES
from hack.deploy.errors import DeployError

Object = dict[str, Any]
"""One manifest, or one object of the cluster."""
Kind = tuple[str, str]
"""API version and kind."""
MANAGER = f"--field-manager={names.DEPLOY_FIELD_MANAGER}"
WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet")
NO_RIGHTS = "these are things for an administrator of the cluster: use another CONTEXT, or ask for the rights"
_SHOWN = 5
"""Lines of a failure that are shown."""
_FORBIDDEN = "Error from server (Forbidden)"
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Kubectl:
    """One cluster, by kubeconfig and context; empty for what kubectl chooses."""

    def __init__(self, kubeconfig: str = "", context: str = "") -> None:
        flags = {"--kubeconfig": kubeconfig, "--context": context}
        self._flags = [f"{flag}={value}" for flag, value in flags.items() if value]
        self._context = context

    @property
    def context(self) -> str:
        """The context in words for people, who may have meant another one."""
        found = self._context or self._start(("config", "current-context"), None).stdout.strip()
        return f"context {found}" if found else "no context"

    def run(self, *arguments: str, objects: Iterable[Object] | None = None) -> str:
        """What a command printed; `objects` go to its input. Raises DeployError with what kubectl says."""
        done = self._start(arguments, objects)
        if done.returncode:
            raise DeployError(f"kubectl {' '.join(arguments)}:\n{_told(done.stderr.strip() or done.stdout.strip())}")
        return done.stdout

    def attempt(self, *arguments: str, objects: Iterable[Object] | None = None) -> str:
        """What a command says against it; empty when it worked."""
        done = self._start(arguments, objects)
        return (done.stderr.strip() or "it failed without a word") if done.returncode else ""

    def get(self, *arguments: str, objects: Iterable[Object] | None = None) -> list[Object]:
        """Objects with their field managers; those that are not there are left out."""
        text = self.run(
            "get", *arguments, "--output=json", "--show-managed-fields", "--ignore-not-found", objects=objects
        )
        found = json.loads(text) if text.strip() else {"items": []}
        items: list[Object] = found.get("items", [found])
        return items

    def live(self, objects: Sequence[Object]) -> list[Object]:
        """
        What the cluster has of these objects.

        Kinds that it does not serve yet, such as those of CRDs to come, count as not there.
        """
        served = self.served(map(kind_of, objects))
        known = [found for found in objects if kind_of(found) in served]
        return self.get("--filename=-", objects=known) if known else []

    def served(self, wanted: Iterable[Kind] = ()) -> set[Kind]:
        """
        Kinds that the server knows: all in their preferred version, those `wanted` in any.

        kubectl lists a kind once, though the server may serve it in several versions.
        """
        rows = [line.split() for line in self.run("api-resources", "--no-headers").splitlines()]
        found = {(row[-3], row[-1]) for row in rows if len(row) >= 4}
        for version in sorted({version for version, kind in wanted if (version, kind) not in found}):
            done = self._start(("get", "--raw", f"/apis/{version}" if "/" in version else f"/api/{version}"), None)
            resources = json.loads(done.stdout)["resources"] if done.returncode == 0 else ()
            found |= {(version, resource["kind"]) for resource in resources if "/" not in resource["name"]}
        return found

    def _start(self, arguments: Sequence[str], objects: Iterable[Object] | None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [_program(), *self._flags, *arguments],
            input=None if objects is None else json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}),
            stdin=subprocess.DEVNULL if objects is None else None,
            capture_output=True,
            text=True,
            check=False,
        )


def kind_of(found: Object) -> Kind:
    """The API version and kind of an object."""
    return found["apiVersion"], found["kind"]


def kustomize(folder: Path) -> list[Object]:
    """The objects of a kustomization. Raises DeployError."""
    return load(Kubectl().run("kustomize", "--load-restrictor=LoadRestrictionsNone", str(folder)))


def load(text: str) -> list[Object]:
    """The objects of a YAML text."""
    return [found for found in yaml.load_all(text, _LOADER) if found]


def dump(objects: Iterable[Object]) -> str:
    """A YAML text of these objects."""
    return yaml.dump_all(objects, Dumper=_DUMPER, sort_keys=False, width=120)


def _told(text: str) -> str:
    """What kubectl says, cut where it says the like of each object, and what the reader can do."""
    lines = text.splitlines()
    more = [f"... and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN + 1 else []
    hint = [NO_RIGHTS] if _FORBIDDEN in text else []
    return "\n".join([*(lines[:_SHOWN] if more else lines), *more, *hint])


def _silent(_: str) -> None:
    """Where kubectl comes from needs no line."""


@cache
def _program() -> str:
    try:
        return str(Binaries(DEFAULT_KUBERNETES, _silent).find(KUBECTL))
    except ClusterError as error:
        raise DeployError(f"kubectl is needed: {error}") from error

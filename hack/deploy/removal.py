"""
Taking an installation away.

CRDs stay, and with them queues, jobs and all that users made: an API server that forgets a kind deletes its objects.
Namespaces stay too, since others may use them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from api import names
from hack.deploy import order
from hack.deploy.applying import Say
from hack.deploy.errors import DeployError
from hack.deploy.kubectl import Kubectl, Object, kind_of, load
from hack.deploy.pruning import prune
from hack.deploy.rendering import CONFIG

_KEPT = ("CustomResourceDefinition", "Namespace")
_HYPERNODE_LEASE = f"{names.DEFAULT_RELEASE}-hypernode-controller-manager"
"""As the component `hypernode` has it by a flag, after the chart."""
_MADE = (
    f"secret/{names.Secret.ADMISSION}",
    *(
        f"lease/{name}"
        for name in (
            names.DEFAULT_SCHEDULER_NAME, names.Lease.CONTROLLERS, _HYPERNODE_LEASE, names.AGENT_SCHEDULER_NAME,
        )
    ),
)  # fmt: skip
"""What the processes make for themselves in our namespace."""


def undeploy(kubectl: Kubectl, objects: Sequence[Object], say: Say) -> None:
    """Delete an installation's objects but what `_KEPT` names; those that are gone are no error. Raises DeployError."""
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        say(line)

    going = [found for found in objects if found["kind"] not in _KEPT]
    served = kubectl.served(map(kind_of, going))
    for stage in reversed(order.stages(going)):
        known = [found for found in stage if kind_of(found) in served]
        if known:
            for line in kubectl.run("delete", "--ignore-not-found", "--filename=-", objects=known).splitlines():
                tell(line)
    prune(kubectl, objects, tell)
    made = kubectl.run("delete", "--ignore-not-found", f"--namespace={names.DEFAULT_NAMESPACE}", *_MADE)
    if not told and not made.strip():
        say("nothing of the installation was there")
    if _crds(kubectl):
        say("CRDs stay, and with them queues and jobs: `make undeploy-crds CONFIRM=yes` deletes them")
    spaces = [found["metadata"]["name"] for found in kubectl.live(_namespaces(objects))]
    if spaces:
        say(f"namespaces stay, since others may use them: `kubectl delete namespace {' '.join(spaces)}` deletes them")


def undeploy_crds(kubectl: Kubectl, say: Say, *, confirmed: bool) -> None:
    """Delete our CRDs, and with them every job, queue and pod group. Raises DeployError."""
    there = _crds(kubectl)
    if not there:
        say("no CRD of ours is there")
        return
    counts = _counts(kubectl, there)
    objects = ", ".join(f"{counts[name]} {name}" for name in sorted(counts))
    what = f"{len(there)} CRDs" + (f" and with them {objects}" if objects else "")
    if not confirmed:
        raise DeployError(
            f"this deletes {what}, in all namespaces of {kubectl.context}: say CONFIRM=yes if you mean it"
        )
    say(f"deleting {what}, in {kubectl.context}")
    kubectl.run("delete", "crd", *(found["metadata"]["name"] for found in there))


def _namespaces(objects: Sequence[Object]) -> list[Object]:
    return [found for found in objects if found["kind"] == "Namespace"]


def _crds(kubectl: Kubectl) -> list[Object]:
    """Those of ours that the cluster has."""
    ours = [found["metadata"]["name"] for path in _definitions() for found in load(path.read_text(encoding="utf-8"))]
    return kubectl.get("crd", *ours)


def _definitions() -> list[Path]:
    return sorted((CONFIG / "crd").glob("*/*_*.yaml"))


def _counts(kubectl: Kubectl, crds: Sequence[Object]) -> Counter[str]:
    """How many objects there are, by the name of their CRD; those without objects are left out."""
    kinds = {(found["spec"]["group"], found["spec"]["names"]["kind"]): found["metadata"]["name"] for found in crds}
    objects = kubectl.get(",".join(kinds.values()), "--all-namespaces")
    return Counter(kinds[order.key(found)[:2]] for found in objects)

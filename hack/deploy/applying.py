"""Applying an installation. Doing it again changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hack.deploy import order
from hack.deploy.errors import DeployError
from hack.deploy.kubectl import MANAGER, Kubectl, Object

Say = Callable[[str], None]
_CRD_SECONDS = 60
_CONFLICT = "`make preflight` tells whose fields they are; TAKE_OVER=yes takes them"
_AGAIN = "what was applied before stays; when this is mended the same command again does the rest"


def apply(kubectl: Kubectl, objects: Sequence[Object], say: Say, *, force: bool = False) -> None:
    """Apply all, stage by stage; `force` takes fields over from whoever owns them. Raises DeployError."""
    flags = ["--force-conflicts"] if force else []
    for stage in order.stages(objects):
        try:
            printed = kubectl.run("apply", "--server-side", MANAGER, *flags, "--filename=-", objects=stage)
        except DeployError as error:
            hint = _CONFLICT if _is_conflict(error) else _AGAIN
            raise DeployError(f"{error}\n{hint}") from error
        for line in printed.splitlines():
            say(line)
        crds = [found["metadata"]["name"] for found in stage if found["kind"] == "CustomResourceDefinition"]
        if crds:
            kubectl.run("wait", "--for=condition=Established", f"--timeout={_CRD_SECONDS}s", "crd", *crds)


def rehearse(kubectl: Kubectl, objects: Sequence[Object], say: Say, *, force: bool = False) -> list[str]:
    """
    Let the server judge all objects without storing any; what it says against them.

    Where a namespace or a kind is still to come, its objects can't be judged, which is told by `say`, as is in the end
    that nothing was stored.
    """
    known = {found["metadata"]["name"] for found in kubectl.get("namespaces")}
    judged = [found for found in objects if found["metadata"].get("namespace", "") in {"", *known}]
    for found in objects:
        if found not in judged:
            say(f"{order.label(found)}: not judged, its namespace is still to come")
    flags = ["--force-conflicts"] if force else []
    command = ("apply", "--server-side", "--dry-run=server", MANAGER, *flags, "--filename=-")
    answers = [kubectl.attempt(*command, objects=stage) for stage in order.stages(judged)]
    problems = [answer for answer in answers if answer]
    verdict = "what it says against them follows" if problems else "it has nothing against them"
    say(f"the server judged {len(judged)} of {len(objects)} objects, {verdict}; nothing was stored")
    return problems


def _is_conflict(error: DeployError) -> bool:
    return "conflict" in str(error)

from __future__ import annotations

from typing import Any

import pytest

from hack.deploy import applying
from hack.deploy.errors import DeployError
from tests.unit.hack.deploy.fakes import Recorder, made

CRD = made("CustomResourceDefinition", "widgets.example.com", version="apiextensions.k8s.io/v1")
DEPLOYMENT = made(
    "Deployment", "web", "home", "apps/v1", spec={"selector": {"matchLabels": {"app": "web", "tier": "a"}}}
)
ALL = [DEPLOYMENT, made("ConfigMap", namespace="home"), CRD, made("Namespace", "home")]


def said(lines: list[str]) -> Any:
    return lines.append


def test_stages_are_applied_in_order_and_kinds_are_waited_for() -> None:
    kubectl: Any = Recorder()
    applying.apply(kubectl, ALL, said([]))
    assert kubectl.sent == [["Namespace", "CustomResourceDefinition"], ["ConfigMap"], ["Deployment"]]
    assert [command[0] for command in kubectl.commands] == ["apply", "wait", "apply", "apply"]
    assert kubectl.commands[1][-2:] == ("crd", "widgets.example.com")
    for command in kubectl.commands:
        if command[0] == "apply":
            assert {"--server-side", "--field-manager=stromboli-deploy"} <= set(command)
            assert "--force-conflicts" not in command


def test_only_a_take_over_forces() -> None:
    kubectl: Any = Recorder()
    applying.apply(kubectl, ALL, said([]), force=True)
    assert all("--force-conflicts" in command for command in kubectl.commands if command[0] == "apply")


def test_a_conflict_says_how_to_go_on() -> None:
    class Conflicting(Recorder):
        def run(self, *arguments: str, **more: Any) -> str:
            raise DeployError('conflict with "helm": .spec')

    kubectl: Any = Conflicting()
    with pytest.raises(DeployError, match=r"conflict with .*\n.*TAKE_OVER=yes takes them"):
        applying.apply(kubectl, ALL, said([]))


def test_a_failure_in_the_middle_says_how_to_go_on() -> None:
    class Failing(Recorder):
        def run(self, *arguments: str, **more: Any) -> str:
            raise DeployError("connection refused")

    kubectl: Any = Failing()
    with pytest.raises(DeployError, match=r"refused\nwhat was applied before stays; .* the same command again"):
        applying.apply(kubectl, ALL, said([]))


def test_a_rehearsal_stores_nothing_and_tells_what_it_cannot_judge() -> None:
    kubectl: Any = Recorder([made("Namespace", "other")])
    kubectl.refusals["apply"] = "no"
    lines: list[str] = []
    assert applying.rehearse(kubectl, [CRD, DEPLOYMENT], said(lines)) == ["no"]
    assert lines == [
        "Deployment home/web: not judged, its namespace is still to come",
        "the server judged 1 of 2 objects, what it says against them follows; nothing was stored",
    ]
    assert all("--dry-run=server" in command for command in kubectl.commands if command[0] == "apply")


def test_a_rehearsal_without_a_refusal_says_so_in_the_end() -> None:
    kubectl: Any = Recorder([made("Namespace", "home")])
    lines: list[str] = []
    assert applying.rehearse(kubectl, [CRD, DEPLOYMENT], said(lines)) == []
    assert lines == ["the server judged 2 of 2 objects, it has nothing against them; nothing was stored"]

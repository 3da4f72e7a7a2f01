from __future__ import annotations

from typing import Any

import pytest

from hack.deploy import pruning, removal
from hack.deploy.errors import DeployError
from tests.unit.hack.deploy.fakes import Recorder, made
from tests.unit.hack.deploy.rendered import LEASES

HOOK = made("ValidatingWebhookConfiguration", version="admissionregistration.k8s.io/v1")
ALL = [
    made("Namespace", "home"), made("CustomResourceDefinition", version="apiextensions.k8s.io/v1"),
    made("ConfigMap", "a", "home"), made("Deployment", "a", "home", "apps/v1"), HOOK,
    made("Widget", version="unserved.example.com/v1"),
]  # fmt: skip


def test_webhooks_go_first_and_kinds_and_namespaces_stay() -> None:
    kubectl: Any = Recorder()
    removal.undeploy(kubectl, ALL, lambda _: None)
    assert kubectl.sent == [["ValidatingWebhookConfiguration"], ["Deployment"], ["ConfigMap"]]


def test_what_the_processes_made_goes_too() -> None:
    kubectl: Any = Recorder()
    removal.undeploy(kubectl, ALL, lambda _: None)
    assert [command for command in kubectl.commands if command[0] == "delete"][-1] == (
        "delete", "--ignore-not-found", "--namespace=volcano-system", "secret/volcano-admission-secret",
        *(f"lease/{name}" for name in LEASES.values()),
    )  # fmt: skip


class Emptied(Recorder):
    """CRDs and namespaces of the cluster, and what deletions print."""

    def __init__(self, *there: Any, printed: str = "") -> None:
        super().__init__(there)
        self.printed = printed

    def run(self, *arguments: str, **more: Any) -> str:
        super().run(*arguments, **more)
        return self.printed if arguments[0] == "delete" else ""

    def get(self, *arguments: str, **_: Any) -> list[Any]:
        return [found for found in self.there if arguments[0] == "crd" and found["kind"] == "CustomResourceDefinition"]


CRDS_STAY = "CRDs stay, and with them queues and jobs: `make undeploy-crds CONFIRM=yes` deletes them"
HOME_STAYS = "namespaces stay, since others may use them: `kubectl delete namespace home` deletes them"


@pytest.mark.parametrize(
    ("kubectl", "end"),
    [
        (Emptied(*ALL[:2], printed="configmap a deleted"), ["configmap a deleted", CRDS_STAY, HOME_STAYS]),
        (Emptied(ALL[0], printed="configmap a deleted"), ["configmap a deleted", HOME_STAYS]),
        (Emptied(ALL[0]), ["nothing of the installation was there", HOME_STAYS]),
        (Emptied(), ["nothing of the installation was there"]),
    ],
)
def test_the_last_lines_say_what_stays_of_what_is_there(kubectl: Any, end: list[str]) -> None:
    lines: list[str] = []
    removal.undeploy(kubectl, ALL, lines.append)
    assert list(dict.fromkeys(lines)) == end


def test_only_what_we_applied_and_no_longer_name_is_left_over() -> None:
    helms = made("ConfigMap", "theirs", "home")
    helms["metadata"]["managedFields"] = [{"manager": "helm", "operation": "Update"}]
    old = [made("ConfigMap", "old", "home"), made("Deployment", "old", "home", "apps/v1")]
    kubectl: Any = Recorder([*old, helms, made("ConfigMap", "a", "home")])
    found = pruning.left_over(kubectl, ALL)
    assert [(one["kind"], one["metadata"]["name"]) for one in found] == [("Deployment", "old"), ("ConfigMap", "old")]
    [asked] = [command for command in kubectl.commands if command[0] == "get"]
    assert "--selector=app.kubernetes.io/part-of=volcano" in asked
    kinds = set(asked[1].split(","))
    assert {"ConfigMap", "Deployment.v1.apps"} <= kinds
    assert not any("CustomResourceDefinition" in kind or "Certificate" in kind for kind in kinds)
    pruning.prune(kubectl, ALL, lambda _: None)
    assert [command[2:4] for command in kubectl.commands if command[0] == "delete"] == [
        ("Deployment.v1.apps", "old"), ("ConfigMap", "old"),
    ]  # fmt: skip


def test_kinds_go_only_when_it_is_confirmed_and_the_question_says_what_goes() -> None:
    class Counting(Recorder):
        def get(self, *arguments: str, **more: Any) -> list[Any]:
            if "--all-namespaces" not in arguments:
                return super().get(*arguments, **more)
            assert arguments[0] == "jobs.batch.volcano.sh,queues.scheduling.volcano.sh"
            return [made("Job", str(number), "home", "batch.volcano.sh/v1alpha1") for number in range(3)]

    kubectl: Any = Counting([
        made("CustomResourceDefinition", f"{plural}.{group}", spec={"group": group, "names": {"kind": kind}})
        for group, plural, kind in (("batch.volcano.sh", "jobs", "Job"), ("scheduling.volcano.sh", "queues", "Queue"))
    ])  # fmt: skip
    with pytest.raises(
        DeployError,
        match=r"deletes 2 CRDs and with them 3 jobs\.batch\.volcano\.sh, .* of context here: say CONFIRM=yes",
    ):
        removal.undeploy_crds(kubectl, lambda _: None, confirmed=False)
    assert not [command for command in kubectl.commands if command[0] == "delete"]
    removal.undeploy_crds(kubectl, lambda _: None, confirmed=True)
    assert kubectl.commands[-1] == ("delete", "crd", "jobs.batch.volcano.sh", "queues.scheduling.volcano.sh")


def test_where_no_kind_of_ours_is_nothing_is_deleted() -> None:
    kubectl: Any = Recorder()
    lines: list[str] = []
    removal.undeploy_crds(kubectl, lines.append, confirmed=True)
    assert lines == ["no CRD of ours is there"]

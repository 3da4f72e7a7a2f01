"""The admission policies inside the real API server: they compile, and judge as the webhooks do."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane, Options
from cluster.processes import wait_until
from generated.batch.v1alpha1 import JOBS
from generated.core.v1 import PODS
from generated.flow.v1alpha1 import JOB_FLOWS
from generated.scheduling.v1beta1 import POD_GROUPS, QUEUES
from generated.topology.v1alpha1 import HYPER_NODES
from runtime.errors import ApiError
from tests.integration import versions
from tests.integration.conftest import ROOT
from tests.unit.webhooks.policies.cases import CREATIONS, MUTATIONS, UPDATES, Case
from tests.unit.webhooks.queues.worlds import Queues, queue
from tests.unit.webhooks.reviews import answer, body, message, operations
from webhooks import WEBHOOKS
from webhooks.blueprint import WebhookClass
from webhooks.jobs.defaults import JobDefaults

Json = dict[str, Any]
PATIENCE = 120.0
"""Seconds: an API server learns the schemas of new kinds for its mutating policies some time after the kinds."""
FOLDER = ROOT / "config/webhooks/policies"
KINDS: dict[str, Any] = {kind.kind: kind for kind in (JOBS, PODS, JOB_FLOWS, POD_GROUPS, QUEUES, HYPER_NODES)}
VALIDATORS: dict[str, WebhookClass] = {
    webhook.resource.kind: webhook  # type: ignore[attr-defined]  # an interface of the generator has it
    for webhook in WEBHOOKS
    if webhook.PATH.endswith("/validate")
}
API = "admissionregistration.k8s.io"
POLICY = "ValidatingAdmissionPolicy"

pytestmark = pytest.mark.xdist_group("policies")  # a control plane of each release serves all of them


class Judge:
    """The API server with the policies, asked without anything being stored."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.api = plane.api
        self.namespace = namespace

    def place(self, kind: str) -> str:
        resource = KINDS[kind]
        root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        inside = f"/namespaces/{self.namespace}" if resource.namespaced else ""
        return f"{root}{inside}/{resource.plural}"

    def create(self, case: Case) -> Json:
        resource = KINDS[case.kind]
        version = f"{resource.group}/{resource.version}" if resource.group else resource.version
        document = {"apiVersion": version, "kind": case.kind, **case.new}
        stored: Json = self.api.request("POST", self.place(case.kind), document, query={"dryRun": "All"})
        return stored

    def refusal(self, case: Case) -> str:
        """What the policies have against it; empty when they allow it."""
        try:
            self.create(case)
        except ApiError as error:
            return error.status.message
        return ""

    def is_mutated(self, case: Case) -> bool:
        try:
            return case.words in str(self.create(case)["spec"])
        except ApiError:  # the schemas of the kind are not there yet
            return False


@pytest.fixture(scope="module", params=versions.ALL)
def plane(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """One of its own: policies are for the whole cluster, and the mutating ones are not served by default."""
    versions.need(request.param)
    options = Options(
        kubernetes=request.param,
        runtime_config=(f"{API}/v1beta1=true",),
        feature_gates={"MutatingAdmissionPolicy": True},
    )
    with ControlPlane("policies", options=options, directory=tmp_path_factory.mktemp("policies")) as made:
        crds = sorted((ROOT / "config" / "crd" / "bases").glob("*.yaml"))
        made.apply_crds(document for path in crds for document in yaml.safe_load_all(path.read_text()) if document)
        yield made


@pytest.fixture(scope="module")
def judge(plane: ControlPlane) -> Judge:
    """Ready when each policy has refused what it must."""
    for file in ("validating.yaml", "mutating.yaml"):
        for document in yaml.safe_load_all((FOLDER / file).read_text()):
            kind = document["kind"].lower()
            plural = f"{kind}s" if kind.endswith("binding") else kind.replace("policy", "policies")
            plane.api.apply(f"/apis/{document['apiVersion']}/{plural}/{document['metadata']['name']}", document)
    name = f"judged-{secrets.token_hex(3)}"
    annotations = {"scheduling.volcano.sh/queue-name": "research"}
    plane.api.create("/api/v1/namespaces", {"metadata": {"name": name, "annotations": annotations}})
    place = f"/api/v1/namespaces/{name}/serviceaccounts"
    assert wait_until(lambda: bool(plane.api.items(place)), PATIENCE)
    made = Judge(plane, name)
    for kind in KINDS:
        first = next(case for case in CREATIONS if case.kind == kind and case.denied)
        assert wait_until(lambda: POLICY in made.refusal(first), PATIENCE), f"no policy refuses {first}"  # noqa: B023
        allowed = next(case for case in CREATIONS if case.kind == kind and not case.denied)
        assert wait_until(lambda: not made.refusal(allowed), PATIENCE), made.refusal(allowed)  # noqa: B023
    for case in {case.kind: case for case in MUTATIONS}.values():
        assert wait_until(lambda: made.is_mutated(case), PATIENCE), f"no policy changes {case}"  # noqa: B023
    return made


def test_no_expression_is_wrong_about_its_kind(judge: Judge) -> None:
    """The API server checks expressions against the schemas and notes what can't be."""
    place = f"/apis/{API}/v1/validatingadmissionpolicies"

    def checked() -> bool:
        return all(
            policy["status"].get("observedGeneration") for policy in judge.api.items(place) if "status" in policy
        )

    assert wait_until(checked, PATIENCE)
    noted = {
        policy["metadata"]["name"]: policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings", [])
        for policy in judge.api.items(place)
    }
    mistakes = [f"{name}: {warning}" for name, warnings in noted.items() for warning in warnings]
    assert mistakes == []


def webhook_says(case: Case, old: Json | None = None) -> str:
    world = Queues(*(queue(name, "root", state="Open") for name in ("default", "research")), queue("root"))
    review = body(KINDS[case.kind], case.new, old, namespace="n")
    return message(answer(world.endpoint(VALIDATORS[case.kind]), review))


@pytest.mark.parametrize("case", CREATIONS, ids=str)
def test_a_policy_allows_and_denies_what_the_webhook_does(judge: Judge, case: Case) -> None:
    told = judge.refusal(case)
    assert bool(webhook_says(case)) is case.denied, "the table is right about the webhook"
    assert bool(told) is case.denied, told
    if case.denied:
        assert POLICY in told
        assert case.words in told


def merged(old: Any, new: Any) -> Any:
    """The old one with what the new one says, in lists of the same length item by item; None takes a field away."""
    if isinstance(old, dict) and isinstance(new, dict):
        both = {**old, **{key: merged(old.get(key), value) for key, value in new.items()}}
        return {key: value for key, value in both.items() if value is not None}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [merged(before, after) for before, after in zip(old, new, strict=True)]
    return new


@pytest.mark.parametrize("case", UPDATES, ids=str)
def test_a_change_is_judged_alike(judge: Judge, case: Case) -> None:
    name = f"u{secrets.token_hex(3)}"
    assert case.old is not None
    resource = KINDS[case.kind]
    head = {"apiVersion": f"{resource.group}/{resource.version}", "kind": case.kind}
    metadata = {**case.old.get("metadata", {}), "name": name}
    judge.api.create(judge.place(case.kind), {**head, **case.old, "metadata": metadata})
    try:
        place = f"{judge.place(case.kind)}/{name}"
        stored = judge.api.get(place)
        new = merged(stored, case.new)
        try:
            judge.api.request("PUT", place, new, query={"dryRun": "All"})
            told = ""
        except ApiError as error:
            told = error.status.message
        assert bool(webhook_says(Case(case.kind, new), stored)) is case.denied, "the table is right about the webhook"
        assert bool(told) is case.denied, told
        assert case.words in told
    finally:
        judge.api.delete(f"{judge.place(case.kind)}/{name}")


@pytest.mark.parametrize("name", ["default", "root"])
def test_two_queues_are_never_deleted(judge: Judge, name: str) -> None:
    judge.api.apply(
        f"{judge.place('Queue')}/{name}",
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}},
    )
    with pytest.raises(ApiError, match=f"`{name}` queue can not be deleted"):
        judge.api.delete(f"{judge.place('Queue')}/{name}")


@pytest.mark.parametrize("case", MUTATIONS, ids=str)
def test_an_object_gets_what_the_webhook_would_give_it(judge: Judge, case: Case) -> None:
    made = judge.create(case)
    assert case.words in str(made["spec"])
    if case.kind == "Job":
        rest = operations(answer(Queues().endpoint(JobDefaults), body(JOBS, made)))
        assert [each for each in rest if each != ("replace", "/spec/plugins", made["spec"].get("plugins"))] == []


def test_system_namespaces_are_left_alone() -> None:
    for file in ("validating.yaml", "mutating.yaml"):
        for document in yaml.safe_load_all((Path(FOLDER) / file).read_text()):
            if document["kind"].endswith("Policy") and "hypernode" not in document["metadata"]["name"]:
                [expression] = document["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
                assert set(expression["values"]) == {"volcano-system", "kube-system"}

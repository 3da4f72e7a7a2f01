"""Reviews of queues, groups, flows and HyperNodes that nobody should send."""

from __future__ import annotations

import itertools
import random
from typing import Any

import msgspec
import pytest

from generated.flow.v1alpha1 import JOB_FLOWS
from generated.scheduling.v1beta1 import POD_GROUPS, QUEUES
from generated.topology.v1alpha1 import HYPER_NODES
from runtime.admission_server import MAX_BODY, AdmissionServer
from runtime.servingtls import ServingTls
from tests.unit.webhooks.policies.cases import CREATIONS
from tests.unit.webhooks.queues.worlds import Queues, queue
from tests.unit.webhooks.reviews import body
from tests.unit.webhooks.test_random_reviews import ask, mutate
from webhooks import WEBHOOKS

Json = dict[str, Any]
ROUNDS, SEEDS = 400, 8
KINDS = {kind.kind: kind for kind in (QUEUES, POD_GROUPS, JOB_FLOWS, HYPER_NODES)}
PATHS = {
    "/queues/mutate": QUEUES,
    "/queues/validate": QUEUES,
    "/podgroups/mutate": POD_GROUPS,
    "/podgroups/validate": POD_GROUPS,
    "/jobflows/validate": JOB_FLOWS,
    "/hypernodes/validate": HYPER_NODES,
}
STORED = (
    queue("root"),
    queue("default", "root", state="Open", deserved={"cpu": "4"}, capability={"cpu": "1e1.5"}),
    queue("child", "default", hierarchy="root/a/b"),
    queue("x", "y"),
    queue("y", "x"),
)
RELATED = [
    {"metadata": {"name": "q"}, "spec": {"parent": "default", "deserved": {"cpu": 1, "nvidia.com/gpu": "2"}}},
    {"metadata": {"name": "default"}, "spec": {"parent": "child", "guarantee": {"resource": {"memory": "1Gi"}}}},
    {"metadata": {"name": "x"}, "spec": {"parent": "y", "capability": {"pods": "9"}}, "status": {"state": "Open"}},
]
MANIFESTS = [(KINDS[case.kind], case.new) for case in CREATIONS if case.kind in KINDS]
MANIFESTS += [(QUEUES, each) for each in RELATED] * 3


@pytest.fixture(scope="module")
def server() -> AdmissionServer:
    world = Queues(*STORED)
    handlers = [webhook(world.context).handler() for webhook in WEBHOOKS if webhook.PATH in PATHS]
    return AdmissionServer(handlers, ServingTls(), host="127.0.0.1", port=0)


def review(chance: random.Random) -> tuple[str, bytes]:
    """A path, and the bytes that are posted there."""
    kind, manifest = chance.choice(MANIFESTS)
    path = chance.choice([path for path, served in PATHS.items() if served is kind or chance.random() < 0.05])
    new, old = _copy(manifest), _copy(manifest)
    for _ in range(chance.randrange(4)):
        mutate(new, chance)
    if chance.random() < 0.2:
        mutate(old, chance)
    request: Json = {}
    if chance.random() < 0.4:
        operation = chance.choice(["CREATE", "UPDATE", "UPDATE", "DELETE", "DELETE", "CONNECT", "", "x"])
        request = {"operation": operation, "name": chance.choice(["", "q", "default", "child"])}
    text = body(kind, chance.choice([new] * 9 + [None]), old if chance.random() < 0.4 else None, **request)
    fate = chance.random()
    if fate < 0.05:
        return path, text[: chance.randrange(len(text))]
    if fate < 0.1:
        place = chance.randrange(len(text))
        return path, text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :]
    if fate < 0.12:
        return path, text.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v9")
    return path, text


def _copy(document: Json) -> Json:
    copied: Json = msgspec.json.decode(msgspec.json.encode(document))
    return copied


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_review_breaks_the_server(server: AdmissionServer, seed: int) -> None:
    chance = random.Random(seed)
    verdicts = {True: 0, False: 0}
    for _ in range(ROUNDS):
        path, text = review(chance)
        answer = ask(server, path, text)
        assert answer.status in {200, 400}, (path, text, answer.body)
        if answer.status == 200:
            response = msgspec.json.decode(answer.body)["response"]
            verdicts[response["allowed"]] += 1
            assert ("patch" in response) is ("patchType" in response)
            assert response["allowed"] or response["status"]["message"], "a denial says why"
    assert min(verdicts.values()) > ROUNDS // 20, "both verdicts are common, or the reviews are of no use"


@pytest.mark.parametrize("filler", [b" ", b'"', b"[", b'{"a":', b"\xff"])
@pytest.mark.parametrize("path", PATHS)
def test_three_megabytes_of_anything_are_answered(server: AdmissionServer, path: str, filler: bytes) -> None:
    text = (filler * MAX_BODY)[:MAX_BODY]
    assert ask(server, path, text).status == 400


def test_three_megabytes_of_flows_and_members_are_judged(server: AdmissionServer) -> None:
    flows: list[Json] = [{"name": f"step-{number}"} for number in range(20_000)]
    for earlier, later in itertools.pairwise(flows):
        later["dependsOn"] = {"targets": [earlier["name"]]}
    answer = ask(server, "/jobflows/validate", body(JOB_FLOWS, {"spec": {"flows": flows}}))
    assert b'"allowed":true' in answer.body
    flows[0]["dependsOn"] = {"targets": [flows[-1]["name"]]}
    answer = ask(server, "/jobflows/validate", body(JOB_FLOWS, {"spec": {"flows": flows}}))
    assert b"jobflow Flow is not DAG" in answer.body
    member = {"type": "Node", "selector": {"regexMatch": {"pattern": "^node-[0-9]+$"}}}
    answer = ask(server, "/hypernodes/validate", body(HYPER_NODES, {"spec": {"members": [member] * 20_000}}))
    assert b'"allowed":true' in answer.body

"""Reviews that nobody should send, and valid ones beside a slow judge of what may be let in."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Awaitable, Iterator
from typing import Any

import msgspec
import pytest

from generated.batch.v1alpha1 import CRON_JOBS, JOBS
from generated.core.v1 import PODS
from runtime.admission_server import MAX_BODY, AdmissionServer
from runtime.http1 import HttpRequest, HttpResponse
from runtime.servingtls import ServingTls
from tests.unit.webhooks.jobs.samples import container, job, pod, task
from tests.unit.webhooks.podtemplate.cases import CASES
from tests.unit.webhooks.reviews import World, body
from webhooks import WEBHOOKS

Json = dict[str, Any]
ROUNDS = 4_000
DEEP = "a value nested deeper than a reader can follow"
"""Stands for itself until the text is made, which couldn't follow either."""
ODD = [
    None,
    True,
    False,
    0,
    -1,
    1,
    1.0,
    1.5,
    2**31,
    2**63,
    10**30,
    "",
    "a",
    "A_",
    "\u0000",
    "x" * 300,
    [],
    {},
    [None],
    {"": None},
    DEEP,
]
LEVELS = (100, 500, 900, 1_100, 3_000, 9_000, 30_000)
"""How deep an interpreter's parser goes differs: 1,000 levels in Python 3.11, 10,000 in 3.13."""
PATHS = {
    "/jobs/mutate": JOBS,
    "/jobs/validate": JOBS,
    "/cronjobs/validate": CRON_JOBS,
    "/pods/mutate": PODS,
    "/pods/validate": PODS,
}


@pytest.fixture(scope="module")
def server() -> AdmissionServer:
    world = World()
    handlers = [webhook(world.context).handler() for webhook in WEBHOOKS if webhook.PATH in PATHS]
    return AdmissionServer(handlers, ServingTls(), host="127.0.0.1", port=0)


def ask(server: AdmissionServer, path: str, text: bytes) -> HttpResponse:
    headers = {"content-type": "application/json"}
    answer = server.handle(HttpRequest("POST", path, "timeout=10s", headers, text, True))
    return asyncio.run(_wait(answer)) if isinstance(answer, Awaitable) else answer


async def _wait(answer: Awaitable[HttpResponse]) -> HttpResponse:
    return await answer


def manifests() -> list[tuple[Any, Json]]:
    """Real ones of each kind, with the templates that are wrong in some way among them."""
    templates = [
        job(task(template=case, dependsOn={"name": ["t"]}), policies=[{"event": "*"}]) for case in CASES.values()
    ]
    jobs = [
        job(
            task("a", replicas=4, minAvailable=2, policies=[{"event": "PodFailed", "action": "RestartJob"}]),
            task("b", dependsOn={"name": ["a"]}, partitionPolicy={"totalPartitions": 1, "partitionSize": 1}),
            plugins={"ssh": ["--ssh-port=1"], "mpi": ["--master=a"]},
            volumes=[{"mountPath": "/a", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}],
            networkTopology={"mode": "hard", "highestTierAllowed": 1},
        ),
        *templates,
    ]
    cron = {"schedule": "*/5 * * * *", "timeZone": "UTC", "jobTemplate": {"spec": jobs[0]["spec"]}}
    pods = [
        {
            "metadata": {"name": "p", "annotations": {"volcano.sh/jdb-min-available": "5%"}},
            **pod(schedulerName="volcano"),
        }
    ]
    found = [(JOBS, each) for each in jobs] + [(PODS, each) for each in pods]
    return [*found, *[(CRON_JOBS, {"metadata": {"name": "c"}, "spec": cron})] * 20]


MANIFESTS = manifests()


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def mutate(document: Json, chance: random.Random) -> None:
    """Put something odd in some place, or take what is there away."""
    found = list(places(document))
    if not found:
        return
    *way, last = chance.choice(found)
    holder: Any = document
    for step in way:
        holder = holder[step]
    if chance.random() < 0.2:
        del holder[last]
    elif isinstance(holder, dict) and chance.random() < 0.1:
        holder[chance.choice(["", "unknown", "x" * 100])] = chance.choice(ODD)
    else:
        holder[last] = copy.deepcopy(chance.choice(ODD))


def review(chance: random.Random) -> tuple[str, bytes]:
    """A path, and the bytes that are posted there."""
    path, text = shallow_review(chance)
    levels = chance.choice(LEVELS)
    begin, end = chance.choice([(b"[", b"]"), (b'{"a":', b"}")])
    return path, text.replace(b'"%s"' % DEEP.encode(), begin * levels + b"1" + end * levels)


def shallow_review(chance: random.Random) -> tuple[str, bytes]:
    kind, manifest = chance.choice(MANIFESTS)
    path = chance.choice([path for path, served in PATHS.items() if served is kind or chance.random() < 0.05])
    new, old = copy.deepcopy(manifest), copy.deepcopy(manifest)
    for _ in range(chance.randrange(4)):
        mutate(new, chance)
    request: Json = {}
    if chance.random() < 0.3:
        request = {"operation": chance.choice(["CREATE", "UPDATE", "DELETE", "CONNECT", "", "x"])}
    text = body(kind, new, old if chance.random() < 0.3 else None, **request)
    fate = chance.random()
    if fate < 0.05:
        return path, text[: chance.randrange(len(text))]
    if fate < 0.1:
        place = chance.randrange(len(text))
        return path, text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :]
    if fate < 0.13:
        whole = msgspec.json.decode(text)
        mutate(whole, chance)
        return path, msgspec.json.encode(whole)
    if fate < 0.15:
        return path, text.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v9")
    return path, text


@pytest.mark.parametrize("seed", range(8))
def test_no_review_breaks_the_server(server: AdmissionServer, seed: int) -> None:
    chance = random.Random(seed)
    verdicts = {True: 0, False: 0}
    for _ in range(ROUNDS // 8):
        path, text = review(chance)
        answer = ask(server, path, text)
        assert answer.status in {200, 400}, (path, text, answer.body)
        if answer.status == 200:
            response = msgspec.json.decode(answer.body)["response"]
            verdicts[response["allowed"]] += 1
            assert ("patch" in response) is ("patchType" in response)
            assert response["allowed"] or response["status"]["message"], "a denial says why"
    assert min(verdicts.values()) > ROUNDS // 8 // 20, "both verdicts are common, or the reviews are of no use"


@pytest.mark.parametrize("filler", [b" ", b'"', b"[", b'{"a":', b"\xff"])
@pytest.mark.parametrize("path", PATHS)
def test_three_megabytes_of_anything_are_answered(server: AdmissionServer, path: str, filler: bytes) -> None:
    text = (filler * MAX_BODY)[:MAX_BODY]
    assert ask(server, path, text).status == 400


def test_a_job_of_three_megabytes_is_judged(server: AdmissionServer) -> None:
    variables = [{"name": f"A{number}", "value": "x" * 100} for number in range(20_000)]
    text = body(JOBS, job(task(template=pod(containers=[container(env=variables)]))))
    assert MAX_BODY * 0.7 < len(text) < MAX_BODY
    assert b'"allowed":true' in ask(server, "/jobs/validate", text).body


def may_run(obj: Json) -> bool:
    """The rules of numbers, names, policies and order once more, as simple as can be."""
    spec = obj["spec"]
    tasks = spec["tasks"]
    names = [each["name"] for each in tasks]
    needed = {each["name"]: set((each.get("dependsOn") or {}).get("name", ())) for each in tasks}
    while free := [name for name, others in needed.items() if not others]:
        for name in free:
            del needed[name]
        for others in needed.values():
            others.difference_update(free)
    lists = [spec.get("policies", []), *(each.get("policies", []) for each in tasks)]
    return (
        bool(tasks)
        and len(set(names)) == len(names)
        and not needed
        and all(each.get("minAvailable", 0) <= each["replicas"] for each in tasks)
        and spec["minAvailable"] <= sum(each["replicas"] for each in tasks)
        and all(map(_may_stand_together, lists))
        and spec["queue"] in {"default", "new"}
    )


def _may_stand_together(policies: list[Json]) -> bool:
    events = [event for policy in policies for event in policy.get("events", ())]
    codes = [policy["exitCode"] for policy in policies if "exitCode" in policy]
    return (
        all(("events" in policy) is not ("exitCode" in policy) for policy in policies)
        and all(policy["action"] in {"AbortJob", "RestartJob"} for policy in policies)
        and set(events) <= {"*", "PodFailed", "PodEvicted"}
        and len(set(events)) == len(events)
        and not ("*" in events and len(events) > 1)
        and 0 not in codes
        and len(set(codes)) == len(codes)
    )


def policy(chance: random.Random) -> Json:
    trigger: Json = (
        {"events": [chance.choice(["*", "PodFailed", "PodEvicted", "OutOfSync"])]}
        if chance.random() < 0.7
        else {"exitCode": chance.choice([0, 1, 2, 3])}
    )
    if chance.random() < 0.05:
        trigger = {}
    return {**trigger, "action": chance.choice(["AbortJob", "RestartJob", "RestartJob", "RestartJob", "SyncJob"])}


def random_job(chance: random.Random) -> Json:
    def policies() -> list[Json]:
        return [policy(chance) for _ in range(chance.choice([0, 0, 0, 1, 2]))]

    def one(name: str) -> Json:
        fields: Json = {"replicas": chance.randrange(4), "policies": policies()}
        if chance.random() < 0.4:
            fields["minAvailable"] = chance.randrange(3)
        if chance.random() < 0.4:
            fields["dependsOn"] = {"name": chance.sample("abcd", chance.randrange(2))}
        return task(name, **fields)

    names = chance.sample("abcd", chance.randrange(1, 4)) if chance.random() < 0.9 else ["a", "a"]
    least, queue = chance.randrange(4), chance.choice(["default", "default", "default", "new", "closed", "root"])
    return job(*map(one, names), minAvailable=least, queue=queue, policies=policies())


@pytest.mark.parametrize("seed", range(4))
def test_the_verdict_on_valid_reviews_is_that_of_a_slow_judge(server: AdmissionServer, seed: int) -> None:
    chance = random.Random(seed)
    verdicts = {True: 0, False: 0}
    for _ in range(400):
        obj = random_job(chance)
        answer = ask(server, "/jobs/validate", body(JOBS, obj))
        allowed = msgspec.json.decode(answer.body)["response"]["allowed"]
        assert allowed is may_run(obj), (obj, answer.body)
        verdicts[allowed] += 1
    assert min(verdicts.values()) > 40

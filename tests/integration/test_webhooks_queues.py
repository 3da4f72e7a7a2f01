"""Queues, PodGroups, JobFlows and HyperNodes through the API server, judged by managers that come and go."""

from __future__ import annotations

import itertools
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from runtime.certs import create_pair, utc_now
from runtime.errors import ApiError, ConnectionFailed, NotFound
from tests.integration.replicas import PATIENCE, Replicas, replicas
from tests.integration.test_admission_certificates import ONE, TWO

Json = dict[str, Any]
SCHEDULING = "scheduling.volcano.sh/v1beta1"
PLACES = {
    "Queue": (SCHEDULING, "queues", False),
    "PodGroup": (SCHEDULING, "podgroups", True),
    "JobFlow": ("flow.volcano.sh/v1alpha1", "jobflows", True),
    "HyperNode": ("topology.volcano.sh/v1alpha1", "hypernodes", False),
    "Job": ("batch.volcano.sh/v1alpha1", "jobs", True),
}
TASK = {"name": "t", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "busybox"}]}}}


class User:
    """Writes objects of one namespace, and cluster-wide ones with names of its own."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.api, self.namespace = plane, plane.api, namespace
        self.suffix = secrets.token_hex(3)
        self.made: list[str] = []

    def name(self, short: str) -> str:
        return f"{short}-{self.suffix}"

    def place(self, kind: str, name: str = "") -> str:
        group, plural, inside = PLACES[kind]
        middle = f"/namespaces/{self.namespace}" if inside else ""
        return f"/apis/{group}{middle}/{plural}" + (f"/{name}" if name else "")

    def create(self, kind: str, name: str, spec: Json, **metadata: Any) -> Json:
        document = {
            "apiVersion": PLACES[kind][0],
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "spec": spec,
        }
        stored: Json = self.api.create(self.place(kind), document)
        if kind in {"Queue", "HyperNode"}:
            self.made.append(self.place(kind, name))
        return stored

    def refusal(self, kind: str, name: str, spec: Json, **metadata: Any) -> str:
        with pytest.raises(ApiError) as refused:
            self.create(kind, name, spec, **metadata)
        return refused.value.status.message

    def update_refusal(self, kind: str, name: str, patch: Json) -> str:
        with pytest.raises(ApiError) as refused:
            self.api.merge(self.place(kind, name), patch)
        return refused.value.status.message

    def deletion_refusal(self, name: str) -> str:
        with pytest.raises(ApiError) as refused:
            self.api.delete(self.place("Queue", name))
        return refused.value.status.message

    def status(self, queue: str, **status: Any) -> None:
        self.api.merge(f"{self.place('Queue', queue)}/status", {"status": status})

    def tidy(self) -> None:
        """Once nothing is judged any more."""
        for place in self.made:
            try:
                self.api.delete(place)
            except NotFound:
                continue


@pytest.fixture
def user(control_plane: ControlPlane, namespace: str) -> Iterator[User]:
    made = User(control_plane, namespace)
    for name in ("root", "default"):
        document = {"apiVersion": SCHEDULING, "kind": "Queue", "metadata": {"name": name}, "spec": {"weight": 1}}
        made.api.apply(made.place("Queue", name), document)
    yield made
    made.tidy()


@pytest.fixture
def start(user: User, kubeconfig: Path, tmp_path: Path) -> Iterator[Callable[..., Replicas]]:
    """Start managers with some flags; they go before the objects that they would judge."""
    running: list[Any] = []

    def run(*flags: str, count: int = 1) -> Replicas:
        context = replicas(user.plane, kubeconfig, tmp_path, ONE, *flags, count=count)
        made: Replicas = context.__enter__()
        running.append(context)
        return made

    yield run
    for context in running:
        context.__exit__(None, None, None)


def denied(webhook: str, text: str) -> str:
    return f'admission webhook "validate{webhook}.volcano.sh" denied the request: {text}'


def test_a_tree_of_queues_is_kept_in_order(user: User, start: Callable[..., Replicas]) -> None:
    start()
    parent, a, b, c = (user.name(short) for short in "pabc")
    stored = user.create("Queue", parent, {"deserved": {"cpu": "8"}, "capability": {"cpu": "8"}})
    assert (stored["spec"]["weight"], stored["spec"]["reclaimable"]) == (1, True)
    user.create("Queue", a, {"parent": parent, "deserved": {"cpu": "6"}})
    # Nobody waits for a cache in between: what was written counts at once.
    assert user.refusal("Queue", b, {"parent": parent, "deserved": {"cpu": "3"}}) == denied(
        "queue",
        f"parent queue {parent} validation failed: sum of children's deserved (cpu 9000.00, memory 0.00)"
        " exceeds parent's deserved limit (cpu 8000.00, memory 0.00)",
    )
    user.create("Queue", b, {"parent": parent, "deserved": {"cpu": "2"}})
    user.create("Queue", c, {"parent": b})
    assert user.update_refusal("Queue", parent, {"spec": {"parent": c}}) == denied(
        "queue", f"queue {parent} cannot be moved under its descendant {c}"
    )
    assert user.refusal("Queue", user.name("x"), {"parent": user.name("gone")}) == denied(
        "queue",
        f"failed to get parent queue {user.name('gone')} of queue {user.name('x')}:"
        f' queue.scheduling.volcano.sh "{user.name("gone")}" not found',
    )
    assert user.refusal("Queue", user.name("x"), {"capability": {"pods": "1500m"}}) == denied(
        "queue", 'requestBody.spec.capability.pods: Invalid value: "1500m": must be an integer'
    )
    assert user.update_refusal("Queue", b, {"spec": {"capability": {"cpu": "9"}}}) == denied(
        "queue", f"queue {b} capability[cpu]=9 exceeds its ancestor's capability=8"
    )
    assert user.deletion_refusal(parent) == denied(
        "queue", f"queue {parent} can not be deleted because it has 2 child queues: {a}, {b}"
    )
    for name in (c, b, a, parent):
        user.api.delete(user.place("Queue", name))


def test_root_and_default_are_protected(user: User, start: Callable[..., Replicas]) -> None:
    start()
    for name in ("root", "default"):
        assert user.deletion_refusal(name) == denied("queue", f"`{name}` queue can not be deleted")
    assert user.update_refusal("Queue", "root", {"spec": {"capability": {"cpu": "1"}}}) == denied(
        "queue", "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"
    )
    assert user.update_refusal("Queue", "root", {"spec": {"parent": "default"}}) == denied(
        "queue", "root queue's parent must stay empty, but spec.parent is default"
    )
    assert user.api.merge(user.place("Queue", "root"), {"spec": {"weight": 1}})["spec"]["weight"] == 1


def test_a_closing_queue_can_be_changed_and_takes_no_groups(user: User, start: Callable[..., Replicas]) -> None:
    start()
    name = user.name("q")
    user.create("Queue", name, {})
    user.create("PodGroup", "early", {"queue": name})
    user.status(name, state="Closing")
    text = denied(
        "podgroup", f"can only submit PodGroup to queue with state `Open`, queue `{name}` status is `Closing`."
    )

    def told() -> str:
        return _told(user, "PodGroup", f"g{secrets.token_hex(3)}", {"queue": name})

    assert wait_until(lambda: told() == text, PATIENCE), "the watch tells of the state"
    assert user.api.merge(user.place("Queue", name), {"spec": {"weight": 7}})["spec"]["weight"] == 7
    gone = user.name("gone")
    assert user.refusal("PodGroup", "g", {"queue": gone}) == denied(
        "podgroup", f'unable to find queue: queue.scheduling.volcano.sh "{gone}" not found'
    )


def test_a_group_goes_to_the_queue_of_its_namespace(user: User, start: Callable[..., Replicas]) -> None:
    start()
    name = user.name("team")
    user.create("Queue", name, {})
    annotation = {"scheduling.volcano.sh/queue-name": name}
    user.api.merge(f"/api/v1/namespaces/{user.namespace}", {"metadata": {"annotations": annotation}})

    def queue_of_a_new_group() -> str:
        stored = user.create("PodGroup", f"g{secrets.token_hex(3)}", {})
        queue: str = stored["spec"]["queue"]
        return queue

    assert wait_until(lambda: queue_of_a_new_group() == name, PATIENCE), "the watch tells of the annotation"


def test_flags_keep_used_queues_and_inner_queues_free(user: User, start: Callable[..., Replicas]) -> None:
    start("--enable-queue-allocated-pods-check", "--enable-queue-podgroups-check", "--enable-podgroup-leaf-queue-check")
    busy, used, inner = (user.name(short) for short in ("busy", "used", "inner"))
    for name in (busy, used, inner):
        user.create("Queue", name, {})
    user.status(busy, allocated={"pods": "2"})
    assert user.deletion_refusal(busy) == denied(
        "queue", f"queue {busy} cannot be deleted because it has allocated Pods: 2"
    )
    user.create("PodGroup", "g", {"queue": used})

    def deletion() -> str:
        try:
            user.api.delete(user.place("Queue", used), dryRun="All")
        except ApiError as error:
            return error.status.message
        return ""

    expected = denied("queue", f"queue {used} can not be deleted because 1 PodGroup is in it")
    assert wait_until(lambda: deletion() == expected, PATIENCE), "the watch tells of the group"
    user.create("Queue", user.name("leaf"), {"parent": inner})
    text = f"can only submit PodGroup to leaf queue, queue `{inner}` has 1 child queues"

    def told() -> str:
        return _told(user, "PodGroup", f"g{secrets.token_hex(3)}", {"queue": inner})

    assert wait_until(lambda: text in told(), PATIENCE), "the watch tells of the child"


def _told(user: User, kind: str, name: str, spec: Json) -> str:
    """What the server says against it, empty when it takes it."""
    try:
        user.create(kind, name, spec)
    except ApiError as error:
        return error.status.message
    return ""


def test_flows_and_hypernodes_hear_what_is_wrong(user: User, start: Callable[..., Replicas]) -> None:
    start()
    flows = [{"name": "a", "dependsOn": {"targets": ["b"]}}, {"name": "b", "dependsOn": {"targets": ["a"]}}]
    assert user.refusal("JobFlow", "f", {"flows": flows}) == denied("jobflow", "jobflow Flow is not DAG: a -> b -> a")
    flows = [{"name": "a", "dependsOn": {"targets": ["x"]}}]
    assert user.refusal("JobFlow", "f", {"flows": flows}) == denied(
        "jobflow", "jobflow Flow is not DAG: vertex is not defined: x"
    )
    user.create("JobFlow", "f", {"flows": [{"name": "a"}, {"name": "a"}]})

    def members(pattern: str) -> Json:
        return {"tier": 1, "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}]}

    name = user.name("h")
    assert user.refusal("HyperNode", name, members("a(b")) == denied(
        "hypernode",
        'spec.members[0].selector.regexMatch.pattern: Invalid value: "a(b": member regexMatch pattern is invalid:'
        " error parsing regexp: missing closing ): `a(b`",
    )
    assert user.refusal("HyperNode", name, {"tier": 1}) == denied(
        "hypernode", "spec.members: Invalid value: null: member must have at least one member"
    )
    user.create("HyperNode", name, members("^rack-1-"))


# Files with many objects.


class Document(NamedTuple):
    kind: str
    name: str
    parent: str = ""
    cpu: int = 0
    queue: str = ""


FILE = (
    Document("Queue", "p", cpu=8),
    Document("Queue", "a", parent="p", cpu=6),
    Document("Queue", "b", parent="p", cpu=6),
    Document("Job", "j", queue="a"),
    Document("PodGroup", "g", queue="b"),
)


def one_by_one(order: tuple[Document, ...]) -> list[bool]:
    """Which are accepted when each waits until all the world knows of the one before."""
    known: dict[str, Document] = {}
    verdicts = []
    for each in order:
        siblings = [other.cpu for other in known.values() if other.parent == each.parent == "p"]
        if each.kind != "Queue":
            accepted = each.queue in known
        elif each.parent:
            accepted = "p" in known and sum(siblings) + each.cpu <= known["p"].cpu
        else:
            accepted = True
        if accepted and each.kind == "Queue":
            known[each.name] = each
        verdicts.append(accepted)
    return verdicts


def test_a_file_in_any_order_ends_as_if_applied_one_by_one(user: User, start: Callable[..., Replicas]) -> None:
    start(count=2)
    for number, order in enumerate(itertools.permutations(FILE)):
        if number % 7:  # seventeen of them, spread over all
            continue
        names = {each.name: f"{each.name}-{number}-{user.suffix}" for each in order}
        verdicts = []
        for each in order:
            spec: Json = {"deserved": {"cpu": str(each.cpu)}} if each.kind == "Queue" else {"queue": names[each.queue]}
            spec |= {"parent": names[each.parent]} if each.parent else {}
            spec |= {"tasks": [TASK]} if each.kind == "Job" else {}
            told = _told(user, each.kind, names[each.name], spec)
            assert told == "" or "denied the request" in told, told
            verdicts.append(told == "")
        assert verdicts == one_by_one(order), order


# Managers that come and go.


class Outcome(NamedTuple):
    name: str
    is_good: bool
    problem: str
    """Empty for one that was stored."""
    began: float
    ended: float


class Load:
    """Creates jobs, one in three of them wrong, until told to stop."""

    def __init__(self, user: User, workers: int = 3) -> None:
        self._user = user
        self._stopped = threading.Event()
        self.outcomes: list[Outcome] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(workers)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def goes_on(self, count: int = 15) -> None:
        """Wait until so many more have ended."""
        wanted = len(self.outcomes) + count
        assert wait_until(lambda: len(self.outcomes) >= wanted, PATIENCE)

    def _run(self, worker: int) -> None:
        for number in itertools.count():
            if self._stopped.is_set():
                return
            is_good = number % 3 > 0
            name, began, problem = f"w{worker}-{number}", time.monotonic(), ""
            spec = {"queue": "default" if is_good else "nowhere", "tasks": [TASK]}
            try:
                self._user.create("Job", name, spec)
            except (ApiError, ConnectionFailed) as error:
                problem = str(error)
            self.outcomes.append(Outcome(name, is_good, problem, began, time.monotonic()))

    def check(self, blind: tuple[float, float]) -> None:
        """Nothing got through unchecked, and nothing failed but in the time when nobody judged."""
        stored = {each["metadata"]["name"]: each for each in self._user.api.items(self._user.place("Job"))}
        for each in self.outcomes:
            in_blindness = each.ended > blind[0] and each.began < blind[1]
            assert (each.name in stored) is (each.problem == ""), each
            if each.problem and (each.is_good or "unable to find job queue" not in each.problem):
                assert in_blindness, each
                assert "failed calling webhook" in each.problem, each
            assert each.is_good or each.problem, each
            if each.name in stored:
                assert stored[each.name]["spec"]["tasks"][0]["maxRetry"] == 3, "its defaults were written"


def test_replicas_restart_die_and_rotate_under_load(user: User, start: Callable[..., Replicas]) -> None:
    managers = start("--graceful-shutdown-time=10s", count=2)
    with Load(user) as load:
        load.goes_on()
        for number in (0, 1):  # a rollout: one after the other
            managers.stop(number)
            load.goes_on()
            managers.start(number)
            load.goes_on()
        managers.mount(TWO)
        assert wait_until(lambda: managers.serve(TWO), PATIENCE)
        load.goes_on()
        blind_from = time.monotonic()
        for number in (0, 1):
            managers.stop(number, signal.SIGKILL)
        load.goes_on(30)
        managers.mount(create_pair(("localhost",), utc_now()))
        managers.start(0)
        blind_to = time.monotonic()
        managers.start(1)
        load.goes_on(30)
    load.check((blind_from, blind_to))
    problems = [each.problem for each in load.outcomes]
    assert "" in problems
    assert any("failed calling webhook" in problem for problem in problems), "nobody judged for a while"
    assert any("unable to find job queue" in problem for problem in problems)

"""From changes of objects to requests."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from controllers.job.commands import Order
from controllers.job.facts import still_holds
from controllers.job.first import FirstStatuses
from controllers.job.policies import decide
from controllers.job.reader import POD_INDEXERS, Listers, Reader, owner_uid
from controllers.job.recent import Recent
from controllers.job.requests import SYNC, Request, Target
from controllers.job.watches import BURST_SECONDS, PATIENT, OnCommand, OnJob, OnPod, OnPodGroup, OnWaitedFor
from generated.batch.v1alpha1 import Job, LifecyclePolicy
from generated.bus.v1alpha1 import Command
from generated.core.v1 import ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodCondition
from generated.fakes.fakes import Fakes
from generated.listers.core_v1 import PodLister
from generated.meta.v1 import ObjectMeta, OwnerReference
from generated.scheduling.v1beta1 import PodGroup, PodGroupCondition, PodGroupStatus, Queue
from runtime.lister import Store
from runtime.objects import Key
from tests.unit.controllers.job.samples import a_group, a_job, a_pod, a_task, containers, replaced

KEY = Key("ns", "j")


class Notes:
    """What was noted."""

    def __init__(self, job: Job | None = None, *pods: Pod) -> None:
        self.seen: list[tuple[Key, Request, float]] = []
        fakes = Fakes(*([job] if job is not None else []))
        store: Store[Pod] = Store(POD_INDEXERS)
        for pod in pods:
            store.put(pod)
        scheduling = fakes.scheduling_v1beta1
        listers = Listers(
            fakes.batch_v1alpha1.jobs,
            PodLister(store),
            scheduling.pod_groups,
            scheduling.queues,
            fakes.core_v1.persistent_volume_claims,
        )
        self.reader = Reader(listers, Recent(lambda: 0.0), FirstStatuses(lambda *_: None))

    def __call__(self, key: Key, request: Request, delay: float) -> None:
        self.seen.append((key, request, delay))

    def event(self) -> str:
        """The only event noted, empty when there is none."""
        if not self.seen:
            return ""
        ((key, request, _),) = self.seen
        assert key == KEY
        return request.event


def newer(pod: Pod) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, resource_version="4"))


def ended(*codes: int, init: tuple[int, ...] = ()) -> dict[str, Any]:
    def statuses(values: tuple[int, ...]) -> tuple[ContainerStatus, ...]:
        return tuple(
            ContainerStatus(name=f"c{i}", state=ContainerState(terminated=ContainerStateTerminated(exit_code=code)))
            for i, code in enumerate(values)
        )

    return {"container_statuses": statuses(codes), "init_container_statuses": statuses(init)}


EVICTION = (LifecyclePolicy(event="PodEvicted", action="RestartJob"),)
ANY = (LifecyclePolicy(event="*", action="CompleteJob"),)
COMPLETION = (LifecyclePolicy(event="TaskCompleted", action="CompleteJob"),)
ONE = (a_task(replicas=1),)
STOPPED = a_pod("j-t-0", "Succeeded", is_terminating=True)
"""A pod whose program answered with exit code 0 when it was told to stop, as many do (#2087 is about others)."""
FAILURE = (LifecyclePolicy(event="TaskFailed", action="RestartJob"),)
POD = "j-t-0"


@pytest.mark.parametrize(
    ("old", "new", "spec", "event"),
    [
        (a_pod(POD), a_pod(POD, "Failed"), {}, "PodFailed"),
        (a_pod(POD, "Pending"), a_pod(POD), {}, "PodRunning"),
        (a_pod(POD), a_pod(POD, "Pending"), {}, "PodPending"),
        (a_pod(POD), a_pod(POD, ""), {}, "OutOfSync"),
        (a_pod(POD), a_pod(POD, is_terminating=True), {}, "OutOfSync"),
        (a_pod(POD), a_pod(POD, is_marked=True), {}, "OutOfSync"),
        (a_pod(POD), a_pod(POD, partition="1"), {}, "OutOfSync"),
        # tasks may wait for it to be ready
        (a_pod(POD), a_pod(POD, container_statuses=containers(0, ready=False)), {}, "OutOfSync"),
        # the task is complete with its last pod only
        (a_pod(POD), a_pod(POD, "Succeeded"), {"tasks": (a_task(replicas=1),), "policies": ANY}, "TaskCompleted"),
        (a_pod(POD), a_pod(POD, "Succeeded"), {"tasks": (a_task(replicas=1),)}, "OutOfSync"),
        (a_pod(POD), a_pod(POD, "Succeeded"), {"tasks": (a_task(replicas=2),), "policies": ANY}, "OutOfSync"),
        # what the controller does itself is no event
        (a_pod(POD), a_pod(POD, "Failed", is_marked=True), {}, "OutOfSync"),
        # an eviction that somebody waits for decides when the pod is gone
        (a_pod(POD), a_pod(POD, "Failed", is_terminating=True), {"policies": EVICTION}, "OutOfSync"),
        (a_pod(POD), a_pod(POD, "Failed", is_terminating=True), {}, "PodFailed"),
        # whatever exit code its program answers with
        (a_pod(POD), STOPPED, {"tasks": ONE, "policies": EVICTION + COMPLETION}, "OutOfSync"),
        (a_pod(POD), STOPPED, {"tasks": ONE, "policies": COMPLETION}, "TaskCompleted"),
        # so is the end of a pod for which the job, scaled down, has no place any more
        (a_pod("j-t-3"), a_pod("j-t-3", "Failed", is_terminating=True), {}, "OutOfSync"),
        (a_pod("j-t-1"), a_pod("j-t-1", "Succeeded"), {"tasks": ONE, "policies": COMPLETION}, "OutOfSync"),
        (
            a_pod("j-t-1"),
            a_pod("j-t-1", container_statuses=containers(3)),
            {"tasks": ONE, "policies": FAILURE},
            "",
        ),
        # restarts of containers add up over the task
        (a_pod(POD), a_pod(POD, container_statuses=containers(2, 1)), {"policies": FAILURE}, "TaskFailed"),
        (a_pod(POD), a_pod(POD, container_statuses=containers(2)), {"policies": FAILURE}, ""),
        (a_pod(POD), a_pod(POD, container_statuses=containers(3)), {}, ""),
        (
            a_pod(POD),
            a_pod(POD, container_statuses=containers(9)),
            {"policies": FAILURE, "tasks": (a_task(max_retry=-1),)},
            "",
        ),
    ],
)
def test_an_update_of_a_pod_raises_an_event(old: Pod, new: Pod, spec: dict[str, Any], event: str) -> None:
    new = newer(new)
    notes = Notes(replaced(a_job(), **spec), new)
    OnPod(notes, notes.reader).on_update(old, new)
    assert notes.event() == event


@pytest.mark.parametrize("phase", ["Pending", "Running", "Failed"])
def test_a_pod_that_gets_a_node_an_address_or_conditions_wakes_nobody(phase: str) -> None:
    notes = Notes(a_job())
    pod = a_pod(POD, phase, pod_ip="10.0.0.1", conditions=(PodCondition(type="PodScheduled", status="True"),))
    new = msgspec.structs.replace(newer(pod), spec=msgspec.structs.replace(pod.spec, node_name="n"))
    OnPod(notes, notes.reader).on_update(a_pod(POD, phase), new)
    assert notes.seen == []


def test_how_a_pod_ends_that_the_controller_has_told_to_go_is_no_event() -> None:
    notes = Notes(a_job())
    notes.reader.recent.deleted("u", f"uid-{POD}")
    OnPod(notes, notes.reader).on_update(a_pod(POD), newer(a_pod(POD, "Failed", is_terminating=True)))
    assert notes.event() == "OutOfSync"


def test_an_update_without_a_change_raises_nothing() -> None:
    notes = Notes(a_job())
    OnPod(notes, notes.reader).on_update(a_pod(POD), a_pod(POD, "Failed"))
    assert notes.seen == []


@pytest.mark.parametrize(
    ("pod", "event", "is_found"),
    [
        (a_pod(POD, "Pending"), "PodPending", False),
        (a_pod(POD), "OutOfSync", False),
        (a_pod(POD, "Failed"), "PodFailed", True),
        (a_pod(POD, "Succeeded"), "TaskCompleted", True),
        (a_pod(POD, "Failed", is_marked=True), "OutOfSync", False),
    ],
)
def test_a_pod_seen_for_the_first_time_raises_what_its_phase_says(
    pod: Pod, event: str, is_found: bool
) -> None:  # a column
    notes = Notes(a_job(), pod)
    OnPod(notes, notes.reader).on_add(pod, initial=True)
    ((_, request, delay),) = notes.seen
    assert (request.event, request.is_found, delay) == (event, is_found, PATIENT)


@pytest.mark.parametrize(
    ("pod", "asked", "event"),
    [
        (a_pod(POD), False, "PodEvicted"),
        (a_pod(POD, "Failed"), False, "PodEvicted"),
        (a_pod(POD, "Succeeded"), False, "OutOfSync"),
        (STOPPED, False, "OutOfSync"),
        (a_pod(POD, is_marked=True), False, "OutOfSync"),
        (a_pod(POD), True, "OutOfSync"),
        (a_pod("j-t-3"), False, "OutOfSync"),
        (a_pod("j-gone-0", task="gone"), False, "PodEvicted"),
    ],
)
def test_a_pod_that_is_gone_was_evicted_unless_the_controller_or_success_ended_it(
    pod: Pod,
    asked: bool,
    event: str,  # a column
) -> None:
    notes = Notes(a_job())
    if asked:
        notes.reader.recent.deleted("u", pod.metadata.uid)
    OnPod(notes, notes.reader).on_delete(pod)
    assert notes.event() == event


@pytest.mark.parametrize(
    ("seen", "event"),
    [
        ((a_pod(POD), a_pod(POD, is_terminating=True), STOPPED), "PodEvicted"),
        ((STOPPED,), "PodEvicted"),
        ((a_pod(POD), a_pod(POD, "Succeeded"), STOPPED), "OutOfSync"),
        ((a_pod(POD), a_pod(POD, "Succeeded")), "OutOfSync"),
    ],
)
def test_a_pod_that_was_told_to_go_was_evicted_though_its_program_then_ended_well(
    seen: tuple[Pod, ...], event: str
) -> None:
    notes = Notes(a_job())
    handler = OnPod(notes, notes.reader)
    handler.on_add(seen[0], initial=False)
    for old, new in itertools.pairwise(seen):
        handler.on_update(old, newer(new))
    notes.seen.clear()
    handler.on_delete(seen[-1])
    assert notes.event() == event
    notes.seen.clear()
    handler.on_delete(seen[-1])  # nothing is remembered of what is gone
    assert notes.event() == "OutOfSync"


def test_a_request_says_which_pod_it_is_about() -> None:
    pod = newer(a_pod(POD, "Failed", version=2, partition="1", **ended(7)))
    notes = Notes(a_job(), pod)
    OnPod(notes, notes.reader).on_update(a_pod(POD), pod)
    assert notes.seen == [
        (KEY, Request("PodFailed", "", "u", 2, Target("t", POD, "1"), "uid-j-t-0", 7), 0),
    ]


@pytest.mark.parametrize(
    ("statuses", "policies", "code"),
    [
        (ended(3, 4), (), 3),
        (ended(0, 4), (), 0),
        (ended(0, 4), (LifecyclePolicy(exit_code=4, action="AbortJob"),), 4),
        (ended(0, init=(5,)), (LifecyclePolicy(exit_code=4, action="AbortJob"),), 5),
        ({}, (), 0),
    ],
)
def test_the_exit_code_is_the_first_containers_or_the_first_that_says_something(
    statuses: dict[str, Any], policies: tuple[LifecyclePolicy, ...], code: int
) -> None:
    pod = newer(a_pod(POD, "Failed", **statuses))
    notes = Notes(a_job(policies=policies), pod)
    OnPod(notes, notes.reader).on_update(a_pod(POD), pod)
    assert notes.seen[0][1].exit_code == code


def test_plain_looks_are_collected_and_what_policies_hear_of_is_not() -> None:
    notes = Notes(a_job())
    handler = OnPod(notes, notes.reader)
    handler.on_update(a_pod(POD), newer(a_pod(POD, is_terminating=True)))
    handler.on_update(a_pod(POD), newer(a_pod(POD, "Failed")))
    assert [(request == SYNC, delay) for _, request, delay in notes.seen] == [(True, BURST_SECONDS), (False, 0)]


@pytest.mark.parametrize(
    "changes",
    [
        {"owner_references": ()},
        {"owner_references": (OwnerReference(api_version="batch/v1", kind="Job", name="j", uid="u", controller=True),)},
        {"annotations": {}},
        {"annotations": {"volcano.sh/job-name": "j", "volcano.sh/task-spec": "t"}},
        {"annotations": {"volcano.sh/job-name": "j", "volcano.sh/task-spec": "t", "volcano.sh/job-version": "x"}},
    ],
)
def test_pods_that_are_no_jobs_are_ignored(changes: dict[str, Any]) -> None:
    pod = a_pod(POD)
    other = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, **changes))
    notes = Notes(a_job())
    handler = OnPod(notes, notes.reader)
    handler.on_add(other, initial=False)
    handler.on_update(pod, newer(other))
    handler.on_delete(other)
    assert (notes.seen, owner_uid(other), owner_uid(pod)) == ([], "", "u")


def test_pods_of_an_earlier_job_of_the_name_complete_no_task() -> None:
    old = msgspec.structs.replace(a_job(), metadata=ObjectMeta(name="j", namespace="ns", uid="old"))
    pod = newer(a_pod(POD, "Succeeded", job=old))
    notes = Notes(a_job(a_task(replicas=1), policies=ANY), pod)
    OnPod(notes, notes.reader).on_update(a_pod(POD, job=old), pod)
    assert notes.event() == "OutOfSync"


@pytest.mark.parametrize(
    ("old", "new", "is_noted"),
    [
        (a_job(), a_job(), False),
        (a_job(), a_job(status={"running": 2}), False),
        (a_job(), a_job(phase="Pending"), False),  # it is looked at already
        (a_job(), a_job(phase="Running"), True),
        (a_job(phase="Restarting"), a_job(phase="Pending"), True),
        (a_job(), a_job(max_retry=9), True),
        (
            a_job(),
            msgspec.structs.replace(a_job(), metadata=ObjectMeta(name="j", namespace="ns", uid="u", labels={"a": "b"})),
            True,
        ),
    ],
)
def test_a_job_is_looked_at_when_its_spec_phase_or_labels_change(
    old: Job, new: Job, is_noted: bool
) -> None:  # a column
    notes = Notes()
    gone: list[Job] = []
    OnJob(notes, gone.append, notes.reader).on_update(old, new)
    assert (notes.seen, gone) == ([(KEY, SYNC, 0)] if is_noted else [], [])


def test_a_job_that_takes_the_name_of_another_ends_that_one() -> None:
    gone: list[Job] = []
    other = msgspec.structs.replace(a_job(), metadata=ObjectMeta(name="j", namespace="ns", uid="old"))
    notes = Notes()
    handler = OnJob(notes, gone.append, notes.reader)
    handler.on_update(other, a_job())
    handler.on_delete(a_job())
    assert gone == [other, a_job()]


def test_jobs_of_the_first_list_are_patient() -> None:
    notes = Notes()
    handler = OnJob(notes, lambda _: None, notes.reader)
    handler.on_add(a_job(), initial=True)
    handler.on_add(a_job(), initial=False)
    assert [delay for *_, delay in notes.seen] == [PATIENT, 0]


EARLIER = msgspec.structs.replace(a_job(), metadata=ObjectMeta(name="j", namespace="ns", uid="earlier"))
DONE = a_pod(POD, "Succeeded")
THREE = a_job(a_task(replicas=3), phase="Running", policies=COMPLETION)


def scaled_down(*pods: Pod, old: Job = THREE, **spec: Any) -> Notes:
    """What is noted when a job of three pods gets one (or what is told)."""
    new = replaced(old, **{"tasks": ONE, **spec})
    notes = Notes(new, *pods)
    OnJob(notes, lambda _: None, notes.reader).on_update(old, new)
    return notes


def test_a_task_that_is_complete_once_it_is_scaled_down_is_told_at_once() -> None:
    going = a_pod("j-t-1", is_terminating=True)
    notes = scaled_down(DONE, going)
    OnPod(notes, notes.reader).on_update(going, newer(a_pod("j-t-1", "Succeeded", is_terminating=True)))
    found = Request("TaskCompleted", "", "u", 0, Target("t", POD), DONE.metadata.uid, is_found=True)
    assert [request for _, request, _ in notes.seen] == [SYNC, found, SYNC]
    job = notes.reader.job(KEY)
    assert job is not None
    assert still_holds(found, job, notes.reader.pods(job)[0])


@pytest.mark.parametrize(
    ("pods", "change"),
    [
        ((DONE,), {"policies": FAILURE}),
        ((a_pod(POD), a_pod("j-t-1", "Succeeded")), {}),
        ((DONE,), {"tasks": (a_task(replicas=2),)}),
        ((DONE,), {"tasks": (a_task(replicas=0),)}),
        ((DONE,), {"tasks": (a_task(replicas=3),), "max_retry": 9}),
        ((DONE,), {"tasks": (a_task(replicas=4),)}),
        # it was complete before
        ((DONE, a_pod("j-t-1", "Succeeded"), a_pod("j-t-2", "Succeeded")), {}),
        ((a_pod(POD, "Succeeded", is_marked=True),), {}),
        ((STOPPED,), {"policies": COMPLETION + EVICTION}),
    ],
)
def test_a_job_that_changes_completes_no_task_that_was_complete_or_is_not(
    pods: tuple[Pod, ...], change: dict[str, Any]
) -> None:
    assert [request for _, request, _ in scaled_down(*pods, **change).seen] == [SYNC]


def test_a_job_that_takes_the_name_of_another_completes_none_of_its_tasks() -> None:
    earlier = msgspec.structs.replace(THREE, metadata=EARLIER.metadata)
    new = replaced(THREE, tasks=ONE)
    notes = Notes(new, DONE)
    OnJob(notes, lambda _: None, notes.reader).on_update(earlier, new)
    assert [request for _, request, _ in notes.seen] == [SYNC]


def test_a_group_that_is_told_why_it_waits_wakes_its_job_once() -> None:
    def told(reason: str, message: str, kind: str = "Unschedulable") -> PodGroup:
        condition = PodGroupCondition(type=kind, status="True", reason=reason, message=message)
        return msgspec.structs.replace(a_group(), status=PodGroupStatus(phase="Inqueue", conditions=(condition,)))

    notes = Notes(a_job())
    handler = OnPodGroup(notes, notes.reader)
    handler.on_update(a_group("Inqueue"), told("NotEnoughResources", "3/6"))
    assert notes.event() == "OutOfSync"
    handler.on_update(told("NotEnoughResources", "3/6"), told("NotEnoughResources", "4/6"))
    handler.on_update(told("NotEnoughResources", "4/6"), told("", "", "Scheduled"))
    assert len(notes.seen) == 1
    handler.on_update(told("", "", "Scheduled"), told("NotEnoughTasks", "no pods"))
    assert len(notes.seen) == 2


@pytest.mark.parametrize(
    ("old", "new", "events"),
    [
        (a_group("Pending"), a_group("Pending"), []),
        (a_group(""), a_group("Pending"), ["OutOfSync"]),
        (a_group("Pending"), a_group("Inqueue"), ["OutOfSync"]),
        (a_group(""), a_group("Running"), ["OutOfSync"]),
        (a_group("Inqueue"), a_group("Running"), []),
        (a_group("Running"), a_group("Inqueue"), []),
        (a_group("Inqueue"), a_group("Pending"), ["OutOfSync"]),
        (a_group("Running"), a_group("Unknown"), ["Unknown"]),
    ],
)
def test_a_group_that_is_let_in_put_back_or_broken_wakes_its_job(
    old: PodGroup, new: PodGroup, events: list[str]
) -> None:
    notes = Notes(a_job())
    OnPodGroup(notes, notes.reader).on_update(old, new)
    assert [(key, request.event) for key, request, _ in notes.seen] == [(KEY, event) for event in events]


@pytest.mark.parametrize(
    ("group", "dropped", "actions"),
    [
        (a_group("Unknown"), "", ["RestartJob"]),
        (a_group("Unknown"), "g", []),  # the group was just told to go
        (a_group("Unknown", job=EARLIER), "", ["SyncJob"]),
    ],
)
def test_only_the_group_that_the_job_has_restarts_it_when_it_breaks(
    group: PodGroup, dropped: str, actions: list[str]
) -> None:
    notes = Notes(a_job())
    notes.reader.recent.dropping_group("u", dropped)
    OnPodGroup(notes, notes.reader).on_update(a_group("Running"), group)
    job = replaced(a_job(phase="Running"), policies=(LifecyclePolicy(event="Unknown", action="RestartJob"),))
    assert [decide(job, request).action for _, request, _ in notes.seen] == actions


def test_a_group_without_owner_is_that_of_the_job_of_its_name() -> None:
    notes = Notes(a_job())
    bare = PodGroup(metadata=ObjectMeta(name="old", namespace="ns"))
    OnPodGroup(notes, notes.reader).on_update(bare, msgspec.structs.replace(bare, status=a_group("Running").status))
    assert notes.seen[0][0] == Key("ns", "old")


def test_a_group_that_is_gone_wakes_its_job() -> None:
    notes = Notes(a_job())
    notes.reader.recent.created_group("u", a_group())
    OnPodGroup(notes, notes.reader).on_delete(a_group())
    assert (notes.seen, notes.reader.recent.group("u", None)) == ([(KEY, SYNC, 0)], None)


@pytest.mark.parametrize(("api_version", "is_taken"), [("batch.volcano.sh/v1alpha1", True), ("batch/v1", False)])
def test_only_commands_for_jobs_are_taken(api_version: str, is_taken: bool) -> None:  # a column
    orders: list[Order] = []
    target = OwnerReference(api_version=api_version, kind="Job", name="j")
    command = Command(metadata=ObjectMeta(name="c", namespace="ns", uid="x"), target=target, action="AbortJob")
    OnCommand(orders.append).on_add(command, initial=True)
    OnCommand(orders.append).on_add(Command(metadata=ObjectMeta(name="c")), initial=True)
    assert orders == ([Order("ns", "c", "x", "j", "AbortJob")] if is_taken else [])


def test_a_queue_that_appears_wakes_jobs_that_waited() -> None:
    notes = Notes()
    handler = OnWaitedFor(notes, lambda _: [a_job()])
    handler.on_add(Queue(metadata=ObjectMeta(name="q")), initial=True)
    assert notes.seen == []
    handler.on_add(Queue(metadata=ObjectMeta(name="q")), initial=False)
    assert notes.seen == [(KEY, SYNC, 0)]


@pytest.mark.parametrize(
    ("phase", "initial", "wakes"),
    [
        ("Inqueue", False, True),
        ("Running", False, True),
        ("Pending", False, False),
        ("", False, False),
        ("Inqueue", True, False),
    ],
)
def test_a_group_that_is_first_seen_when_it_is_let_in_already_wakes_its_job(
    phase: str, initial: bool, wakes: bool
) -> None:
    notes = Notes(a_job())
    OnPodGroup(notes, notes.reader).on_add(a_group(phase), initial=initial)
    assert notes.seen == ([(KEY, SYNC, 0)] if wakes else [])

"""In place of Volcano's Go processes, and never beside a scheduler that leads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster import ControlPlane
from cluster.processes import wait_until
from tests.integration.leftovers import BATCH, FLOW, MUCH, SCHEDULING, Json, Leftovers
from tests.integration.schedulers import Gangs, Scheduler
from tests.integration.takeover import PATIENCE, Observer, end_pods, identity, phase_of, phases, takeover

UNTOUCHED = (
    ("v1", "services"), ("v1", "configmaps"), ("v1", "secrets"), ("v1", "persistentvolumeclaims"),
    ("networking.k8s.io/v1", "networkpolicies"),
)  # fmt: skip
SPECIFIED = (
    (BATCH, "jobs"), (BATCH, "cronjobs"), (SCHEDULING, "podgroups"), (FLOW, "jobflows"), (FLOW, "jobtemplates"),
)  # fmt: skip
STAND = {
    "waits": {"Pending"}, "admitted": {"Pending", "Running"}, "runs": {"Running"}, "aborted": {"Aborted"},
    "completed": {"Completed"}, "failed": {"Failed"}, "terminated": {"Terminated"}, "cron-29700360": {"Running"},
    "flow-load": {"Completed"}, "flow-learn": {"Running"},
}  # fmt: skip
"""The phases that each job may show until its pods end."""
OURS = {"queues/root", "queues/default"}
"""What a scheduler makes where it isn't there, as Volcano's does."""
LEASE = "volcano"
"""Of all schedulers, whatever pods they schedule."""


@pytest.fixture
def left(control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]) -> Iterator[Leftovers]:
    nodes = kwok_nodes(2, resources={"cpu": "16", "memory": "64Gi"})
    made = Leftovers(control_plane, namespace, namespace, nodes, f"{namespace}-team")
    made.add_queue(made.queue, "Open")
    made.add_queue(f"{namespace}-shut", "Closed")
    made.add_claim("data")
    made.add_job("waits", "Pending", group="Pending", cpu=MUCH)
    made.add_job("admitted", "Pending", group="Inqueue", pods="Pending")
    volumes = [{"mountPath": "/data", "volumeClaimName": "data"}]
    made.add_job("runs", "Running", group="Running", pods="Running", passed=("Pending",), volumes=volumes)
    made.add_job("aborted", "Aborted", passed=("Pending", "Running", "Aborting"))
    made.add_job("completed", "Completed", pods="Succeeded", passed=("Pending", "Running", "Completing"))
    made.add_job("failed", "Failed", pods="Failed", passed=("Pending", "Running"))
    made.add_job("terminated", "Terminated", passed=("Pending", "Running", "Terminating"))
    made.add_flow()
    made.add_cron()
    yield made
    for name in (made.queue, f"{namespace}-shut"):
        control_plane.api.delete(f"/apis/{SCHEDULING}/queues/{name}")


@pytest.fixture
def start(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Callable[[], None]]:
    with takeover(kubeconfig, namespace, tmp_path) as begin:
        yield begin


def specs(plane: ControlPlane, left: Leftovers) -> Json:
    """What users wrote, and what makes a PodGroup its job's. Not the queues of the house, as some other test left them."""
    found = {
        f"{plural}/{item['metadata']['name']}": (item.get("spec"), item["metadata"].get("ownerReferences"))
        for group, plural in SPECIFIED
        for item in plane.api.items(left.path(group, plural))
    }
    queues = {f"queues/{item['metadata']['name']}": item for item in plane.api.items(f"/apis/{SCHEDULING}/queues")}
    return found | {name: item["spec"] for name, item in queues.items() if name not in OURS}


def versions(plane: ControlPlane, left: Leftovers) -> Json:
    return {
        f"{plural}/{item['metadata']['name']}": item["metadata"]["resourceVersion"]
        for group, plural in UNTOUCHED
        for item in plane.api.items(left.path(group, plural))
    }


def test_what_volcano_left_stands_as_it_is_and_goes_on_to_its_end(
    control_plane: ControlPlane, left: Leftovers, start: Callable[[], None]
) -> None:
    kubelet = {"completed": "Succeeded", "failed": "Failed", "runs": "Running", "flow-learn": "Running"}

    def pods() -> dict[str, Json]:
        return {pod["metadata"]["name"]: pod for pod in control_plane.api.items(left.path("v1", "pods"))}

    assert wait_until(
        lambda: all(pods()[f"{job}-worker-0"]["status"]["phase"] == phase for job, phase in kubelet.items()), PATIENCE
    )
    specified, untouched = specs(control_plane, left), versions(control_plane, left)
    there = {identity(pod) for pod in pods().values()}
    observer = Observer(control_plane, left)
    observer.start()
    try:
        start()
        assert wait_until(lambda: phases(control_plane, left)["admitted"] == "Running", PATIENCE)
        probe = left.create("jobs", {
            "apiVersion": BATCH, "kind": "Job", "metadata": {"name": "probe"},
            "spec": {**left.job_spec("1"), "queue": f"{left.namespace}-shut"},
        })  # fmt: skip
        group = f"probe-{probe['metadata']['uid']}"

        def probed() -> str:
            groups = control_plane.api.items(left.path(SCHEDULING, "podgroups"))
            return next((str(found.get("status")) for found in groups if found["metadata"]["name"] == group), "")

        # Its turn comes after all that was there; its queue is closed, so it makes no pods.
        assert wait_until(lambda: "not open" in probed(), PATIENCE), probed()
    finally:
        observer.stop()
    assert {name: seen for name, seen in observer.phases.items() if name != "probe"} == STAND
    assert observer.pods == there
    now_specified = specs(control_plane, left)
    assert {key: now_specified.get(key) for key in specified} == specified
    assert not {key for key in now_specified.keys() - specified if "/probe" not in key}
    assert {key: seen for key, seen in versions(control_plane, left).items() if "/probe" not in key} == untouched
    goes_on_to_its_end(control_plane, left)


def goes_on_to_its_end(plane: ControlPlane, left: Leftovers) -> None:
    end_pods(plane, left, "admitted", "runs", "flow-learn", "cron-29700360")
    ended = ("admitted", "runs", "flow-learn", "cron-29700360")
    assert wait_until(lambda: {phases(plane, left)[name] for name in ended} == {"Completed"}, PATIENCE)
    flow, cron = f"{left.path(FLOW, 'jobflows')}/flow", f"{left.path(BATCH, 'cronjobs')}/cron"
    assert wait_until(lambda: phases(plane, left).get("flow-judge") == "Running", PATIENCE)
    end_pods(plane, left, "flow-judge")
    assert wait_until(lambda: phase_of(plane.api.get(flow)) == "Succeed", PATIENCE), plane.api.get(flow)
    assert wait_until(lambda: not plane.api.get(cron)["status"].get("active"), PATIENCE)
    order(plane, left, "aborted", "ResumeJob")
    assert wait_until(lambda: phases(plane, left)["aborted"] == "Running", PATIENCE)
    assert plane.api.get(f"{left.path(BATCH, 'jobs')}/waits")["status"]["state"]["phase"] == "Pending"


def order(plane: ControlPlane, left: Leftovers, job: str, action: str) -> None:
    target = {"apiVersion": BATCH, "kind": "Job", "name": job, "uid": left.jobs[job]["metadata"]["uid"]}
    reference = {**target, "controller": True, "blockOwnerDeletion": True}
    plane.api.create(left.path("bus.volcano.sh/v1alpha1", "commands"), {
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
        "metadata": {"name": f"{job}-order", "ownerReferences": [reference]},
        "action": action, "target": target,
    })  # fmt: skip


def test_an_order_that_was_given_before_is_carried_out(
    control_plane: ControlPlane, left: Leftovers, start: Callable[[], None]
) -> None:
    order(control_plane, left, "runs", "AbortJob")
    start()
    assert wait_until(lambda: phases(control_plane, left)["runs"] == "Aborted", PATIENCE)
    assert control_plane.api.items(left.path("bus.volcano.sh/v1alpha1", "commands")) == []


class Foreigner:
    """Another identity that holds the Lease and renews it."""

    def __init__(self, plane: ControlPlane, namespace: str, name: str) -> None:
        self._api = plane.api
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self.path = f"{self._leases}/{name}"
        self._name = name

    def take(self) -> None:
        spec = {"holderIdentity": "foreign_1", "leaseDurationSeconds": 3, "leaseTransitions": 0}
        body = {"metadata": {"name": self._name}, "spec": {**spec, "acquireTime": now(), "renewTime": now()}}
        self._api.create(self._leases, body)

    def renew(self) -> None:
        self._api.merge(self.path, {"spec": {"renewTime": now()}})

    @property
    def holder(self) -> str:
        return str(self._api.get(self.path)["spec"].get("holderIdentity", ""))


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_a_scheduler_stays_out_while_another_one_renews_the_lease(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, tmp_path: Path,
    kwok_nodes: Callable[..., list[str]],
) -> None:  # fmt: skip
    gangs = Gangs(control_plane, namespace, kwok_nodes(1, resources={"cpu": "4"}))
    foreigner = Foreigner(control_plane, namespace, LEASE)
    foreigner.take()
    gangs.create("gang", 2, "1")
    quick = (
        "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms",
    )  # fmt: skip
    scheduler = Scheduler(kubeconfig, namespace, tmp_path, *quick, elects=True)

    def stands_by() -> bool:
        foreigner.renew()
        return scheduler.metric(f'leader_election_master_status{{name="{LEASE}"}}') == 0

    try:
        assert wait_until(stands_by, PATIENCE)
        pause = threading.Event()
        for _ in range(20):  # longer than a lease lasts
            foreigner.renew()
            assert not pause.wait(0.25)
            assert (foreigner.holder, gangs.bound("gang")) == ("foreign_1", 0)
        assert wait_until(lambda: gangs.bound("gang") == 2, PATIENCE)  # it renews no more
        assert foreigner.holder != "foreign_1"
    finally:
        scheduler.kill()

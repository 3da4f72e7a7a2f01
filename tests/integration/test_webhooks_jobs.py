"""The webhook manager as a process on the real control plane: what users of jobs, CronJobs and pods see of it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane
from cluster.processes import wait_until
from hack.health import is_ready
from runtime.errors import ApiError, NotFound
from runtime.kubeconfig import load
from runtime.transport_sync import SyncTransport
from tests.integration.conftest import ROOT
from tests.unit.webhooks.podtemplate.cases import CASES
from tests.unit.webhooks.podtemplate.record import ask

Json = dict[str, Any]
PATIENCE = 60.0
MANIFESTS = ("config/webhooks/manifests.yaml", "config/webhooks/on-demand/manifests.yaml")
PATHS = "/jobs/mutate,/jobs/validate,/cronjobs/validate,/pods/mutate,/pods/validate"
PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
DENIED = 'admission webhook "validatejob.volcano.sh" denied the request: '


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def container(**fields: Any) -> Json:
    return {"name": "c", "image": "busybox", **fields}


def task(name: str = "t", **fields: Any) -> Json:
    return {"name": name, "replicas": 2, "template": {"spec": {"containers": [container()]}}, **fields}


@dataclass
class Manager:
    """A running webhook manager, and the API server as a user of one namespace sees it."""

    plane: ControlPlane
    namespace: str
    process: subprocess.Popen[bytes]

    def create(self, kind: str, spec: Json, *, name: str = "x", group: str = "batch.volcano.sh/v1alpha1") -> Json:
        """Dry-run unless it is what the test is about: nothing runs here."""
        plural = f"{kind.lower()}s"
        root = "/api/v1" if group == "v1" else f"/apis/{group}"
        manifest = {"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec}
        stored: Json = self.plane.api.create(f"{root}/namespaces/{self.namespace}/{plural}", manifest)
        return stored

    def refusal(self, kind: str, spec: Json, **options: Any) -> str:
        """Why the server does not create it."""
        with pytest.raises(ApiError) as refused:
            self.create(kind, spec, **options)
        return refused.value.status.message

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def configurations() -> list[Json]:
    """As they are shipped, without those that this process does not serve."""
    return [
        document
        for file in MANIFESTS
        for document in yaml.safe_load_all((ROOT / file).read_text())
        if document and document["webhooks"][0]["clientConfig"]["service"]["path"] in PATHS.split(",")
    ]


@pytest.fixture
def start(
    control_plane: ControlPlane, namespace: str, kubeconfig: Path, tmp_path: Path
) -> Iterator[Callable[..., Manager]]:
    """Start a manager with the shipped configurations; both are gone afterwards."""
    running: list[Manager] = []
    shipped = configurations()

    def run(*flags: str) -> Manager:
        port, health = free_port(), free_port()
        control_plane.apply_webhooks(shipped, f"https://localhost:{port}", b"")
        command = [
            *(sys.executable, "-m", "webhooks", f"--kubeconfig={kubeconfig}", f"--port={port}"),
            *(f"--webhook-namespace={namespace}", "--webhook-service-name=localhost"),
            *("--tls-secret-name=certificate", f"--enabled-admission={PATHS}"),
            *("--enable-healthz", f"--healthz-address=127.0.0.1:{health}"),
        ]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen([*command, *flags], cwd=ROOT, stdout=log, stderr=log, env=dict(os.environ))
        made = Manager(control_plane, namespace, process)
        running.append(made)
        assert wait_until(lambda: is_ready(health), PATIENCE), (tmp_path / "log").read_text()
        # API servers hear of a configuration a moment later.
        assert wait_until(lambda: "No task specified" in made.refusal("Job", {}), PATIENCE)
        return made

    queue = {"metadata": {"name": "default"}, "spec": {"weight": 1}}
    control_plane.api.apply(
        "/apis/scheduling.volcano.sh/v1beta1/queues/default",
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", **queue},
    )
    yield run
    for manager in running:
        manager.end()
    for shipped_one in shipped:
        name = shipped_one["metadata"]["name"]
        with contextlib.suppress(NotFound):
            control_plane.api.delete(f"{REGISTRATION}/{PLURALS[shipped_one['kind']]}/{name}")


def test_a_job_gets_its_defaults_and_a_bad_one_hears_why(start: Callable[..., Manager]) -> None:
    manager = start()
    stored = manager.create("Job", {"tasks": [task(), task("u", minAvailable=1)], "plugins": {"mpi": ["--master=t"]}})
    spec = stored["spec"]
    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == (
        "default",
        "volcano",
        3,
        3,
    )
    assert [(each["minAvailable"], each["maxRetry"]) for each in spec["tasks"]] == [(2, 3), (1, 3)]
    assert spec["plugins"] == {"mpi": ["--master=t"], "svc": [], "ssh": []}

    broken = task(template={"spec": {"containers": [container(image="")]}})
    assert manager.refusal("Job", {"tasks": [broken]}) == (
        DENIED + "spec.task[0].template.spec.containers[0].image: Required value."
    )
    assert manager.refusal("Job", {"tasks": [task()], "queue": "nowhere"}) == (
        DENIED + 'unable to find job queue: queue.scheduling.volcano.sh "nowhere" not found;'
    )
    assert manager.refusal("Job", {"tasks": [task("a", dependsOn={"name": ["a"]})]}).endswith("(DAG): a -> a;")

    place = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{manager.namespace}/jobs/x"
    assert manager.plane.api.merge(place, {"spec": {"minAvailable": 2}})["spec"]["minAvailable"] == 2
    with pytest.raises(ApiError) as refused:
        manager.plane.api.merge(place, {"spec": {"queue": "other"}})
    assert refused.value.status.message.endswith("`PriorityClassName`: spec.queue")
    assert manager.plane.api.merge(place, {"metadata": {"labels": {"a": "b"}}})["metadata"]["labels"] == {"a": "b"}


def reacting(*policies: Json) -> Json:
    return {"tasks": [task()], "policies": list(policies)}


LOOKED_FOR: list[tuple[Json, tuple[str, ...]]] = [
    ({"tasks": [task("a"), task("a")]}, ("duplicated task name",)),
    ({"tasks": [task()], "minAvailable": -1}, ("spec.minAvailable", "should be greater than or equal to 0")),
    ({"tasks": [task()], "maxRetry": -1}, ("spec.maxRetry", "should be greater than or equal to 0")),
    ({"tasks": [task()], "ttlSecondsAfterFinished": -1}, ("should be greater than or equal to 0",)),
    ({"tasks": [task(replicas=-1)]}, ("replicas", "should be greater than or equal to 0")),
    ({"tasks": [task(minAvailable=-1)]}, ("minAvailable", "should be greater than or equal to 0")),
    ({"minAvailable": 1, "queue": "default"}, ("No task specified in job spec",)),
    ({"tasks": [task(minAvailable=5)]}, ("'minAvailable' is greater than 'replicas' in task",)),
    ({"tasks": [task()], "minAvailable": 5}, ("job 'minAvailable' should not be greater than total replicas",)),
    ({"tasks": [task("Task-1")]}, ("spec.tasks[0].name",)),
    (
        reacting({"event": "PodFailed", "action": "AbortJob"}, {"event": "PodFailed", "action": "RestartJob"}),
        ("duplicate",),
    ),
    (
        reacting({"event": "PodFailed", "action": "AbortJob", "exitCode": 1}),
        ("must not specify event and exitCode simultaneously",),
    ),
    (reacting({"action": "AbortJob"}), ("either event and exitCode should be specified",)),
    (reacting({"event": "PodEvicted", "action": "InvalidAction"}), ("invalid policy action",)),
    (reacting({"exitCode": 0, "action": "AbortJob"}), ("0 is not a valid error code",)),
    (reacting(*[{"exitCode": 1, "action": "AbortJob"}] * 2), ("duplicate exitCode",)),
    (
        reacting({"event": "*", "action": "AbortJob"}, {"event": "PodFailed", "action": "RestartJob"}),
        ("if there's * here, no other policy should be here",),
    ),
    (
        {"tasks": [task()], "volumes": [{"mountPath": "/var", "volumeClaimName": name} for name in ("c", "d")]},
        ("duplicated mountPath",),
    ),
    (
        {"tasks": [task()], "volumes": [{"mountPath": "/var"}]},
        ("either VolumeClaim or VolumeClaimName must be specified",),
    ),
]
"""What Volcano's own tests send, and the parts of the answer for which they look (webhooks.md 12)."""


def test_clients_find_the_words_that_they_look_for(start: Callable[..., Manager]) -> None:
    manager = start()
    for spec, words in LOOKED_FOR:
        told = manager.refusal("Job", spec)
        assert [word for word in words if word not in told] == [], told
    manager.create("Job", {"tasks": [task("t" * 59)]})
    place = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{manager.namespace}/jobs/x"
    for tasks, word in (
        ([task("t" * 59, replicas=5)], ""),
        ([task("t" * 59, replicas=11)], "create pod with name x-tttt"),
        ([task("t" * 59), task("u")], "job updates may not add or remove tasks"),
    ):
        try:
            manager.plane.api.merge(place, {"spec": {"tasks": tasks}})
            told = ""
        except ApiError as error:
            told = error.status.message
        assert bool(told) is bool(word), told
        assert word in told


def test_a_queue_that_was_made_a_moment_ago_takes_jobs(start: Callable[..., Manager]) -> None:
    manager = start()
    name = f"q{secrets.token_hex(3)}"
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    for number in range(5):
        queue = f"{name}-{number}"
        place = f"/apis/scheduling.volcano.sh/v1beta1/queues/{queue}"
        manager.plane.api.apply(place, {**kind, "metadata": {"name": queue}, "spec": {"weight": 1}})
        manager.create("Job", {"tasks": [task()], "queue": queue}, name=queue)
        manager.plane.api.delete(place)


def test_cron_jobs_and_pods_are_judged_too(start: Callable[..., Manager], tmp_path: Path) -> None:
    groups = tmp_path / "volcano-admission.conf"
    groups.write_text("resourceGroups: [{resourceGroup: gpu, labels: {node: gpu}, schedulerName: volcano}]\n")
    manager = start(f"--admission-conf={groups}")
    cron_job = {"schedule": "61 * * * *", "jobTemplate": {"spec": {"tasks": [task()]}}}
    assert "schedule is not a valid cron expression" in manager.refusal("CronJob", cron_job)
    assert manager.create("CronJob", {**cron_job, "schedule": "@hourly"})["spec"]["schedule"] == "@hourly"

    def pod(annotations: Json, scheduler: str = "volcano") -> Json:
        spec = {"schedulerName": scheduler, "containers": [container()]}
        metadata = {"name": f"p{secrets.token_hex(3)}", "annotations": annotations}
        stored: Json = manager.plane.api.create(
            f"/api/v1/namespaces/{manager.namespace}/pods",
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
        )
        return stored

    taken = pod({"volcano.sh/resource-group": "gpu"}, "default-scheduler")["spec"]
    assert (taken["nodeSelector"], taken["schedulerName"]) == ({"node": "gpu"}, "volcano")
    with pytest.raises(ApiError, match="it must be a positive integer"):
        pod({"volcano.sh/jdb-min-available": "0"})
    assert pod({"volcano.sh/jdb-min-available": "0"}, "default-scheduler")["metadata"]["name"]


def test_without_the_manager_the_system_still_makes_its_pods(start: Callable[..., Manager]) -> None:
    manager = start()
    manager.process.send_signal(signal.SIGKILL)
    manager.process.wait()
    assert "failed calling webhook" in manager.refusal("Job", {"tasks": [task()]}), "unchecked jobs stay out"
    api = manager.plane.api
    for namespace, scheduler in (("kube-system", "volcano"), (manager.namespace, "default-scheduler")):
        name = f"p{secrets.token_hex(3)}"
        spec = {"schedulerName": scheduler, "containers": [container()], "automountServiceAccountToken": False}
        place = f"/api/v1/namespaces/{namespace}/pods"
        assert wait_until(lambda: bool(api.items(f"/api/v1/namespaces/{namespace}/serviceaccounts")), PATIENCE)  # noqa: B023  # asked at once
        api.create(place, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
        api.delete(f"{place}/{name}", gracePeriodSeconds="0")


def test_the_causes_of_templates_are_those_of_this_server(kubeconfig: Path) -> None:
    recorded = json.loads((ROOT / "tests/unit/webhooks/podtemplate/causes.json").read_text())
    with SyncTransport(load(str(kubeconfig))) as transport:
        differing = [name for name, case in CASES.items() if sorted(ask(transport, case)) != sorted(recorded[name])]
    assert differing == []

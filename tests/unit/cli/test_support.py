"""`vcctl support dump`: what is in the archive, and what must not be."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import kinds
from cli.redacting import CUT, redacted, redacted_text
from runtime.requests import Request
from tests.unit.cli.harness import NOW, Server, job, refused, run

SYSTEM = "/api/v1/namespaces/volcano-system"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases"
SECRET = "hunter2"


def contents(path: Path) -> dict[str, str]:
    with tarfile.open(path) as archive:
        found = {}
        for member in archive.getmembers():
            file = archive.extractfile(member)
            assert file is not None
            found[member.name.removeprefix("volcano-support/")] = file.read().decode()
        return found


def server() -> Server:
    made = Server().on("GET /version", {"gitVersion": "v1.36.1", "platform": "linux/amd64"})
    containers = [{"name": "c", "image": "i:1", "env": [{"name": "DB_PASSWORD", "value": SECRET}]}]
    deployment = {"metadata": {"name": "volcano-scheduler"}, "spec": {"template": {"spec": {"containers": containers}}}}
    made.items("/apis/apps/v1/namespaces/volcano-system/deployments", deployment)
    made.items(f"{SYSTEM}/configmaps", {"metadata": {"name": "m"}, "data": {"x.conf": f"a: 1\ntoken: {SECRET}\n"}})
    made.items(f"{SYSTEM}/pods").items(f"{SYSTEM}/events").items(LEASES, {"metadata": {"name": "volcano"}})
    made.on(f"GET {SYSTEM}/services/volcano-scheduler-service:8080/proxy/metrics", b"volcano_x 1\n")
    for kind in kinds.ALL:
        made.items(kind.path())
    note = {"kubectl.kubernetes.io/last-applied-configuration": SECRET, "kept": "yes"}
    return made.items(kinds.JOBS.path(), job(metadata={"annotations": note}))


def test_the_archive_holds_versions_configuration_metrics_and_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "d.tar.gz"
    result = run("support", "dump", "-o", str(path), server=server())
    assert result.code == 0
    assert result.out == f"wrote {path}\n"
    found = contents(path)
    assert "Server Version: v1.36.1\n" in found["versions.txt"]
    assert "Component volcano-scheduler: i:1\n" in found["versions.txt"]
    assert yaml.safe_load(found["config/deployments.yaml"])["kind"] == "Deployment"
    assert found["metrics/scheduler.txt"] == "volcano_x 1\n"
    (stored,) = json.loads(found["snapshot/jobs.batch.volcano.sh.json"])["items"]
    assert (stored["kind"], stored["metadata"]["annotations"]) == ("Job", {"kept": "yes"})
    assert yaml.safe_load(found["system/leases.yaml"])["metadata"]["name"] == "volcano"
    assert result.err.startswith("left out: metrics/controllers.txt: ")
    assert "metrics/controllers.txt" in found["errors.txt"]


def test_secrets_are_neither_asked_for_nor_left_in(tmp_path: Path) -> None:
    used = server()
    path = tmp_path / "d.tar.gz"
    run("support", "dump", "-o", str(path), server=used)
    assert not [target for target in used.targets if "/secrets" in target]
    assert SECRET not in "".join(contents(path).values())


def hooks(name: str, namespace: str) -> dict[str, Any]:
    client = {"service": {"name": "s", "namespace": namespace}, "caBundle": "Q0E="}
    return {"metadata": {"name": name}, "webhooks": [{"name": "h", "clientConfig": client}]}


def test_the_configurations_of_our_webhooks_are_in_it_and_no_others(tmp_path: Path) -> None:
    used = server()
    used.items(
        kinds.MUTATING_WEBHOOKS.path(),
        hooks("volcano-admission-service-jobs-mutate", "elsewhere"),
        hooks("renamed", "volcano-system"),
        hooks("other", "mesh"),
    )
    used.fail(f"GET {kinds.VALIDATING_WEBHOOKS.path()}", 403, "forbidden", "Forbidden")
    path = tmp_path / "d.tar.gz"
    assert run("support", "dump", "-o", str(path), server=used).code == 0
    found = contents(path)
    stored = list(yaml.safe_load_all(found["config/mutatingwebhookconfigurations.yaml"]))
    assert [each["metadata"]["name"] for each in stored] == ["renamed", "volcano-admission-service-jobs-mutate"]
    assert "config/validatingwebhookconfigurations.yaml: forbidden\n" in found["errors.txt"]


def component(name: str, app: str, *, restarts: int = 0) -> dict[str, Any]:
    containers = [{"name": "main", "image": "i"}]
    statuses = [{"name": "main", "restartCount": restarts}]
    return {
        "metadata": {"name": name, "namespace": "volcano-system", "labels": {"app": app}},
        "spec": {"containers": containers, "initContainers": [{"name": "init"}]},
        "status": {"containerStatuses": statuses},
    }


def test_logs_are_those_of_our_pods_within_bounds_and_without_secrets(tmp_path: Path) -> None:
    used = server()
    agents = [component(f"agent-{number}", "volcano-agent", restarts=int(number == 6)) for number in range(7)]
    used.items(f"{SYSTEM}/pods", component("sched", "volcano-scheduler"), component("web", "shop"), *agents)

    def log(request: Request) -> bytes:
        assert (int(request.query["limitBytes"]), int(request.query["tailLines"])) == (4 * 1024 * 1024, 5000)
        run_of = "before" if "previous" in request.query else "now"
        return f"{request.query['container']} {run_of}\ntoken={SECRET} x\n\xff".encode("latin-1")

    for name in ("sched", *(f"agent-{number}" for number in range(7))):
        used.on(f"GET {SYSTEM}/pods/{name}/log", log)
    path = tmp_path / "d.tar.gz"
    result = run("support", "dump", "-o", str(path), "--no-snapshot", server=used)
    assert result.code == 0
    logs = {name.removeprefix("logs/"): text for name, text in contents(path).items() if name.startswith("logs/")}
    assert logs["sched/main.log"] == f"main now\ntoken={CUT}\n\ufffd"
    assert logs["agent-6/main.previous.log"].startswith("main before\n")
    pods = {name.split("/")[0] for name in logs}
    assert pods == {"sched", "agent-6", "agent-0", "agent-1", "agent-2", "agent-3"}
    assert "logs of volcano-agent: 2 more pods\n" in contents(path)["errors.txt"]


def test_logs_that_cannot_be_had_are_noted_and_can_be_left_out(tmp_path: Path) -> None:
    used = server().items(f"{SYSTEM}/pods", component("sched", "volcano-scheduler"), {"metadata": None})
    used.fail(f"GET {SYSTEM}/pods/sched/log", 400, "container is waiting to start", "BadRequest")
    path = tmp_path / "d.tar.gz"
    assert run("support", "dump", "-o", str(path), server=used).code == 0
    assert "logs/sched/main.log: container is waiting to start\n" in contents(path)["errors.txt"]
    used.fail(f"GET {SYSTEM}/pods", 403, "pods is forbidden", "Forbidden")
    run("support", "dump", "-o", str(path), server=used)
    assert "logs: pods is forbidden\n" in contents(path)["errors.txt"]
    run("support", "dump", "-o", str(path), "--no-logs", server=used)
    assert "logs: " not in contents(path)["errors.txt"]


def test_metrics_of_a_scheduler_outside_are_nothing_of_the_cluster(
    tmp_path: Path, scheduler: tuple[str, list[tuple[str, str | None]]]
) -> None:
    used = Server().on("GET /version", {"gitVersion": "v1.36.1"})
    path = tmp_path / "d.tar.gz"
    assert run("support", "dump", "-o", str(path), "--scheduler-url", scheduler[0], server=used).code == 255
    assert set(contents(path)) == {"versions.txt", "metrics/scheduler.txt", "errors.txt"}


@pytest.mark.parametrize("words", [(), ("--no-logs", "--no-snapshot")])
def test_a_dump_in_which_nothing_of_the_cluster_is_fails_but_is_kept(tmp_path: Path, words: tuple[str, ...]) -> None:
    used = Server().on("GET /version", {"gitVersion": "v1.36.1"})
    path = tmp_path / "d.tar.gz"
    result = run("support", "dump", "-o", str(path), *words, server=used)
    assert result.code == 255
    assert result.lines == [
        f"wrote {path}",
        f"Failed to dump support: nothing of the cluster could be read: {path} holds little more than what was refused",
    ]
    assert set(contents(path)) == {"versions.txt", "errors.txt"}
    used.items(f"{SYSTEM}/configmaps")
    assert run("support", "dump", "-o", str(path), *words, server=used).code == 0


@pytest.mark.parametrize("by_flag", [True, False])
def test_metrics_of_a_scheduler_outside_the_cluster_come_from_its_address(
    tmp_path: Path, scheduler: tuple[str, list[tuple[str, str | None]]], by_flag: bool
) -> None:
    address, asked = scheduler
    path, used = tmp_path / "d.tar.gz", server()
    words = ["--scheduler-url", f"{address}/"] if by_flag else []
    environ = {"VCCTL_SCHEDULER_URL": "http://127.0.0.1:1" if by_flag else address}
    assert run("support", "dump", "-o", str(path), *words, server=used, environ=environ).code == 0
    assert asked == [("/metrics", None)]
    assert contents(path)["metrics/scheduler.txt"] == '{"why": "it is asked directly"}'
    assert not [target for target in used.targets if "volcano-scheduler-service" in target]
    assert [target for target in used.targets if "volcano-controllers-service" in target]


def test_a_scheduler_that_does_not_listen_and_an_address_that_is_none_are_told(tmp_path: Path) -> None:
    path = tmp_path / "d.tar.gz"
    environ = {"VCCTL_SCHEDULER_URL": "http://127.0.0.1:1"}
    assert run("support", "dump", "-o", str(path), server=server(), environ=environ).code == 0
    assert "metrics/scheduler.txt: " in contents(path)["errors.txt"]
    path.unlink()
    told = run("support", "dump", "-o", str(path), "--scheduler-url", "x", server=server()).out
    assert told == "Failed to dump support: --scheduler-url: x is no address such as http://127.0.0.1:8080\n"
    assert not path.exists()


def test_an_installation_without_pods_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "d.tar.gz"
    run("support", "dump", "-o", str(path), server=server())
    expected = "logs: no pods with a label app=volcano-... in namespace volcano-system\n"
    assert expected in contents(path)["errors.txt"]


@pytest.mark.parametrize("text", ["a", "-", " ", "token", "a-", "token=", "'", "://a:", '"token":', "-----BEGIN "])
def test_a_long_line_takes_no_longer_than_it_is(text: str) -> None:
    assert redacted_text(text * 200_000)  # a search that began anew at each letter would take hours


def test_the_snapshot_can_be_left_out_and_the_name_tells_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        run("support", "dump", "--no-snapshot", server=server()).out == "wrote volcano-support-20240102-031110.tar.gz\n"
    )
    assert NOW == "2024-01-02T03:11:10Z"
    assert not [
        name for name in contents(tmp_path / "volcano-support-20240102-031110.tar.gz") if name.startswith("snapshot")
    ]


def test_an_unreachable_server_and_an_unwritable_file_are_told(tmp_path: Path) -> None:
    gone = run("support", "dump", server=Server().on("GET /version", refused()))
    assert gone.code == 255
    assert gone.out.startswith('Failed to dump support: Get "https://server/x": dial tcp')
    nowhere = run("support", "dump", "-o", str(tmp_path / "no" / "d.tar.gz"), server=server())
    assert nowhere.out == f"Failed to dump support: open {tmp_path}/no/d.tar.gz: no such file or directory\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: x y", f"password: {CUT}"),
        ('  "apiKey" : "v",', f'  "apiKey" : {CUT}'),
        ("db_token=abc", f"db_token={CUT}"),
        ("- name: x", "- name: x"),
        ("password:", "password:"),
        ('{"a": 1, "password": "x y", "b": 2}', f'{{"a": 1, "password": {CUT}, "b": 2}}'),
        ("DB_TOKEN=abc run --fast", f"DB_TOKEN={CUT}"),
        ("curl -H 'Authorization: Bearer abc.def' host", f"curl -H 'Authorization: Bearer {CUT}' host"),
        ("git clone https://me:pw@host/x", f"git clone https://{CUT}@host/x"),
        ('secret "x" not found', 'secret "x" not found'),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----\nb", f"a\n{CUT}\nb"),
    ],
)
def test_lines_that_name_a_secret_lose_their_value(text: str, expected: str) -> None:
    assert redacted_text(text) == expected


def test_fields_that_name_a_secret_lose_their_value_but_references_stay() -> None:
    obj: dict[str, Any] = {
        "spec": {
            "token": "t",
            "secretName": "s",
            "volumes": [{"secret": {"secretName": "s", "items": [{"key": "k"}]}}],
            "env": [
                {"name": "A", "value": "v"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            ],
            "args": ["--password=x", "--token", "x", "y"],
        }
    }
    spec = redacted(obj)["spec"]
    assert spec["token"] == CUT
    assert (spec["secretName"], spec["volumes"]) == ("s", obj["spec"]["volumes"])
    assert spec["env"] == [{"name": "A", "value": CUT}, obj["spec"]["env"][1]]
    assert spec["args"] == [f"--password={CUT}", "--token", CUT, "y"]

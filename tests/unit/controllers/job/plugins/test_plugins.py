"""What each job plugin puts into pods and makes beside them."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_public_key

from controllers.job.plugins import PLUGINS, plugins_of, unknown_plugin
from controllers.job.plugins.base import PluginError
from controllers.job.pods import build_pod
from controllers.job.world import places
from generated.batch.v1alpha1 import Job, TaskSpec
from generated.core.v1 import Container, EnvVar, PodSpec, PodTemplateSpec
from generated.meta.v1 import ObjectMeta
from tests.unit.controllers.job.samples import a_job, a_task, replaced


def with_plugins(*tasks: TaskSpec, **plugins: tuple[str, ...]) -> Job:
    return replaced(a_job(*tasks), plugins=plugins)


def task(name: str, replicas: int = 1, container: str = "c", **spec: Any) -> TaskSpec:
    spec.setdefault("containers", (Container(name=container, image="i"),))
    return a_task(name, replicas, template=PodTemplateSpec(spec=PodSpec(**spec)))


def pods(job: Job) -> dict[str, dict[str, Any]]:
    plugins = plugins_of(job)
    return {name: build_pod(job, place, plugins) for name, place in places(job).items()}


def environment(pod: dict[str, Any], container: int = 0, kind: str = "containers") -> dict[str, Any]:
    return {
        variable["name"]: variable.get("value", variable.get("valueFrom"))
        for variable in pod["spec"][kind][container].get("env", ())
    }


def contents(job: Job) -> dict[tuple[str, str], Any]:
    return {
        (wanted.resource.kind, wanted.name): wanted.content()
        for plugin in plugins_of(job)
        for wanted in plugin.objects(job)
    }


def test_plugins_run_in_a_fixed_order_and_unknown_ones_are_named() -> None:
    job = with_plugins(hcclrank=(), env=(), nope=(), svc=())
    assert [plugin.name for plugin in plugins_of(job)] == ["svc", "env", "hcclrank"]
    assert unknown_plugin(job) == "nope"
    assert list(PLUGINS) == ["svc", "ssh", "env", "mpi", "tensorflow", "pytorch", "ray", "hcclrank"]


def test_env_tells_every_container_its_index() -> None:
    init = (Container(name="i", image="i"),)
    pod = pods(with_plugins(task("t", 3, init_containers=init), env=()))["j-t-2"]
    assert list(environment(pod).items()) == [("VK_TASK_INDEX", "2"), ("VC_TASK_INDEX", "2")]
    assert environment(pod, kind="initContainers") == {"VK_TASK_INDEX": "2", "VC_TASK_INDEX": "2"}


def test_variables_of_the_template_come_first() -> None:
    given = (Container(name="c", image="i", env=(EnvVar(name="A", value="a"),)),)
    pod = pods(with_plugins(task("t", containers=given), env=()))["j-t-0"]
    assert list(environment(pod)) == ["A", "VK_TASK_INDEX", "VC_TASK_INDEX"]


def test_svc_makes_hosts_a_service_and_a_policy() -> None:
    job = with_plugins(task("ps-a", 2), task("w", 1, hostname="fixed", subdomain="sub"), task("z", 0), svc=())
    selector = {"volcano.sh/job-name": "j", "volcano.sh/job-namespace": "ns"}
    assert contents(job) == {
        ("ConfigMap", "j-svc"): {
            "data": {
                "ps_a.host": "j-ps-a-0.j\nj-ps-a-1.j",
                "VC_PS_A_HOSTS": "j-ps-a-0.j,j-ps-a-1.j",
                "VC_PS_A_NUM": "2",
                "w.host": "fixed.sub",
                "VC_W_HOSTS": "fixed.sub",
                "VC_W_NUM": "1",
                "z.host": "",
                "VC_Z_HOSTS": "",
                "VC_Z_NUM": "0",
            }
        },
        ("Service", "j"): {"spec": {"clusterIP": "None", "selector": selector, "publishNotReadyAddresses": False}},
        ("NetworkPolicy", "j"): {
            "spec": {
                "podSelector": {"matchLabels": selector},
                "ingress": [{"from": [{"podSelector": {"matchLabels": selector}}]}],
                "policyTypes": ["Ingress"],
            }
        },
    }


def test_svc_arguments_are_obeyed() -> None:
    arguments = ("--publish-not-ready-addresses", "--disable-network-policy=true", "--inject-hosts-env=false")
    job = with_plugins(task("t"), svc=arguments)
    assert set(contents(job)) == {("ConfigMap", "j-svc"), ("Service", "j")}
    assert contents(job)["Service", "j"]["spec"]["publishNotReadyAddresses"] is True
    assert environment(pods(job)["j-t-0"]) == {}


def test_svc_names_a_pod_and_gives_it_the_hosts() -> None:
    init = (Container(name="i", image="i"),)
    job = with_plugins(task("a", 1, init_containers=init), task("b"), svc=())
    pod = pods(job)["j-a-0"]
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("j-a-0", "j")
    expected = {
        name: {"configMapKeyRef": {"name": "j-svc", "key": name}}
        for name in ("VC_A_HOSTS", "VC_A_NUM", "VC_B_HOSTS", "VC_B_NUM")
    }
    assert environment(pod) == environment(pod, kind="initContainers") == expected
    assert pod["spec"]["volumes"] == [{"name": "j-svc", "configMap": {"name": "j-svc"}}]
    for kind in ("containers", "initContainers"):
        assert pod["spec"][kind][0]["volumeMounts"] == [{"name": "j-svc", "mountPath": "/etc/volcano"}]


def test_svc_keeps_a_host_name_of_the_template() -> None:
    spec = pods(with_plugins(task("t", hostname="h", subdomain="s"), svc=()))["j-t-0"]["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("h", "s")


def test_ssh_makes_keys_that_fit_and_a_configuration() -> None:
    job = with_plugins(task("a", 2), task("b", 3, hostname="h", subdomain="s"), ssh=())
    data = contents(job)["Secret", "j-ssh"]["data"]
    files = {name: base64.b64decode(text).decode() for name, text in data.items()}
    assert set(files) == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
    assert files["id_rsa"].startswith("-----BEGIN RSA PRIVATE KEY-----\n")
    assert files["id_rsa.pub"].endswith("\n")
    assert files["authorized_keys"] == files["id_rsa.pub"]
    private = load_pem_private_key(files["id_rsa"].encode(), None)
    assert private.public_key() == load_ssh_public_key(files["id_rsa.pub"].encode())
    assert files["config"] == (
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
        "Host j-a-0\n  HostName j-a-0.j\n  Port 22\n"
        "Host j-a-1\n  HostName j-a-1.j\n  Port 22\n"
        "Host h\n  HostName h.s\n  Port 22\n"
    )


@pytest.mark.parametrize(("given", "port"), [("2222", 2222), ("0", 22), ("-1", 22), ("65536", 22), ("65535", 65535)])
def test_ssh_uses_a_port_that_exists(given: str, port: int) -> None:
    job = with_plugins(task("a"), ssh=(f"--ssh-port={given}",))
    config = base64.b64decode(contents(job)["Secret", "j-ssh"]["data"]["config"]).decode()
    assert config.endswith(f"  Port {port}\n")


def test_ssh_takes_given_keys_as_they_are() -> None:
    job = with_plugins(task("a"), ssh=("--ssh-private-key=private", "--ssh-public-key=public"))
    data = contents(job)["Secret", "j-ssh"]["data"]
    texts = [base64.b64decode(data[name]).decode() for name in ("id_rsa", "id_rsa.pub", "authorized_keys")]
    assert texts == ["private", "public", "public"]


@pytest.mark.parametrize(("path", "mode"), [("/root/.ssh", 0o600), ("/home/u/.ssh", 0o644)])
def test_ssh_mounts_the_secret(path: str, mode: int) -> None:
    spec = pods(with_plugins(task("a"), ssh=(f"--ssh-key-file-path={path}",)))["j-a-0"]["spec"]
    items = [{"key": file, "path": f".ssh/{file}"} for file in ("id_rsa", "id_rsa.pub", "authorized_keys", "config")]
    secret = {"secretName": "j-ssh", "items": items, "defaultMode": mode}
    assert spec["volumes"] == [{"name": "j-ssh", "secret": secret}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "j-ssh", "mountPath": path, "subPath": ".ssh"}]


@pytest.mark.parametrize(
    ("tasks", "pod", "config"),
    [
        (
            (task("ps"), task("worker", 2)),
            "j-ps-0",
            (
                '{"cluster":{"ps":["j-ps-0.j:2222"],"worker":["j-worker-0.j:2222","j-worker-1.j:2222"]},'
                '"task":{"type":"ps","index":0}}'
            ),
        ),
        (
            (task("worker", 2), task("other"), task("chief", 0)),
            "j-other-0",
            '{"cluster":{"worker":["j-worker-0.j:2222","j-worker-1.j:2222"]},"task":{"type":"other","index":0}}',
        ),
        (
            (task("worker", 2, hostname="h"),),
            "j-worker-1",
            '{"cluster":{"worker":["h.j:2222","h.j:2222"]},"task":{"type":"worker","index":1}}',
        ),
        ((task("worker", 1),), "j-worker-0", None),
    ],
)
def test_tensorflow_describes_the_cluster(tasks: tuple[TaskSpec, ...], pod: str, config: str | None) -> None:
    found = environment(pods(with_plugins(*tasks, tensorflow=()))[pod])
    assert found == ({} if config is None else {"TF_CONFIG": config})


def test_tensorflow_roles_may_be_called_otherwise() -> None:
    job = with_plugins(task("p"), task("w", 2), tensorflow=("--ps=p", "--worker=w", "--port=1"))
    config = msgspec.json.decode(environment(pods(job)["j-w-1"])["TF_CONFIG"])
    assert config["task"] == {"type": "worker", "index": 1}
    assert config["cluster"]["ps"] == ["j-p-0.j:1"]


def ports(pod: dict[str, Any], container: int = 0) -> list[tuple[str, int]]:
    declared = pod["spec"]["containers"][container].get("ports", ())
    return [(port.get("name", ""), port["containerPort"]) for port in declared]


def test_mpi_tells_the_master_its_workers_and_opens_the_port_everywhere() -> None:
    init = (Container(name="i", image="i"),)
    found = pods(with_plugins(task("master", init_containers=init), task("worker", 2), task("x"), mpi=("--port=5000",)))
    hosts = {"MPI_HOST": "j-worker-0.j,j-worker-1.j"}
    assert environment(found["j-master-0"]) == environment(found["j-master-0"], kind="initContainers") == hosts
    assert environment(found["j-worker-0"]) == {}
    assert all(ports(pod) == [("mpijob-port", 5000)] for pod in found.values())


def test_mpi_without_workers_leaves_the_master_alone() -> None:
    found = pods(with_plugins(task("master"), task("x"), mpi=()))
    assert (environment(found["j-master-0"]), ports(found["j-master-0"])) == ({}, [])
    assert ports(found["j-x-0"]) == [("mpijob-port", 22)]


def test_pytorch_ranks_masters_before_workers() -> None:
    found = pods(with_plugins(task("master", 2), task("worker", 2), task("x"), pytorch=()))
    common = {"MASTER_ADDR": "j-master-0.j", "MASTER_PORT": "23456", "WORLD_SIZE": "4"}
    ranks = {name: environment(pod).get("RANK") for name, pod in found.items()}
    assert ranks == {"j-master-0": "0", "j-master-1": "1", "j-worker-0": "2", "j-worker-1": "3", "j-x-0": None}
    assert all(environment(pod).items() >= common.items() for pod in found.values())
    assert list(environment(found["j-worker-0"])) == ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK"]
    assert ports(found["j-x-0"]) == [("pytorchjob-port", 23456)]


def test_pytorch_without_a_master_changes_nothing() -> None:
    pod = pods(with_plugins(task("worker"), pytorch=()))["j-worker-0"]
    assert (environment(pod), ports(pod)) == ({}, [])


def test_pytorch_workers_may_wait_for_their_master() -> None:
    arguments = ("--wait-master-enabled", "--wait-master-timeout=7", "--wait-master-image=img", "--port=1")
    found = pods(
        with_plugins(
            task("master"), task("worker", init_containers=(Container(name="first", image="i"),)), pytorch=arguments
        )
    )
    assert "initContainers" not in found["j-master-0"]["spec"]
    first, waiter = found["j-worker-0"]["spec"]["initContainers"]
    assert first["name"] == "first"
    assert (waiter["name"], waiter["image"], waiter["command"][:2]) == ("wait-for-master", "img", ["sh", "-c"])
    assert waiter["command"][2].splitlines()[0] == "host='j-master-0.j'; port='1'; left=7"


def test_a_waiter_of_the_template_is_kept() -> None:
    own = (Container(name="wait-for-master", image="mine"),)
    job = with_plugins(task("master"), task("worker", init_containers=own), pytorch=("--wait-master-enabled",))
    assert [c["image"] for c in pods(job)["j-worker-0"]["spec"]["initContainers"]] == ["mine"]


def test_ray_starts_a_head_and_lets_workers_join() -> None:
    job = with_plugins(task("head", container="head"), task("worker", 2, container="worker"), ray=("--port=1",))
    found = pods(job)
    assert ports(found["j-head-0"]) == [("gcs", 1), ("dashboard", 8265), ("client-server", 10001)]
    assert found["j-head-0"]["spec"]["containers"][0]["command"] == [
        "sh",
        "-c",
        "ray start --head --block --dashboard-host=0.0.0.0 --port=1 --dashboard-port=8265 --ray-client-server-port=10001",
    ]
    join = ["sh", "-c", "ray start --block --address=j-head-0.j:1"]
    assert found["j-worker-1"]["spec"]["containers"][0]["command"] == join
    assert contents(job)["Service", "j-head-svc"]["spec"] == {
        "selector": {"volcano.sh/job-name": "j", "volcano.sh/job-namespace": "ns", "volcano.sh/task-spec": "head"},
        "ports": [
            {"name": "gcs", "port": 1, "targetPort": "gcs", "protocol": "TCP"},
            {"name": "dashboard", "port": 8265, "targetPort": "dashboard", "protocol": "TCP"},
            {"name": "client-server", "port": 10001, "targetPort": "client-server", "protocol": "TCP"},
        ],
    }


def test_ray_leaves_other_containers_alone() -> None:
    pod = pods(with_plugins(task("head", container="other"), ray=()))["j-head-0"]
    assert "command" not in pod["spec"]["containers"][0]
    assert ports(pod) == []


def test_ray_without_a_head_is_an_error() -> None:
    with pytest.raises(PluginError, match="job j doesn't have head task head"):
        pods(with_plugins(task("worker"), ray=()))


def rank(pod: dict[str, Any]) -> str | None:
    value: str | None = pod["metadata"]["annotations"].get("hccl/rankIndex")
    return value


def test_hcclrank_counts_masters_then_workers() -> None:
    found = pods(with_plugins(task("master", 2), task("worker", 2), task("x"), hcclrank=()))
    assert [rank(found[f"j-{name}"]) for name in ("master-1", "worker-0", "worker-1", "x-0")] == ["1", "2", "3", None]


def test_hcclrank_without_masters_starts_with_workers() -> None:
    assert rank(pods(with_plugins(task("worker", 2), hcclrank=()))["j-worker-1"]) == "1"


def test_hcclrank_takes_the_rank_of_pytorch() -> None:
    found = pods(with_plugins(task("master"), task("worker"), hcclrank=(), pytorch=()))
    assert [rank(pod) for pod in found.values()] == ["0", "1"]


def test_hcclrank_keeps_a_rank_that_is_there() -> None:
    template = PodTemplateSpec(metadata=ObjectMeta(annotations={"hccl/rankIndex": "9"}), spec=task("x").template.spec)
    assert rank(pods(with_plugins(a_task("worker", 1, template=template), hcclrank=()))["j-worker-0"]) == "9"


def test_only_hcclrank_leaves_no_mark_on_the_job() -> None:
    assert [name for name, plugin in PLUGINS.items() if not plugin.leaves_marker] == ["hcclrank"]

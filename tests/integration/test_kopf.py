from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster import ControlPlane
from cluster.processes import wait_until
from generated.core.v1 import CONFIG_MAPS, ConfigMap
from generated.flow.v1alpha1 import JOB_FLOWS, JobFlow
from generated.scheduling.v1beta1 import POD_GROUPS
from runtime.client_sync import SyncClient
from runtime.errors import NotFound
from runtime.kubeconfig import load
from runtime.patches import MergePatch
from runtime.resource import Resource
from runtime.transport_sync import SyncTransport

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "hack.samples.kopf_operator"
LABEL = "kopf-sample.stromboli.dev/queue"
WAIT = 60.0
COMMANDS = {
    "python -m": [sys.executable, "-m", SAMPLE, "--namespace"],
    "kopf run": [sys.executable, "-m", "kopf", "run", "--standalone", "-m", SAMPLE, "-n"],
}
TRACES = textwrap.dedent("""
    import sys
    from typing import Literal
    import msgspec
    from generated.apply.core.v1 import ConfigMap
    from generated.apply.meta.v1 import ObjectMeta
    from generated.core.v1 import CONFIG_MAPS
    from generated.meta.v1 import ObjectMeta as Meta
    from runtime.kopf import Operator, typed
    from runtime.model import Model

    class Colours(Model, kw_only=True):
        metadata: Meta = Meta()
        data: dict[str, Literal["red", "green"]] = {}

    operator = Operator("traces.example.com")
    COLOURS = CONFIG_MAPS.with_model(Colours)
    MINE = {"labels": {"mine": "yes"}}

    @operator.create(COLOURS, **MINE)
    @operator.update(COLOURS, **MINE)
    def seen(obj, old):
        print("seen", old and old.data, obj.data, flush=True)
        return ConfigMap(metadata=ObjectMeta(labels={"seen": obj.data.get("colour", "none")}))

    @operator.delete(COLOURS, finalizer=True, **MINE)
    async def last(obj):
        words = await operator.client.get(CONFIG_MAPS, obj.metadata.name, obj.metadata.namespace)
        print("last", words.data, flush=True)

    @operator.delete(COLOURS, labels={"plain": "yes"})
    def gone(obj):
        print("gone", obj.metadata.name, flush=True)

    @operator.timer(COLOURS, interval=0.2, finalizer=True, labels={"timed": "yes"})
    def tick(obj):
        print("tick", obj.data["colour"], flush=True)

    @operator.daemon(COLOURS, finalizer=True, labels={"watched": "yes"})
    async def stay(obj, body, stopped):
        while not await stopped.wait(0.2):
            print("now", typed(COLOURS, body).data["colour"], "first", obj.data["colour"], flush=True)
        print("daemon ends", flush=True)

    @operator.daemon(COLOURS, finalizer=True, labels={"guarded": "yes"})
    async def guard(obj, stopped):
        print("guard starts", obj.data["colour"], flush=True)
        await stopped.wait()
        print("guard ends", flush=True)

    sys.exit(operator.main())
""")


class Running:
    """An operator as a process; everything that it writes is in `text`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(iter(self.process.stdout.readline, ""))

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def await_text(self, pattern: str) -> None:
        found = wait_until(lambda: bool(re.search(pattern, self.text)), WAIT)
        assert found, f"{pattern!r} is not in:\n{self.text}"

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WAIT)
        self._reader.join()
        return code


@contextmanager
def running(command: list[str], kubeconfig: Path) -> Iterator[Running]:
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={"KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        operator = Running(process)
        try:
            yield operator
        finally:
            process.kill()


@pytest.fixture
def client(kubeconfig: Path) -> Iterator[SyncClient]:
    with SyncTransport(load(str(kubeconfig))) as transport:
        yield SyncClient(transport)


def config_map(name: str, data: Mapping[str, str], **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}, "data": data}


def reader(client: SyncClient, resource: Resource[Any], name: str, namespace: str) -> Callable[[], Any]:
    """A function that gives the object as it is, None when there is none."""

    def read() -> Any:
        try:
            return client.get(resource, name, namespace)
        except NotFound:
            return None

    return read


@pytest.mark.parametrize("how", COMMANDS)
def test_the_sample_follows_its_objects(kubeconfig: Path, namespace: str, client: SyncClient, how: str) -> None:
    client.create(POD_GROUPS, {"metadata": {"name": "early"}, "spec": {"queue": "night"}}, namespace)
    with running([*COMMANDS[how], namespace], kubeconfig) as operator:
        group = reader(client, POD_GROUPS, "early", namespace)
        assert wait_until(lambda: group().metadata.labels == {LABEL: "night"}, WAIT), operator.text

        client.patch(POD_GROUPS, "early", namespace, MergePatch({"spec": {"queue": "day"}}))
        assert wait_until(lambda: group().metadata.labels == {LABEL: "day"}, WAIT), operator.text
        assert group().metadata.finalizers == ()

        steps = [{"name": "fetch"}, {"name": "fit", "dependsOn": {"targets": ["fetch"]}}]
        client.create(JOB_FLOWS, {"metadata": {"name": "train"}, "spec": {"flows": steps}}, namespace)
        report = reader(client, CONFIG_MAPS, "train-report", namespace)
        assert wait_until(lambda: report() is not None, WAIT), operator.text
        assert report().data == {"phase": "Pending", "progress": "0/2", "steps": "fetch\nfit after fetch"}

        status = {"status": {"state": {"phase": "Running"}, "completedJobs": ["fetch"]}}
        client.patch(JOB_FLOWS, "train", namespace, MergePatch(status), subresource="status")
        assert wait_until(lambda: report().data["progress"] == "1/2", WAIT), operator.text
        assert report().data["phase"] == "Running"
        flow: JobFlow = client.get(JOB_FLOWS, "train", namespace)
        assert (flow.metadata.finalizers, flow.metadata.annotations) == ((), {})

        client.delete(JOB_FLOWS, "train", namespace)
        operator.await_text(r"flow is gone.* steps=2")
        assert wait_until(lambda: report() is None, WAIT), operator.text
        assert operator.stop() == 0
        assert "Traceback" not in operator.text


def test_create_update_and_delete_leave_only_what_was_asked_for(
    kubeconfig: Path, namespace: str, client: SyncClient
) -> None:
    with running([sys.executable, "-c", TRACES, "--namespace", namespace], kubeconfig) as operator:
        read = reader(client, CONFIG_MAPS, "a", namespace)
        client.create(CONFIG_MAPS, config_map("a", {"colour": "red"}, mine="yes"), namespace)
        assert wait_until(lambda: read().metadata.labels.get("seen") == "red", WAIT), operator.text
        client.patch(CONFIG_MAPS, "a", namespace, MergePatch({"data": {"colour": "green"}}))
        operator.await_text(r"seen \{'colour': 'red'\} \{'colour': 'green'\}")
        assert wait_until(lambda: read().metadata.labels.get("seen") == "green", WAIT), operator.text

        before: ConfigMap = read()
        assert before.metadata.finalizers == ("traces.example.com/finalizer",)
        assert {key.partition("/")[0] for key in before.metadata.annotations} == {"traces.example.com"}
        client.delete(CONFIG_MAPS, "a", namespace)
        operator.await_text(r"last \{'colour': 'green'\}")
        assert wait_until(lambda: read() is None, WAIT), operator.text

        client.create(CONFIG_MAPS, config_map("b", {"colour": "red"}, plain="yes"), namespace)
        untouched = client.get(CONFIG_MAPS, "b", namespace)
        client.delete(CONFIG_MAPS, "b", namespace)
        operator.await_text("gone b")
        assert (untouched.metadata.finalizers, untouched.metadata.annotations) == ((), {})
        assert operator.stop() == 0


def test_an_unreadable_object_is_reported_once_and_handled_when_repaired(
    kubeconfig: Path, namespace: str, client: SyncClient
) -> None:
    with running([sys.executable, "-c", TRACES, "--namespace", namespace], kubeconfig) as operator:
        client.create(CONFIG_MAPS, config_map("bad", {"colour": "blue"}, mine="yes"), namespace)
        told = rf"failed permanently: ConfigMap {namespace}/bad: data\[\.\.\.\]: Invalid enum value.*object=ConfigMap/"
        operator.await_text(told)
        client.create(CONFIG_MAPS, config_map("good", {"colour": "red"}, mine="yes"), namespace)
        operator.await_text(r"seen None \{'colour': 'red'\}")
        assert len(re.findall(told, operator.text)) == 1

        client.patch(CONFIG_MAPS, "bad", namespace, MergePatch({"data": {"colour": "green"}}))
        operator.await_text(r"former object is left out")
        operator.await_text(r"seen None \{'colour': 'green'\}")
        for name in ("bad", "good"):
            client.delete(CONFIG_MAPS, name, namespace)
        assert wait_until(lambda: reader(client, CONFIG_MAPS, "bad", namespace)() is None, WAIT), operator.text
        assert wait_until(lambda: reader(client, CONFIG_MAPS, "good", namespace)() is None, WAIT), operator.text
        assert operator.stop() == 0


def test_a_timer_sees_the_object_as_it_is(kubeconfig: Path, namespace: str, client: SyncClient) -> None:
    with running([sys.executable, "-c", TRACES, "--namespace", namespace], kubeconfig) as operator:
        client.create(CONFIG_MAPS, config_map("t", {"colour": "red"}, timed="yes"), namespace)
        operator.await_text(r"(?s)tick red.*tick red")
        client.patch(CONFIG_MAPS, "t", namespace, MergePatch({"data": {"colour": "green"}}))
        operator.await_text(r"tick green")
        client.delete(CONFIG_MAPS, "t", namespace)
        assert wait_until(lambda: reader(client, CONFIG_MAPS, "t", namespace)() is None, WAIT), operator.text
        assert operator.stop() == 0


def test_a_daemon_follows_its_object_and_ends_with_it(kubeconfig: Path, namespace: str, client: SyncClient) -> None:
    with running([sys.executable, "-c", TRACES, "--namespace", namespace], kubeconfig) as operator:
        client.create(CONFIG_MAPS, config_map("d", {"colour": "red"}, watched="yes"), namespace)
        operator.await_text(r"now red first red")
        client.patch(CONFIG_MAPS, "d", namespace, MergePatch({"data": {"colour": "green"}}))
        operator.await_text(r"now green first red")
        client.delete(CONFIG_MAPS, "d", namespace)
        operator.await_text(r"daemon ends")
        assert wait_until(lambda: reader(client, CONFIG_MAPS, "d", namespace)() is None, WAIT), operator.text
        assert operator.stop() == 0


def test_a_daemon_rests_while_its_object_cannot_be_read(kubeconfig: Path, namespace: str, client: SyncClient) -> None:
    def paint(colour: str) -> None:
        client.patch(CONFIG_MAPS, "d", namespace, MergePatch({"data": {"colour": colour}}))

    with running([sys.executable, "-c", TRACES, "--namespace", namespace], kubeconfig) as operator:
        client.create(CONFIG_MAPS, config_map("d", {"colour": "blue"}, guarded="yes"), namespace)
        told = rf"ConfigMap {namespace}/d: data\[\.\.\.\]: Invalid enum value.*object=ConfigMap/"
        operator.await_text(told)
        assert client.get(CONFIG_MAPS, "d", namespace).metadata.finalizers == ()
        paint("green")
        operator.await_text("guard starts green")
        paint("blue")
        operator.await_text(rf"(?s){told}.*guard ends")
        paint("red")
        operator.await_text(r"(?s)guard ends.*guard starts red")
        client.delete(CONFIG_MAPS, "d", namespace)
        assert wait_until(lambda: reader(client, CONFIG_MAPS, "d", namespace)() is None, WAIT), operator.text
        assert operator.stop() == 0
        assert "Traceback" not in operator.text


def test_an_operator_outlives_a_restart_of_the_api_server(
    control_plane: ControlPlane, kubeconfig: Path, namespace: str, client: SyncClient
) -> None:
    with running([*COMMANDS["python -m"], namespace], kubeconfig) as operator:
        client.create(POD_GROUPS, {"metadata": {"name": "g"}, "spec": {"queue": "night"}}, namespace)
        group = reader(client, POD_GROUPS, "g", namespace)
        assert wait_until(lambda: group().metadata.labels == {LABEL: "night"}, WAIT), operator.text
        control_plane.restart_apiserver()
        client.patch(POD_GROUPS, "g", namespace, MergePatch({"spec": {"queue": "day"}}))
        assert wait_until(lambda: group().metadata.labels == {LABEL: "day"}, WAIT), operator.text
        assert operator.stop() == 0


def account_kubeconfig(plane: ControlPlane, folder: Path, token: Path) -> Path:
    """A kubeconfig that authenticates by a token file alone."""
    document = yaml.safe_load(plane.kubeconfig.read_text())
    for entry in document["users"]:
        entry["user"] = {"tokenFile": str(token)}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_refused_token_is_replaced_without_a_restart(
    control_plane: ControlPlane, namespace: str, client: SyncClient, tmp_path: Path
) -> None:
    role = {
        "metadata": {"name": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    control_plane.api.create(bindings, role)
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts/default/token"
    issued = control_plane.api.create(account, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
    token = tmp_path / "token"
    token.write_text("worthless")
    try:
        with running(
            [*COMMANDS["python -m"], namespace], account_kubeconfig(control_plane, tmp_path, token)
        ) as operator:
            operator.await_text(r"answered 401 to the credentials from")
            token.write_text(issued)
            client.create(POD_GROUPS, {"metadata": {"name": "g"}, "spec": {"queue": "night"}}, namespace)
            group = reader(client, POD_GROUPS, "g", namespace)
            assert wait_until(lambda: group().metadata.labels == {LABEL: "night"}, WAIT), operator.text
            assert operator.stop() == 0
    finally:
        control_plane.api.delete(f"{bindings}/{namespace}")

"""The API client against a real API server: what the unit tests can only assume about its answers."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import kubernetes
import msgspec
import pytest
import yaml

from cluster import ControlPlane
from generated.batch.v1alpha1 import JOBS, Job
from generated.core.v1 import CONFIG_MAPS, PODS, SECRETS, ConfigMap, Container, Pod, PodSpec
from generated.meta.v1 import ObjectMeta
from generated.scheduling.v1beta1 import QUEUES
from runtime import errors
from runtime.client import Client
from runtime.client_sync import SyncClient
from runtime.http import HttpClient
from runtime.kubeconfig import ClientConfig, Overrides, load
from runtime.patches import JsonPatch, MergePatch, StrategicPatch, add, pointer
from runtime.patches import test as check
from runtime.resource import Resource
from runtime.retry import ONCE
from runtime.transport import Transport
from runtime.transport_sync import SyncTransport
from runtime.watching import read_event

SERVICE_ACCOUNTS: Resource[Any] = Resource("", "v1", "ServiceAccount", "serviceaccounts", Any)
SELF: Resource[Any] = Resource(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", Any, namespaced=False
)
BUDGETS: Resource[Any] = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", Any)


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    async with Transport(load(str(kubeconfig))) as transport:
        yield Client(transport)


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data=data)


def pod(name: str, **labels: str) -> Pod:
    spec = PodSpec(containers=(Container(name="main", image="busybox"),), scheduler_name="nobody")
    return Pod(metadata=ObjectMeta(name=name, labels=labels), spec=spec)


def job(name: str, replicas: int = 1) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
    return {
        "metadata": {"name": name},
        "spec": {"queue": "default", "tasks": [{"name": "t", "replicas": replicas, "template": template}]},
    }


async def test_an_object_lives_from_create_to_delete(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    assert (made.kind, made.metadata.namespace, made.data) == ("ConfigMap", namespace, {"x": "1"})
    assert await client.get(CONFIG_MAPS, "a", namespace) == made
    merged = await client.patch(CONFIG_MAPS, "a", namespace, MergePatch({"data": {"x": None, "y": "2"}}))
    assert merged.data == {"y": "2"}
    key = pointer("data", "a~b")
    pinned = [check("/metadata/resourceVersion", merged.metadata.resource_version), add("/data/z", "3")]
    patched = await client.patch(CONFIG_MAPS, "a", namespace, JsonPatch(pinned))
    assert patched.data == {"y": "2", "z": "3"}
    assert key == "/data/a~0b"
    await client.delete(CONFIG_MAPS, "a", namespace, uid=made.metadata.uid)
    with pytest.raises(errors.NotFound, match=r'^configmaps "a" not found$'):
        await client.get(CONFIG_MAPS, "a", namespace)


@pytest.mark.parametrize("body", ["struct", "mapping", "bytes"])
async def test_custom_kinds_take_every_form_of_body(client: Client, namespace: str, body: str) -> None:
    plain = job("a")
    forms: dict[str, Any] = {
        "struct": msgspec.convert(plain, Job),
        "mapping": plain,
        "bytes": msgspec.json.encode(plain),
    }
    made = await client.create(JOBS, forms[body], namespace)
    assert (made.api_version, made.kind, made.spec.tasks[0].name) == ("batch.volcano.sh/v1alpha1", "Job", "t")


async def test_pods_merge_strategically_and_custom_kinds_do_not(client: Client, namespace: str) -> None:
    await client.create(PODS, pod("a"), namespace)
    patch = StrategicPatch({"spec": {"containers": [{"name": "main", "image": "other"}]}})
    changed = await client.patch(PODS, "a", namespace, patch)
    assert [(c.name, c.image) for c in changed.spec.containers] == [("main", "other")]
    await client.create(JOBS, job("a"), namespace)
    with pytest.raises(errors.ApiError) as caught:
        await client.patch(JOBS, "a", namespace, StrategicPatch({"spec": {"minAvailable": 1}}))
    assert caught.value.code == 415


async def test_applies_of_two_managers_conflict_unless_forced(client: Client, namespace: str) -> None:
    await client.apply(CONFIG_MAPS, "a", namespace, {"data": {"x": "1"}}, field_manager="one")
    with pytest.raises(errors.Conflict, match='conflict with "one"'):
        await client.apply(CONFIG_MAPS, "a", namespace, {"data": {"x": "2"}}, field_manager="two")
    forced = await client.apply(CONFIG_MAPS, "a", namespace, {"data": {"x": "2"}}, field_manager="two", force=True)
    assert forced.data == {"x": "2"}


async def test_status_is_its_own_door(client: Client, namespace: str) -> None:
    made = await client.create(JOBS, job("a"), namespace)
    patch = MergePatch({"status": {"state": {"phase": "Running"}}, "spec": {"minAvailable": 7}})
    changed = await client.patch(JOBS, "a", namespace, patch, subresource="status")
    assert changed.status.state.phase == "Running"
    assert changed.spec == made.spec
    again = await client.update(JOBS, changed, subresource="status")
    assert again.status == changed.status
    with pytest.raises(errors.Conflict):
        await client.update(JOBS, made, subresource="status")


async def test_preconditions_and_dry_runs_are_kept(client: Client, namespace: str) -> None:
    made = await client.create(CONFIG_MAPS, config_map("a"), namespace)
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, uid="00000000-0000-0000-0000-000000000000")
    with pytest.raises(errors.Conflict):
        await client.delete(CONFIG_MAPS, "a", namespace, uid=made.metadata.uid, resource_version="1")
    await client.delete(CONFIG_MAPS, "a", namespace, dry_run=True)
    await client.create(CONFIG_MAPS, config_map("b"), namespace, dry_run=True)
    found = await client.list(CONFIG_MAPS, namespace, label_selector="!kubernetes.io/none")
    assert {item.metadata.name for item in found.items} & {"a", "b"} == {"a"}


async def test_errors_are_typed_and_speak_the_servers_words(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a"), namespace)
    with pytest.raises(errors.AlreadyExists, match=r'^configmaps "a" already exists$'):
        await client.create(CONFIG_MAPS, config_map("a"), namespace)
    with pytest.raises(errors.Invalid) as caught:
        await client.create(JOBS, {**job("b"), "spec": {"queue": ""}}, namespace)
    details = caught.value.status.details
    assert details is not None
    assert "spec.queue" in [cause.field for cause in details.causes]
    unserved: Resource[Any] = Resource("example.org", "v1", "Thing", "things", dict)
    with pytest.raises(
        errors.NotFound, match=r"^the server could not find the requested resource \(get things\.example\.org\)$"
    ):
        await client.list(unserved)


async def test_lists_come_in_pages_and_equal_what_an_independent_client_sees(
    client: Client, namespace: str, kubeconfig: Path
) -> None:
    await asyncio.gather(*(client.create(SECRETS, {"metadata": {"name": f"s{n:02}"}}, namespace) for n in range(23)))
    page = await client.list_page(SECRETS, namespace, limit=5)
    assert (len(page.items), bool(page.continue_)) == (5, True)
    whole = await client.list(SECRETS, namespace, page_size=5)
    assert [item.metadata.name for item in whole.items] == [f"s{n:02}" for n in range(23)]
    connect: Any = kubernetes.config.new_client_from_config
    api: Any = kubernetes.client.CoreV1Api(connect(str(kubeconfig)))
    independent = await asyncio.to_thread(api.list_namespaced_secret, namespace)
    assert {(i.metadata.name, i.metadata.uid) for i in independent.items} == {
        (i.metadata.name, i.metadata.uid) for i in whole.items
    }
    api.api_client.rest_client.pool_manager.clear()
    with pytest.raises(errors.BadRequest, match="continue"):
        await client.list_page(SECRETS, namespace, continue_="nonsense")


async def test_selectors_choose_on_the_server(client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        await client.create(PODS, pod(name, app=name), namespace)
    by_label = await client.list(PODS, namespace, label_selector="app in (b)")
    by_field = await client.list(PODS, namespace, field_selector="metadata.name=a")
    assert [i.metadata.name for i in (*by_label.items, *by_field.items)] == ["b", "a"]
    await client.delete_collection(PODS, namespace, label_selector="app=b", grace_period=0)
    left = await client.list(PODS, namespace)
    assert [i.metadata.name for i in left.items] == ["a"]


class OddSpec(msgspec.Struct, frozen=True, rename="camel"):
    min_available: int


class OddJob(msgspec.Struct, frozen=True):
    spec: OddSpec


async def test_an_object_that_a_model_cannot_hold_is_named_beside_the_others(client: Client, namespace: str) -> None:
    await client.create(JOBS, job("without"), namespace)
    await client.create(JOBS, {**job("with"), "spec": {**job("with")["spec"], "minAvailable": 1}}, namespace)
    page = await client.list(JOBS.with_model(OddJob), namespace)
    assert [item.spec.min_available for item in page.items] == [1]
    assert [str(bad.key) for bad in page.unreadable] == [f"{namespace}/without"]
    assert str(page.unreadable[0].error).startswith(f"Job {namespace}/without: spec: Object missing required field")


async def test_a_watch_shows_changes_after_its_version(client: Client, namespace: str) -> None:
    before = await client.create(CONFIG_MAPS, config_map("before"), namespace)
    version = before.metadata.resource_version
    big = "x" * 900_000
    async with client.watch(CONFIG_MAPS, namespace, resource_version=version) as lines:
        await client.create(CONFIG_MAPS, config_map("a", big=big), namespace)
        await client.delete(CONFIG_MAPS, "before", namespace)
        seen = []
        async with asyncio.timeout(10):
            async for line in lines:
                event = read_event(line)
                seen.append((event.type, msgspec.json.decode(event.object, type=ConfigMap)))
                if event.type == "DELETED":
                    break
    assert [(kind, item.metadata.name) for kind, item in seen] == [("ADDED", "a"), ("DELETED", "before")]
    assert seen[0][1].data == {"big": big}


async def test_a_short_watch_ends_by_itself_and_is_typed(client: Client, namespace: str) -> None:
    await client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
    async with asyncio.timeout(20):
        changes = [c async for c in client.changes(CONFIG_MAPS, namespace, field_selector="metadata.name=a", seconds=1)]
    assert [(change.type, change.object.data) for change in changes] == [("ADDED", {"x": "1"})]


async def forget_history(plane: ControlPlane, client: Client, namespace: str) -> None:
    """Make the storage forget all versions before now, as it does by itself every few minutes."""
    version = (await client.create(CONFIG_MAPS, config_map("newest"), namespace)).metadata.resource_version
    facts = plane.status().facts
    assert facts is not None
    async with HttpClient() as etcd:
        url = f"http://127.0.0.1:{facts.etcd_port}/v3/kv/compaction"
        (await etcd.post_json(url, {"revision": version, "physical": True})).check()
    await asyncio.to_thread(plane.restart_apiserver)  # its caches forget, too


async def test_what_the_server_has_forgotten_is_gone_and_lists_start_over(
    client: Client, namespace: str, control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        await client.create(SECRETS, {"metadata": {"name": f"s{number}"}}, namespace)
    first = await client.list_page(SECRETS, namespace, limit=4)
    read_page, forgets = client.list_page, iter([True])

    async def forgetful(*args: Any, **options: Any) -> Any:
        page = await read_page(*args, **options)
        if next(forgets, False):
            await forget_history(control_plane, client, namespace)
        return page

    monkeypatch.setattr(client, "list_page", forgetful)
    whole = await client.list(SECRETS, namespace, page_size=4)
    assert [item.metadata.name for item in whole.items] == [f"s{number}" for number in range(6)]
    assert int(whole.resource_version) > int(first.resource_version)
    with pytest.raises(errors.Gone):
        await read_page(SECRETS, namespace, limit=4, continue_=first.continue_)
    with pytest.raises(errors.Gone):
        _ = [c async for c in client.changes(SECRETS, namespace, resource_version=first.resource_version, seconds=5)]


async def test_a_bind_happens_once(client: Client, namespace: str) -> None:
    await client.create(PODS, pod("a"), namespace)
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "n1"},
    }
    answered = await client.create_subresource(PODS, "a", namespace, "binding", binding)
    assert msgspec.json.decode(answered)["status"] == "Success"
    assert (await client.get(PODS, "a", namespace)).spec.node_name == "n1"
    with pytest.raises(errors.Conflict, match="already assigned to node"):
        await client.create_subresource(PODS, "a", namespace, "binding", binding)


async def test_a_disruption_budgets_refusal_comes_back_at_once(client: Client, namespace: str) -> None:
    await client.create(PODS, pod("a", app="a"), namespace)
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    await client.patch(PODS, "a", namespace, StrategicPatch(ready), subresource="status")
    budget = {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}}
    await client.create(BUDGETS, budget, namespace)
    async with asyncio.timeout(20):
        while not (await client.get(BUDGETS, "b", namespace))["status"].get(
            "observedGeneration"
        ):  # the server's condition
            await asyncio.sleep(0.05)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a", "namespace": namespace}}
    begin = asyncio.get_running_loop().time()
    with pytest.raises(errors.TooManyRequests, match="disruption budget"):
        await client.create_subresource(PODS, "a", namespace, "eviction", eviction)
    assert asyncio.get_running_loop().time() - begin < 5


async def test_the_server_tells_what_it_is_and_serves(client: Client) -> None:
    assert (await client.server_version()).major == "1"
    assert await client.raw("/readyz") == b"ok"
    assert "pods/eviction" in [served.name for served in await client.api_resources("v1")]
    assert "queues/status" in [served.name for served in await client.api_resources("scheduling.volcano.sh/v1beta1")]
    assert await client.api_resources("example.org/v1") == ()


async def test_a_queue_may_be_read_without_namespace(client: Client, namespace: str) -> None:
    await client.create(QUEUES, {"metadata": {"name": namespace}, "spec": {"weight": 3}})
    assert (await client.get(QUEUES, namespace)).spec.weight == 3
    await client.delete(QUEUES, namespace)


async def test_fields_that_the_server_drops_are_logged_once(
    client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "runtime.serverwarnings")
    for name in ("a", "b"):
        await client.create(CONFIG_MAPS, {"metadata": {"name": name}, "invented": 1}, namespace)
    assert ["invented" in record.getMessage() for record in caplog.records] == [True]


class Robot:
    """A service account that may read config maps in its namespace."""

    def __init__(self, admin: Client, namespace: str) -> None:
        self._admin = admin
        self.namespace = namespace
        self.name = f"system:serviceaccount:{namespace}:robot"

    async def create(self) -> None:
        await self._admin.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}}, self.namespace)

    async def token(self) -> str:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        answer = await self._admin.create_subresource(SERVICE_ACCOUNTS, "robot", self.namespace, "token", body)
        return str(msgspec.json.decode(answer)["status"]["token"])


@pytest.fixture
async def robot(client: Client, namespace: str) -> Robot:
    made = Robot(client, namespace)
    await made.create()
    return made


def as_user(kubeconfig: Path, folder: Path, user: dict[str, Any]) -> ClientConfig:
    """The administrator's kubeconfig with another user section."""
    document = yaml.safe_load(kubeconfig.read_text())
    for entry in document["users"]:
        entry["user"] = user
    path = folder / "config"
    path.write_text(yaml.safe_dump(document))
    return load(str(path))


async def who(config: ClientConfig) -> str:
    async with Transport(config) as transport:
        review = await Client(transport).create(SELF, {})
    return str(review["status"]["userInfo"]["username"])


async def test_tokens_authenticate_from_every_source(robot: Robot, kubeconfig: Path, tmp_path: Path) -> None:
    token = await robot.token()
    (tmp_path / "token").write_text(token)
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token}}
    (tmp_path / "credential.json").write_text(json.dumps(credential))
    script = ["-c", "print(open('credential.json').read())"]
    version = str(credential["apiVersion"])
    plugin = {"command": sys.executable, "args": script, "apiVersion": version, "interactiveMode": "Never"}
    for user in ({"token": token}, {"tokenFile": "token"}, {"exec": plugin}):
        assert await who(as_user(kubeconfig, tmp_path, user)) == robot.name


def authority_of(kubeconfig: Path) -> bytes:
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    return base64.b64decode(cluster["certificate-authority-data"])


async def test_a_pods_service_account_is_enough(
    robot: Robot, control_plane: ControlPlane, kubeconfig: Path, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_bytes(authority_of(kubeconfig))
    (tmp_path / "token").write_text(await robot.token())
    (tmp_path / "namespace").write_text(robot.namespace)
    host, _, port = control_plane.server.removeprefix("https://").partition(":")
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    config = load(prefer_in_cluster=True, environ=environ, service_account=tmp_path)
    assert config.namespace == robot.namespace
    assert await who(config) == robot.name


async def test_a_rotated_token_file_is_read_again_when_the_old_one_is_rejected(
    robot: Robot, kubeconfig: Path, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("outdated")
    config = as_user(kubeconfig, tmp_path, {"tokenFile": "token"})
    config.credentials._fetched -= 10  # type: ignore[attr-defined]  # as if it had been read a while ago
    (tmp_path / "token").write_text(await robot.token())
    assert await who(config) == robot.name


async def test_strangers_and_the_powerless_are_told_apart(robot: Robot, kubeconfig: Path, tmp_path: Path) -> None:
    for token, error in (("nonsense", errors.Unauthorized), (await robot.token(), errors.Forbidden)):
        async with Transport(as_user(kubeconfig, tmp_path, {"token": token})) as transport:
            with pytest.raises(error):
                await Client(transport).list(SECRETS, robot.namespace)


async def test_the_administrator_may_act_as_another(kubeconfig: Path) -> None:
    config = load(
        str(kubeconfig), overrides=Overrides(impersonate="jane", impersonate_groups=("system:authenticated",))
    )
    assert await who(config) == "jane"


async def test_an_untrusted_authority_is_told(kubeconfig: Path, control_plane: ControlPlane) -> None:
    config = load(master=control_plane.server, prefer_in_cluster=True)
    async with Transport(config) as transport:
        with pytest.raises(errors.ConnectionFailed, match="x509: certificate signed by unknown authority"):
            await Client(transport).server_version()


def test_the_synchronous_client_does_the_same(kubeconfig: Path, namespace: str) -> None:
    with SyncTransport(load(str(kubeconfig))) as transport:
        client = SyncClient(transport)
        made = client.create(CONFIG_MAPS, config_map("a", x="1"), namespace)
        patched = client.patch(CONFIG_MAPS, "a", namespace, MergePatch({"data": {"x": "2"}}))
        assert [
            i.metadata.name for i in client.list(CONFIG_MAPS, namespace, field_selector="metadata.name=a").items
        ] == ["a"]
        client.delete(CONFIG_MAPS, "a", namespace, uid=made.metadata.uid)
        version = made.metadata.resource_version
        changes = [
            (c.type, c.object.data) for c in client.changes(CONFIG_MAPS, namespace, resource_version=version, seconds=1)
        ]
        assert changes == [("MODIFIED", patched.data), ("DELETED", patched.data)]
        with pytest.raises(errors.NotFound, match=r'^configmaps "a" not found$'):
            client.get(CONFIG_MAPS, "a", namespace)


async def test_reads_and_writes_outlast_a_restart_of_the_server(
    client: Client, namespace: str, control_plane: ControlPlane
) -> None:
    await client.create(CONFIG_MAPS, config_map("before"), namespace)
    await asyncio.to_thread(control_plane.kill_apiserver)
    writes = [asyncio.create_task(client.create(CONFIG_MAPS, config_map(f"w{n}"), namespace)) for n in range(20)]
    reads = [asyncio.create_task(client.get(CONFIG_MAPS, "before", namespace)) for _ in range(20)]
    await asyncio.to_thread(control_plane.start_apiserver)
    async with asyncio.timeout(60):
        assert [item.metadata.name for item in await asyncio.gather(*writes)] == [f"w{n}" for n in range(20)]
        assert {item.metadata.name for item in await asyncio.gather(*reads)} == {"before"}


async def test_a_person_hears_of_a_server_that_is_down_at_once(kubeconfig: Path, control_plane: ControlPlane) -> None:
    await asyncio.to_thread(control_plane.kill_apiserver)
    try:
        with (
            SyncTransport(load(str(kubeconfig))) as transport,
            pytest.raises(
                errors.ConnectionFailed, match=r'^Get "https://.*/version": dial tcp .*: connect: connection refused$'
            ),
        ):
            await asyncio.to_thread(SyncClient(transport).server_version)
        async with Transport(load(str(kubeconfig)), retry=ONCE) as impatient:
            with pytest.raises(errors.ConnectionFailed, match="connection refused"):
                await Client(impatient).server_version()
    finally:
        await asyncio.to_thread(control_plane.start_apiserver)

"""Handlers behind a real API server: what a user sees of patches, denials, warnings and failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from generated.batch.v1alpha1 import JOBS, Job
from generated.core.v1 import CONFIG_MAPS, ConfigMap
from runtime.admission import ALLOWED, Allowed, Changed, Denial, Mutation, Mutator, Patch, Validation, Validator
from runtime.admission_server import AdmissionServer
from runtime.cabundle import MUTATING, VALIDATING
from runtime.certs import create_pair, utc_now
from runtime.client import Client
from runtime.errors import ApiError, BadRequest, Forbidden, Invalid, ServerError
from runtime.kubeconfig import load
from runtime.patches import MergePatch, add
from runtime.servingtls import ServingTls
from runtime.transport import Transport
from runtime.wire import AdmissionRequest
from tests.integration.hooks import Hooks, eventually, outcome

PAIR = create_pair(("localhost",), utc_now())
JOB_RULE = {"apiGroups": ["batch.volcano.sh"], "apiVersions": ["v1alpha1"], "resources": ["jobs"]}

Ask = Callable[[AdmissionRequest, ConfigMap, ConfigMap | None], Any]


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    async with Transport(load(str(kubeconfig))) as transport:
        yield Client(transport)


@pytest.fixture
async def hooks(client: Client, namespace: str) -> AsyncIterator[Hooks]:
    made = Hooks(client, namespace)
    yield made
    await made.delete()


@pytest.fixture
async def serve() -> AsyncIterator[Callable[..., Awaitable[int]]]:
    """Serve handlers; gives the port."""
    servers = []

    async def start(*handlers: Any, **tls: Any) -> int:
        side = ServingTls(**tls)
        side.install(PAIR.cert, PAIR.key)
        server = AdmissionServer(handlers, side, host="127.0.0.1", port=0)
        await server.start()
        servers.append(server)
        return server.port

    yield start
    for server in servers:
        server.abort()


def mutator(mutate: Ask, path: str = "/mutate") -> Mutator[ConfigMap]:
    return Mutator(path=path, resources=(CONFIG_MAPS,), operations=("CREATE",), model=ConfigMap, mutate=mutate)


def validator(validate: Ask, path: str = "/validate", *operations: str) -> Validator[ConfigMap]:
    served = operations or ("CREATE", "UPDATE")
    return Validator(path=path, resources=(CONFIG_MAPS,), operations=served, model=ConfigMap, validate=validate)


async def configured(hooks: Hooks, port: int, *kinds: str, **settings: Any) -> None:
    """Configurations for the paths of `mutator` and `validator`, in force."""
    for kind in kinds:
        path = "/mutate" if kind == MUTATING.kind else "/validate"
        await hooks.create(kind, port=port, path=path, bundle=PAIR.ca, **settings)


def trying(client: Client, namespace: str, **data: str) -> Callable[[], Awaitable[ConfigMap | ApiError]]:
    """A dry-run creation of `x`, to be repeated until the API server knows a configuration."""
    body = {"metadata": {"name": "x"}, "data": data}
    return lambda: outcome(client.create(CONFIG_MAPS, body, namespace, dry_run=True))


def is_refused(found: ConfigMap | ApiError) -> bool:
    return isinstance(found, ApiError)


async def test_a_mutated_object_keeps_what_the_model_does_not_know(
    client: Client, hooks: Hooks, namespace: str, serve: Callable[..., Awaitable[int]]
) -> None:
    class Narrow(msgspec.Struct, frozen=True, omit_defaults=True):
        data: dict[str, str] = {}

    def label(request: AdmissionRequest, obj: Narrow, old: Narrow | None) -> Mutation[Narrow]:
        return Changed(Narrow(data=obj.data | {"default": "set"}))

    handler: Mutator[Narrow] = Mutator(
        path="/mutate", resources=(CONFIG_MAPS,), operations=("CREATE",), model=Narrow, mutate=label
    )
    await configured(hooks, await serve(handler), MUTATING.kind)
    await eventually(trying(client, namespace), lambda found: isinstance(found, ConfigMap) and "default" in found.data)

    body = {"metadata": {"name": "one", "labels": {"kept": "yes"}}, "binaryData": {"b": b"\0\1"}, "immutable": True}
    created = await client.create(CONFIG_MAPS, body, namespace)

    assert created.data == {"default": "set"}
    assert created.metadata.labels == {"kept": "yes"}
    assert created.immutable
    assert created.binary_data


async def test_operations_reach_the_object_with_the_parents_they_lack(
    client: Client, hooks: Hooks, namespace: str, serve: Callable[..., Awaitable[int]]
) -> None:
    handler = mutator(lambda request, obj, old: Patch((add("/metadata/annotations/example.org~1by", "hand"),)))
    await configured(hooks, await serve(handler), MUTATING.kind)
    await eventually(
        trying(client, namespace), lambda found: isinstance(found, ConfigMap) and found.metadata.annotations
    )

    created = await client.create(CONFIG_MAPS, {"metadata": {"name": "one"}}, namespace)

    assert created.metadata.annotations == {"example.org/by": "hand"}


def judge(request: AdmissionRequest, obj: ConfigMap, old: ConfigMap | None) -> Validation:
    """Denies what asks for it, and tells what it was asked."""
    if obj.data.get("verdict") == "deny":
        return Denial(f"{request.operation} by {request.user_info.username}, dry run: {request.is_dry_run} ")
    if obj.data.get("verdict") == "forbid":
        return Denial("not here", code=403, reason="Forbidden")
    if old is not None and old.data.get("sealed"):
        return Denial(f"{old.metadata.name} is sealed")
    return Allowed(("have a look",)) if obj.data.get("verdict") == "warn" else ALLOWED


async def test_a_denial_reaches_the_user_in_its_own_words(
    client: Client, hooks: Hooks, namespace: str, serve: Callable[..., Awaitable[int]], caplog: pytest.LogCaptureFixture
) -> None:
    await configured(hooks, await serve(validator(judge)), VALIDATING.kind)
    webhook = f'admission webhook "{hooks.made[0].name}.example.org" denied the request'

    error = await eventually(trying(client, namespace, verdict="deny"), is_refused)
    assert isinstance(error, BadRequest)
    user = str(error).partition(" by ")[2].partition(",")[0]
    assert str(error) == f"{webhook}: CREATE by {user}, dry run: True "

    with pytest.raises(Forbidden, match=f"{webhook}: not here"):
        await client.create(CONFIG_MAPS, {"metadata": {"name": "x"}, "data": {"verdict": "forbid"}}, namespace)

    await client.create(CONFIG_MAPS, {"metadata": {"name": "s"}, "data": {"sealed": "1"}}, namespace)
    with pytest.raises(BadRequest, match=f"{webhook}: s is sealed"):
        await client.patch(CONFIG_MAPS, "s", namespace, MergePatch({"data": {"sealed": None}}))

    with caplog.at_level(logging.DEBUG):
        await client.create(CONFIG_MAPS, {"metadata": {"name": "w"}, "data": {"verdict": "warn"}}, namespace)
    assert "have a look" in caplog.text


def fail(request: AdmissionRequest, obj: ConfigMap, old: ConfigMap | None) -> Validation:
    raise RuntimeError("defect")


async def dawdle(request: AdmissionRequest, obj: ConfigMap, old: ConfigMap | None) -> Validation:
    await asyncio.Event().wait()
    return ALLOWED


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        pytest.param(fail, "/validate failed on configmaps {namespace}/x: RuntimeError: defect", id="exception"),
        pytest.param(dawdle, "/validate had no verdict on configmaps {namespace}/x within 0.9 s", id="too slow"),
    ],
)
async def test_the_failure_policy_decides_about_a_handler_that_fails(
    client: Client, hooks: Hooks, serve: Callable[..., Awaitable[int]], handler: Ask, text: str
) -> None:
    namespace = hooks.namespace
    port = await serve(validator(handler))
    await configured(hooks, port, VALIDATING.kind, timeoutSeconds=1, failurePolicy="Fail")
    error = await eventually(trying(client, namespace), is_refused)
    assert isinstance(error, ServerError)
    assert text.format(namespace=namespace) in str(error)

    await hooks.delete()
    hooks.made.clear()
    await configured(hooks, port, VALIDATING.kind, timeoutSeconds=1, failurePolicy="Ignore")
    await eventually(trying(client, namespace), lambda found: isinstance(found, ConfigMap))


async def test_an_unknown_path_is_a_failure_and_not_a_verdict(
    client: Client, hooks: Hooks, namespace: str, serve: Callable[..., Awaitable[int]]
) -> None:
    port = await serve(validator(judge))
    await hooks.create(VALIDATING.kind, port=port, path="/nobody", bundle=PAIR.ca)
    error = await eventually(trying(client, namespace), is_refused)
    assert "the server could not find the requested resource" in str(error)


async def test_a_deletion_shows_the_handler_what_goes(
    client: Client, hooks: Hooks, namespace: str, serve: Callable[..., Awaitable[int]]
) -> None:
    seen: list[tuple[ConfigMap, ConfigMap | None, str]] = []

    def note(request: AdmissionRequest, obj: ConfigMap, old: ConfigMap | None) -> Validation:
        seen.append((obj, old, request.name))
        return ALLOWED

    port = await serve(validator(note, "/validate", "DELETE"))
    await configured(hooks, port, VALIDATING.kind, operations=("DELETE",))

    async def come_and_go() -> bool:
        await client.create(CONFIG_MAPS, {"metadata": {"name": "x"}, "data": {"a": "b"}}, namespace)
        await client.delete(CONFIG_MAPS, "x", namespace)
        return bool(seen)

    await eventually(come_and_go, bool)
    obj, old, name = seen[0]
    assert obj == ConfigMap()
    assert old is not None
    assert (old.metadata.name, old.data, name) == ("x", {"a": "b"}, "x")


async def test_a_type_error_is_left_to_the_schema(
    client: Client, hooks: Hooks, namespace: str, serve: Callable[..., Awaitable[int]]
) -> None:
    def default_queue(request: AdmissionRequest, job: Job, old: Job | None) -> Mutation[Job]:
        return Changed(msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, scheduler_name="ours")))

    handler: Mutator[Job] = Mutator(
        path="/mutate", resources=(JOBS,), operations=("CREATE",), model=Job, mutate=default_queue
    )
    await configured(hooks, await serve(handler), MUTATING.kind, rule=JOB_RULE)
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"tasks": [{"name": "t", "replicas": 1, "template": template}]}
    good = {"metadata": {"generateName": "j-"}, "spec": spec}
    await eventually(
        lambda: client.create(JOBS, good, namespace, dry_run=True),
        lambda created: created.spec.scheduler_name == "ours",
    )

    broken = {"metadata": {"name": "bad"}, "spec": {**spec, "minAvailable": "three"}}
    with pytest.raises(Invalid) as caught:
        await client.create(JOBS, broken, namespace)

    assert "spec.minAvailable" in str(caught.value)
    assert "admission webhook" not in str(caught.value)

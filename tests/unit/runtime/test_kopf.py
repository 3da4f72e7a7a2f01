from __future__ import annotations

import importlib
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kopf
import pytest
import yaml

from generated.apply.meta import v1 as apply_meta
from generated.apply.scheduling import v1beta1 as apply
from generated.core.v1 import PODS
from generated.flow.v1alpha1 import JOB_FLOWS, Flow
from generated.scheduling.v1beta1 import POD_GROUPS, QUEUES, Queue
from runtime.kopf import Operator, _name_object, typed

ROOT = Path(__file__).resolve().parents[3]
NAME = "labels.example.com"
QUEUE = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "research", "uid": "u1", "resourceVersion": "7", "labels": {"team": "a"}},
    "spec": {"weight": 3},
    "status": {"state": "Open"},
}
BROKEN = {**QUEUE, "spec": {"weight": "many"}}


@pytest.fixture
def registry() -> kopf.OperatorRegistry:
    return kopf.OperatorRegistry()


@pytest.fixture
def operator(registry: kopf.OperatorRegistry) -> Operator:
    return Operator(NAME, registry=registry)


def handlers(registry: kopf.OperatorRegistry, kind: str = "changing") -> list[Any]:
    return list(getattr(registry, f"_{kind}").get_all_handlers())


def arguments(body: dict[str, Any] = QUEUE, **more: Any) -> dict[str, Any]:
    """What kopf passes."""
    seen = kopf.Body(body)  # type: ignore[arg-type]  # a plain document
    return {
        "body": seen, "meta": seen.meta, "spec": seen.spec, "name": body["metadata"]["name"],
        "patch": kopf.Patch(), "logger": logging.getLogger("handler"), "retry": 0, **more,
    }  # fmt: skip


def call(registry: kopf.OperatorRegistry, given: dict[str, Any], kind: str = "changing") -> Any:
    (handler,) = handlers(registry, kind)
    return handler.fn(**given)


# -- registration ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "options", "kind", "reason"),
    [
        ("create", {}, "changing", "create"),
        ("update", {}, "changing", "update"),
        ("resume", {}, "changing", None),
        ("field", {"field": "spec.weight"}, "changing", None),
        ("delete", {"finalizer": True}, "changing", "delete"),
        ("delete", {}, "watching", None),
        ("event", {}, "watching", None),
        ("timer", {"finalizer": True, "interval": 5}, "spawning", None),
        ("daemon", {"finalizer": True}, "spawning", None),
    ],
)
@pytest.mark.parametrize("resource", [QUEUES, PODS], ids=["custom", "core"])
def test_a_handler_is_registered_by_the_descriptor_of_its_kind(  # noqa: PLR0917  # a table's columns
    registry: kopf.OperatorRegistry,
    operator: Operator,
    resource: Any,
    verb: str,
    options: dict[str, Any],
    kind: str,
    reason: str | None,
) -> None:
    def handle() -> None: ...

    assert getattr(operator, verb)(resource, labels={"team": "a"}, **options)(handle) is handle
    (handler,) = handlers(registry, kind)
    others = {"changing", "watching", "spawning"} - {kind}
    assert not any(handlers(registry, other) for other in others)
    found = kopf.Resource(resource.group, resource.version, resource.plural)
    stranger = kopf.Resource("example.org", resource.version, resource.plural)
    assert handler.selector.check(found)
    assert not handler.selector.check(stranger)
    assert handler.id.partition("/")[0].endswith(".handle")
    assert handler.labels == {"team": "a"}
    assert getattr(handler, "reason", None) == reason


@pytest.mark.parametrize(
    ("verb", "options", "needs"),
    [
        ("create", {}, False),
        ("delete", {"finalizer": True}, True),
        ("timer", {"finalizer": True, "interval": 5}, True),
        ("daemon", {"finalizer": True}, True),
    ],
)
def test_a_finalizer_is_set_only_for_those_who_said_so(
    registry: kopf.OperatorRegistry, operator: Operator, verb: str, options: dict[str, Any], needs: bool
) -> None:
    getattr(operator, verb)(QUEUES, **options)(lambda: None)
    (handler,) = handlers(registry) + handlers(registry, "spawning")
    assert bool(handler.requires_finalizer) is needs


@pytest.mark.parametrize("verb", ["timer", "daemon"])
def test_timers_and_daemons_want_the_finalizer_said(operator: Operator, verb: str) -> None:
    with pytest.raises(ValueError, match=f"{verb}: .*say finalizer=True"):
        getattr(operator, verb)(QUEUES, finalizer=False)


def test_a_deletion_without_finalizer_takes_no_retries(operator: Operator) -> None:
    with pytest.raises(TypeError, match="backoff, retries needs finalizer=True"):
        operator.delete(QUEUES, retries=3, backoff=1)


@pytest.mark.parametrize(
    ("event", "when", "expected"),
    [
        ("DELETED", None, True),
        ("MODIFIED", None, False),
        (None, None, False),
        ("DELETED", lambda name, **_: name == "research", True),
        ("DELETED", lambda name, **_: name == "other", False),
        ("ADDED", lambda name, **_: name == "research", False),
    ],
)
def test_a_deletion_without_finalizer_is_the_event_of_it(
    registry: kopf.OperatorRegistry, operator: Operator, event: str | None, when: Any, expected: bool
) -> None:
    operator.delete(QUEUES, **({"when": when} if when else {}))(lambda: None)
    (handler,) = handlers(registry, "watching")
    assert bool(handler.when(**arguments(type=event))) is expected


@pytest.fixture(params=["timer", "daemon"])
def background(request: pytest.FixtureRequest, registry: kopf.OperatorRegistry, operator: Operator) -> Any:
    """Registers a timer or a daemon and gives kopf's handler."""

    def register(**options: Any) -> Any:
        every = {"interval": 5} if request.param == "timer" else {}
        getattr(operator, request.param)(QUEUES, finalizer=True, **every, **options)(lambda: None)
        return handlers(registry, "spawning")[-1]

    return register


def versions(body: dict[str, Any], *wanted: str) -> list[dict[str, Any]]:
    return [{**body, "metadata": {**body["metadata"], "resourceVersion": version}} for version in wanted]


def test_timers_and_daemons_leave_an_unreadable_object_alone_until_it_is_repaired(
    background: Any, caplog: pytest.LogCaptureFixture
) -> None:
    when = background().when
    (broken,), (repaired,), (again,) = versions(BROKEN, "8"), versions(QUEUE, "9"), versions(BROKEN, "10")
    assert [when(**arguments(body)) for body in (QUEUE, broken, repaired, again)] == [True, False, True, False]
    assert caplog.text.count("Queue research: spec.weight") == 2


def test_an_unreadable_object_is_reported_once_a_change(background: Any, caplog: pytest.LogCaptureFixture) -> None:
    when = background().when
    for body in versions(BROKEN, "8", "8", "9", "8", "9", "9"):
        assert not when(**arguments(body))
    assert caplog.text.count("Queue research: spec.weight") == 4


def test_memory_for_reported_objects_is_bounded(background: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.kopf._REMEMBERED", 3)
    when = background().when
    for number in range(10):
        when(**arguments({**BROKEN, "metadata": {"name": "q", "uid": f"u{number}", "resourceVersion": "1"}}))
    told = next(cell.cell_contents for cell in when.__closure__ if isinstance(cell.cell_contents, dict))
    assert list(told) == ["u9"]


@pytest.mark.parametrize(("wanted", "expected"), [("research", True), ("other", False)])
def test_a_filter_of_timers_and_daemons_stays_in_force(background: Any, wanted: str, expected: bool) -> None:
    handler = background(when=lambda name, **_: name == wanted)
    assert handler.when(**arguments()) is expected
    assert not handler.when(**arguments(BROKEN))


def test_a_registry_has_one_operator(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    with pytest.raises(ValueError, match=r"this registry belongs to operator labels\.example\.com"):
        Operator("other.example.com", registry=registry)
    assert Operator(operator.name, registry=registry).name == operator.name
    assert Operator("other.example.com", registry=kopf.OperatorRegistry()).name == "other.example.com"


def test_a_function_of_several_decorators_stays_one_handler(
    registry: kopf.OperatorRegistry, operator: Operator
) -> None:
    @operator.create(QUEUES)
    @operator.update(QUEUES)
    def handle() -> None: ...

    @operator.create(QUEUES)
    def other() -> None: ...

    latest, first, second = (handler.fn for handler in reversed(handlers(registry)))
    assert first is second
    assert latest is not first


@pytest.mark.parametrize("name", ["", "nodots", "Upper.example.com", "a.b/c", "-a.example.com", "a" * 60 + ".example"])
def test_an_operator_has_a_dns_name(registry: kopf.OperatorRegistry, name: str) -> None:
    with pytest.raises(ValueError, match="no DNS name"):
        Operator(name, registry=registry)


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_handlers_get_the_model_and_what_they_name(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    seen: list[Any] = []

    @operator.create(QUEUES)
    def handle(obj: Queue, name: str) -> None:
        seen.extend((obj, name))

    call(registry, arguments())
    assert isinstance(seen[0], Queue)
    assert (seen[0].spec.weight, seen[0].status.state, seen[1]) == (3, "Open", "research")


def test_handlers_that_take_all_get_all(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    seen: dict[str, Any] = {}
    operator.event(QUEUES)(lambda **everything: seen.update(everything))
    given = arguments(type="ADDED")
    call(registry, given, "watching")
    assert seen.keys() == {*given, "obj"}


async def test_coroutines_are_handlers_too(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    seen: list[Queue] = []

    @operator.create(QUEUES)
    async def handle(obj: Queue) -> apply.Queue:
        seen.append(obj)
        return apply.Queue(spec=apply.QueueSpec(weight=5))

    given = arguments()
    await call(registry, given)
    assert seen[0].metadata.name == "research"
    assert given["patch"] == {"spec": {"weight": 5}}


def test_an_update_has_both_objects_typed(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    seen: list[Queue] = []
    operator.update(QUEUES)(lambda old, new, obj: seen.extend((old, new, obj)))
    former = {"spec": {"weight": 1}, "metadata": {"labels": {"team": "b"}}}
    call(registry, arguments(old=former, new={"spec": {"weight": 3}}))
    old, new, obj = seen
    assert (old.spec.weight, old.metadata.labels, old.metadata.name, old.metadata.uid) == (
        1, {"team": "b"}, "research", "u1",
    )  # fmt: skip
    assert new is obj
    assert new.status.state == "Open"


def test_a_creation_has_no_old(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    seen: list[Any] = []
    operator.create(QUEUES)(lambda old: seen.extend((old,)))
    call(registry, arguments(old=None, new={}))
    assert seen == [None]


def test_a_former_object_that_cannot_be_read_does_not_hold_up_the_repaired(
    registry: kopf.OperatorRegistry, operator: Operator, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []
    operator.update(QUEUES)(lambda old, new: seen.extend((old, new.spec.weight)))
    call(registry, arguments(old={"spec": {"weight": "many"}}, new={}))
    assert seen == [None, 3]
    assert "Queue research: spec.weight" in caplog.text


def test_a_former_value_that_cannot_be_read_does_not_hold_up_the_repaired(
    registry: kopf.OperatorRegistry, operator: Operator, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Any] = []
    operator.field(QUEUES, "spec.weight")(lambda old, new: seen.extend((old, new)))
    call(registry, arguments(old="many", new=3))
    assert seen == [None, 3]
    assert "Queue research: spec.weight" in caplog.text


@pytest.mark.parametrize(
    ("resource", "field", "raw", "expected"),
    [
        (QUEUES, "spec.weight", 3, 3),
        (QUEUES, "spec.weight", None, None),
        (QUEUES, ("metadata", "labels", "a.b/c"), "x", "x"),
        (JOB_FLOWS, "spec.flows", [{"name": "a"}], (Flow(name="a"),)),
        (POD_GROUPS, "spec.minResources", {"cpu": "4"}, {"cpu": "4"}),
    ],
)
def test_a_field_handler_has_typed_values(  # noqa: PLR0917  # a table's columns
    registry: kopf.OperatorRegistry, operator: Operator, resource: Any, field: Any, raw: Any, expected: Any
) -> None:
    seen: list[Any] = []
    operator.field(resource, field)(lambda old, new: seen.extend((old, new)))
    document = {"metadata": {"name": "n", "namespace": "ns"}}
    call(registry, arguments(document, old=raw, new=None))
    call(registry, arguments(document, old=None, new=raw))
    assert seen == [expected, None, None, expected]


def test_a_field_that_the_model_lacks_is_told(registry: kopf.OperatorRegistry, operator: Operator) -> None:
    operator.field(QUEUES, "spec.wieght")(lambda new: None)
    for old, new in ((None, 1), (1, None)):
        with pytest.raises(kopf.PermanentError, match="QueueSpec has no field 'wieght'"):
            call(registry, arguments(old=old, new=new))


def test_an_object_that_cannot_be_read_is_reported_and_never_retried(
    registry: kopf.OperatorRegistry, operator: Operator
) -> None:
    seen: list[Any] = []
    operator.create(QUEUES)(lambda obj: seen.extend((obj,)))
    with pytest.raises(kopf.PermanentError, match=r"Queue research: spec\.weight: Expected `int \| null`.*left alone"):
        call(registry, arguments(BROKEN))
    assert not seen


def test_nulls_of_go_encoders_are_read() -> None:
    flow = typed(JOB_FLOWS, {"metadata": {"name": "f", "namespace": "n"}, "spec": {"flows": None}})
    assert flow.spec.flows == ()


# -- answers -----------------------------------------------------------------------------------------------------------


def builder(**labels: str | None) -> apply.Queue:
    return apply.Queue(metadata=apply_meta.ObjectMeta(labels=labels))  # type: ignore[arg-type]  # None is null


@pytest.mark.parametrize(
    ("before", "answer", "patch"),
    [
        ({}, None, {}),
        ({}, apply.Queue(), {}),
        ({}, builder(a="1", b=None), {"metadata": {"labels": {"a": "1", "b": None}}}),
        (
            {"metadata": {"labels": {"c": "3"}}, "spec": {"weight": 1}},
            builder(a="1"),
            {"metadata": {"labels": {"c": "3", "a": "1"}}, "spec": {"weight": 1}},
        ),
        ({"metadata": None}, builder(a="1"), {"metadata": {"labels": {"a": "1"}}}),
    ],
)
def test_a_builder_becomes_part_of_the_patch(
    registry: kopf.OperatorRegistry, operator: Operator, before: Any, answer: Any, patch: Any
) -> None:
    operator.create(QUEUES)(lambda: answer)
    given = arguments(patch=kopf.Patch(before))
    assert call(registry, given) is None
    assert given["patch"] == patch


@pytest.mark.parametrize(
    "answer", [{"a": 1}, "done", 0, Queue(), apply.PodGroup(), apply.QueueSpec(weight=1)], ids=repr
)
def test_other_answers_are_refused_instead_of_lost(
    registry: kopf.OperatorRegistry, operator: Operator, answer: Any
) -> None:
    operator.create(QUEUES)(lambda: answer)
    given = arguments()
    with pytest.raises(kopf.PermanentError, match="return None or the apply builder of Queue"):
        call(registry, given)
    assert not given["patch"]


def test_the_example_of_the_docs_works(registry: kopf.OperatorRegistry) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "kopf.md").read_text(), re.DOTALL)
    before = kopf.get_default_registry()
    kopf.set_default_registry(registry)
    try:
        exec(compile(example, "docs/kopf.md", "exec", dont_inherit=True), {"__name__": "example"})
    finally:
        kopf.set_default_registry(before)
    given = arguments()
    call(registry, given)
    assert given["patch"] == {"metadata": {"labels": {"weight": "3"}}}


# -- the running operator ----------------------------------------------------------------------------------------------


def kubeconfig(folder: Path, server: str) -> str:
    path = folder / "kubeconfig"
    cluster, user = {"server": server}, {"token": "t0ken"}
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "mine"}}],
        "clusters": [{"name": "k", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)


async def test_login_and_client_come_from_the_kubeconfig(tmp_path: Path, registry: kopf.OperatorRegistry) -> None:
    operator = Operator(NAME, registry=registry, kubeconfig=kubeconfig(tmp_path, "http://127.0.0.1:1"))
    settings = kopf.OperatorSettings()
    activities = {handler.id: handler.fn for handler in handlers(registry, "activities")}
    await activities["stromboli-start"](settings=settings)
    login = await activities["stromboli-login"]()
    async with login.aiohttp_session as session:
        assert session.headers["User-Agent"] == NAME
        assert (login.server, login.default_namespace) == ("http://127.0.0.1:1", "mine")
    assert operator.client is operator.client
    assert operator.config.credentials.header() == "Bearer t0ken"
    await activities["stromboli-stop"]()
    for closed in ("client", "config"):
        with pytest.raises(RuntimeError, match=r"labels\.example\.com is not running"):
            getattr(operator, closed)


async def test_what_kopf_writes_carries_the_operators_name(tmp_path: Path, registry: kopf.OperatorRegistry) -> None:
    operator = Operator(NAME, registry=registry, kubeconfig=kubeconfig(tmp_path, "http://127.0.0.1:1"))
    settings = kopf.OperatorSettings()
    await operator._start(settings=settings)
    body, patch = kopf.Body({"metadata": {"name": "n"}}), kopf.Patch()
    settings.persistence.diffbase_storage.store(body=body, patch=patch, essence={"spec": {}})
    settings.persistence.progress_storage.touch(body=body, patch=patch, value="x")
    annotations = patch["metadata"]["annotations"]
    assert annotations
    assert {key.partition("/")[0] for key in annotations} == {NAME}
    assert settings.persistence.finalizer == f"{NAME}/finalizer"
    assert settings.posting.reporting_component == NAME
    await operator._stop()


async def test_refused_credentials_are_tried_again_later(tmp_path: Path, registry: kopf.OperatorRegistry) -> None:
    operator = Operator(NAME, registry=registry, kubeconfig=kubeconfig(tmp_path, "http://127.0.0.1:1"))
    await operator._start(settings=kopf.OperatorSettings())
    assert operator._sessions is not None
    operator._sessions._refused = "Bearer t0ken"
    with pytest.raises(kopf.TemporaryError, match="answered 401") as caught:
        await operator._login()
    assert caught.value.delay == 10
    await operator._stop()


def test_a_kubeconfig_that_is_not_there_ends_the_program_with_one_line() -> None:
    code = f"import sys; from runtime.kopf import Operator; sys.exit(Operator({NAME!r}).main())"
    command = [sys.executable, "-c", code, "--kubeconfig", "/no/such/file"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert 'error="stat /no/such/file: no such file or directory"' in line


def test_a_handler_that_fails_at_the_start_ends_the_program(tmp_path: Path) -> None:
    code = (
        "import sys, kopf; from runtime.kopf import Operator\n"
        f"operator = Operator({NAME!r})\n"
        "@kopf.on.startup()\n"
        "def start(**_): raise kopf.PermanentError('no luck')\n"
        "sys.exit(operator.main())"
    )
    command = [sys.executable, "-c", code, "--kubeconfig", kubeconfig(tmp_path, "http://127.0.0.1:1")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert 'msg="the operator ended"' in ended.stderr
    assert "no luck" in ended.stderr


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ({"kind": "PodGroup", "namespace": "ns", "name": "pg"}, "50% of x object=PodGroup/ns/pg"),
        ({"kind": "Queue", "namespace": None, "name": "q"}, "50% of x object=Queue/q"),
        (None, "50% of x"),
    ],
)
def test_lines_of_kopf_name_their_object(ref: Any, expected: str) -> None:
    record = logging.LogRecord("kopf.objects", logging.INFO, "f.py", 1, "50%% of %s", ("x",), None)
    if ref:
        record.k8s_ref = ref
    assert _name_object(record)
    assert record.getMessage() == expected


def test_a_missing_kopf_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kopf", None)
    monkeypatch.delitem(sys.modules, "runtime.kopf")
    with pytest.raises(ImportError, match=r"pip install '\.\[kopf\]'"):
        importlib.import_module("runtime.kopf")

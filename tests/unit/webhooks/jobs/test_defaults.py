from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generated.batch.v1alpha1 import JOBS, Job
from tests.unit.webhooks.jobs.samples import container, job, pod, task
from tests.unit.webhooks.reviews import World, answer, body, message, operations, patched
from webhooks.jobs.defaults import JobDefaults, defaulted
from webhooks.options import Options

Json = dict[str, Any]
FULL_TASK = task(minAvailable=1, maxRetry=3)
FULL = job(FULL_TASK, schedulerName="volcano", maxRetry=3)


def without(spec_field: str) -> Json:
    return {**FULL, "spec": {key: value for key, value in FULL["spec"].items() if key != spec_field}}


def with_spec(**spec: Any) -> Json:
    return {**FULL, "spec": {**FULL["spec"], **spec}}


def with_tasks(*tasks: Json) -> Json:
    return with_spec(tasks=list(tasks))


def patch_of(obj: Json, *schedulers: str) -> list[tuple[str, str, Any]]:
    options = Options(scheduler_names=schedulers) if schedulers else Options()
    return operations(answer(World(options=options).endpoint(JobDefaults), body(JOBS, obj)))


HOST = pod(hostNetwork=True)

CASES: dict[str, tuple[Json, list[tuple[str, str, Any]]]] = {
    "nothing lacks": (FULL, []),
    "the queue": (without("queue"), [("add", "/spec/queue", "default")]),
    "an empty queue": (with_spec(queue=""), [("add", "/spec/queue", "default")]),
    "the scheduler": (without("schedulerName"), [("add", "/spec/schedulerName", "volcano")]),
    "retries": (without("maxRetry"), [("add", "/spec/maxRetry", 3)]),
    "no retries": (with_spec(maxRetry=0), [("add", "/spec/maxRetry", 3)]),
    "minAvailable": (without("minAvailable"), [("add", "/spec/minAvailable", 1)]),
    "minAvailable 0": (with_spec(minAvailable=0), [("add", "/spec/minAvailable", 1)]),
    "tasks": (without("tasks"), []),
    "tasks and minAvailable": (
        {"metadata": {"name": "j"}, "spec": {"queue": "q", "schedulerName": "s", "maxRetry": 1}},
        [("add", "/spec/minAvailable", 0)],
    ),
    "the name of a task": (
        with_tasks(FULL_TASK, {**FULL_TASK, "name": ""}),
        [("replace", "/spec/tasks", [FULL_TASK, {**FULL_TASK, "name": "default1"}])],
    ),
    "minAvailable of a task": (
        with_tasks(task(replicas=4, maxRetry=3)),
        [("replace", "/spec/tasks", [task(replicas=4, maxRetry=3, minAvailable=4)])],
    ),
    "an explicit 0 of a task": (with_tasks(task(minAvailable=0, maxRetry=3)), []),
    "retries of a task": (
        with_tasks(task(minAvailable=1)),
        [("replace", "/spec/tasks", [FULL_TASK])],
    ),
    "partitions": (
        with_tasks(
            task(replicas=8, maxRetry=3, partitionPolicy={"totalPartitions": 4, "partitionSize": 2, "minPartitions": 3})
        ),
        [
            (
                "replace",
                "/spec/tasks",
                [
                    task(
                        replicas=8,
                        maxRetry=3,
                        partitionPolicy={"totalPartitions": 4, "partitionSize": 2, "minPartitions": 3},
                        minAvailable=6,
                    )
                ],
            )
        ],
    ),
    "name servers of the host network": (
        with_tasks({**FULL_TASK, "template": HOST}),
        [
            (
                "replace",
                "/spec/tasks",
                [{**FULL_TASK, "template": pod(hostNetwork=True, dnsPolicy="ClusterFirstWithHostNet")}],
            )
        ],
    ),
    "name servers that were chosen": (
        with_tasks({**FULL_TASK, "template": pod(hostNetwork=True, dnsPolicy="Default")}),
        [],
    ),
    "fields that nobody knows": (
        with_tasks({**task(minAvailable=1), "newer": {"a": 1}}),
        [("replace", "/spec/tasks", [{**FULL_TASK, "newer": {"a": 1}}])],
    ),
    "plugins, even none": (with_spec(plugins={}), [("replace", "/spec/plugins", {})]),
    "plugins that need nothing": (
        with_spec(plugins={"env": [], "svc": ["--x"]}),
        [("replace", "/spec/plugins", {"env": [], "svc": ["--x"]})],
    ),
    "plugins with null for arguments": (
        with_spec(plugins={"svc": None, "mpi": None}),
        [("replace", "/spec/plugins", {"svc": [], "mpi": [], "ssh": []})],
    ),
    "plugins of tensorflow": (
        with_spec(plugins={"tensorflow": ["--ps=a"]}),
        [("replace", "/spec/plugins", {"tensorflow": ["--ps=a"], "svc": []})],
    ),
    "plugins of mpi": (
        with_spec(plugins={"mpi": [], "svc": ["--disable-network-policy"]}),
        [("replace", "/spec/plugins", {"mpi": [], "svc": ["--disable-network-policy"], "ssh": []})],
    ),
    "plugins of ray and pytorch": (
        with_spec(plugins={"ray": [], "pytorch": []}),
        [("replace", "/spec/plugins", {"ray": [], "pytorch": [], "svc": []})],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_lacks_is_filled_in(name: str) -> None:
    obj, expected = CASES[name]
    assert patch_of(obj) == expected


def test_the_operations_come_in_their_order() -> None:
    obj = {
        "metadata": {"name": "j"},
        "spec": {"tasks": [task("", replicas=2), task("b", replicas=3, minAvailable=1)], "plugins": {"mpi": []}},
    }
    made = patch_of(obj, "first", "second")
    assert [(op, path) for op, path, _ in made] == [
        ("add", "/spec/queue"),
        ("add", "/spec/schedulerName"),
        ("add", "/spec/maxRetry"),
        ("replace", "/spec/tasks"),
        ("add", "/spec/minAvailable"),
        ("replace", "/spec/plugins"),
    ]
    spec = patched(obj, made)["spec"]
    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == ("default", "first", 3, 3)
    assert spec["plugins"] == {"mpi": [], "svc": [], "ssh": []}
    assert [each["name"] for each in spec["tasks"]] == ["default0", "b"]


def test_a_job_without_a_spec_gets_one() -> None:
    made = patch_of({"metadata": {"name": "j"}})
    assert patched({"metadata": {"name": "j"}}, made)["spec"] == {
        "queue": "default",
        "schedulerName": "volcano",
        "maxRetry": 3,
        "minAvailable": 0,
    }


def test_a_field_of_the_wrong_type_is_left_to_the_schema() -> None:
    response = answer(World().endpoint(JobDefaults), body(JOBS, with_spec(minAvailable="x")))
    assert operations(response) == []
    assert response.warnings


def test_an_update_is_not_for_it() -> None:
    text = body(JOBS, FULL, FULL)
    assert message(answer(World().endpoint(JobDefaults), text)) == "expect operation to be 'CREATE' "


names = st.sampled_from(["", "a", "b"])
numbers = st.none() | st.integers(0, 4)
tasks = st.builds(
    lambda name, replicas, least, retries, host, dns: {
        **task(name, replicas=replicas, template=pod(hostNetwork=host, dnsPolicy=dns)),
        "minAvailable": least,
        "maxRetry": retries or 0,
    },
    names,
    st.integers(0, 4),
    numbers,
    numbers,
    st.booleans(),
    st.sampled_from(["", "Default"]),
)
specs: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"tasks": st.lists(tasks, max_size=3)},
    optional={
        "queue": names,
        "schedulerName": names,
        "maxRetry": numbers,
        "minAvailable": st.integers(0, 4),
        "plugins": st.dictionaries(st.sampled_from(["mpi", "svc", "ray", "env"]), st.just([])),
    },
)


@given(specs)
def test_the_patch_makes_of_a_job_what_its_defaults_say_and_nothing_of_that_one(spec: Json) -> None:
    sent = {"metadata": {"name": "j"}, "spec": spec}
    stored = patched(sent, patch_of(sent))
    decode = msgspec.json.Decoder(Job).decode
    before, after = decode(msgspec.json.encode(sent)), decode(msgspec.json.encode(stored))
    assert after.spec == defaulted(before.spec, "volcano")
    again = [operation for operation in patch_of(stored) if operation[1] != "/spec/plugins"]
    assert [operation for operation in again if operation[2] != 0] == []


def test_containers_are_not_touched() -> None:
    obj = with_tasks(task(template=pod(containers=[container(env=[{"name": "A"}])])))
    assert patched(obj, patch_of(obj))["spec"]["tasks"][0]["template"] == obj["spec"]["tasks"][0]["template"]

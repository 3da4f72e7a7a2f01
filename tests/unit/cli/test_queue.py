"""`vcctl queue`: orders, lists and the tree."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.harness import BUS, SCHEDULING, Server, group, queue, refused, run

QUEUES = f"{SCHEDULING}/queues"
GROUPS = f"{SCHEDULING}/podgroups"
COMMANDS = f"{BUS}/namespaces/default/commands"
HEADER = "Name                     Weight  State   Parent  Inqueue Pending Running Unknown Completed\n"


def order(action: str) -> dict[str, Any]:
    reference = {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "name": "q1", "uid": "u-q1",
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    return {
        "kind": "Command",
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "metadata": {"generateName": f"q1-{action.lower()}-", "ownerReferences": [reference]},
        "action": action,
        "target": reference,
    }


EVERY_FIELD = (
    "-n", "q1", "--capability", "cpu=4", "--deserved", "cpu=2000m", "--guarantee", "memory=1024Mi", "--parent", "p",
    "--reclaimable=false", "--priority", "5",
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "name", "spec"),
    [
        ((), "test", {"weight": 1}),
        (("-n", "q1", "-w", "3"), "q1", {"weight": 3}),
        (("-n", "q1", "-w", "0"), "q1", {}),
        (
            EVERY_FIELD,
            "q1",
            {
                "weight": 1, "capability": {"cpu": "4"}, "deserved": {"cpu": "2"}, "parent": "p", "priority": 5,
                "guarantee": {"resource": {"memory": "1Gi"}}, "reclaimable": False,
            },
        ),
    ],
)  # fmt: skip
def test_a_queue_is_created_silently(words: tuple[str, ...], name: str, spec: dict[str, Any]) -> None:
    used = Server().on(f"POST {QUEUES}", queue(name))
    result = run("queue", "create", *words, server=used)
    assert (result.code, result.out, result.err) == (0, "", "")
    (body,) = used.bodies("POST")
    assert (body["metadata"], body["spec"]) == ({"name": name}, spec)


def test_a_queue_that_is_wanted_closed_is_closed_by_a_command() -> None:
    used = Server().on(f"POST {QUEUES}", queue()).on(f"POST {COMMANDS}", {})
    assert run("queue", "create", "-n", "q1", "-S", "Closed", server=used).code == 0
    assert used.bodies("POST")[1] == order("CloseQueue")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("create", "-S", "Foo"), "create queue: state Foo invalid"),
        (
            ("create", "--capability", "cpu"),
            "create queue: --capability: invalid argument syntax cpu, expected <resource>=<value>",
        ),
        (
            ("create", "--capability", "cpu=1,memory=abc"),
            "create queue: --capability: memory=abc: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            ("operate", "-n", "q", "-a", "update", "--deserved", "cpu=1KK"),
            "operate queue: --deserved: cpu=1KK: unable to parse quantity's suffix",
        ),
        (("delete",), "delete queue: queue name must be specified"),
        (("get",), "get queue: name is mandatory to get the particular queue details"),
        (("operate",), "operate queue: queue name must be specified"),
        (("operate", "-n", "q"), "operate queue: action can not be null"),
        (
            ("operate", "-n", "q", "-a", "x"),
            "operate queue: action x invalid, valid actions are open, close and update",
        ),
        (
            ("operate", "-n", "q", "-a", "update"),
            "operate queue: when update queue q, weight must be specified, the value must be greater than 0",
        ),
        (
            ("operate", "-n", "q", "-a", "update", "-w", "0", "--parent", "p"),
            "operate queue: when update queue q, weight must be specified, the value must be greater than 0",
        ),
        (
            ("operate", "-n", "q", "-a", "update", "--weight=-1"),
            "operate queue: queue q: spec.weight: -1 is invalid, must be from 1 to 65535",
        ),
        (("tree", "-n", "nope"), 'tree queue: queues.scheduling.volcano.sh "nope" not found'),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], message: str) -> None:
    used = Server().items(QUEUES)
    result = run("queue", *words, server=used)
    assert (result.code, result.out) == (255, f"Failed to {message}\n")
    assert not [request for request in used.requests if request.is_write]


def test_a_weight_is_changed_by_a_merge_patch() -> None:
    used = Server().on(f"PATCH {QUEUES}/q1", queue())
    assert run("queue", "operate", "-n", "q1", "-a", "update", "-w", "7", server=used).out == ""
    assert used.bodies("PATCH") == [{"spec": {"weight": 7}}]
    assert used.requests[0].headers["Content-Type"] == "application/merge-patch+json"


def test_other_fields_are_changed_without_a_weight() -> None:
    used = Server().on(f"PATCH {QUEUES}/q1", queue())
    result = run("queue", "operate", "-n", "q1", "-a", "update", "--parent", "p", "--verbose", server=used)
    assert result.out == "queue.scheduling.volcano.sh/q1 updated\n"
    assert used.bodies("PATCH") == [{"spec": {"parent": "p"}}]


@pytest.mark.parametrize(
    ("action", "state", "sent", "hint"),
    [
        ("open", "Closed", "OpenQueue", ""),
        ("close", "Open", "CloseQueue", ""),
        ("close", "Closed", "CloseQueue", "hint: queue q1 is Closed already\n"),
    ],
)
def test_a_queue_is_opened_and_closed_by_commands_in_the_default_namespace(
    action: str, state: str, sent: str, hint: str
) -> None:
    used = Server().on(f"GET {QUEUES}/q1", queue(state=state)).on(f"POST {COMMANDS}", {})
    result = run("queue", "operate", "-n", "q1", "-a", action, server=used)
    assert (result.code, result.out, result.err) == (0, "", hint)
    assert used.bodies("POST") == [order(sent)]


def test_a_queue_that_is_closed_already_is_not_said_to_be_closed_now() -> None:
    used = Server().on(f"GET {QUEUES}/q1", queue(state="Closed")).on(f"POST {COMMANDS}", {})
    result = run("queue", "operate", "-n", "q1", "-a", "close", "--verbose", server=used)
    assert (result.out, result.err) == ("", "hint: queue q1 is Closed already\n")


def test_closing_may_be_waited_for() -> None:
    used = (
        Server()
        .on(f"GET {QUEUES}/q1", queue(), queue(state="Closing"), queue(state="Closed"))
        .on(f"POST {COMMANDS}", {})
    )
    assert run("queue", "operate", "-n", "q1", "-a", "close", "--wait", "--verbose", server=used).lines == [
        "queue.scheduling.volcano.sh/q1 closed"
    ]
    assert [request.method for request in used.requests] == ["GET", "POST", "GET", "GET"]


def test_what_did_not_happen_in_time_is_not_said_to_be_done() -> None:
    used = Server().on(f"GET {QUEUES}/q1", queue()).on(f"POST {COMMANDS}", {})
    words = ("queue", "operate", "-n", "q1", "-a", "close", "--wait", "--timeout", "2s")
    told = "Failed to operate queue: timed out after 2s: queue q1 is Open, not yet closed\n"
    for form in (("--verbose",), ("-o", "name"), ("-o", "yaml")):
        result = run(*words, *form, server=used)
        assert (result.code, result.out) == (255, told)


@pytest.mark.parametrize(
    ("action", "parent", "above", "why"),
    [
        ("open", "p", queue("p", state="Closed"), ": its parent p is Closed, open that first"),
        ("open", "p", queue("p", state="Closing"), ": its parent p is Closing, open that first"),
        ("open", "p", queue("p"), ""),
        ("open", "p", (404, {"status": "Failure", "reason": "NotFound", "code": 404}), ": its parent p does not exist"),
        ("open", "p", (403, {"status": "Failure", "reason": "Forbidden", "code": 403}), ""),
        ("open", "", queue("p", state="Closed"), ""),
        ("close", "p", queue("p", state="Closed"), ""),
    ],
)
def test_a_queue_that_its_parent_keeps_closed_says_so_when_the_time_is_up(
    action: str, parent: str, above: Any, why: str
) -> None:
    now = {"open": "Closed", "close": "Open"}[action]
    own = queue(state=now, parent=parent)
    used = Server().on(f"GET {QUEUES}/q1", own).on(f"GET {QUEUES}/p", above).on(f"POST {COMMANDS}", {})
    result = run("queue", "operate", "-n", "q1", "-a", action, "--wait", "--timeout", "2s", server=used)
    done = {"open": "opened", "close": "closed"}[action]
    told = f"Failed to operate queue: timed out after 2s: queue q1 is {now}, not yet {done}{why}\n"
    assert (result.code, result.out) == (255, told)


def test_after_waiting_the_queue_is_shown_as_it_became() -> None:
    used = Server().on(f"GET {QUEUES}/q1", queue(), queue(state="Closed")).on(f"POST {COMMANDS}", {})
    result = run("queue", "operate", "-n", "q1", "-a", "close", "--wait", "-o", "yaml", server=used)
    assert "state: Closed" in result.out


def test_the_missing_right_is_named() -> None:
    used = Server().on(f"GET {QUEUES}/q1", queue()).fail(f"POST {COMMANDS}", 403, "no", "Forbidden")
    assert (
        "create commands.bus.volcano.sh in namespace default"
        in run("queue", "operate", "-n", "q1", "-a", "close", server=used).out
    )


def test_a_queue_is_deleted_silently() -> None:
    used = Server().on(f"DELETE {QUEUES}/q1", {})
    assert run("queue", "delete", "-n", "q1", server=used).out == ""
    assert run("queue", "delete", "-n", "q1", "-o", "name", server=used).out == "queue.scheduling.volcano.sh/q1\n"


def counted() -> Server:
    groups = [
        group("a", "q1", "Inqueue"),
        group("b", "q1", "Running"),
        group("c", "q1", "Completed"),
        group("d", "x", "Running"),
    ]
    used = Server().items(QUEUES, queue(), queue("a-queue-with-a-long-name-x", 1, "Closed", ""))
    return used.items(GROUPS, *groups, group("e", "q1", "Odd")).on(f"GET {QUEUES}/q1", queue())


def test_the_list_counts_pod_groups_and_grows_only_where_a_name_would_touch() -> None:
    assert run(
        "queue", "list", server=Server().items(QUEUES, queue()).items(GROUPS, group("a", "q1", "Inqueue"))
    ).out == (HEADER + "q1                       3       Open    root    1       0       0       0       0       \n")
    lines = run("queue", "list", server=counted()).lines
    assert lines[0] == HEADER.replace("Name                     ", "Name                        ").rstrip("\n")
    assert lines[1] == "q1                          3       Open    root    1       0       1       0       1       "
    assert lines[2] == "a-queue-with-a-long-name-x  1       Closed          0       0       0       0       0       "


def test_one_queue_lets_the_server_pick_its_groups() -> None:
    used = counted()
    result = run("queue", "get", "-n", "q1", server=used)
    assert (
        result.out
        == HEADER + "q1                       3       Open    root    1       0       1       0       1       \n"
    )
    assert used.requests[-1].query["fieldSelector"] == "spec.queue=q1"


def test_a_server_without_that_field_is_asked_for_all_groups() -> None:
    used = counted()
    refusal = (400, {"status": "Failure", "code": 400, "reason": "BadRequest", "message": "field label not supported"})
    used.answers[f"GET {GROUPS}"].insert(0, refusal)
    assert run("queue", "get", "-n", "q1", server=used).lines[1].split()[4:] == ["1", "0", "1", "0", "1"]


def test_vqueues_has_its_own_columns() -> None:
    expected = (
        "Name                     Weight  State   Inqueue Pending Running Unknown \n"
        "q1                       3       Open    1       0       1       0       \n"
    )
    assert run("-n", "q1", program="vqueues", server=counted()).out == expected
    assert len(run(program="vqueues", server=counted()).lines) == 3


def test_failures_to_count_name_the_list() -> None:
    used = Server().items(QUEUES, queue()).on(f"GET {GROUPS}", refused()).on(f"GET {QUEUES}/q1", queue())
    assert run("queue", "list", server=used).out.startswith(
        "Failed to list queue: failed to list podgroups with err: Get "
    )
    assert run("queue", "get", "-n", "q1", server=used).out.startswith(
        "Failed to get queue: failed to list podgroup for queue q1 with err: Get "
    )


def test_no_queue_is_said() -> None:
    assert run("queue", "list", server=Server().items(QUEUES).items(GROUPS)).out == "No resources found\n"
    assert run("queue", "tree", server=Server().items(QUEUES)).out == "No resources found\n"


def test_the_tree_hangs_queues_below_their_parents() -> None:
    queues = [
        queue("root", 1, parent=""),
        queue("a", 2),
        queue("b", 3, parent=""),
        queue("a1", 4, "Closed", parent="a"),
        queue("a2", 5, parent="a"),
        queue("lost", 6, parent="nowhere"),
        queue("x", 7, parent="y"),
        queue("y", 8, parent="x"),
    ]
    used = Server().items(QUEUES, *queues).items(GROUPS, group("g", "a1", "Running"))
    assert run("queue", "tree", server=used).lines == [
        "Name      Weight  State   Inqueue  Pending  Running  Remark",
        "root      1       Open    0        0        0",
        "├─ a      2       Open    0        0        0",
        "│  ├─ a1  4       Closed  0        0        1",
        "│  └─ a2  5       Open    0        0        0",
        "└─ b      3       Open    0        0        0",
        "lost      6       Open    0        0        0        parent nowhere does not exist",
        "x         7       Open    0        0        0        in a circle: its parent is y",
        "└─ y      8       Open    0        0        0",
    ]


def test_a_branch_of_the_tree_with_resources() -> None:
    rich = queue("a", 2, capability={"cpu": "4", "memory": "8Gi"}, deserved={"cpu": 2})
    rich["status"]["allocated"] = {"cpu": "1"}
    used = Server().items(QUEUES, rich, queue("a1", 1, parent="a"), queue("other")).items(GROUPS)
    assert run("queue", "tree", "-n", "a", "--resources", server=used).lines == [
        "Name   Weight  State   Inqueue  Pending  Running  Allocated  Deserved  Capability",
        "a      2       Open    0        0        0        cpu=1      cpu=2     cpu=4,memory=8Gi",
        "└─ a1  1       Open    0        0        0        -          -         -",
    ]


def test_the_tree_does_without_counts_for_those_who_may_not_list_groups() -> None:
    used = Server().items(QUEUES, queue("a")).fail(f"GET {GROUPS}", 403, "podgroups is forbidden", "Forbidden")
    result = run("queue", "tree", server=used)
    assert (result.code, result.err) == (0, "PodGroups are not counted: podgroups is forbidden\n")
    assert result.lines[1].split() == ["a", "3", "Open", "0", "0", "0"]


def test_wide_adds_columns_that_do_not_touch() -> None:
    used = Server().items(QUEUES, queue(capability={"cpu": "4"}, priority=2, reclaimable=True)).items(GROUPS)
    header, row = run("queue", "list", "-o", "wide", server=used).lines
    assert header.split()[-5:] == ["Completed", "Priority", "Reclaimable", "Deserved", "Capability"]
    assert row.split()[-3:] == ["2", "true", "cpu=4"]

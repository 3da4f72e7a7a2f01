"""`python -m scheduler simulate`: decisions and explanations without a server."""

from __future__ import annotations

import copy
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.jobs import total_replicas
from controllers.job.podgroups import build_group
from controllers.job.pods import build_pod
from controllers.job.world import places
from controllers.stored import JobDecoder
from scheduler import __main__ as process
from scheduler.actions import BUILT_IN as ACTIONS
from scheduler.budget import Budget
from scheduler.cycle import run_cycle
from scheduler.dump.files import write
from scheduler.dump.taking import Taking
from scheduler.simulate.manifests import Reader
from scheduler.simulate.objects import Classes, checked, children
from tests.unit.scheduler.build import FIVE_PLUGINS, memory_of
from tests.unit.scheduler.cache.test_facts import facts, group, pod

GPU = "nvidia.com/gpu"


def node(name: str, **amounts: Any) -> dict[str, Any]:
    offered = {"cpu": "4", "memory": "16Gi", **{key.replace("gpu", GPU): value for key, value in amounts.items()}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": offered}}


def queue(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, **spec},
    }


def template(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}], **spec}}


def job(name: str, replicas: int = 1, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"tasks": [{"name": "w", "replicas": replicas, "template": template(cpu)}], **spec},
    }


def bare(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "ns"}, **template(**spec)}


class Files:
    """Writes manifests, and runs the command on them."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys
        self.out = self.err = ""

    def file(self, name: str, *objects: Any) -> str:
        path = self.directory / name
        path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    def run(self, *words: str) -> int:
        try:
            code = process.main(["simulate", *words])
        except SystemExit as ended:
            code = int(str(ended.code))
        found = self._capsys.readouterr()
        self.out, self.err = found.out, found.err
        return code

    def report(self, *words: str) -> tuple[int, dict[str, Any]]:
        code = self.run(*words, "-o", "json")
        assert not self.err
        return code, json.loads(self.out)


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return Files(tmp_path, capsys)


def binds(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["pod"], each["node"]) for cycle in report["cycles"] for each in cycle if each["kind"] == "bind"]


def test_a_job_that_fits_starts_on_its_nodes(made: Files) -> None:
    code, report = made.report(made.file("a.yaml", node("n1"), node("n2"), job("j", 2, "3")))
    assert code == 0
    assert report["starts"] is True
    assert binds(report) == [("ns/j-w-0", "n1"), ("ns/j-w-1", "n2")]
    assert report["explanations"] == []
    (result,) = report["jobs"]
    assert (result["starts"], result["placed"], result["pods"], result["minMember"]) == (True, 2, 2, 2)


def test_a_job_that_waits_is_explained_in_words(made: Files) -> None:
    assert made.run(made.file("a.yaml", node("n1"), node("n2", cpu="6"), job("j", 2, "5"))) == 1
    assert "nothing is decided" in made.out
    assert "needs 5 cpu, the best node n2 has 1 free" in made.out
    assert "waits, 0 of 2 pods have a node, 2 needed" in made.out


def test_a_job_whose_pods_ask_for_another_scheduler_is_told_so(made: Files) -> None:
    other = job("j", 2)
    other["spec"]["tasks"][0]["template"]["spec"]["schedulerName"] = "default-scheduler"
    assert made.run(made.file("a.yaml", node("n1"), other)) == 1
    assert "Why: 2 pods of it ask for scheduler default-scheduler; this one is volcano" in made.out
    assert "2 missing (no pods for this scheduler)" in made.out


TOPOLOGY = {"mode": "hard", "highestTierAllowed": 1}
HYPER_NODE = {
    "apiVersion": "topology.volcano.sh/v1alpha1",
    "kind": "HyperNode",
    "metadata": {"name": "rack"},
    "spec": {"tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}]},
}


@pytest.mark.parametrize(
    ("objects", "is_told"),
    [
        ([job("j", networkTopology=TOPOLOGY)], True),
        ([job("j", networkTopology=TOPOLOGY), HYPER_NODE], False),
        ([job("j")], False),
    ],
)
def test_a_network_topology_without_hypernodes_is_warned_of(made: Files, objects: list[Any], is_told: bool) -> None:
    _, report = made.report(made.file("a.yaml", node("n1"), *objects))
    told = [warning for warning in report["warnings"] if "HyperNodes" in warning]
    assert len(told) == is_told
    if is_told:
        assert told[0].startswith("ns/j-")
        assert told[0].endswith(
            ": it asks for a network topology and no HyperNodes are given, so any node will do for it"
        )


def test_the_question_is_about_this_job(made: Files) -> None:
    cluster = made.file("cluster.yaml", node("n1"), job("old", 1, "9"))
    code, report = made.report(cluster, "--job", made.file("job.yaml", job("new", 1, "2")))
    assert code == 0, "the old one waits, but is not in question"
    assert [name.partition("-")[0] for name in report["inQuestion"]] == ["ns/new"]
    assert binds(report) == [("ns/new-w-0", "n1")]


def test_a_job_that_takes_anothers_room_shows_in_the_differences(made: Files) -> None:
    classes = [
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    ]
    cluster = made.file("cluster.yaml", *classes, node("n1"), job("old", 1, "3"))
    asked = made.file("job.yaml", job("new", 1, "3", priorityClassName="high"))
    code, report = made.report(cluster, "--job", asked)
    assert code == 0
    assert binds(report) == [("ns/new-w-0", "n1")]
    (difference,) = report["differences"]
    assert (difference["before"]["starts"], difference["after"]["starts"]) == (True, False)
    made.run(cluster, "--job", asked)
    assert "without the changes:\n  ns/old-" in made.out


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("team=capability:2x", 0),
        ("team=capability.cpu:2x", 0),
        ("team=capability.cpu:4", 0),
        ("team=capability.cpu:3500m", 1),
        ("team=capability.cpu:1.5x", 1),
        ("team=weight:2x", 1),
        ("team=weight:3,capability.cpu:4", 0),
    ],
)
def test_this_queue_at_twice(made: Files, change: str, code: int) -> None:
    cluster = made.file("a.yaml", node("n1"), queue("team", capability={"cpu": 2}), job("j", 4, queue="team"))
    assert made.run(cluster) == 1
    assert made.run(cluster, "--queue", change) == code


def test_a_queue_at_twice_its_weight_gets_more(made: Files) -> None:
    plan = [node("n1", cpu="6"), queue("a"), queue("b"), job("ja", 6, queue="a", minAvailable=1)]
    cluster = made.file("a.yaml", *plan, job("jb", 6, queue="b", minAvailable=1))
    placed = {}
    for words in ((), ("--queue", "a=weight:2x")):
        _, report = made.report(cluster, *words)
        placed[words] = {result["queue"]: result["placed"] for result in report["jobs"]}
    assert placed[()] == {"a": 3, "b": 3}
    assert placed["--queue", "a=weight:2x"] == {"a": 4, "b": 2}


def test_without_these_nodes_pods_of_jobs_wait_again_and_others_are_gone(made: Files) -> None:
    running = bare("r") | {}
    running["spec"] |= {"nodeName": "n1", "schedulerName": "volcano"}
    foreign = bare("f", cpu="3")
    foreign["spec"] |= {"nodeName": "n1"}
    cluster = made.file("a.yaml", node("n1"), node("n2"), running, foreign)
    code, report = made.report(cluster, "--without-node", "n1")
    assert code == 0
    assert binds(report) == [("ns/r", "n2")]
    code, report = made.report(cluster, "--without-node", "n1", "--without-node=n2")
    assert code == 1
    assert report["explanations"][0]["waiting"][0]["nodes"]["total"] == 0


def test_evictions_come_true_and_their_room_is_taken(made: Files) -> None:
    configuration = made.directory / "conf.yaml"
    configuration.write_text(
        'actions: "enqueue, allocate, preempt"\ntiers:\n- plugins: [{name: priority}, {name: gang}, {name: conformance}]\n'
        "- plugins: [{name: predicates}, {name: nodeorder}]\n"
    )
    classes = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    low = bare("low", cpu="4")
    low["spec"] |= {"nodeName": "n1", "schedulerName": "volcano"}
    low["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "g"}
    group_of = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"minMember": 0, "queue": "default"},
    }
    high = job("high", 1, "4", priorityClassName="high")
    cluster = made.file("a.yaml", node("n1"), low, group_of, classes, high)
    code, report = made.report(cluster, "--scheduler-conf", str(configuration))
    kinds = [[decision["kind"] for decision in cycle] for cycle in report["cycles"]]
    assert kinds == [["evict"], ["bind"]]
    assert code == 1, "the evicted pod's job is in question as well"
    assert made.run(cluster, "--scheduler-conf", str(configuration), "--cycles", "1") == 1
    assert "cycle 2" not in made.out
    assert "evict ns/low from n1, because of preempt, for ns/high-" in made.out


def dump_file(directory: Path) -> str:
    found = facts()
    found.apply(("PodGroup", None, group(minMember=2)))
    for name in ("g-w-0", "g-w-1"):
        found.apply(
            ("Pod", None, pod(name, spec={"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}))
        )
    memory = memory_of(found.cluster)
    taking = Taking(found.cluster, memory, uid="s", now=77.0, configuration=FIVE_PLUGINS)
    result = run_cycle(found.cluster, memory, ACTIONS, uid="s", now=77.0)
    return str(write(directory, taking.finish(Budget.replayed(None), result), 77.0))


def test_a_dump_and_a_change(made: Files) -> None:
    path = dump_file(made.directory)
    assert made.run(path) == 1
    assert "finds no node: needs 3 cpu, the best node n1 has 1 free" in made.out
    code, report = made.report(path, made.file("more.yaml", node("n2")))
    assert code == 0
    assert sorted(binds(report)) == [("ns/g-w-0", "n1"), ("ns/g-w-1", "n2")]
    code, report = made.report(path, "--job", made.file("job.yaml", job("j", 1, "2")))
    assert code == 0
    assert binds(report) == [("ns/j-w-0", "n1")]


def exported(uid: str = "u1", *, is_running: bool = False) -> list[dict[str, Any]]:
    """A job as a server has it, with its PodGroup and two pods of the three."""
    written = job("j", 3, "1") | {"metadata": {"name": "j", "namespace": "ns", "uid": uid}}
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": uid, "controller": True}
    group_of = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": f"j-{uid}", "namespace": "ns", "uid": "pg", "ownerReferences": [owner]},
        "spec": {"minMember": 3, "queue": "default"},
        "status": {"phase": "Inqueue"},
    }
    pods = []
    for number in range(2):
        made = bare(f"j-w-{number}", schedulerName="volcano")
        made["metadata"] |= {
            "uid": f"p{number}",
            "annotations": {"scheduling.k8s.io/group-name": f"j-{uid}", "volcano.sh/task-spec": "w"},
        }
        if is_running:
            made["spec"]["nodeName"] = "n1"
        pods.append(made)
    return [written, group_of, *pods]


def test_what_a_server_has_of_a_job_is_not_made_again(made: Files) -> None:
    code, report = made.report(made.file("a.yaml", node("n1"), *exported()))
    assert code == 0
    assert [result["job"] for result in report["jobs"]] == ["ns/j-u1"]
    assert sorted(binds(report)) == [("ns/j-w-0", "n1"), ("ns/j-w-1", "n1"), ("ns/j-w-2", "n1")]


def staged(least: int | None = None, master: str = "1", replicas: int = 1, **depends: Any) -> dict[str, Any]:
    """A job of a master and three workers that wait for it."""
    written = job("j")
    written["spec"]["tasks"] = [
        {"name": "master", "replicas": replicas, "template": template(master)},
        {
            "name": "worker",
            "replicas": 3,
            "template": template("1"),
            "dependsOn": {"name": ["master"], **depends},
        },
    ]
    if least is not None:
        written["spec"]["minAvailable"] = least
    return written


def test_a_gang_that_counts_pods_which_wait_for_another_task_waits_and_says_so(made: Files) -> None:
    path = made.file("a.yaml", node("n1"), staged())
    code, report = made.report(path)
    assert (code, binds(report)) == (1, [])
    (result,) = report["jobs"]
    assert (result["pods"], result["minMember"]) == (1, 4)
    (answer,) = report["explanations"]
    assert answer["summary"] == "the gang counts 3 pods of task worker that wait for task master"
    assert [cause["kind"] for cause in answer["causes"]][:2] == ["DependencyNotReady", "NotEnoughPods"]
    assert answer["needs"][0].startswith("minAvailable of the job lowered to at most 1,")
    assert not answer["canStart"]


def test_pods_that_wait_for_another_task_are_made_once_it_runs(made: Files) -> None:
    code, report = made.report(made.file("a.yaml", node("n1"), staged(1)))
    assert code == 0
    assert [[each["pod"] for each in cycle] for cycle in report["cycles"]] == [
        ["ns/j-master-0"],
        ["ns/j-worker-0", "ns/j-worker-1", "ns/j-worker-2"],
    ]


@pytest.mark.parametrize(("iteration", "made_at_last"), [("any", True), ("all", False), ("", False)])
def test_a_task_waits_for_all_or_any_of_the_others(made: Files, iteration: str, made_at_last: bool) -> None:
    written = staged(1, name=["master", "gone"], iteration=iteration)
    _, report = made.report(made.file("a.yaml", node("n1"), written))
    assert (("ns/j-worker-0", "n1") in binds(report)) is made_at_last


def test_workers_of_a_master_that_does_not_fit_are_told_beside_it(made: Files) -> None:
    code, report = made.report(made.file("a.yaml", node("n1"), staged(1, "9")))
    assert code == 1
    texts = [cause["text"] for cause in report["explanations"][0]["causes"]]
    assert texts[-1] == "3 pods of task worker wait for task master"
    assert any(text.startswith("1 pod of role master finds no node: ") for text in texts)


def test_a_running_pod_that_is_not_ready_is_waited_for(made: Files) -> None:
    owner = exported()[1]["metadata"]["ownerReferences"][0]
    own = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "j-u1", "namespace": "ns", "uid": "pg", "ownerReferences": [owner]},
        "spec": {"minMember": 1, "queue": "default"},
        "status": {"phase": "Running"},
    }
    for is_ready in (False, True):
        pod_of = bare("j-master-0", schedulerName="volcano", nodeName="n1")
        pod_of["metadata"] |= {
            "uid": "p0",
            "annotations": {"scheduling.k8s.io/group-name": "j-u1", "volcano.sh/task-spec": "master"},
        }
        pod_of["status"] = {"phase": "Running", "containerStatuses": [{"name": "c", "ready": is_ready}]}
        written = staged(1)
        written["metadata"]["uid"] = "u1"
        _, report = made.report(made.file("a.yaml", node("n1"), written, own, pod_of))
        assert (len(binds(report)) == 3) is is_ready
        told = [answer["summary"] for answer in report["explanations"]]
        assert told == ([] if is_ready else ["3 pods of task worker wait for task master"])


def test_a_finished_job_is_passed_over(made: Files) -> None:
    done = job("j") | {"status": {"state": {"phase": "Completed"}}}
    code, report = made.report(made.file("a.yaml", node("n1"), done))
    assert (code, report["jobs"]) == (0, [])


def test_another_job_of_the_name_takes_its_place_and_placed_pods_stay(made: Files) -> None:
    cluster = made.file("a.yaml", node("n1"), *exported(is_running=True))
    asked = made.file("job.yaml", job("j", 2, "4"))
    code, report = made.report(cluster, "--job", asked)
    assert code == 0
    (result,) = report["jobs"]
    assert (result["job"], result["pods"], result["placed"]) == ("ns/j-u1", 2, 2)
    waiting = made.file("b.yaml", node("n1"), *exported())
    code, report = made.report(waiting, "--job", asked)
    assert code == 1
    assert [(found["pods"], found["minMember"]) for found in report["jobs"]] == [(2, 2)]
    assert report["explanations"][0]["waiting"][0]["requests"]["cpu"] == "4"


def test_the_logs_level_is_as_before(made: Files) -> None:
    before = logging.getLogger("scheduler").level
    made.run(made.file("a.yaml", node("n1"), job("j")))
    assert logging.getLogger("scheduler").level == before


def test_standard_input_is_a_file_too(made: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(yaml.safe_dump_all([node("n1"), job("j")])))
    assert made.run("-") == 0


def test_a_list_is_its_items_and_other_kinds_are_left_out_with_a_word(made: Files) -> None:
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [node("n1"), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}],
    }
    path = made.file("a.yaml", listed, job("j"))
    assert made.run(path) == 0
    assert f"warning: {path}: Secret s: left out, this kind is not simulated\n" in made.out


def test_pods_of_other_schedulers_are_left_out_unless_they_hold_room(made: Files) -> None:
    bound = bare("b", cpu="3")
    bound["spec"]["nodeName"] = "n1"
    path = made.file("a.yaml", node("n1"), bare("p"), bound, job("j", 1, "2"))
    assert made.run(path) == 1
    assert f"{path}: Pod ns/p: left out, its scheduler is default-scheduler" in made.out
    assert "the best node n1 has 1 free" in made.out


def test_jobs_of_other_schedulers_are_left_out(made: Files) -> None:
    other = job("other", schedulerName="else")
    path = made.file("a.yaml", node("n1"), other, job("j"))
    code, report = made.report(path)
    assert (code, report["inQuestion"], len(binds(report))) == (0, [report["jobs"][0]["job"]], 1)
    assert report["warnings"] == [f"{path}: Job ns/other: left out, its scheduler is else"]
    code, report = made.report(path, "--scheduler-name=else")
    assert report["warnings"] == [f"{path}: Job ns/j: left out, its scheduler is volcano"]
    assert [told["job"].partition("-")[0] for told in report["jobs"]] == ["ns/other"]


def test_the_group_of_a_job_that_is_left_out_is_not_in_question(made: Files) -> None:
    other = job("other", schedulerName="else")
    other["metadata"]["uid"] = "u1"
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "other", "uid": "u1", "controller": True}
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "other-u1", "namespace": "ns", "ownerReferences": [owner]},
        "spec": {"minMember": 1, "queue": "default"},
        "status": {"phase": "Pending"},
    }
    code, report = made.report(made.file("a.yaml", node("n1"), group, other))
    assert (code, report["inQuestion"]) == (0, [])


def test_a_finished_job_of_another_scheduler_is_passed_over_like_any_other(made: Files) -> None:
    done = job("done", schedulerName="else") | {"status": {"state": {"phase": "Completed"}}}
    code, report = made.report(made.file("a.yaml", node("n1"), done, job("j")))
    assert (code, report["warnings"]) == (0, [])


def test_a_question_about_a_job_of_another_scheduler_is_refused(made: Files) -> None:
    asked = made.file("asked.yaml", job("other", schedulerName="else"))
    assert made.run(made.file("a.yaml", node("n1"), job("j")), "--job", asked) == 2
    assert made.err == f"{asked}: Job ns/other: spec.schedulerName: else is not simulated, see --scheduler-name\n"


def broken(obj: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(obj)
    place: Any = changed
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return changed


JOB_TASK = ("spec", "tasks", 0)


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        ([broken(node("n1"), "metadata", "labels", value={"a": 1})], "Node n1: metadata.labels[a]: Invalid value: 1: "),
        ([broken(node("n1"), "status", value={})], "Node n1: status.allocatable: it is missing"),
        ([node("n1", cpu="four")], "Node n1: status.allocatable: resource cpu: "),
        ([queue("q", capability={"cpu": "x"})], "Queue q: spec.capability: resource cpu: "),
        ([queue("q", weight="1")], 'Queue q: spec.weight: Invalid value: "1": '),
        ([job("j", cpu="x")], "Job ns/j: spec.tasks[0].template: resource cpu: "),
        ([broken(job("j"), "spec", "tasks", value=[])], "Job ns/j: spec.tasks: there is none"),
        ([broken(job("j"), *JOB_TASK, "replicas", value="3")], 'Job ns/j: spec.tasks[0].replicas: Invalid value: "3": '),
        ([broken(job("j"), *JOB_TASK, "template", value={})], "Job ns/j: spec.tasks[0].template.spec.containers: there is none"),
        ([broken(node("n1"), "metadata", value={})], "Node: metadata.name: it is missing"),
        (["text"], "document 1: an object is needed, not a str"),
        ([node("n1"), {"kind": "Node"}], "document 2: apiVersion: it is missing"),
        ([{"apiVersion": "v1"}], "document 1: kind: it is missing"),
    ],
)  # fmt: skip
def test_bad_input_names_file_object_and_field(made: Files, objects: list[Any], told: str) -> None:
    path = made.file("bad.yaml", *objects)
    assert made.run(path) == 2
    assert made.out == ""
    assert made.err.startswith(f"{path}: {told}"), made.err


def test_a_field_that_does_not_exist_is_told_with_the_one_that_is_meant(made: Files) -> None:
    path = made.file("a.yaml", node("n1"), broken(job("j"), "spec", "minavailable", value=2))
    made.run(path)
    assert f"warning: {path}: Job ns/j: no such field: spec.minavailable, do you mean minAvailable?\n" in made.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["/nowhere.yaml"], "/nowhere.yaml: it can't be read: No such file or directory"),
        (["F", "--queue", "nope=weight:2"], "--queue nope=weight:2: there is no queue nope"),
        (["F", "--queue", "default"], "--queue default: NAME=KEY:VALUE is needed"),
        (["F", "--queue", "default=weight"], "--queue default=weight: weight: KEY:VALUE is needed"),
        (["F", "--queue", "default=weight:many"], "--queue default=weight:many: weight: many is no whole number"),
        (["F", "--queue", "default=state:Open"], "--queue default=state:Open: state: it can't be changed"),
        (["F", "--queue", "default=capability:2x"], "--queue default=capability:2x: capability: the queue names no"),
        (
            ["F", "--queue", "default=deserved.cpu:2x"],
            "--queue default=deserved.cpu:2x: deserved.cpu: there is nothing",
        ),
        (["F", "--queue", "default=deserved.cpu:z"], "--queue default=deserved.cpu:z: deserved.cpu: "),
        (["F", "--without-node", "n9"], "--without-node n9: there is no such node"),
        (["F", "--scheduler-conf", "/nowhere"], "/nowhere: it can't be read"),
        ([], "simulate needs files"),
        (["F", "-o", "yaml"], "--output is text or json, not yaml"),
    ],
)
def test_bad_words_say_what_is_wrong(made: Files, words: list[str], told: str) -> None:
    path = made.file("a.yaml", node("n1"), job("j"))
    assert made.run(*(path if word == "F" else word for word in words)) == 2
    assert made.err.startswith(told), made.err


@pytest.mark.parametrize("words", [["empty"], ["list"], ["nodes", "--job", "empty"], ["nodes", "--job", "list"]])
def test_an_input_without_objects_is_refused(made: Files, words: list[str]) -> None:
    files = {
        "empty": made.file("empty.yaml"),
        "list": made.file("list.yaml", {"apiVersion": "v1", "kind": "List", "items": []}),
        "nodes": made.file("nodes.yaml", node("n1")),
    }
    assert made.run(*(files.get(word, word) for word in words)) == 2
    assert made.err == f"{files[words[-1]]}: no objects\n"


def test_an_input_of_which_nothing_can_be_simulated_is_refused_with_what_it_has(made: Files) -> None:
    only = made.file("a.yaml", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    assert made.run(only) == 2
    assert made.err == f"{only}: no objects to simulate: ConfigMap c: left out, this kind is not simulated\n"


def test_an_empty_input_beside_another_is_a_warning(made: Files) -> None:
    empty = made.file("empty.yaml")
    code, report = made.report(made.file("a.yaml", node("n1"), job("j")), empty)
    assert (code, report["warnings"]) == (0, [f"{empty}: no objects"])


def test_a_text_that_is_no_yaml_and_a_configuration_that_is_none(made: Files) -> None:
    bad = made.directory / "bad.yaml"
    bad.write_text("a: [1\n")
    assert made.run(str(bad)) == 2
    assert made.err.startswith(f"{bad}: not YAML: ")
    bad.write_text('actions: "nothing"')
    assert made.run(made.file("a.yaml", node("n1")), "--scheduler-conf", str(bad)) == 2
    assert made.err == f"{bad}: the configuration can't be used: failed to find Action nothing\n"


def test_a_dump_that_was_cut_off_and_a_second_dump_are_refused(made: Files) -> None:
    path = dump_file(made.directory)
    assert made.run(path, path) == 2
    assert "a second dump" in made.err
    whole = Path(path).read_bytes()
    Path(path).write_bytes(whole[: len(whole) - 20])
    assert made.run(path) == 2
    assert "is incomplete" in made.err


def test_pods_and_group_of_a_job_are_those_of_its_controller(made: Files) -> None:
    written = job(
        "j", 3, minAvailable=2, priorityClassName="high", networkTopology={"mode": "hard", "highestTierAllowed": 1}
    )
    written["metadata"] |= {"uid": "u", "annotations": {"volcano.sh/preemptable": "true"}}
    written["spec"] |= {"queue": "q", "schedulerName": "volcano"}
    written["spec"]["tasks"][0]["partitionPolicy"] = {"totalPartitions": 3, "partitionSize": 1}
    written["spec"]["volumes"] = [{"mountPath": "/data", "volumeClaimName": "claim"}]
    (entry,) = Reader().read(made.file("a.yaml", written))
    classes = Classes()
    classes.values["high"] = 7
    simulated, pods = children(entry, checked(entry), classes)
    decoded = JobDecoder().decode(json.dumps(written).encode())
    wanted = [build_pod(decoded, place) for place in places(decoded).values()]
    assert len(pods) == len(wanted) == total_replicas(decoded.spec) == 3
    for found, by_controller in zip(pods, wanted, strict=True):
        meta = by_controller["metadata"]
        assert (found.metadata.name, found.metadata.labels) == (meta["name"], meta["labels"])
        assert found.metadata.annotations == meta["annotations"]
        assert found.spec.volumes[0].persistent_volume_claim is not None
        assert found.spec.scheduler_name == by_controller["spec"]["schedulerName"]
        assert found.spec.priority == 7
    assert simulated.spec == build_group(decoded, classes.values).spec

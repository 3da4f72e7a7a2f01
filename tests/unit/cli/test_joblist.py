"""`vcctl job list`, byte for byte."""

from __future__ import annotations

import json

import pytest
import yaml

from cli import phases
from tests.unit.cli.harness import BATCH, Server, job, run

HERE = f"{BATCH}/namespaces/default/jobs"
EVERYWHERE = f"{BATCH}/jobs"
HEADER = "Name   Creation       Phase       JobType     Replicas    Min   Pending   Running   Succeeded   Failed    Unknown     RetryCount\n"
ROW = "j1     2024-01-02     Running     Batch       3           2     1         2         0           0         0           0         \n"


def test_the_table_keeps_its_bytes() -> None:
    result = run("job", "list", server=Server().items(HERE, job()))
    assert (result.code, result.out, result.err) == (0, HEADER + ROW, "")


def test_all_namespaces_add_a_column_and_widths_follow_the_longest_names() -> None:
    jobs = (
        job("a-rather-long-name", "some-namespace"),
        job("b", "x", metadata={"labels": {"volcano.sh/job-type": "MPI"}}),
    )
    lines = run("job", "list", "--all-namespaces", server=Server().items(EVERYWHERE, *jobs)).lines
    assert lines[0].startswith("Namespace        Name                 Creation       Phase")
    assert lines[1].startswith("some-namespace   a-rather-long-name   2024-01-02     Running     Batch       ")
    assert lines[2].startswith("x                b                    2024-01-02     Running     MPI         ")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ((), ["j1", "j2", "k1"]),
        (("-q", "q2"), ["j2"]),
        (("-q", "q"), []),
        (("-S", "other"), ["k1"]),
        (("--selector", "j"), ["j1", "j2"]),
        (("--selector", "j", "--queue", "q2", "-S", "volcano"), ["j2"]),
        (("--phase", "Pending"), ["k1"]),
        (("--phase", "Pending,Running", "--selector", "1"), ["j1", "k1"]),
        (("--sort-by", ".metadata.name"), ["j1", "j2", "k1"]),
        (("--sort-by", "{.status.running}"), ["k1", "j1", "j2"]),
    ],
)
def test_filters_are_joined_by_and(words: tuple[str, ...], names: list[str]) -> None:
    jobs = (
        job("j1"),
        job("j2", spec={"queue": "q2"}),
        job("k1", phase="Pending", spec={"schedulerName": "other"}, status={"running": 1}),
    )
    result = run("job", "list", "-o", "name", *words, server=Server().items(HERE, *jobs))
    assert result.lines == [f"job.batch.volcano.sh/{name}" for name in names]


def test_nothing_left_after_filtering_is_said() -> None:
    server = Server().items(HERE, job())
    assert run("job", "list", "-q", "none", server=server).out == "No resources found\n"


def test_labels_are_matched_by_the_server_and_flows_by_their_label() -> None:
    server = Server().items(HERE)
    run("job", "list", "-l", "a=b", "--for", "jobflow/f1", server=server)
    assert server.requests[0].query["labelSelector"] == "volcano.sh/createdByJobFlow=default.f1,a=b"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--for", "pod/x"), '--for: "pod/x" is not jobflow/NAME'),
        (
            ("--for", "jobflow/x", "--all-namespaces"),
            "--for: a jobflow has one namespace, name it instead of --all-namespaces",
        ),
        (
            ("--phase", "Running,Foo"),
            f'--phase: invalid value "Foo", must be one of: {", ".join(phases.JOB)}',
        ),
        (("--sort-by", "a b"), '--sort-by: "a b" names no field, expected one such as .metadata.name'),
        (("-o", "xml"), '--output: unable to match a printer for the format "xml", allowed: json,name,wide,yaml'),
    ],
)
def test_a_flag_that_cannot_be_is_named(words: tuple[str, ...], message: str) -> None:
    result = run("job", "list", *words)
    assert (result.code, result.out) == (255, f"Failed to list job: {message}\n")


@pytest.mark.parametrize(("form", "load"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_whole_objects_keep_fields_that_nobody_knows(form: str, load: object) -> None:
    stored = job(spec={"brandNew": {"a": [1, None]}}, metadata={"managedFields": [{"manager": "x"}]})
    assert callable(load)
    whole = load(run("job", "list", "-o", form, server=Server().items(HERE, stored)).out)
    assert (whole["kind"], whole["apiVersion"]) == ("List", "v1")
    (item,) = whole["items"]
    assert (item["kind"], item["apiVersion"]) == ("Job", "batch.volcano.sh/v1alpha1")
    assert item["spec"]["brandNew"] == {"a": [1, None]}
    assert "managedFields" not in item["metadata"]


def test_wide_adds_columns_behind_the_old_ones() -> None:
    lines = run("job", "list", "-o", "wide", server=Server().items(HERE, job())).lines
    assert lines[0] == HEADER.rstrip("\n") + "  Queue          Scheduler      Age     "
    assert lines[1] == ROW.rstrip("\n") + "  default        volcano        7m5s    "


def test_an_odd_object_does_not_spoil_the_list() -> None:
    odd = {"metadata": {"name": "odd", "namespace": "default", "labels": None}, "spec": None, "status": {"state": "x"}}
    result = run("job", "list", server=Server().items(HERE, odd))
    assert result.lines[1].startswith("odd    0001-01-01                 Batch       0           0     0 ")


def test_a_phase_that_fills_its_column_pushes_the_next_two_blanks_away() -> None:
    server = Server().items(HERE, job(phase="ABrandNewPhase"), job("j2"))
    lines = run("job", "list", server=server).lines
    assert lines[0].index("JobType") - lines[0].index("Phase") == len("ABrandNewPhase") + 2
    assert "ABrandNewPhase  Batch" in lines[1]
    assert lines[2].index("Batch") == lines[1].index("Batch")


def test_long_lists_are_read_in_pages() -> None:
    first = {"metadata": {"resourceVersion": "5", "continue": "more"}, "items": [job("a")]}
    last = {"metadata": {"resourceVersion": "5"}, "items": [job("b")]}
    server = Server().on(f"GET {HERE}", first, last)
    assert len(run("job", "list", server=server).lines) == 3
    assert server.targets == [f"GET {HERE}?limit=500", f"GET {HERE}?limit=500&continue=more"]


def test_watch_shows_changes_and_reads_anew_when_the_server_has_forgotten() -> None:
    changed = {"type": "MODIFIED", "object": job("j1", phase="Completed", metadata={"resourceVersion": "7"})}
    other = {"type": "ADDED", "object": job("other", spec={"queue": "q9"})}
    gone = {"type": "ERROR", "object": {"kind": "Status", "status": "Failure", "code": 410, "message": "too old"}}
    server = Server().items(HERE, job()).lines(HERE, [changed, other], [gone])
    with pytest.raises(KeyboardInterrupt):
        run("job", "list", "-w", "-q", "default", server=server)
    watches = [request.query["resourceVersion"] for request in server.requests if request.query.get("watch")]
    assert watches == ["5", "7", "5"]

"""What `--watch` prints, until Ctrl-C."""

from __future__ import annotations

import io

import pytest

from cli.program import run as run_program
from cli.tree import root_of
from runtime.timestamps import parse
from tests.unit.cli.harness import BATCH, NOW, SCHEDULING, Server, group, job, queue

HERE = f"{BATCH}/namespaces/default/jobs"


def watched(server: Server, *words: str) -> list[str]:
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        run_program(
            root_of("vcctl"),
            words,
            out=out,
            err=io.StringIO(),
            environ={},
            connect=lambda *_: server.client,
            clock=lambda: parse(NOW).timestamp(),
        )
    return out.getvalue().splitlines()


def change(obj: object, kind: str = "MODIFIED") -> dict[str, object]:
    return {"type": kind, "object": obj}


def test_rows_follow_below_the_header_in_the_same_columns() -> None:
    server = (
        Server().items(HERE, job()).lines(HERE, [change(job(phase="Completed"))], [change(job("a-much-longer-name"))])
    )
    lines = watched(server, "job", "list", "--watch")
    assert [line.split()[0] for line in lines] == ["Name", "j1", "j1", "a-much-longer-name"]
    assert lines[2].index("Completed") == lines[1].index("Running")
    assert lines[3].startswith("a-much-longer-name  2024-01-02")


def test_an_empty_list_still_has_a_header_to_watch_below() -> None:
    lines = watched(Server().items(HERE).lines(HERE, [change(job(), "ADDED")]), "job", "list", "-w")
    assert [line.split()[0] for line in lines] == ["Name", "j1"]


def test_names_are_printed_one_by_one() -> None:
    server = Server().items(HERE, job()).lines(HERE, [change(job("j2"), "DELETED")])
    assert watched(server, "job", "list", "-w", "-o", "name") == ["job.batch.volcano.sh/j1", "job.batch.volcano.sh/j2"]


def test_queues_are_counted_anew_for_every_change() -> None:
    server = (
        Server().items(f"{SCHEDULING}/queues", queue()).lines(f"{SCHEDULING}/queues", [change(queue(state="Closing"))])
    )
    groups = [
        {"metadata": {}, "items": [group("a", "q1", "Pending")]},
        {"metadata": {}, "items": [group("a", "q1", "Running")]},
    ]
    server.on(f"GET {SCHEDULING}/podgroups", *groups)
    lines = watched(server, "queue", "list", "-w")
    assert lines[1].split() == ["q1", "3", "Open", "root", "0", "1", "0", "0", "0"]
    assert lines[2].split() == ["q1", "3", "Closing", "root", "0", "0", "1", "0", "0"]

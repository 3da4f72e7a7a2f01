"""`vcctl job logs`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.harness import BATCH, Server, job, run

PODS = "/api/v1/namespaces/default/pods"


def pod(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [{"name": "main"}, {"name": "side"}]},
    }


def server(*names: str) -> Server:
    made = Server().on(f"GET {BATCH}/namespaces/default/jobs/j1", job()).items(PODS, *map(pod, names))
    for name in names:
        made.lines(f"{PODS}/{name}/log", [f"hello from {name}".encode(), "grüße".encode()])
    return made


def test_one_pod_is_printed_as_it_is() -> None:
    used = server("a")
    result = run("job", "logs", "-N", "j1", "--task", "t", "--tail", "10", server=used)
    assert result.lines == ["hello from a", "grüße"]
    assert used.requests[1].query["labelSelector"] == "volcano.sh/job-name=j1,volcano.sh/task-spec=t"
    assert used.requests[2].query == {"container": "main", "tailLines": "10"}


def test_colours_of_logs_are_printed_as_they_are() -> None:
    used = server("a").lines(f"{PODS}/a/log", [b"\x1b[31mred\x1b[0m"])
    assert run("job", "logs", "-N", "j1", server=used).out == "\x1b[31mred\x1b[0m\n"


def test_lines_of_several_pods_carry_their_names() -> None:
    lines = run("job", "logs", "-N", "j1", server=server("b", "a")).lines
    assert lines == ["[a] hello from a", "[a] grüße", "[b] hello from b", "[b] grüße"]


def test_a_pod_is_followed() -> None:
    used = server("a")
    run("job", "logs", "-N", "j1", "-f", "-p", "-c", "side", server=used)
    assert used.requests[-1].query == {"container": "side", "follow": "true", "previous": "true"}


@pytest.mark.parametrize(
    ("words", "names", "message"),
    [
        ((), (), "job name (specified by --name or -N) is mandatory to print the logs of a particular job"),
        (("-N", "j1"), (), "job j1 has no pods in namespace default"),
        (("-N", "j1", "-t", "x"), (), "job j1 has no pods of task x in namespace default"),
        (
            ("-N", "j1", "-f"),
            ("a", "b"),
            "--follow: job j1 has 2 pods here, choose one task of one pod with --task",
        ),
    ],
)
def test_what_cannot_be_is_named(words: tuple[str, ...], names: tuple[str, ...], message: str) -> None:
    result = run("job", "logs", *words, server=server(*names))
    assert (result.code, result.out) == (255, f"Failed to logs job: {message}\n")

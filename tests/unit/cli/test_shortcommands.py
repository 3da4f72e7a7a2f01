"""`vjobs` as a list; the other short commands are tested beside what they do."""

from __future__ import annotations

from tests.unit.cli.harness import BATCH, Server, job, run

HERE = f"{BATCH}/namespaces/ns/jobs"


def test_vjobs_lists_with_its_own_letters() -> None:
    used = Server().items(HERE, job("a", "ns"), job("b", "ns", spec={"schedulerName": "other"}))
    lines = run("-N", "ns", "-S", "other", program="vjobs", server=used).lines
    assert [line.split()[0] for line in lines] == ["Name", "b"]


def test_vjobs_says_when_its_filter_leaves_nothing() -> None:
    used = Server().items(HERE, job("a", "ns"))
    assert run("-N", "ns", "--selector", "x", program="vjobs", server=used).out == "No resources found\n"


def test_vjobs_ignores_further_words() -> None:
    used = Server().items(HERE, job("a", "ns"))
    assert run("-N", "ns", "extra", program="vjobs", server=used).code == 0


def test_a_missing_job_is_told_with_the_servers_words() -> None:
    used = Server().fail(f"GET {HERE}/nope", 404, 'jobs.batch.volcano.sh "nope" not found', "NotFound")
    result = run("-N", "ns", "-n", "nope", program="vjobs", server=used)
    assert (result.code, result.out) == (255, 'Failed to: jobs.batch.volcano.sh "nope" not found\n')

"""Suspending, resuming and deleting jobs."""

from __future__ import annotations

import pytest

from tests.unit.cli.harness import BATCH, BUS, Server, job, run

J1 = f"{BATCH}/namespaces/default/jobs/j1"
COMMANDS = f"{BUS}/namespaces/default/commands"
REFERENCE = {
    "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j1", "uid": "u-j1",
    "controller": True, "blockOwnerDeletion": True,
}  # fmt: skip


def command(action: str) -> dict[str, object]:
    return {
        "kind": "Command",
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "metadata": {
            "generateName": f"j1-{action.lower()}-",
            "namespace": "default",
            "ownerReferences": [REFERENCE],
        },
        "action": action,
        "target": REFERENCE,
    }


def server(*phases: str) -> Server:
    return Server().on(f"GET {J1}", *(job(phase=phase) for phase in phases)).on(f"POST {COMMANDS}", {})


@pytest.mark.parametrize(
    ("program", "words", "phase", "action"),
    [
        ("vcctl", ("job", "suspend", "-N", "j1"), "Running", "AbortJob"),
        ("vcctl", ("job", "resume", "-N", "j1"), "Aborted", "ResumeJob"),
        ("vsuspend", ("-n", "j1"), "Running", "AbortJob"),
        ("vresume", ("-n", "j1", "-N", "default"), "Aborted", "ResumeJob"),
    ],
)
def test_a_command_is_sent_and_nothing_printed(program: str, words: tuple[str, ...], phase: str, action: str) -> None:
    used = server(phase)
    result = run(*words, program=program, server=used)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert used.bodies("POST") == [command(action)]


@pytest.mark.parametrize(
    ("program", "words", "message"),
    [
        ("vcctl", ("job", "suspend"), "Failed to suspend job: job name is mandatory to suspend a particular job"),
        ("vcctl", ("job", "resume"), "Failed to resume job: job name is mandatory to resume a particular job"),
        ("vcctl", ("job", "delete"), "Failed to delete job: job name is mandatory to delete a particular job"),
        ("vcancel", (), "Failed to: job name is mandatory to cancel a particular job"),
        ("vsuspend", (), "Failed to: job name is mandatory to suspend a particular job"),
    ],
)
def test_a_name_is_needed(program: str, words: tuple[str, ...], message: str) -> None:
    result = run(*words, program=program)
    assert (result.code, result.out) == (255, message + "\n")


def test_confirmation_comes_on_demand() -> None:
    assert (
        run("job", "suspend", "-N", "j1", "--verbose", server=server("Running")).out
        == "job.batch.volcano.sh/j1 suspended\n"
    )
    assert run("job", "resume", "-N", "j1", "-o", "name", server=server("Aborted")).out == "job.batch.volcano.sh/j1\n"


@pytest.mark.parametrize(
    ("verb", "phase", "hint"),
    [
        ("suspend", "Completed", "hint: job j1 is Completed, there is nothing to suspend\n"),
        ("suspend", "Aborted", "hint: job j1 is Aborted, there is nothing to suspend\n"),
        ("resume", "Running", "hint: job j1 is Running, only an aborted job can be resumed\n"),
        ("suspend", "Pending", ""),
        ("resume", "Aborting", ""),
    ],
)
def test_a_void_order_gets_a_hint_on_stderr_and_is_sent_all_the_same(verb: str, phase: str, hint: str) -> None:
    used = server(phase)
    result = run("job", verb, "-N", "j1", server=used)
    assert (result.code, result.out, result.err) == (0, "", hint)
    assert len(used.bodies("POST")) == 1


@pytest.mark.parametrize(
    ("verb", "phase"),
    [("suspend", "Aborted"), ("suspend", "Aborting"), ("suspend", "Completed"), ("resume", "Running")],
)
def test_a_void_order_is_not_said_to_have_had_an_effect(verb: str, phase: str) -> None:
    told = run("job", verb, "-N", "j1", "--verbose", server=server(phase))
    assert (told.code, told.out) == (0, "")
    assert told.err.startswith(f"hint: job j1 is {phase}, ")
    assert run("job", verb, "-N", "j1", "-o", "name", server=server(phase)).out == "job.batch.volcano.sh/j1\n"


@pytest.mark.parametrize(
    ("words", "phases", "code", "out"),
    [
        (("suspend",), ("Running", "Aborting", "Aborted"), 0, ""),
        (("resume",), ("Aborted", "Aborted", "Restarting", "Pending"), 0, ""),
        (("suspend",), ("Running", "Completed"), 255, "job j1 is Completed and won't be suspended"),
        (("suspend", "--timeout", "3s"), ("Running",), 255, "timed out after 3s: job j1 is Running, not yet suspended"),
    ],
)
def test_waiting_ends_with_the_phase_or_the_time(
    words: tuple[str, ...], phases: tuple[str, ...], code: int, out: str
) -> None:
    result = run("job", *words, "-N", "j1", "--wait", server=server(*phases))
    assert result.code == code
    assert result.out == (f"Failed to {words[0]} job: {out}\n" if out else "")


@pytest.mark.parametrize("verb", ["suspend", "resume"])
def test_what_did_not_happen_in_time_is_not_said_to_be_done(verb: str) -> None:
    phase = "Running" if verb == "suspend" else "Aborted"
    words = ("job", verb, "-N", "j1", "--wait", "--timeout", "2s", "--verbose")
    told = f"Failed to {verb} job: timed out after 2s: job j1 is {phase}, not yet {verb.rstrip('e')}ed\n"
    assert run(*words, server=server(phase)).out == told


def test_waiting_notices_a_successor_and_a_deletion() -> None:
    other = job(metadata={"uid": "other"})
    used = Server().on(f"GET {J1}", job(), other).on(f"POST {COMMANDS}", {})
    assert "job j1 was replaced by another of its name" in run("job", "suspend", "-N", "j1", "--wait", server=used).out
    gone = (404, {"status": "Failure", "reason": "NotFound", "code": 404, "message": "gone"})
    used = Server().on(f"GET {J1}", job(), gone).on(f"POST {COMMANDS}", {})
    assert "job j1 was deleted before it was suspended" in run("job", "suspend", "-N", "j1", "--wait", server=used).out


def test_a_missing_right_to_order_is_named() -> None:
    used = Server().on(f"GET {J1}", job()).fail(f"POST {COMMANDS}", 403, "commands is forbidden", "Forbidden")
    missing = "(missing permission: create commands.bus.volcano.sh in namespace default)"
    assert (
        run("job", "suspend", "-N", "j1", server=used).out
        == f"Failed to suspend job: commands is forbidden {missing}\n"
    )


@pytest.mark.parametrize(
    ("program", "words", "out"),
    [
        ("vcctl", ("job", "delete", "-N", "j1"), "delete job j1 successfully\n"),
        ("vcancel", ("-n", "j1"), "cancel job j1 successfully\n"),
    ],
)
def test_a_job_is_deleted_in_the_background(program: str, words: tuple[str, ...], out: str) -> None:
    used = Server().on(f"DELETE {J1}", {})
    assert run(*words, program=program, server=used).out == out
    assert used.bodies("DELETE") == [{"apiVersion": "v1", "kind": "DeleteOptions"}]


def test_deletion_may_be_waited_for() -> None:
    gone = (404, {"status": "Failure", "reason": "NotFound", "code": 404, "message": "gone"})
    used = Server().on(f"DELETE {J1}", {}).on(f"GET {J1}", job(), job(), gone)
    assert run("job", "delete", "-N", "j1", "--wait", server=used).out == "delete job j1 successfully\n"
    stuck = Server().on(f"DELETE {J1}", {}).on(f"GET {J1}", job())
    result = run("job", "delete", "-N", "j1", "--wait", "--timeout=2s", server=stuck)
    assert result.out == "Failed to delete job: timed out after 2s: job j1 still exists\n"


@pytest.mark.parametrize("name", ["/", "b/", "..", "a/status"])
def test_a_name_that_no_object_can_have_is_refused_before_anything_is_sent(name: str) -> None:
    server = Server()
    result = run("job", "delete", "-N", name, server=server)
    assert result.code == 255
    assert result.out.startswith(f'Failed to delete job: invalid resource name "{name}": [may not')
    assert not server.requests

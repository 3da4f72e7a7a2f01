from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from runtime import manager as managers
from runtime.errors import ConfigError
from runtime.lease import LeaseLost, Terms
from runtime.manager import Ending, Endings, Manager
from runtime.options import ElectionOptions, ServingOptions
from runtime.runnables import Runnable, Stage, threaded
from runtime.wire import Lease, LeaseSpec, ObjectMeta

OPTIONS = ElectionOptions(name="x", terms=Terms(15.0, 10.0, 0.01))


class MemoryLease:
    """A lease in memory that notes its releases."""

    def __init__(self, holder: str = "", notes: list[str] | None = None) -> None:
        self.lease = Lease(metadata=ObjectMeta(name="x"), spec=LeaseSpec(holder_identity=holder))
        self.notes = notes if notes is not None else []
        self.was_read = threading.Event()

    def read(self) -> Lease | None:
        self.was_read.set()
        return self.lease

    def create(self, lease: Lease) -> Lease:
        raise AssertionError(lease)

    def update(self, lease: Lease) -> Lease:
        self.lease = lease
        if lease.spec is not None and lease.spec.holder_identity == "":
            self.notes.append("lease released")
        return lease

    def wait_for_vacancy(self, resource_version: str, seconds: float) -> None:
        del resource_version
        threading.Event().wait(min(seconds, 0.01))

    def close(self) -> None: ...

    @property
    def holder(self) -> str:
        return (self.lease.spec.holder_identity or "") if self.lease.spec is not None else ""


async def nothing(_: Manager) -> None: ...


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def stopping(body: Callable[[Manager], Awaitable[None]] | None = None) -> Callable[[Manager], Awaitable[None]]:
    """A set-up whose leading part sends SIGTERM as soon as it runs."""

    async def setup(manager: Manager) -> None:
        if body is not None:
            await body(manager)

        async def run() -> None:
            terminate()
            await asyncio.Event().wait()

        manager.add(Runnable("terminator", run))

    return setup


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_well(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    async def setup(manager: Manager) -> None:
        async def run() -> None:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()

        manager.add(Runnable("terminator", run))

    assert Manager("vc-test").run(setup) == 0
    assert capsys.readouterr().err == ""


def test_a_component_may_end_with_another_code_and_words(capsys: pytest.CaptureFixture[str]) -> None:
    endings = Endings(stopped_without_election=Ending(1, "finished without leader elect"))
    manager = Manager("vc-scheduler", endings=endings, election=ElectionOptions(is_enabled=False))
    assert manager.run(stopping()) == 1
    assert capsys.readouterr().err == "finished without leader elect\n"


def test_everything_ends_in_order() -> None:
    notes: list[str] = []
    lease = MemoryLease(notes=notes)

    def part(name: str, stage: Stage) -> Runnable:
        async def run() -> None:
            try:
                notes.append(f"{name} starts")
                await asyncio.Event().wait()
            finally:
                notes.append(f"{name} ends")

        return Runnable(name, run, stage)

    async def setup(manager: Manager) -> None:
        notes.append("setup")
        manager.join_election(lambda _: lease)
        for stage in reversed(Stage):
            manager.add(part(stage.name.lower(), stage))
        manager.add(Runnable("events", asyncio.Event().wait, Stage.SERVICES, stop=flush))

    async def flush() -> None:
        notes.append("events flushed")

    assert (
        Manager("vc-test", election=OPTIONS, endings=Endings(stopped_without_election=Ending(9))).run(stopping(setup))
        == 0
    )
    assert notes == [
        "setup",
        "services starts",
        "caches starts",
        "leading starts",
        "leading ends",
        "lease released",
        "caches ends",
        *notes[7:],
    ]
    assert sorted(notes[7:]) == ["events flushed", "services ends"]


def test_work_is_drained_before_the_lease_is_released() -> None:
    notes: list[str] = []
    lease = MemoryLease(notes=notes)
    manager = Manager("vc-test", election=OPTIONS)

    async def setup(manager: Manager) -> None:
        manager.join_election(lambda _: lease)

        def work(stop: threading.Event) -> None:
            stop.wait(60)
            manager.check_lease()
            notes.append("bind written")

        manager.add(threaded("scheduler", work))

    assert manager.run(stopping(setup)) == 0
    assert notes == ["bind written", "lease released"]
    with pytest.raises(LeaseLost):
        manager.check_lease()


def test_without_an_election_anything_may_be_written() -> None:
    manager = Manager("vc-test")
    manager.check_lease()

    async def setup(manager: Manager) -> None:
        manager.join_election(lambda _: pytest.fail("there is no election"))
        manager.check_lease()

    assert manager.run(stopping(setup)) == 0


def test_a_standby_ends_well_and_never_leads() -> None:
    lease = MemoryLease("another")
    started: list[str] = []
    ready: list[str] = []

    async def setup(manager: Manager) -> None:
        manager.join_election(lambda _: lease)
        manager.require("caches", lambda: "cold")

        async def lead() -> None:
            started.append("leading")

        async def watch() -> None:
            await asyncio.to_thread(lease.was_read.wait, 10)
            while manager.elector is None or not manager.elector.leader:  # set by a thread
                await asyncio.sleep(0.001)
            ready.extend(text for text in manager.health.readyz.problems().values() if text)
            terminate()
            await asyncio.Event().wait()

        manager.add(Runnable("lead", lead))
        manager.add(Runnable("watch", watch, Stage.CACHES))

    assert Manager("vc-test", election=OPTIONS).run(setup) == 0
    assert started == []
    assert ready == []
    assert lease.holder == "another"


def test_a_lost_lease_ends_the_process_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    lease = MemoryLease()
    codes: list[int] = []

    async def setup(manager: Manager) -> None:
        manager.join_election(lambda _: lease)

        async def run() -> None:
            lease.lease = Lease(metadata=ObjectMeta(name="x"), spec=LeaseSpec(holder_identity="other"))
            await asyncio.Event().wait()

        manager.add(Runnable("lead", run))

    lease.update = _conflicting(lease)  # type: ignore[assignment, method-assign]  # compares versions
    assert Manager("vc-test", election=OPTIONS, end=codes.append).run(setup) == 255
    assert codes == [255]
    assert capsys.readouterr().err == "leaderelection lost\n"
    assert lease.holder == "other"


def _conflicting(lease: MemoryLease) -> Callable[[Lease], Lease]:
    from runtime.errors import Conflict  # noqa: PLC0415  # only here
    from runtime.wire import Status  # noqa: PLC0415  # only here

    def update(new: Lease) -> Lease:
        if lease.holder == "other":
            raise Conflict(Status(code=409))
        return MemoryLease.update(lease, new)

    return update


def test_a_second_signal_ends_the_process_in_the_middle_of_the_drain() -> None:
    codes: list[int] = []
    ended = threading.Event()

    def end(code: int) -> None:
        codes.append(code)
        ended.set()

    async def setup(manager: Manager) -> None:
        async def drain() -> None:
            terminate()
            await asyncio.to_thread(ended.wait, 10)

        manager.add(Runnable("slow", asyncio.Event().wait, stop=drain))

    Manager("vc-test", end=end).run(stopping(setup))
    assert codes == [1]


@pytest.mark.parametrize(
    ("error", "has_traceback"), [(ConfigError("no API server"), False), (ZeroDivisionError("a bug"), True)]
)
def test_a_failed_start_is_told(
    error: Exception,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    *,
    has_traceback: bool,
) -> None:
    async def setup(_: Manager) -> None:
        raise error

    assert Manager("vc-test").run(setup) == 1
    assert capsys.readouterr().err == f"{error}\n"
    assert ("Traceback" in caplog.text) is has_traceback


def test_a_listener_that_cannot_stand_is_a_failed_start(capsys: pytest.CaptureFixture[str]) -> None:
    serving = ServingOptions(healthz_address="256.0.0.1:1", enable_healthz=True)
    assert Manager("vc-test", serving=serving, endings=Endings(failed=3)).run(nothing) == 3
    assert "failed to listen on 256.0.0.1:1" in capsys.readouterr().err


def test_a_setup_that_forgets_the_election_is_a_failed_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert Manager("vc-test", election=OPTIONS).run(nothing) == 1
    assert "did not join the election" in capsys.readouterr().err


def test_a_part_that_fails_ends_the_process_and_releases_the_lease(capsys: pytest.CaptureFixture[str]) -> None:
    lease = MemoryLease()

    async def setup(manager: Manager) -> None:
        manager.join_election(lambda _: lease)

        async def run() -> None:
            raise ValueError("no disk")

        manager.add(Runnable("job-controller", run))

    assert Manager("vc-test", election=OPTIONS).run(setup) == 1
    assert capsys.readouterr().err == "job-controller failed: no disk\n"
    assert lease.notes == ["lease released"]


def test_a_signal_during_the_set_up_ends_it() -> None:
    async def setup(_: Manager) -> None:
        terminate()
        await asyncio.Event().wait()

    assert Manager("vc-test").run(setup) == 0


def test_a_stop_before_the_start_is_obeyed() -> None:
    manager = Manager("vc-test")
    manager.stop()
    assert manager.run(stopping()) == 0


def test_the_first_reason_to_end_counts() -> None:
    async def setup(manager: Manager) -> None:
        manager.fail("first")
        manager.fail("second")
        manager.stop()

    manager = Manager("vc-test", endings=Endings(failed=7))
    assert manager.run(setup) == 7


def test_work_that_is_not_done_in_time_may_have_its_own_ending(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    async def setup(manager: Manager) -> None:
        manager.add(Runnable("server", asyncio.Event().wait, stop=lambda: None))

    endings = Endings(undrained=Ending(1, "close admission server failed: deadline exceeded"))
    assert Manager("vc-test", endings=endings, drain_seconds=0.05).run(stopping(setup)) == 1
    assert capsys.readouterr().err == "close admission server failed: deadline exceeded\n"
    assert "parts=server" in caplog.text


def test_an_end_that_hangs_is_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(managers, "OVERDUE_SECONDS", 0.05)
    lease = MemoryLease()
    codes: list[int] = []
    ended = threading.Event()

    def end(code: int) -> None:
        codes.append(code)
        ended.set()

    async def setup(manager: Manager) -> None:
        manager.join_election(lambda _: lease)

        def block() -> None:
            ended.wait(10)  # the main loop itself is stuck

        manager.add(Runnable("stuck", asyncio.Event().wait, stop=block))

    Manager("vc-test", election=OPTIONS, drain_seconds=0.05, end=end).run(stopping(setup))
    assert codes == [1]
    assert lease.holder == ""


def problems(manager: Manager) -> dict[str, str]:
    return {name: text for name, text in manager.health.readyz.problems().items() if text}


def test_readiness_follows_the_life_of_a_leader() -> None:
    lease = MemoryLease()
    manager = Manager("vc-test", election=OPTIONS)
    cold = ["waiting for pods"]
    seen: list[dict[str, str]] = [problems(manager)]

    async def setup(manager: Manager) -> None:
        manager.join_election(lambda _: lease)
        manager.require("caches", lambda: "".join(cold))
        seen.append(problems(manager))

        async def run() -> None:
            seen.append(problems(manager))
            cold.clear()
            seen.append(problems(manager))
            terminate()
            await asyncio.Event().wait()

        async def drain() -> None:
            seen.append(problems(manager))

        manager.add(Runnable("lead", run, stop=drain))

    assert manager.run(setup) == 0
    assert seen == [
        {"leader": "starting"},
        {"leader": "starting"},
        {"caches": "waiting for pods"},
        {},
        {"leader": "stopping"},
    ]


def test_a_candidate_that_has_seen_no_leader_is_not_ready() -> None:
    lease = MemoryLease()
    seen: list[dict[str, str]] = []

    def unreachable() -> Lease | None:
        raise ConnectionError("no route")

    lease.read = unreachable  # type: ignore[method-assign]  # an API server that can't be reached

    async def setup(manager: Manager) -> None:
        manager.join_election(lambda _: lease)

        async def watch() -> None:
            seen.append(problems(manager))
            terminate()
            await asyncio.Event().wait()

        manager.add(Runnable("watch", watch, Stage.CACHES))

    assert Manager("vc-test", election=OPTIONS).run(setup) == 0
    assert seen == [{"leader": "no leader seen yet"}]


def test_a_main_loop_that_is_silent_for_long_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = Manager("vc-test")
    assert manager.health.livez.is_passing
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 119)
    assert manager.health.livez.is_passing
    monkeypatch.setattr(time, "monotonic", lambda: now + 125)
    assert manager.health.livez.problems()["main-loop"].startswith("main loop silent for 12")
    assert manager.health.healthz.is_passing


def test_a_part_added_later_starts_at_once() -> None:
    started: list[str] = []

    async def setup(manager: Manager) -> None:
        async def late() -> None:
            started.append("late")
            terminate()
            await asyncio.Event().wait()

        async def run() -> None:
            manager.add(Runnable("late", late))
            await asyncio.Event().wait()

        manager.add(Runnable("early", run))

    assert Manager("vc-test").run(setup) == 0
    assert started == ["late"]


def test_other_signals_call_back() -> None:
    seen: list[str] = []

    async def setup(manager: Manager) -> None:
        async def run() -> None:
            os.kill(os.getpid(), signal.SIGUSR1)
            while not seen:  # set by a thread
                await asyncio.sleep(0.001)
            terminate()
            await asyncio.Event().wait()

        manager.add(Runnable("signaller", run))

    manager = Manager("vc-test")
    manager.on_signal(signal.SIGUSR1, lambda: seen.append("dump"))
    assert manager.run(setup) == 0
    assert seen == ["dump"]


def test_errors_of_forgotten_tasks_and_threads_do_not_vanish(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("forgotten task")

    def fail_thread() -> None:
        raise ValueError("forgotten thread")

    async def setup(_: Manager) -> None:
        task: Any = asyncio.create_task(fail())
        await asyncio.sleep(0)
        del task
        thread = threading.Thread(target=fail_thread, name="worker")
        thread.start()
        await asyncio.to_thread(thread.join)

    with caplog.at_level(logging.ERROR):
        assert Manager("vc-test").run(stopping(setup)) == 0
    assert "forgotten task" in caplog.text
    assert "forgotten thread" in caplog.text
    assert "thread failed name=worker" in caplog.text


def test_what_belongs_to_the_process_is_given_back() -> None:
    before = signal.getsignal(signal.SIGTERM), sys.getswitchinterval(), threading.excepthook
    inside: list[float] = []

    async def setup(_: Manager) -> None:
        inside.append(sys.getswitchinterval())

    Manager("vc-test").run(stopping(setup))
    assert inside == [pytest.approx(0.0005)]
    assert (signal.getsignal(signal.SIGTERM), sys.getswitchinterval(), threading.excepthook) == before

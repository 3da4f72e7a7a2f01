from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from runtime import metrics
from runtime.runnables import Runnable, Running, Stage, threaded


class World:
    """Parts that run, what they did, and why the process can't go on."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.problems: list[str] = []
        self.failed = asyncio.Event()
        self.running = Running(self._fail)

    def _fail(self, problem: str) -> None:
        self.problems.append(problem)
        self.failed.set()

    def part(self, name: str, body: Callable[[], object] = lambda: None, **settings: object) -> Runnable:
        async def run() -> None:
            self.notes.append(f"{name} runs")
            body()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.notes.append(f"{name} cancelled")
                raise

        return Runnable(name, run, **settings)  # type: ignore[arg-type]  # settings of tests


def boom() -> None:
    raise ValueError("no disk")


@pytest.mark.virtual_time
async def test_a_part_without_stop_is_cancelled() -> None:
    world = World()
    world.running.start(world.part("a"))
    await asyncio.sleep(0)
    assert await world.running.stop(Stage.LEADING, 5) == []
    assert world.notes == ["a runs", "a cancelled"]
    assert world.problems == []


@pytest.mark.virtual_time
async def test_a_part_with_a_plain_stop_finishes_what_it_has_begun() -> None:
    world = World()
    stop = asyncio.Event()

    async def run() -> None:
        await stop.wait()
        await asyncio.sleep(3)
        world.notes.append("drained")

    world.running.start(Runnable("a", run, stop=stop.set))
    await asyncio.sleep(0)
    assert await world.running.stop(Stage.LEADING, 5) == []
    assert world.notes == ["drained"]


@pytest.mark.virtual_time
async def test_a_part_with_an_asynchronous_stop_is_cancelled_after_it() -> None:
    world = World()

    async def drain() -> None:
        await asyncio.sleep(2)
        world.notes.append("drained")

    world.running.start(world.part("a", stop=drain))
    await asyncio.sleep(0)
    assert await world.running.stop(Stage.LEADING, 5) == []
    assert world.notes == ["a runs", "drained", "a cancelled"]


@pytest.mark.virtual_time
async def test_a_part_that_is_not_done_in_time_is_named_and_cancelled() -> None:
    world = World()
    world.running.start(world.part("slow", stop=lambda: None))
    world.running.start(world.part("quick"))
    await asyncio.sleep(0)
    started = asyncio.get_running_loop().time()
    assert await world.running.stop(Stage.LEADING, 5) == ["slow"]
    assert asyncio.get_running_loop().time() - started == 5
    assert "slow cancelled" in world.notes


@pytest.mark.virtual_time
async def test_a_part_that_ignores_its_cancellation_holds_up_nobody_for_long(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    release = asyncio.Event()

    async def run() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    world.running.start(Runnable("stubborn", run))
    await asyncio.sleep(0)
    assert await world.running.stop(Stage.LEADING, 5) == ["stubborn"]
    assert "task does not end" in caplog.text
    release.set()
    await asyncio.sleep(0)


@pytest.mark.virtual_time
async def test_only_the_stage_that_is_meant_is_stopped() -> None:
    world = World()
    world.running.start(world.part("cache", stage=Stage.CACHES))
    world.running.start(world.part("leading"))
    await asyncio.sleep(0)
    await world.running.stop(Stage.LEADING, 5)
    assert "cache cancelled" not in world.notes
    await world.running.stop(Stage.CACHES, 5)
    assert "cache cancelled" in world.notes
    assert await world.running.stop(Stage.SERVICES, 5) == []


@pytest.mark.virtual_time
async def test_a_part_that_fails_ends_the_process_and_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.running.start(world.part("broken", boom))
    await world.failed.wait()
    assert world.problems == ["broken failed: no disk"]
    assert "name=broken" in caplog.text
    assert "Traceback" in caplog.text
    assert metrics.REGISTRY.get_sample_value("volcano_runnable_failures_total", {"name": "broken"})


@pytest.mark.virtual_time
async def test_a_failure_that_says_it_all_is_told_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.running.start(world.part("broken", boom, plain=(ValueError,)))
    await world.failed.wait()
    assert world.problems == ["broken failed: no disk"]
    assert "name=broken error=no disk" in caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.virtual_time
async def test_the_first_error_of_a_group_is_told() -> None:
    world = World()

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(world.part("inner", boom).run())  # type: ignore[arg-type]  # a coroutine

    world.running.start(Runnable("group", run))
    await world.failed.wait()
    assert world.problems == ["group failed: no disk"]


@pytest.mark.virtual_time
async def test_an_error_without_text_is_told_by_its_kind() -> None:
    world = World()

    async def run() -> None:
        raise TimeoutError

    world.running.start(Runnable("a", run))
    await world.failed.wait()
    assert world.problems == ["a failed: TimeoutError"]


@pytest.mark.virtual_time
async def test_a_part_that_ends_by_itself_ends_the_process() -> None:
    world = World()

    async def run() -> None:
        return

    world.running.start(Runnable("a", run))
    await world.failed.wait()
    assert world.problems == ["a ended unexpectedly"]


@pytest.mark.virtual_time
async def test_a_part_may_be_declared_to_finish_or_to_be_optional(caplog: pytest.LogCaptureFixture) -> None:
    world = World()

    async def run() -> None:
        return

    world.running.start(Runnable("once", run, may_finish=True))
    world.running.start(Runnable("spare", run, is_optional=True))
    world.running.start(world.part("fragile", boom, is_optional=True))
    await asyncio.sleep(1)
    assert world.problems == []
    assert "going on without it name=spare" in caplog.text
    assert "going on without it name=fragile" in caplog.text


@pytest.mark.virtual_time
async def test_a_failure_while_stopping_is_logged_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    stop = asyncio.Event()

    async def run() -> None:
        await stop.wait()
        boom()

    world.running.start(Runnable("a", run, stop=stop.set))
    await asyncio.sleep(0)
    assert await world.running.stop(Stage.LEADING, 5) == []
    assert world.problems == []
    assert "no disk" in caplog.text


@pytest.mark.virtual_time
async def test_a_stop_that_throws_is_logged_and_the_part_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.running.start(world.part("a", stop=boom))
    await asyncio.sleep(0)
    assert await world.running.stop(Stage.LEADING, 5) == []
    assert world.notes[-1] == "a cancelled"
    assert "could not be stopped name=a" in caplog.text


async def test_a_thread_runs_until_its_event_is_set() -> None:
    world = World()
    names: list[str] = []

    def work(stop: threading.Event) -> None:
        names.append(threading.current_thread().name)
        stop.wait(60)
        names.append("drained")

    world.running.start(threaded("scheduler", work))
    while not names:  # set by a thread
        await asyncio.sleep(0.001)
    assert await world.running.stop(Stage.LEADING, 10) == []
    assert names == ["scheduler", "drained"]


@pytest.mark.parametrize(
    ("error", "problem"), [(ValueError("bad state"), "t failed: bad state"), (SystemExit(3), "t failed: exited")]
)
async def test_a_thread_that_fails_ends_the_process(error: BaseException, problem: str) -> None:
    world = World()

    def work(_: threading.Event) -> None:
        raise error

    world.running.start(threaded("t", work))
    await world.failed.wait()
    assert world.problems == [problem]


async def test_a_thread_that_ends_by_itself_ends_the_process() -> None:
    world = World()
    world.running.start(threaded("t", lambda _: None))
    await world.failed.wait()
    assert world.problems == ["t ended unexpectedly"]

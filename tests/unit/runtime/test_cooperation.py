from __future__ import annotations

import asyncio

from runtime.cooperation import SLICE, cooperate


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def worker(clock: Clock, steps: int, seconds: float, log: list[str]) -> None:
    for step in range(steps):
        await cooperate(clock)
        log.append(f"work{step}")
        clock.now += seconds


async def ticks(log: list[str], count: int) -> None:
    for _ in range(count):
        log.append("tick")
        await asyncio.sleep(0)


async def test_long_work_lets_others_run_each_time_its_share_is_used() -> None:
    log: list[str] = []
    await asyncio.gather(worker(Clock(), 6, SLICE / 2, log), ticks(log, 3))
    assert log == ["work0", "work1", "tick", "work2", "work3", "tick", "work4", "work5", "tick"]


async def test_short_work_is_not_interrupted() -> None:
    log: list[str] = []
    await asyncio.gather(worker(Clock(), 5, SLICE / 100, log), ticks(log, 2))
    assert log == ["work0", "work1", "work2", "work3", "work4", "tick", "tick"]


async def test_each_task_has_its_own_share() -> None:
    clock, log = Clock(), list[str]()

    async def named(name: str) -> None:
        for _ in range(2):
            await cooperate(clock)
            log.append(name)
            clock.now += SLICE * 0.6

    await asyncio.gather(named("a"), named("b"))
    assert log == ["a", "a", "b", "b"]


async def test_tasks_that_cooperate_share_one_slice() -> None:
    clock, rounds = Clock(), list[float]()

    async def busy() -> None:
        while len(rounds) < 10:
            await cooperate(clock)
            clock.now += SLICE / 100

    async def watch() -> None:
        while len(rounds) < 10:
            began = clock.now
            await asyncio.sleep(0)
            rounds.append(clock.now - began)

    await asyncio.gather(*(busy() for _ in range(8)), watch())
    assert max(rounds[2:]) < SLICE * 1.2

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import threading
import tracemalloc
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from runtime import sampling
from runtime.pprof import Frame
from runtime.profiling import ENDPOINTS, PREFIX, Profiling, trace_events
from runtime.sampling import Recording, Sight
from runtime.serving import Call, Reply, Router


async def ask(path: str, profiling: Profiling | None = None, **query: str) -> Reply:
    router = Router()
    (profiling if profiling is not None else Profiling()).route(router)
    found = router.find(PREFIX + path)
    assert found is not None
    reply = found[0](Call("GET", PREFIX + path, {}, query))
    return reply if isinstance(reply, Reply) else await reply


def text(reply: Reply) -> str:
    return reply.body if isinstance(reply.body, str) else reply.body.decode()


async def test_a_processor_profile_comes_gzipped_for_pprof() -> None:
    reply = await ask("/profile", seconds="0.05")
    assert reply.status == 200
    assert reply.content_type == "application/octet-stream"
    assert reply.headers["Content-Disposition"] == 'attachment; filename="profile"'
    assert isinstance(reply.body, bytes)
    content = gzip.decompress(reply.body)
    assert b"cpu" in content
    assert b"nanoseconds" in content


async def test_a_wall_profile_can_be_had_as_lines() -> None:
    for _ in range(50):  # on a busy machine the sampler may miss its few turns
        lines = text(await ask("/profile", seconds="0.05", mode="wall", format="folded")).splitlines()
        assert all(line.rpartition(" ")[2].isdecimal() for line in lines)
        if any("test_a_wall_profile" not in line and "run_forever" in line for line in lines):
            return
    pytest.fail("the thread that waits was never seen")


@pytest.mark.parametrize("path", ["/profile", "/heap", "/trace"])
@pytest.mark.parametrize("seconds", ["0", "-1", "x", "1e9", "nan"])
async def test_an_unusable_time_is_refused(path: str, seconds: str) -> None:
    reply = await ask(path, seconds=seconds)
    assert reply.status == 400
    assert "seconds must be" in text(reply)


async def test_one_profile_is_taken_at_a_time() -> None:
    profiling = Profiling()
    first = asyncio.create_task(ask("/profile", profiling, seconds="0.2"))
    await asyncio.sleep(0.01)
    assert (await ask("/heap", profiling, seconds="0.01")).status == 500
    assert (await first).status == 200
    assert (await ask("/heap", profiling, seconds="0.01")).status == 200


async def test_a_cancelled_profile_ends_its_thread() -> None:
    profiling = Profiling()
    task = asyncio.create_task(ask("/profile", profiling, seconds="60"))
    await asyncio.sleep(0.05)
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "profiling"]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    thread.join(10)
    assert not thread.is_alive()


async def test_a_heap_profile_shows_what_was_allocated_meanwhile_and_tracing_ends() -> None:
    kept: list[bytearray] = []

    async def allocate() -> None:
        await asyncio.sleep(0.05)
        kept.append(bytearray(1_000_000))

    reply, _ = await asyncio.gather(ask("/heap", seconds="0.3", format="folded"), allocate())
    sizes = [int(line.rpartition(" ")[2]) for line in text(reply).splitlines() if "test_profiling.py" in line]
    assert max(sizes) >= 1_000_000
    assert not tracemalloc.is_tracing()


async def test_a_process_that_traces_anyway_answers_at_once_and_goes_on_tracing() -> None:
    tracemalloc.start(5)
    try:
        reply = await asyncio.wait_for(ask("/heap", seconds="250"), 30)
        assert reply.status == 200
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


async def test_all_threads_and_tasks_are_shown() -> None:
    async def stuck() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(stuck(), name="stuck-task")
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    shown = text(await ask("/goroutine", Profiling(lambda: loop)))
    task.cancel()
    assert "thread MainThread" in shown
    assert "task stuck-task" in shown
    assert "await asyncio.Event().wait()" in shown


async def test_the_command_line_has_nul_between_words() -> None:
    words = text(await ask("/cmdline")).split("\0")
    assert any("pytest" in word or "python" in word for word in words)


async def test_without_proc_the_command_line_is_the_interpreters(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: Path) -> bytes:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_bytes", missing)
    assert text(await ask("/cmdline")).split("\0") == sys.orig_argv


async def test_a_profile_that_fails_says_so_and_the_next_can_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Recording:
        raise OSError("no threads left")

    profiling = Profiling()
    with monkeypatch.context() as patch:
        patch.setattr(sampling, "record", broken)
        with pytest.raises(OSError, match="no threads left"):
            await ask("/profile", profiling, seconds="1")
    assert (await ask("/profile", profiling, seconds="0.01")).status == 200


async def test_tasks_that_come_and_go_too_fast_to_be_listed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def changing(_: asyncio.AbstractEventLoop) -> set[asyncio.Task[Any]]:
        raise RuntimeError("Set changed size during iteration")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(asyncio, "all_tasks", changing)
    assert "tasks could not be listed" in text(await ask("/goroutine", Profiling(lambda: loop)))


async def test_there_is_nothing_to_look_up() -> None:
    assert await ask("/symbol") == Reply("num_symbols: 0\n")


@pytest.mark.parametrize("path", ["/", ""])
async def test_the_index_explains_each_endpoint(path: str) -> None:
    reply = await ask(path)
    assert reply.content_type.startswith("text/html")
    for name in ENDPOINTS:
        assert f'href="{PREFIX}/{name}"' in text(reply)


async def test_a_trace_is_json_with_matching_begins_and_ends() -> None:
    events = json.loads(text(await ask("/trace", seconds="0.05")))["traceEvents"]
    depth: dict[int, int] = defaultdict(int)
    for event in events:
        depth[event["tid"]] += {"B": 1, "E": -1}.get(event["ph"], 0)
        assert depth[event["tid"]] >= 0
    assert set(depth.values()) == {0}


def test_a_call_lasts_from_the_first_look_to_the_one_that_no_longer_saw_it() -> None:
    outer, inner, other = (Frame(name, "f.py", 1) for name in ("outer", "inner", "other"))
    recording = Recording(
        0, 0.4, [Sight(0.1, "t", (inner, outer), 1), Sight(0.2, "t", (outer,), 1), Sight(0.3, "t", (other, outer), 1)]
    )
    events: list[dict[str, Any]] = json.loads(trace_events(recording))["traceEvents"]
    assert [(event["ph"], event.get("ts"), event["name"]) for event in events] == [
        ("M", None, "thread_name"),
        ("B", 100000, "outer"),
        ("B", 100000, "inner"),
        ("E", 200000, "inner"),
        ("B", 300000, "other"),
        ("E", 400000, "other"),
        ("E", 400000, "outer"),
    ]

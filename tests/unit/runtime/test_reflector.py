from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from runtime.backoff import Backoff
from runtime.decoding import decoder_of
from runtime.errors import ConfigError, ConnectionFailed
from runtime.event_reader import Broken, Deleted, EventReader
from runtime.informer_metrics import EVENTS, FAILURES, InformerMetrics
from runtime.listing import PAGE_SIZE
from runtime.mutation import CacheMutated
from runtime.reflector import Reflector, Scope
from tests.unit.runtime.models import PODS, Pod, line, pod, text
from tests.unit.runtime.nested import DEEP as DEPTH
from tests.unit.runtime.scripted import HANG, Listing, ScriptedClient, failure

pytestmark = pytest.mark.virtual_time

DROPPED = ConnectionFailed("scripted: connection reset")
GONE_EVENT = line("ERROR", text({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}))


def bookmark(version: int) -> bytes:
    return line("BOOKMARK", text({"metadata": {"resourceVersion": str(version)}}))


class Log:
    """A sink that notes what it gets."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.settled: list[int] = []
        """How much had come each time when a batch was over."""

    def put(self, obj: Pod) -> None:
        self.entries.append(obj.metadata.name)

    def delete(self, gone: Deleted) -> None:
        self.entries.append(f"{gone.key.name} deleted")

    def leave_out(self, broken: Broken) -> None:
        self.entries.append(f"{broken.key.name}?")

    async def replace(self, items: Sequence[Pod | Broken]) -> None:
        names = [item.key.name + "?" if isinstance(item, Broken) else item.metadata.name for item in items]
        self.entries.append(f"LIST {' '.join(names)}".strip())

    def settle(self) -> None:
        self.settled.append(len(self.entries))


def reflector(client: ScriptedClient, log: Log, **options: Any) -> Reflector[Pod]:
    options.setdefault("rand", lambda: 0.5)
    metrics = InformerMetrics.of("pods.reflector-test", wall_clock=lambda: 1000.0)
    return Reflector(client.as_client(), PODS, EventReader(PODS, decoder_of(Pod)), log, metrics, **options)


@asynccontextmanager
async def running(subject: Reflector[Pod]) -> AsyncIterator[None]:
    task = asyncio.ensure_future(subject.run())
    try:
        yield
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool], within: float = 3600.0) -> None:
    """Wait in virtual time."""
    async with asyncio.timeout(within):
        while not condition():
            await asyncio.sleep(0.25)


async def test_it_lists_and_then_watches_from_there() -> None:
    client = ScriptedClient([Listing([pod("a", 5)], "7")], [[[line("ADDED", pod("b", 8)), bookmark(11)], HANG]])
    log = Log()
    subject = reflector(client, log, scope=Scope("ns", "app=x", "spec.nodeName=n"), page_size=33)
    async with running(subject):
        await until(lambda: subject.resource_version == "11")
        assert client.open_watches == 1
    assert client.open_watches == 0
    assert log.entries == ["LIST a", "b"]
    assert client.arguments("watch", "resource_version") == ["7"]
    assert client.arguments("list", "limit") == [33]
    for verb in ("list", "watch"):
        assert client.arguments(verb, "namespace") == ["ns"]
        assert client.arguments(verb, "label_selector") == ["app=x"]
        assert client.arguments(verb, "field_selector") == ["spec.nodeName=n"]


async def test_pages_are_handed_over_as_one_state() -> None:
    client = ScriptedClient(
        [Listing([pod("a")], "7", "more"), Listing([pod("b")], "7", "rest"), Listing([pod("c")], "7")]
    )
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: bool(client.times("watch")))
    assert log.entries == ["LIST a b c"]
    assert client.arguments("list", "continue_") == ["", "more", "rest"]


async def test_a_list_that_expires_between_pages_starts_over_and_shows_nothing_before() -> None:
    client = ScriptedClient(
        [
            Listing([pod("a")], "7", "more"),
            failure(410, "Expired"),
            Listing([pod("b")], "9", "more"),
            failure(410, "Expired"),
            Listing([pod("b"), pod("c")], "12"),
        ]
    )
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: bool(client.times("watch")))
    assert log.entries == ["LIST b c"]
    assert client.arguments("list", "limit") == [PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, 0]
    assert client.arguments("watch", "resource_version") == ["12"]


async def test_a_list_that_breaks_off_is_tried_again() -> None:
    client = ScriptedClient([Listing([pod("a")], "7", "more"), DROPPED, failure(503), Listing([pod("b")], "8")])
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: bool(client.times("watch")))
    assert log.entries == ["LIST b"]


@pytest.mark.parametrize(
    "ending",
    [
        [],  # the server's time-out
        [DROPPED],
        [failure(500)],
        [failure(429, retry_after=1)],
        [line("ERROR", text({"code": 500, "message": "etcd"}))],
        [b"{ no json"],
    ],
    ids=["end", "reset", "500", "429", "error event", "garbled"],
)
async def test_a_watch_that_ends_goes_on_from_the_version_reached(ending: list[object]) -> None:
    client = ScriptedClient(
        [Listing([], "7")],
        [[line("ADDED", pod("a", 8)), 60, [bookmark(9)], *ending], [line("ADDED", pod("b", 12)), HANG]],
    )
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: "b" in log.entries)
    assert client.arguments("watch", "resource_version") == ["7", "9"]
    assert log.entries == ["LIST", "a", "b"]


@pytest.mark.parametrize(
    "refusal",
    [
        failure(410, "Expired"),
        failure(400, "BadRequest"),
        failure(404, "NotFound"),
        failure(504, "Timeout", cause="ResourceVersionTooLarge"),
    ],
    ids=lambda error: error.code,
)
@pytest.mark.parametrize("is_event", [False, True])
async def test_a_version_that_is_of_no_more_use_leads_to_a_new_list(refusal: Any, is_event: bool) -> None:
    first = [line("ERROR", text(refusal.status))] if is_event else refusal
    client = ScriptedClient([Listing([pod("a")], "7"), Listing([pod("b")], "99")], [first])
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: len(client.times("watch")) == 2)
    assert log.entries == ["LIST a", "LIST b"]
    assert client.arguments("watch", "resource_version") == ["7", "99"]


@pytest.mark.parametrize("code", [401, 403, 429, 500, 503])
async def test_refusals_that_pass_keep_the_version(code: int) -> None:
    client = ScriptedClient([Listing([], "7")], [failure(code), failure(code), failure(code), failure(code)])
    async with running(reflector(client, Log())):
        await until(lambda: len(client.times("watch")) == 5)
    assert client.arguments("watch", "resource_version") == ["7"] * 5


async def test_an_error_in_the_middle_of_a_batch_keeps_what_came_before() -> None:
    batch = [line("ADDED", pod("a", 8)), GONE_EVENT, line("ADDED", pod("never", 9))]
    client = ScriptedClient([Listing([], "7"), Listing([pod("a", 8)], "20")], [[batch]])
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: len(client.times("watch")) == 2)
    assert log.entries == ["LIST", "a", "LIST a"]
    assert log.settled == [2]


async def test_a_line_that_stays_garbled_is_passed_by_a_new_list() -> None:
    garbled: list[object] = [[line("ADDED", pod("a", 8)), b"{ no json"]]
    client = ScriptedClient([Listing([], "7"), Listing([pod("a", 8)], "20")], [garbled] * 4)
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: len(client.times("list")) == 2)
    assert client.arguments("watch", "resource_version")[:3] == ["7", "8", "8"]


async def test_an_unreadable_object_moves_the_version_on() -> None:
    bad = b'{"metadata":{"name":"bad","namespace":"ns","resourceVersion":"9"},"spec":7}'
    client = ScriptedClient([Listing([bad, pod("a")], "7")], [[line("MODIFIED", bad), DROPPED]])
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: len(client.times("watch")) == 2)
    assert log.entries == ["LIST bad? a", "bad?"]
    assert client.arguments("watch", "resource_version") == ["7", "9"]


async def test_an_outage_of_minutes_makes_no_storm() -> None:
    client = ScriptedClient([Listing([], "7")], [[HANG] if n == 40 else DROPPED for n in range(41)])
    async with running(reflector(client, Log())):
        await until(lambda: client.open_watches == 1)
    tries = client.times("watch")
    pauses = [after - before for before, after in itertools.pairwise(tries)]
    assert pauses[:4] == pytest.approx([0.3, 0.6, 1.2, 2.4])
    assert pauses[8:] == pytest.approx([22.5] * 32)
    assert len(client.times("list")) == 1


async def test_many_informers_come_back_spread_over_time() -> None:
    tries: list[float] = []
    for seed in range(10):
        client = ScriptedClient([Listing([], "7")], [DROPPED] * 12)
        async with running(reflector(client, Log(), rand=lambda seed=seed: seed / 10)):
            began = asyncio.get_running_loop().time()
            await until(lambda client=client: client.open_watches == 1)  # type: ignore[misc]  # bound at once
            tries.append(asyncio.get_running_loop().time() - began)
    assert max(tries) - min(tries) > 30


async def test_a_server_that_asks_for_a_pause_gets_it() -> None:
    client = ScriptedClient([Listing([], "7")], [failure(429, retry_after=20)])
    async with running(reflector(client, Log())):
        await until(lambda: len(client.times("watch")) == 2)
    first, second = client.times("watch")
    assert 20 <= second - first <= 40


async def test_a_pause_without_measure_is_cut_short() -> None:
    client = ScriptedClient([Listing([], "7")], [failure(429, retry_after=10**400)])
    async with running(reflector(client, Log())):
        await until(lambda: len(client.times("watch")) == 2)
    first, second = client.times("watch")
    assert 300 <= second - first <= 600


async def test_expired_watches_one_after_the_other_are_slowed_down() -> None:
    client = ScriptedClient([Listing([], str(n)) for n in range(7, 13)], [failure(410)] * 5)
    async with running(reflector(client, Log())):
        await until(lambda: client.open_watches == 1)
    lists = client.times("list")
    pauses = [after - before for before, after in itertools.pairwise(lists)]
    assert pauses == pytest.approx([0.3, 0.6, 1.2, 2.4, 4.8])


async def test_a_bookmark_before_each_refusal_does_not_end_the_back_off() -> None:
    expired: list[object] = [bookmark(8), 1, GONE_EVENT]
    client = ScriptedClient([Listing([], str(n)) for n in range(7, 14)], [list(expired) for _ in range(6)])
    async with running(reflector(client, Log())):
        await until(lambda: client.open_watches == 1 and len(client.times("watch")) == 7)
    lists = client.times("list")
    pauses = [after - before - 1 for before, after in itertools.pairwise(lists)]
    assert pauses == pytest.approx([0.3, 0.6, 1.2, 2.4, 4.8, 9.6])


@pytest.mark.parametrize("script", [[bookmark(8), 10, GONE_EVENT], [300]], ids=["with events", "quiet, ended in order"])
async def test_a_watch_that_lasted_ends_the_back_off(script: list[object]) -> None:
    client = ScriptedClient([Listing([], "7"), Listing([], "9")], [*[DROPPED] * 5, script, DROPPED])
    async with running(reflector(client, Log())):
        await until(lambda: client.open_watches == 1 and len(client.times("watch")) == 8)
    tries = client.times("watch")
    assert tries[7] - tries[6] <= 0.6 + 0.01


async def test_a_server_that_ends_watches_at_once_is_asked_less_and_less() -> None:
    client = ScriptedClient([Listing([], "7")], [[bookmark(8)] for _ in range(5)])
    async with running(reflector(client, Log())):
        await until(lambda: client.open_watches == 1 and len(client.times("watch")) == 6)
    pauses = [after - before for before, after in itertools.pairwise(client.times("watch"))]
    assert pauses == pytest.approx([0.3, 0.6, 1.2, 2.4, 4.8])


async def test_a_server_whose_lists_always_expire_is_asked_less_and_less() -> None:
    expiring: list[Listing | Exception] = [Listing([pod("a")], "7", "more"), failure(410, "Expired")]
    client = ScriptedClient([*expiring * 12, Listing([], "9")])
    async with running(reflector(client, Log())):
        await until(lambda: client.open_watches == 1)
    firsts = client.times("list")[::6]
    assert [after - before for before, after in itertools.pairwise(firsts)] == pytest.approx([0.3, 0.6, 1.2, 2.4])
    assert client.arguments("list", "limit") == [PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, 0, 0] * 4 + [PAGE_SIZE]


async def test_a_list_without_end_is_given_up_and_tried_again() -> None:
    client = ScriptedClient([Listing([pod("a")], "7", "same"), Listing([pod("b")], "7", "same"), Listing([], "9")])
    log = Log()
    async with running(reflector(client, log)):
        await until(lambda: client.open_watches == 1)
    assert log.entries == ["LIST"]


DEEP = b'{"metadata":{"name":"deep","namespace":"ns","resourceVersion":"9"},"spec":{"x":%s}}' % DEPTH


async def test_an_object_nested_too_deep_costs_no_other() -> None:
    client = ScriptedClient(
        [Listing([DEEP, pod("a")], "7")],
        [[[line("ADDED", DEEP), line("DELETED", DEEP)], line("ADDED", pod("b", 10)), HANG]],
    )
    log = Log()
    subject = reflector(client, log)
    async with running(subject):
        await until(lambda: subject.resource_version == "10")
    assert log.entries == ["LIST deep? a", "deep?", "deep deleted", "b"]
    assert len(client.times("watch")) == 1


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), ValueError("a bug"), RecursionError(), ConfigError("no file")]
)
@pytest.mark.parametrize("is_listing", [True, False])
async def test_an_error_of_any_kind_is_told_and_tried_again(
    error: Exception, is_listing: bool, caplog: pytest.LogCaptureFixture
) -> None:
    failures = FAILURES.labels("pods.reflector-test", type(error).__name__)._value
    before = failures.get()
    lists: list[Listing | Exception] = [error, error] if is_listing else []
    client = ScriptedClient([*lists, Listing([], "7")], [] if is_listing else [error, error])
    async with running(reflector(client, Log())):
        await until(lambda: client.open_watches == 1)
    tries = client.times("list" if is_listing else "watch")
    assert [after - before for before, after in itertools.pairwise(tries)] == pytest.approx([0.3, 0.6])
    assert failures.get() - before == 2
    has_traceback = any(record.exc_info for record in caplog.records)
    assert has_traceback == (not isinstance(error, ConfigError))


async def test_an_event_that_the_sink_cannot_take_is_passed_by_a_new_list(caplog: pytest.LogCaptureFixture) -> None:
    class Picky(Log):
        def put(self, obj: Pod) -> None:
            raise RuntimeError(f"cannot take {obj.metadata.name}")

    client = ScriptedClient([Listing([], "7"), Listing([], "20")], [[line("ADDED", pod("a", 8))]] * 3)
    async with running(reflector(client, Picky())):
        await until(lambda: client.open_watches == 1)
    assert client.arguments("watch", "resource_version") == ["7", "7", "7", "20"]
    assert len([record for record in caplog.records if record.exc_info]) == 3


async def test_the_finding_of_the_test_mode_is_raised() -> None:
    client = ScriptedClient([CacheMutated("changed in place")])
    with pytest.raises(CacheMutated):
        await reflector(client, Log()).run()


async def test_progress_ends_the_back_off() -> None:
    good: list[object] = [bookmark(8), 100, DROPPED]
    client = ScriptedClient([Listing([], "7")], [DROPPED, DROPPED, DROPPED, good, DROPPED])
    async with running(reflector(client, Log())):
        await until(lambda: client.open_watches == 1 and len(client.times("watch")) == 6)
    tries = client.times("watch")
    assert tries[4] - tries[3] == pytest.approx(100.3)
    assert tries[5] - tries[4] == pytest.approx(0.6)


@pytest.mark.parametrize("script", [[], [bookmark(8)]], ids=["without a line", "after a line"])
async def test_watches_that_end_at_once_are_not_repeated_at_once(script: list[object]) -> None:
    client = ScriptedClient([Listing([], "7")], [list(script) for _ in range(20)])
    async with running(reflector(client, Log())):
        await until(lambda: len(client.times("watch")) == 21)
    assert asyncio.get_running_loop().time() > 20 * 0.2


async def test_watches_last_for_different_times() -> None:
    seconds: list[int] = []
    for rand in (0.0, 0.5, 1.0):
        client = ScriptedClient([Listing([], "7")])
        async with running(reflector(client, Log(), rand=lambda rand=rand: rand)):
            await until(lambda client=client: client.open_watches == 1)  # type: ignore[misc]  # bound at once
        seconds += client.arguments("watch", "timeout")
    assert seconds == [300, 450, 600]


async def test_a_backoff_of_ones_own_is_used() -> None:
    client = ScriptedClient([Listing([], "7")], [DROPPED] * 3)
    async with running(reflector(client, Log(), backoff=Backoff(base=7, factor=1, cap=7, jitter=0))):
        await until(lambda: client.open_watches == 1)
    assert [when - client.times("watch")[0] for when in client.times("watch")] == pytest.approx([0, 7, 14, 21])


async def test_what_happens_is_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    events = EVENTS.labels("pods.reflector-test", "MODIFIED")._value
    failures = FAILURES.labels("pods.reflector-test", "ConnectionFailed")._value
    before = events.get(), failures.get()
    batch = [line("MODIFIED", pod("a", n)) for n in (8, 9)]
    client = ScriptedClient([Listing([pod("a")], "7")], [[batch, 5, DROPPED]])
    with caplog.at_level(logging.INFO):
        async with running(reflector(client, Log())):
            await until(lambda: len(client.times("watch")) == 2)
    assert (events.get() - before[0], failures.get() - before[1]) == (2, 1)
    messages = [record.getMessage() for record in caplog.records]
    assert "informer.listed resource=pods objects=1 version=7 waited=0.00 decoded=0.00" in messages
    assert "informer.failed resource=pods failures=1 error=scripted: connection reset" in messages


async def test_a_connection_that_we_closed_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    failures = FAILURES.labels("pods.reflector-test", "ConnectionFailed")._value
    before = failures.get()
    client = ScriptedClient([Listing([pod("a")], "7")], [[5, ConnectionFailed("the transport was closed")]])
    with caplog.at_level(logging.INFO):
        async with running(reflector(client, Log())):
            await until(lambda: client.open_watches == 1)
            client.is_closed = True
            await until(lambda: client.open_watches == 0)
    assert failures.get() == before
    assert not [record for record in caplog.records if "informer.failed" in record.getMessage()]


async def test_a_kind_that_the_cluster_does_not_serve_is_looked_for_and_the_log_says_what_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = ScriptedClient([failure(404), failure(404), Listing([pod("a")], "7")], [])
    sink = Log()
    with caplog.at_level(logging.INFO):
        async with running(reflector(client, sink)):
            await until(lambda: client.open_watches == 1)
    told = [record.getMessage() for record in caplog.records if "informer.failed" in record.getMessage()]
    assert len(told) == 2
    assert all("the cluster doesn't serve this kind, apply its CRD" in text for text in told)

from __future__ import annotations

import logging

import pytest

from runtime.handlers import Filtered, Handlers
from runtime.mutation import CacheMutated, MutationGuard
from tests.unit.runtime.models import Pod, pod
from tests.unit.runtime.recorders import Recorder, Thrower


class Failures:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def test_every_handler_hears_every_change() -> None:
    handlers: Handlers[Pod] = Handlers("Pod", None, Failures())
    first, second = Recorder(), Recorder()
    handlers.add(first, ())
    handlers.add(second, ())
    handlers.added(pod("a", 1), initial=True)
    handlers.added(pod("b", 1), initial=False)
    handlers.updated(pod("a", 1), pod("a", 2))
    handlers.deleted(pod("a", 2))
    assert first.heard == second.heard == ["!+a1", "+b1", "~a1>2", "-a2"]


def test_a_late_handler_hears_of_what_is_present() -> None:
    handlers: Handlers[Pod] = Handlers("Pod", None, Failures())
    late = Recorder()
    handlers.add(late, [pod("a", 3), pod("b", 4)])
    assert late.heard == ["!+a3", "!+b4"]


def test_a_removed_handler_hears_nothing() -> None:
    handlers: Handlers[Pod] = Handlers("Pod", None, Failures())
    gone, kept = Recorder(), Recorder()
    handlers.add(gone, ())
    handlers.add(kept, ())
    handlers.remove(gone)
    handlers.added(pod("a"), initial=False)
    assert (gone.heard, kept.heard) == ([], ["+a1"])


def test_a_handler_that_throws_is_named_and_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    failures = Failures()
    handlers: Handlers[Pod] = Handlers("Pod", None, failures)
    after = Recorder()
    handlers.add(Thrower(), [pod("z", 9)])
    handlers.add(after, ())
    with caplog.at_level(logging.ERROR):
        handlers.added(pod("a", 1), initial=False)
        handlers.updated(pod("a", 1), pod("a", 2))
        handlers.deleted(pod("a", 2))
    assert after.heard == ["+a1", "~a1>2", "-a2"]
    assert failures.count == 4
    assert [record.getMessage() for record in caplog.records][1:] == [
        "handler.failed kind=Pod object=ns/a handler=Thrower"
    ] * 3
    assert "a defect" in caplog.text


def test_a_handler_that_changes_an_object_is_found() -> None:
    class Vandal(Recorder):
        def on_add(self, obj: Pod, initial: bool) -> None:
            obj.metadata.labels["touched"] = "yes"

    guard = MutationGuard("Pod")
    handlers: Handlers[Pod] = Handlers("Pod", guard, Failures())
    handlers.add(Vandal(), ())
    cached = pod("a")
    guard.seal(cached)
    with pytest.raises(CacheMutated, match="by Vandal"):
        handlers.added(cached, initial=False)


def test_a_change_before_a_handler_is_not_blamed_on_it() -> None:
    guard = MutationGuard("Pod")
    handlers: Handlers[Pod] = Handlers("Pod", guard, Failures())
    innocent = Recorder()
    handlers.add(innocent, ())
    cached = pod("a")
    guard.seal(cached)
    cached.metadata.labels["touched"] = "yes"
    with pytest.raises(CacheMutated, match="by somebody before Recorder"):
        handlers.deleted(cached)
    assert innocent.heard == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("n1", "n1", ["~a1>2"]), ("", "n1", ["+a2"]), ("n1", "", ["-a1"]), ("", "", [])],
)
def test_a_filter_turns_updates_into_what_its_handler_must_see(old: str, new: str, expected: list[str]) -> None:
    recorder = Recorder()
    filtered: Filtered[Pod] = Filtered(lambda obj: bool(obj.spec.node_name), recorder)
    filtered.on_update(pod("a", 1, node=old), pod("a", 2, node=new))
    assert recorder.heard == expected


def test_a_filter_passes_what_it_accepts() -> None:
    recorder = Recorder()
    filtered: Filtered[Pod] = Filtered(lambda obj: bool(obj.spec.node_name), recorder)
    filtered.on_add(pod("a", 1, node="n"), True)
    filtered.on_add(pod("b", 1), True)
    filtered.on_delete(pod("a", 1, node="n"))
    filtered.on_delete(pod("b", 1))
    assert recorder.heard == ["!+a1", "-a1"]

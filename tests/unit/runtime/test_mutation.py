from __future__ import annotations

import pytest

from runtime.mutation import ENVIRONMENT, CacheMutated, MutationGuard, is_enabled
from tests.unit.runtime.models import key, pod


@pytest.mark.parametrize(("value", "expected"), [("", False), ("0", False), ("1", True), ("true", True)])
def test_the_environment_switches_it(monkeypatch: pytest.MonkeyPatch, value: str, expected: bool) -> None:
    monkeypatch.setenv(ENVIRONMENT, value)
    assert is_enabled() is expected


def test_it_is_off_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert not is_enabled()


def test_a_changed_map_is_found_and_the_suspect_named() -> None:
    guard = MutationGuard("Pod")
    cached = pod("a", app="x")
    guard.seal(cached)
    guard.check([cached], "nobody")
    cached.metadata.labels["app"] = "y"
    with pytest.raises(CacheMutated, match=r"Pod ns/a in the cache was changed in place, by some handler"):
        guard.check([cached], "some handler")
    with pytest.raises(CacheMutated):
        guard.check_all("anybody")


def test_only_the_cached_object_itself_is_checked() -> None:
    guard = MutationGuard("Pod")
    guard.seal(pod("a", app="x"))
    guard.check([pod("a", app="z"), pod("b")], "nobody")
    guard.check_all("nobody")


def test_a_newer_object_takes_the_place_of_the_older() -> None:
    guard = MutationGuard("Pod")
    old, new = pod("a", 1, app="x"), pod("a", 2, app="x")
    guard.seal(old)
    guard.seal(new)
    old.metadata.labels["app"] = "y"
    guard.check([old, new], "nobody")


def test_what_left_the_cache_may_change() -> None:
    guard = MutationGuard("Pod")
    cached = pod("a", app="x")
    guard.seal(cached)
    guard.forget(key("a"))
    cached.metadata.labels["app"] = "y"
    guard.check([cached], "nobody")
    guard.check_all("nobody")

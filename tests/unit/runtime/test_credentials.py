from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from runtime.credentials import Credentials, FixedCredentials, RenewedCredentials, TokenFile, header_problem
from runtime.errors import ConfigError


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Counted(RenewedCredentials):
    """Gives token-1, token-2 ... each for 60 seconds."""

    def __init__(self, clock: Clock, ticks: Clock | None = None) -> None:
        super().__init__(clock, ticks or clock)
        self.fetches = 0
        self.problem = ""

    def _fetch(self) -> None:
        self.fetches += 1
        if self.problem:
            raise ConfigError(self.problem)
        self._header = f"Bearer token-{self.fetches}"
        self._expires(self._clock() + 60.0)


def test_no_credentials_are_none() -> None:
    nobody = Credentials()
    assert (nobody.header(), nobody.key_pair(), nobody.is_due(), nobody.refresh("x")) == ("", None, False, False)


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (FixedCredentials.bearer("abc"), "Bearer abc"),
        (FixedCredentials.basic("me", "pä:ss"), "Basic bWU6cMOkOnNz"),
    ],
)
def test_fixed_credentials_never_change(credentials: Credentials, header: str) -> None:
    assert credentials.header() == header
    assert not credentials.is_due()
    assert not credentials.refresh(header)


def test_credentials_are_due_at_first_and_shortly_before_they_expire() -> None:
    clock = Clock()
    credentials = Counted(clock)
    assert credentials.is_due()
    assert credentials.refresh()
    assert credentials.header() == "Bearer token-1"
    clock.now += 49.9
    assert not credentials.is_due()
    assert not credentials.refresh()
    clock.now += 0.1
    assert credentials.is_due()
    assert credentials.refresh()
    assert credentials.header() == "Bearer token-2"


def test_rejected_credentials_are_fetched_anew_before_their_time() -> None:
    clock = Clock()
    credentials = Counted(clock)
    credentials.refresh()
    clock.now += 5
    assert credentials.refresh("Bearer token-1")
    assert credentials.header() == "Bearer token-2"


def test_many_requests_rejected_with_the_same_token_cause_one_fetch() -> None:
    clock = Clock()
    credentials = Counted(clock)
    credentials.refresh()
    clock.now += 5
    assert [credentials.refresh("Bearer token-1") for _ in range(96)] == [True] * 96
    assert credentials.fetches == 2


def test_a_server_that_rejects_everything_does_not_make_us_fetch_without_pause() -> None:
    clock = Clock()
    credentials = Counted(clock)
    credentials.refresh()
    assert not credentials.refresh("Bearer token-1")
    assert credentials.fetches == 1


@pytest.mark.parametrize("step", [-100_000.0, 100_000.0])
def test_rejected_credentials_are_fetched_anew_whatever_became_of_the_clock(step: float) -> None:
    clock, ticks = Clock(), Clock()
    credentials = Counted(clock, ticks)
    credentials.refresh()
    clock.now += step
    ticks.now += 0.9
    assert not credentials.refresh("Bearer token-1")
    ticks.now += 0.1
    assert credentials.refresh("Bearer token-1")
    assert credentials.header() == "Bearer token-2"


def test_credentials_are_due_in_time_after_the_clock_was_set_back() -> None:
    clock, ticks = Clock(), Clock()
    credentials = Counted(clock, ticks)
    credentials.refresh()
    clock.now -= 100_000
    ticks.now += 49.9
    assert not credentials.is_due()
    ticks.now += 0.1
    assert credentials.refresh()
    assert not credentials.is_due()


def test_credentials_that_a_clock_set_forward_shows_to_be_over_are_due_at_once() -> None:
    clock, ticks = Clock(), Clock()
    credentials = Counted(clock, ticks)
    credentials.refresh()
    clock.now += 100_000  # or the machine slept, which ticks don't count
    assert credentials.is_due()
    assert credentials.refresh()
    assert not credentials.is_due()


@pytest.mark.parametrize("step", [-100_000.0, 100_000.0])
def test_a_failed_fetch_is_tried_again_in_time_whatever_became_of_the_clock(step: float) -> None:
    clock, ticks = Clock(), Clock()
    credentials = Counted(clock, ticks)
    credentials.problem = "plugin: boom"
    with pytest.raises(ConfigError):
        credentials.refresh()
    clock.now += step
    ticks.now += 9.9
    with pytest.raises(ConfigError):
        credentials.refresh()
    assert credentials.fetches == 1
    ticks.now += 0.1
    credentials.problem = ""
    assert credentials.refresh()


def test_credentials_that_end_at_once_are_not_fetched_with_every_request() -> None:
    clock = Clock()

    class Stale(Counted):
        def _fetch(self) -> None:
            super()._fetch()
            self._expires(clock.now - 5)

    credentials = Stale(clock)
    credentials.refresh()
    assert not credentials.is_due()
    clock.now += 1.0
    assert credentials.is_due()


def test_a_failed_fetch_keeps_the_old_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    credentials = Counted(clock)
    credentials.refresh()
    credentials.problem = "plugin: boom"
    clock.now += 60
    assert not credentials.refresh()
    assert credentials.header() == "Bearer token-1"
    assert [(record.levelno, "plugin: boom" in record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, True)
    ]
    assert not credentials.is_due()
    clock.now += 10
    credentials.problem = ""
    assert credentials.refresh()


def test_a_failed_first_fetch_is_an_error() -> None:
    credentials = Counted(Clock())
    credentials.problem = "plugin: boom"
    with pytest.raises(ConfigError, match="plugin: boom"):
        credentials.refresh()


def test_those_who_waited_for_a_failed_first_fetch_fail_with_it() -> None:
    clock = Clock()
    credentials = Counted(clock)
    credentials.problem = "plugin: boom"
    for rejected in (None, None, ""):
        assert credentials.is_due()
        with pytest.raises(ConfigError, match="plugin: boom"):
            credentials.refresh(rejected)
    assert credentials.fetches == 1
    clock.now += 10
    credentials.problem = ""
    assert credentials.refresh()
    assert not credentials.is_due()


def test_a_rejection_soon_after_a_slow_fetch_causes_no_other_one(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()

    class Slow(Counted):
        def _fetch(self) -> None:
            if self.fetches:
                clock.now += 60
            super()._fetch()

    credentials = Slow(clock)
    credentials.refresh()
    clock.now += 5
    credentials.problem = "plugin: no answer"
    for _ in range(5):
        assert not credentials.refresh("Bearer token-1")
    assert credentials.fetches == 2
    assert caplog.text.count("no answer") == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("plain", ""),
        ("na\u00efve", ""),
        ("a\nb", "holds a line end or another control character"),
        ("a\x7f", "holds a line end or another control character"),
        ("a\x85b", "holds a line end or another control character"),
        ("\u2603", "holds characters beyond Latin-1"),
    ],
)
def test_what_cannot_stand_in_a_header_is_told(text: str, problem: str) -> None:
    assert header_problem(text) == problem


def test_a_token_files_path_may_be_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^origin: unable to read .*null"):
        TokenFile(tmp_path / "a\0b", "origin").refresh()


def test_threads_that_find_them_due_fetch_once() -> None:
    all_started = threading.Event()

    class Slow(Counted):
        def _fetch(self) -> None:
            all_started.wait()
            super()._fetch()

    credentials = Slow(Clock())
    threads = [threading.Thread(target=credentials.refresh) for _ in range(8)]
    for thread in threads:
        thread.start()
    all_started.set()
    for thread in threads:
        thread.join()
    assert credentials.fetches == 1


def test_a_token_file_is_followed_every_minute_and_on_rejection(tmp_path: Path) -> None:
    clock = Clock()
    path = tmp_path / "token"
    path.write_text("one\n")
    credentials = TokenFile(path, "sa", clock)
    credentials.refresh()
    assert credentials.header() == "Bearer one"
    path.write_text("two")
    clock.now += 59
    assert not credentials.is_due()
    clock.now += 1
    assert credentials.refresh()
    assert credentials.header() == "Bearer two"
    path.write_text("three")
    clock.now += 2
    assert credentials.refresh("Bearer two")
    assert credentials.header() == "Bearer three"


def test_a_token_file_that_vanishes_leaves_the_last_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    path = tmp_path / "token"
    path.write_text("one")
    credentials = TokenFile(path, "sa", clock)
    credentials.refresh()
    path.unlink()
    clock.now += 61
    credentials.refresh()
    assert credentials.header() == "Bearer one"
    assert "sa: unable to read" in caplog.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n", "token holds no token"),
        (b"\xff\xfe", "unable to read"),
        (b"a\nb", "the token holds a line end"),
        (None, "unable to read"),
    ],
)
def test_a_bad_token_file_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"^origin: .*{message}"):
        TokenFile(path, "origin").refresh()

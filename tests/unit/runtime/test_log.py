from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime import log
from runtime.log import LogOptions, level


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, threshold = list(root.handlers), root.level
    yield
    log.shutdown()
    root.handlers[:] = handlers
    for name, logger in list(logging.Logger.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger):
            logger.setLevel(logging.NOTSET)
        if name.startswith("sample"):
            del logging.Logger.manager.loggerDict[name]
    root.setLevel(threshold)


def setup(**options: Any) -> None:
    log.setup(LogOptions(**options), "vc-test")


def written(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert log.drain(10)
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    ("verbosity", "number"), [(-1, 20), (0, 20), (1, 18), (2, 15), (3, 12), (4, 10), (5, 9), (8, 6), (13, 1), (99, 1)]
)
def test_verbosities_are_levels_below_info(verbosity: int, number: int) -> None:
    assert level(verbosity) == number


def test_levels_never_rise_with_verbosity_and_debug_is_four() -> None:
    levels = [level(verbosity) for verbosity in range(20)]
    assert levels == sorted(levels, reverse=True)
    assert len(set(levels[:13])) == 13
    assert level(4) == logging.DEBUG


def test_a_line_has_the_header_that_log_collectors_parse(capsys: pytest.CaptureFixture[str]) -> None:
    setup()
    logging.getLogger("sample.module").info("bound pod=%s node=%s", "ns/p", "n1")
    (line,) = written(capsys)
    pattern = r"(?P<level>\w)(?P<time>\d{4} \d\d:\d\d:\d\d\.\d{6})\s+(?P<pid>\d+)\s+(?P<source>[^ \]]+)\] (?P<text>.*)"
    match = re.fullmatch(pattern, line)
    assert match is not None
    assert match["level"] == "I"
    assert match["source"].startswith("sample.module:")
    assert match["text"] == "bound pod=ns/p node=n1"


@pytest.mark.parametrize(("number", "letter"), [(18, "I"), (20, "I"), (30, "W"), (40, "E"), (50, "F"), (35, "W")])
def test_the_first_letter_is_the_severity(capsys: pytest.CaptureFixture[str], number: int, letter: str) -> None:
    setup(verbosity=4)
    logging.getLogger("sample").log(number, "x")
    assert written(capsys)[0][0] == letter


def test_headers_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    setup(skip_headers=True)
    logging.getLogger("sample").warning("plain")
    assert written(capsys) == ["plain"]


@pytest.mark.parametrize(("verbosity", "shown"), [(0, [0]), (2, [0, 1, 2]), (3, [0, 1, 2, 3]), (4, [0, 1, 2, 3, 4])])
def test_verbosity_decides_what_is_written(
    capsys: pytest.CaptureFixture[str], verbosity: int, shown: list[int]
) -> None:
    setup(verbosity=verbosity, skip_headers=True)
    for number in range(6):
        logging.getLogger("sample").log(level(number), "%d", number)
    assert written(capsys) == [str(number) for number in shown]


def test_verbosity_can_change_while_running(capsys: pytest.CaptureFixture[str]) -> None:
    setup(skip_headers=True)
    logger = logging.getLogger("sample")
    logger.debug("hidden")
    log.set_verbosity(4)
    assert log.verbosity() == 4
    logger.debug("shown")
    log.set_verbosity(0)
    logger.debug("hidden again")
    assert written(capsys) == ["shown"]


@pytest.mark.parametrize(
    ("pattern", "name", "is_open"),
    [
        ("informer", "sample.informer", True),
        ("inf*", "sample.informer", True),
        ("sample/informer", "sample.informer", True),
        ("sample/*", "sample.informer", True),
        ("sample", "sample.informer", False),
        ("queue", "sample.informer", False),
        ("*/queue", "sample.informer", False),
    ],
)
@pytest.mark.parametrize("is_early", [True, False])
def test_single_modules_can_be_more_verbose(pattern: str, name: str, *, is_open: bool, is_early: bool) -> None:
    if is_early:
        logging.getLogger(name)
    setup(modules={pattern: 4})
    assert logging.getLogger(name).isEnabledFor(logging.DEBUG) is is_open
    assert not logging.getLogger("sample.other").isEnabledFor(logging.DEBUG) or pattern == "sample/*"


def test_a_single_module_keeps_its_verbosity_when_the_rest_changes() -> None:
    setup(modules={"loud": 5})
    log.set_verbosity(2)
    assert logging.getLogger("sample.loud").isEnabledFor(level(5))
    assert not logging.getLogger("sample.rest").isEnabledFor(level(3))


def test_libraries_stay_at_info() -> None:
    setup(verbosity=9)
    assert logging.getLogger("sample").isEnabledFor(level(9))
    assert not logging.getLogger("aiohttp").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("asyncio").isEnabledFor(logging.DEBUG)


def test_exceptions_and_warnings_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    setup()
    try:
        _ = 1 // 0
    except ZeroDivisionError:
        logging.getLogger("sample").exception("failed")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("careful", stacklevel=1)
    text = "\n".join(written(capsys))
    assert "ZeroDivisionError: " in text
    assert "careful" in text


def test_a_backtrace_is_written_at_the_line_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    setup(backtrace_at="sample:1", skip_headers=True)
    logger = logging.getLogger("sample")
    for lineno in (1, 2):
        logger.handle(logging.LogRecord("sample", 20, "f.py", lineno, f"line {lineno}", (), None))
    text = "\n".join(written(capsys))
    assert "test_a_backtrace_is_written" in text
    assert text.startswith("line 1\n")
    assert text.endswith("\nline 2")


@pytest.mark.parametrize(
    ("options", "on_stderr"),
    [
        ({"stderr_threshold": 2}, ["error"]),
        ({"stderr_threshold": 0}, ["info", "warning", "error"]),
        ({"stderr_threshold": 3}, []),
        ({"also_to_stderr": True}, ["info", "warning", "error"]),
    ],
)
def test_with_a_file_stderr_gets_the_serious_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, Any], on_stderr: list[str]
) -> None:
    path = tmp_path / "x.log"
    setup(to_stderr=False, file=str(path), skip_headers=True, **options)
    for name in ("info", "warning", "error"):
        getattr(logging.getLogger("sample"), name)(name)
    assert written(capsys) == on_stderr
    log.shutdown()
    assert path.read_text().split() == ["info", "warning", "error"]


@pytest.mark.parametrize(
    ("one_output", "files"),
    [
        (False, {"INFO": ["info", "warning", "error"], "WARNING": ["warning", "error"], "ERROR": ["error"]}),
        (True, {"INFO": ["info"], "WARNING": ["warning"], "ERROR": ["error"]}),
    ],
)
def test_a_directory_holds_a_file_for_each_severity(
    tmp_path: Path, *, one_output: bool, files: dict[str, list[str]]
) -> None:
    setup(to_stderr=False, directory=str(tmp_path), skip_headers=True, one_output=one_output, stderr_threshold=3)
    for name in ("info", "warning", "error"):
        getattr(logging.getLogger("sample"), name)(name)
    log.shutdown()
    assert {name: (tmp_path / f"vc-test.{name}").read_text().split() for name in files} == files


def test_lines_from_many_threads_arrive_whole(capsys: pytest.CaptureFixture[str]) -> None:
    setup(skip_headers=True)

    def work(number: int) -> None:
        for _ in range(200):
            logging.getLogger("sample").info("%s%d", "x" * 50, number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = written(capsys)
    assert len(lines) == 800
    assert all(re.fullmatch(r"x{50}\d", line) for line in lines)


def test_setup_twice_writes_each_line_once(capsys: pytest.CaptureFixture[str]) -> None:
    setup()
    setup(skip_headers=True)
    logging.getLogger("sample").info("once")
    assert written(capsys) == ["once"]


def test_without_setup_there_is_nothing_to_wait_for() -> None:
    assert log.drain()
    log.shutdown()

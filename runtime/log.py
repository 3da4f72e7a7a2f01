"""
Logging with klog's flags and header on top of the standard library.

Modules use `logging.getLogger(__name__)` and nothing else. `-v=N` opens levels below INFO: `level(n)` is the
standard level of verbosity n, chosen so that `-v=4` shows DEBUG. `--vmodule` does the same for single modules.
"""

from __future__ import annotations

import fnmatch
import logging
import os
import tempfile
import traceback
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from runtime.logsink import DirectoryFile, LogFile, Output, Sink, StandardError

_FIRST_LEVELS = (logging.INFO, 18, 15, 12, logging.DEBUG)
_SEVERITIES = (("INFO", logging.NOTSET), ("WARNING", logging.WARNING), ("ERROR", logging.ERROR))
_THRESHOLDS = (logging.NOTSET, logging.WARNING, logging.ERROR, logging.CRITICAL)
_MEGABYTE = 1024 * 1024
_FOREIGN = ("aiohttp", "asyncio", "kopf", "kubernetes", "urllib3")


class LogOptions(msgspec.Struct, frozen=True):
    """klog's flags."""

    verbosity: int = 0
    modules: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Patterns of module names with their verbosity. A pattern with a slash is matched against the whole path."""
    to_stderr: bool = True
    also_to_stderr: bool = False
    stderr_threshold: int = 2
    """Severity from which lines go to stderr beside the files: 0 INFO, 1 WARNING, 2 ERROR, 3 FATAL."""
    directory: str = ""
    file: str = ""
    file_max_megabytes: int = 1800
    one_output: bool = False
    """Each line only in the file of its own severity."""
    skip_headers: bool = False
    backtrace_at: str = ""
    """`module:line` whose log lines carry a stack trace."""
    flush_period: float = 5.0
    """Seconds between flushes of the files."""


def level(verbosity: int) -> int:
    """The standard level of klog's V(n): INFO for 0, DEBUG for 4, falling to 1."""
    if verbosity < len(_FIRST_LEVELS):
        return _FIRST_LEVELS[max(verbosity, 0)]
    return max(1, 14 - verbosity)


class HeaderFormatter(logging.Formatter):
    """`I0102 15:04:05.000000    1234 runtime.informer:88] text`, which log collectors parse."""

    def __init__(self, options: LogOptions) -> None:
        super().__init__()
        self._has_header = not options.skip_headers
        self._backtrace_at = options.backtrace_at

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if self._backtrace_at in {f"{record.name}:{record.lineno}", f"{record.filename}:{record.lineno}"}:
            text += "\n" + "".join(traceback.format_stack()).rstrip()
        return f"{_header(record)} {text}" if self._has_header else text


def _header(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created).astimezone()
    return f"{_letter(record.levelno)}{moment:%m%d %H:%M:%S.%f} {os.getpid():7d} {record.name}:{record.lineno}]"


def _letter(levelno: int) -> str:
    if levelno >= logging.CRITICAL:
        return "F"
    if levelno >= logging.ERROR:
        return "E"
    return "W" if levelno >= logging.WARNING else "I"


class _Levels:
    """Which logger is open to which level."""

    def __init__(self) -> None:
        self.verbosity = 0
        self.modules: Mapping[str, int] = {}

    def apply(self) -> None:
        """Set the levels of all loggers there are."""
        logging.getLogger().setLevel(level(self.verbosity))
        for name in _FOREIGN:
            logging.getLogger(name).setLevel(max(logging.INFO, level(self.verbosity)))
        for logger in list(logging.Logger.manager.loggerDict.values()):
            if isinstance(logger, logging.Logger) and logger.name not in _FOREIGN:
                self.apply_to(logger)

    def apply_to(self, logger: logging.Logger) -> None:
        """Set the level of one logger, which is only now made, or has been."""
        path = logger.name.replace(".", "/")
        for pattern, verbosity in self.modules.items():
            subject = path if "/" in pattern else path.rpartition("/")[2]
            if fnmatch.fnmatchcase(subject, pattern):
                logger.setLevel(level(verbosity))
                return


_levels = _Levels()
_sink: Sink | None = None


class _ModuleLogger(logging.Logger):
    """A logger that obeys `--vmodule` although it is made after the flags were read."""

    def __init__(self, name: str, level: int = logging.NOTSET) -> None:
        super().__init__(name, level)
        _levels.apply_to(self)


def setup(options: LogOptions, program: str) -> None:
    """Send all logging of this process where the flags say. Once, at start."""
    global _sink  # noqa: PLW0603  # logging is one a process
    shutdown()
    _sink = Sink(_outputs(options, program), options.flush_period)
    _sink.setFormatter(HeaderFormatter(options))
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
    root.addHandler(_sink)
    logging.captureWarnings(capture=True)
    logging.setLoggerClass(_ModuleLogger)
    _levels.modules = dict(options.modules)
    set_verbosity(options.verbosity)


def verbosity() -> int:
    """The verbosity in force, outside of `--vmodule`."""
    return _levels.verbosity


def set_verbosity(value: int) -> None:
    """Open all loggers to a verbosity; modules named by `--vmodule` keep theirs."""
    _levels.verbosity = max(value, 0)
    _levels.apply()


def drain(seconds: float = 2.0) -> bool:
    """Wait until the lines so far are written. Called before the process is ended hard."""
    return _sink.drain(seconds) if _sink is not None else True


def shutdown() -> None:
    """Write what waits and give the root logger back. Idempotent."""
    global _sink  # noqa: PLW0603  # logging is one a process
    if _sink is None:
        return
    logging.getLogger().removeHandler(_sink)
    logging.setLoggerClass(logging.Logger)
    logging.captureWarnings(capture=False)
    _sink.close()
    _sink = None


def _outputs(options: LogOptions, program: str) -> list[Output]:
    if options.to_stderr:
        return [StandardError()]
    threshold = _THRESHOLDS[min(max(options.stderr_threshold, 0), 3)]
    stderr = StandardError(logging.NOTSET if options.also_to_stderr else threshold)
    if options.file:
        return [stderr, LogFile(Path(options.file), max_bytes=options.file_max_megabytes * _MEGABYTE)]
    directory = Path(options.directory or tempfile.gettempdir())
    highs = (logging.WARNING - 1, logging.ERROR - 1, logging.CRITICAL)
    return [
        stderr,
        *(
            DirectoryFile(
                directory,
                program,
                severity,
                low=low,
                high=high if options.one_output else logging.CRITICAL,
                max_bytes=1800 * _MEGABYTE,
            )
            for (severity, low), high in zip(_SEVERITIES, highs, strict=True)
        ),
    ]

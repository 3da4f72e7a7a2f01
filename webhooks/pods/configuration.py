"""The admission configuration file over time: read at the start, and again whenever it changes (webhooks.md 3.3)."""

from __future__ import annotations

import logging
from pathlib import Path

from runtime import filewatch, metrics
from runtime.errors import ConfigError
from webhooks.pods.groups import Groups, parse

log = logging.getLogger(__name__)

LOADS = metrics.counter(
    "volcano_admission_configuration_loads_total",
    "Readings of the admission configuration by outcome: loaded, refused.",
    ["result"],
)


class Configuration:
    """The groups in force. A file that can't be used changes nothing, and a later one that can takes over."""

    def __init__(self, path: str) -> None:
        """Reads the file, if there is to be one."""
        self._path = Path(path) if path else None
        self.groups: Groups = ()
        self._last: bytes | None = b""
        if self._path is not None:
            self._take(self._read(self._path))

    @staticmethod
    def _read(path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except OSError:
            return None

    async def follow(self) -> None:
        """Keep up with the file until cancelled."""
        if self._path is None:
            return
        async for contents in filewatch.follow([self._path]):
            text = contents[self._path]
            if text != self._last:
                self._take(text)

    def _take(self, text: bytes | None) -> None:
        self._last = text
        try:
            self.groups = _parse(text)
        except ConfigError as error:
            LOADS.labels("refused").inc()
            log.error(  # noqa: TRY400  # says it all
                'msg="admission configuration refused, the last good one stays" path=%s groups=%d error="%s"',
                self._path,
                len(self.groups),
                error,
            )
            return
        LOADS.labels("loaded").inc()
        log.info('msg="admission configuration loaded" path=%s groups=%d', self._path, len(self.groups))


def _parse(text: bytes | None) -> Groups:
    if text is None:
        raise ConfigError("the file can not be read")
    return parse(text)

"""Warnings that the API server attaches to answers (deprecated versions, dropped fields), each logged once."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

from runtime.requests import Request

logger = logging.getLogger(__name__)

_MOST = 1000
_ONE = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')


def read_warnings(header: str) -> list[str]:
    """The texts of a `Warning` header: `299 - "text", 299 - "another"`."""
    return [re.sub(r"\\(.)", r"\1", text) for text in _ONE.findall(header)]


class WarningLog:
    """Remembers which texts were logged; the first 1000 different ones, so that it can't grow without end."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def report(self, headers: Iterable[str], request: Request) -> None:
        """Log the texts of these `Warning` headers that are new."""
        for header in headers:
            for text in read_warnings(header):
                if text not in self._seen and len(self._seen) < _MOST:
                    self._seen.add(text)
                    logger.warning(
                        'msg="API server warning" request="%s %s" warning="%s"', request.method, request.path, text
                    )

"""Why a scaffold is not made."""

from __future__ import annotations

from collections.abc import Sequence


class ScaffoldError(Exception):
    """An argument can't be used. Names the argument and says what to do."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f"{argument}: {message}")
        self.argument = argument


class AlreadyThere(Exception):  # noqa: N818  # named for what happened
    """All that was asked for is there, in the files named."""

    def __init__(self, what: str, paths: Sequence[str]) -> None:
        super().__init__(f"{what} exists already: {', '.join(paths)}")

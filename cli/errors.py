"""What a command says when it can't do what was asked."""

from __future__ import annotations


class CommandError(Exception):
    """A command failed. The message names the object or the field, and is printed behind `Failed to <command>: `."""


class UsageError(Exception):
    """The command line can't be read. The text follows `Error: ` on stderr."""


class Unfinished(Exception):  # noqa: N818  # some of several documents failed; each was told where it happened
    """Some of several objects failed, and each failure was printed already."""

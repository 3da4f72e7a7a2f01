"""The layout of help. Scripts and tests compare it byte for byte, so what is new stays out unless `--help-all` asks."""

from __future__ import annotations

from cli.commands import Command, global_flags
from cli.flags import Flag

TYPE_CHECKING = False  # see cli.commands
if TYPE_CHECKING:
    from collections.abc import Iterable

_NARROWEST = 11  # column of command names


def render(command: Command, *, everything: bool = False) -> str:
    """The whole help of a command."""
    head = f"{command.text}\n\n" if command.shows_text and command.text else ""
    return head + usage(command, everything=everything)


def usage(command: Command, *, everything: bool = False) -> str:
    """Help without its first text, as it follows an error of a root command."""
    path = " ".join(command.path)
    blocks = ["Usage:\n" + "".join(f"  {line}\n" for line in _use_lines(command, path))]
    children = [child for child in command.children if everything or not child.hidden]
    if children:
        blocks.append("Available Commands:\n" + _child_lines(children))
    own = (*command.flags(), *global_flags()) if command.is_root else command.flags()
    blocks.append("Flags:\n" + _flag_lines(own, everything=everything))
    if not command.is_root:
        blocks.append("Global Flags:\n" + _flag_lines(global_flags(), everything=everything))
    if children:
        blocks.append(f'Use "{path} [command] --help" for more information about a command.\n')
    return "\n".join(blocks)


def _use_lines(command: Command, path: str) -> list[str]:
    lines = []
    if command.target:
        words = f" {command.takes_words}" if command.takes_words else ""
        lines.append(f"{path}{words} [flags]")
    if command.children:
        lines.append(f"{path} [command]")
    return lines


def _child_lines(children: list[Command]) -> str:
    width = max(_NARROWEST, *(len(child.name) for child in children))
    return "".join(f"  {child.name:<{width}} {child.text}\n" for child in children)


def _flag_lines(flags: Iterable[Flag], *, everything: bool) -> str:
    rows = []
    for flag in sorted(flags, key=lambda flag: flag.name):
        if flag.hidden and not everything:
            continue
        left = f"  {flag.label}" if flag.short else f"      {flag.label}"
        right = f"{flag.text} (default {flag.shown})" if flag.shown else flag.text
        rows.append((f"{left} {flag.kind}".rstrip(), right))
    width = max(len(left) for left, _ in rows)
    return "".join(f"{left:<{width}}   {right}\n" for left, right in rows)

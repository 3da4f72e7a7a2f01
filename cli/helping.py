"""`vcctl help [command]`."""

from __future__ import annotations

from cli import helptext
from cli.commands import Command
from cli.context import Context


def run(context: Context) -> None:
    """Print the help of the command that the words name; an unknown one gets a line on stderr and the root's usage."""
    root: Command = context.command
    while root.parent is not None:
        root = root.parent
    command = root
    for word in context.flags.words:
        child = command.child(word)
        if child is None:
            if command is root:
                words = " ".join(context.flags.words)
                context.err.write(f"Unknown help topic [`{words}`]\n{helptext.usage(root)}")
                return
            break
        command = child
    context.out.write(helptext.render(command))

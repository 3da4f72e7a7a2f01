"""`vcctl version`: six lines that scripts grep, and on demand what the server and the components are."""

from __future__ import annotations

from cli.context import Context
from runtime import version


def run(context: Context) -> None:
    """Print the build of this client; with `--server` those of the API server and the components as well."""
    context.print_lines(version.current().lines())
    if context.flags.is_on("server"):
        from cli.installation import server_lines  # noqa: PLC0415  # the client alone needs no server

        context.out.flush()
        context.print_lines(server_lines(context))

"""`vcctl version`: six lines that scripts grep, and on demand what the server and the components are."""

from __future__ import annotations

import sys

from cli.context import Context
from cli.errors import CommandError
from runtime import version

TYPE_CHECKING = False  # see cli.commands
if TYPE_CHECKING:
    from typing import Any

_FORMATS = ("json", "yaml")


def run(context: Context) -> None:
    """Print the build of this client; with `--server` those of the API server and the components as well."""
    wanted = context.flags.text("output")
    if wanted:
        _print_document(context, wanted)
        return
    context.print_lines(version.current().lines())
    if context.flags.is_on("server"):
        from cli.installation import server_lines  # noqa: PLC0415  # the client alone needs no server

        context.out.flush()
        context.print_lines(server_lines(context))


def _print_document(context: Context, wanted: str) -> None:
    """The same for programs; nothing is printed when the server doesn't answer. Raises CommandError."""
    if wanted not in _FORMATS:
        allowed = ",".join(_FORMATS)
        raise CommandError(f'--output: unable to match a printer for the format "{wanted}", allowed: {allowed}')
    from cli.output import to_json, to_yaml  # noqa: PLC0415  # the six lines don't need it

    document: dict[str, Any] = {"clientVersion": _client()}
    if context.flags.is_on("server"):
        from cli.installation import server_facts  # noqa: PLC0415  # the client alone needs no server

        document |= server_facts(context)
    context.out.write(to_json(document) if wanted == "json" else to_yaml(document))


def _client() -> dict[str, str]:
    """What the six lines say; empty is unknown."""
    build = version.current()
    return {
        "apiVersion": version.API_VERSION,
        "version": build.version,
        "gitSHA": build.git_sha,
        "builtAt": build.built_at,
        "runtime": version.python_version(),
        "platform": f"{sys.platform}/{version.architecture()}",
    }

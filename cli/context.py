"""What a running command has: its flags, its streams, the environment, the clock, and the API client when it asks for it."""

from __future__ import annotations

import gc
import time

from cli.errors import CommandError

TYPE_CHECKING = False  # see cli.commands
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TextIO

    from cli.commands import Command
    from cli.flags import Flags
    from runtime.client_sync import SyncClient

    Connect = Callable[[Flags, Mapping[str, str]], SyncClient]

USE_CONTEXT_NAMESPACE = "VCCTL_USE_CONTEXT_NAMESPACE"
_SHOWN = {code: f"^{chr(code ^ 64)}" for code in (*range(32), 127) if chr(code) not in "\n\t"}
"""Control characters as kubectl shows them: what somebody wrote into a message must not command the reader's terminal."""


def _connect(flags: Flags, environ: Mapping[str, str]) -> SyncClient:
    from cli.connection import connect  # noqa: PLC0415  # only what talks to the server pays for it

    return connect(flags, environ)


class Context:
    """One run of one command."""

    def __init__(
        self,
        command: Command,
        flags: Flags,
        *,
        out: TextIO,
        err: TextIO,
        environ: Mapping[str, str],
        failures: TextIO | None = None,
        connect: Connect = _connect,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.command = command
        self.flags = flags
        self.out = out
        self.err = err
        self.failures = failures or out
        """Where failures are told: one of the two."""
        self.environ = environ
        self.clock = clock
        self.pause = pause
        self._connect = connect
        self._client: SyncClient | None = None

    @property
    def client(self) -> SyncClient:
        """The API client. Raises ConfigError when there is no usable configuration."""
        if self._client is None:
            self._client = self._connect(self.flags, self.environ)
        return self._client

    def require_configuration(self) -> None:
        """Fail now when the server's address can't be found: the first thing that every command checks."""
        _ = self.client

    @property
    def namespace(self) -> str:
        """The namespace of what is read or written by name. Raises CommandError for an empty one."""
        if not self._namespace:
            raise CommandError("--namespace: an empty namespace may not be set when a resource name is provided")
        return self._namespace

    @property
    def _namespace(self) -> str:
        """That of the flag, else `default`; the kubeconfig context's own only when the environment asks for it."""
        if not self.flags.is_given("namespace") and self.environ.get(USE_CONTEXT_NAMESPACE, "") not in (
            "",
            "0",
            "false",
        ):
            return self.client.transport.config.namespace
        return self.flags.text("namespace")

    @property
    def list_namespace(self) -> str | None:
        """The same for lists, None for all namespaces."""
        return None if self.flags.is_on("all-namespaces") else self._namespace or None

    @property
    def nanoseconds(self) -> int:
        """Now, since 1970."""
        return int(self.clock() * 1e9)

    def stay(self) -> None:
        """From now on the process lasts: let the interpreter collect garbage, which short commands do without."""
        gc.enable()

    def print(self, line: str = "") -> None:
        """A line of the result."""
        self.out.write(f"{line.translate(_SHOWN)}\n")

    def print_lines(self, lines: Iterable[str]) -> None:
        self.out.write("".join(f"{line.translate(_SHOWN)}\n" for line in lines))

    def hint(self, line: str) -> None:
        """A line on stderr that is neither result nor failure."""
        self.err.write(f"{line.translate(_SHOWN)}\n")

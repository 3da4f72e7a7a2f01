"""`vc-webhook-manager`: serves the enabled admission paths over TLS (webhooks.md 1.3)."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Sequence

from api import names
from runtime import log as logs
from runtime import options
from runtime.admission_server import AdmissionServer
from runtime.cabundle import BundleKeeper, target_of
from runtime.component import Connection, align, connect
from runtime.flags import exit_invalid
from runtime.https import DrainTimeout
from runtime.manager import Manager
from runtime.runnables import Runnable, Stage
from webhooks import WEBHOOKS, enabled, remembering
from webhooks.blueprint import Context, WebhookClass
from webhooks.certificates import serving_tls, take_up
from webhooks.options import (
    PROGRAM,
    Options,
    Service,
    feature_gates,
    file_problems,
    parser,
    problems,
    read,
    service,
    serving,
)
from webhooks.readers import Readers

log = logging.getLogger(__name__)

_GRACE = 1.0
"""Seconds beyond the drain in which it tells that it failed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal; gives the exit code."""
    known = feature_gates()
    flags = parser(known, enabled.by_default(WEBHOOKS)).parse(sys.argv[1:] if arguments is None else arguments)
    where = service(flags)
    exit_invalid([*problems(flags), *file_problems(where), *enabled.problems(flags.enabled_admission, WEBHOOKS)])
    logs.setup(options.log_options(flags), PROGRAM)
    settings = read(flags, known)
    chosen = enabled.select(flags.enabled_admission, WEBHOOKS)
    client = options.client_options(flags)
    front = Front(where)

    async def setup(manager: Manager) -> None:
        connection = connect(manager, client, component=PROGRAM)
        await align(known, connection.client)
        await front.set_up(manager, connection, chosen, settings)

    code = Manager(PROGRAM, serving=serving(flags), drain_seconds=where.drain_seconds + _GRACE).run(setup)
    if front.failure:
        sys.stderr.write(f"close admission server failed: {front.failure}\n")
    return code or int(bool(front.failure))


class Front:
    """The listener with its certificate and the CA bundle in the webhook configurations."""

    def __init__(self, where: Service) -> None:
        self._where = where
        self.failure = ""
        """Why requests were broken off at the end."""

    async def set_up(
        self, manager: Manager, connection: Connection, chosen: Iterable[WebhookClass], settings: Options
    ) -> None:
        """Make the webhooks and hand all parts to the manager. Raises ConfigError."""
        context = Context(Readers(connection.client, connection.informers), settings, events=connection.events)
        handlers = [webhook(context).handler() for webhook in chosen]
        targets = [target_of(handler, names.WEBHOOK_CONFIGURATION_PREFIX) for handler in handlers]
        keeper = BundleKeeper(connection.client, targets, manage=self._where.manages_bundle)
        tls = serving_tls(self._where)
        server = AdmissionServer(handlers, tls, host=self._where.host, port=self._where.port, heard=remembering.heard)
        follow = await take_up(self._where, tls, keeper, connection.client, connection.config)

        async def serve() -> None:
            await connection.informers.wait_synced()
            await server.start()
            await asyncio.get_running_loop().create_future()

        async def drain() -> None:
            try:
                await server.drain(self._where.drain_seconds)
            except DrainTimeout as error:
                self.failure = str(error)
                log.error("requests were broken off component=%s: %s", PROGRAM, error)  # noqa: TRY400  # says it all

        manager.add(Runnable("certificates", follow, Stage.SERVICES))
        for name, work in context.beside.items():
            manager.add(Runnable(name, work, Stage.SERVICES))
        manager.add(Runnable("ca-bundle", keeper.run, Stage.SERVICES))
        manager.add(Runnable("admission", serve, stop=drain))
        manager.require("caches", lambda: "" if connection.informers.has_synced else "caches are not synced")
        manager.require("ca-bundle", lambda: "; ".join(keeper.missing))
        manager.require("admission", lambda: "" if server.is_ready else "the admission server does not listen")


def entry() -> None:
    """The console script. Ctrl-C before the manager takes the signals over ends it as shells expect, without words."""
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    entry()

"""
`vcctl support dump`: an archive with what a bug report needs.

Secrets are never asked for. What may still hold one is cut out: values of variables, last-applied configurations, and
fields of configurations and lines of logs whose name speaks of a password, a token or a key.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from api import names
from cli import fields, supportlogs
from cli.context import Context
from cli.errors import CommandError
from cli.explainsource import direct_address, direct_client
from cli.installation import components, server_lines
from cli.kinds import (
    COMMANDS,
    CONFIG_MAPS,
    CRON_JOBS,
    DEPLOYMENTS,
    EVENTS,
    HYPER_NODES,
    JOB_FLOWS,
    JOB_TEMPLATES,
    JOBS,
    LEASES,
    MUTATING_WEBHOOKS,
    NODE_SHARDS,
    NODES,
    NUMATOPOLOGIES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    QUEUES,
    VALIDATING_WEBHOOKS,
    Kind,
    Object,
)
from cli.output import to_json, to_yaml, typed
from cli.redacting import redacted
from cli.requesting import list_objects
from cli.supportlogs import Part
from runtime import version
from runtime.errors import ApiError, ConnectionFailed, DecodeError

SNAPSHOT: tuple[Kind, ...] = (
    NODES, PODS, POD_GROUPS, QUEUES, JOBS, CRON_JOBS, COMMANDS, JOB_FLOWS, JOB_TEMPLATES, HYPER_NODES, NODE_SHARDS,
    NUMATOPOLOGIES, PRIORITY_CLASSES,
)  # fmt: skip
"""What the scheduler decides on: applied to an empty control plane, in this order, it sees the same cluster."""

_VERSIONS, _SCHEDULER = "versions.txt", "scheduler"
_METRICS = (
    (_SCHEDULER, names.Service.SCHEDULER, 8080),
    ("controllers", "volcano-controllers-service", 8081),
)


def dump(context: Context) -> None:
    """Write the archive. What can't be read is noted in `errors.txt`. Raises CommandError when nothing could be."""
    context.require_configuration()
    moment = datetime.fromtimestamp(context.clock(), UTC)
    path = context.flags.text("output") or f"volcano-support-{moment:%Y%m%d-%H%M%S}.tar.gz"
    context.client.server_version()  # a server that doesn't answer is told at once
    address = direct_address(context)
    # Who may see nothing of the cluster may still read these.
    apart = {_VERSIONS, *([_metrics_of(_SCHEDULER)] if address else [])}
    errors: list[str] = []
    read: list[bool] = []
    with tarfile.open(path, "x:gz") if not context.flags.is_given("output") else tarfile.open(path, "w:gz") as archive:
        for name, text in _parts(context, address):
            is_read = _add(archive, name, text, errors, int(context.clock()))
            read.append(is_read and name not in apart)
        if errors:
            _put(archive, "errors.txt", "".join(f"{error}\n" for error in errors), int(context.clock()))
    for error in errors:
        context.hint(f"left out: {error}")
    context.print(f"wrote {path}")
    if not any(read):
        raise CommandError(f"nothing of the cluster could be read: {path} holds little more than what was refused")


def _parts(context: Context, address: str) -> Iterator[Part]:
    """(file name, how to get its text) of everything in the archive. `address` is that of a scheduler outside."""
    namespace = context.flags.text("system-namespace")
    yield _VERSIONS, lambda: "".join(f"{line}\n" for line in (*version.current().lines(), *server_lines(context)))
    yield "config/deployments.yaml", lambda: _documents(_deployments(context, namespace))
    yield "config/configmaps.yaml", lambda: _documents(_objects(context, CONFIG_MAPS, namespace))
    for kind in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        yield f"config/{kind.plural}.yaml", _webhooks(context, kind, namespace)
    yield "system/leases.yaml", lambda: _documents(_objects(context, LEASES, namespace))
    yield "system/pods.yaml", lambda: _documents(_objects(context, PODS, namespace))
    yield "system/events.yaml", lambda: _documents(_objects(context, EVENTS, namespace))
    for component, service, port in _METRICS:
        place = f"/api/v1/namespaces/{namespace}/services/{service}:{port}/proxy"
        is_outside = bool(address) and component == _SCHEDULER
        yield _metrics_of(component), _scrape(context, "" if is_outside else place, address if is_outside else "")
    if not context.flags.is_on("no-logs"):
        yield from supportlogs.parts(context, namespace)
    if not context.flags.is_on("no-snapshot"):
        for kind in SNAPSHOT:
            yield f"snapshot/{kind.qualified_name}.json", _snapshot(context, kind)


def _metrics_of(component: str) -> str:
    return f"metrics/{component}.txt"


def _scrape(context: Context, place: str, address: str) -> Callable[[], str]:
    """Metrics behind a path of the API server, or at an address of their own."""

    def read() -> str:
        client = direct_client(context, address) if address else context.client
        return client.raw(f"{place}/metrics").decode("utf-8", "replace")

    return read


def _snapshot(context: Context, kind: Kind) -> Callable[[], str]:
    def read() -> str:
        whole = {"apiVersion": "v1", "kind": "List", "items": _objects(context, kind, None)}
        return to_json(whole)

    return read


def _objects(context: Context, kind: Kind, namespace: str | None) -> list[Object]:
    objects, _ = list_objects(context, kind, namespace)
    return [redacted(typed(kind, obj)) for obj in objects]


def _deployments(context: Context, namespace: str) -> list[Object]:
    return [redacted(typed(DEPLOYMENTS, obj)) for obj in components(context, namespace)]


def _webhooks(context: Context, kind: Kind, namespace: str) -> Callable[[], str]:
    """The configurations of one kind that lead to a service of the installation."""

    def is_ours(obj: Object) -> bool:
        hooks = fields.items(obj, "webhooks")
        return fields.name(obj).startswith(names.WEBHOOK_CONFIGURATION_PREFIX) or any(
            fields.text(hook, "clientConfig", "service", "namespace") == namespace for hook in hooks
        )

    return lambda: _documents([obj for obj in _objects(context, kind, None) if is_ours(obj)])


def _documents(objects: list[Object]) -> str:
    return "---\n".join(to_yaml(obj) for obj in sorted(objects, key=fields.name))


def _add(archive: tarfile.TarFile, name: str, read: Callable[[], str], errors: list[str], now: int) -> bool:
    """Put one part into the archive; whether it could be read."""
    try:
        text = read()
    except (ApiError, ConnectionFailed, DecodeError, CommandError) as error:
        errors.append(f"{name}: {error}")
        return False
    _put(archive, name, text, now)
    return True


def _put(archive: tarfile.TarFile, name: str, text: str, now: int) -> None:
    data = text.encode("utf-8", "surrogatepass")
    entry = tarfile.TarInfo(f"{names.DEFAULT_RELEASE}-support/{name}")
    entry.size = len(data)
    entry.mtime = now
    archive.addfile(entry, io.BytesIO(data))

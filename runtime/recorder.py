"""
A client for unit tests: it takes note of writes and answers none of them in the API server's name.

`Recorder` stands in for `runtime.client.Client`, `SyncRecorder` for its twin. Requests are built by the real
client, so a missing namespace or an object of the wrong kind fails as it would in earnest. The answer to a write
is what was sent, nothing more; what the code under test reads comes from listers filled by the test.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from urllib.parse import unquote

import msgspec

from runtime.bodies import encode, read_head
from runtime.client import Client
from runtime.client_sync import SyncClient
from runtime.requests import APPLY, Priority, Request
from runtime.resource import Resource
from runtime.responses import Response
from runtime.streaming import LineStream
from runtime.transport import Transport
from runtime.transport_sync import SyncTransport

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_DELETES = frozenset({"delete", "delete_collection"})
_NAMESPACE_SUBRESOURCES = frozenset({"finalize", "status"})


class ReadFromRecorder(AssertionError):  # noqa: N818  # named for what happened
    """The code under test read from the API server, which a recorder isn't."""


class Write(msgspec.Struct, frozen=True):
    """One write, as the server would have got it."""

    verb: str
    """create, update, patch, apply, delete or delete_collection."""
    resource: str
    """Qualified name, such as `jobs.batch.volcano.sh`."""
    namespace: str
    name: str
    subresource: str = ""
    body: Any = None
    """Decoded JSON: the object, the patch, or the options of a delete."""
    media_type: str = ""
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    priority: Priority = Priority.DEFAULT

    @property
    def field_manager(self) -> str:
        return self.query.get("fieldManager", "")

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is stored. Deletes say so in their options, the others in the query."""
        return "dryRun" in self.query or (self.verb in _DELETES and "dryRun" in (self.body or {}))

    @property
    def is_forced(self) -> bool:
        """Whether an apply takes fields from other managers."""
        return self.query.get("force") == "true"

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return f"{self.verb} {what} {place}".strip()


class _Plan(msgspec.Struct):
    """What happens to the writes that match: after `skip` of them, the next `times` meet an error or an answer."""

    matches: Callable[[Write], bool]
    skip: int
    times: int | None
    error: Exception | None = None
    answer: bytes = b""

    def applies(self, write: Write) -> bool:
        if self.times == 0 or not self.matches(write):
            return False
        if self.skip:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


class WriteLog:
    """The writes so far, and what the test wants to happen to coming ones."""

    def __init__(self) -> None:
        self.writes: list[Write] = []
        """Every write, those that were made to fail included, in order."""
        self._plans: list[_Plan] = []

    def find(
        self,
        verb: str = "",
        resource: Resource[Any] | None = None,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> list[Write]:
        """The writes that match everything given."""
        matches = _matcher(verb, resource, namespace, name, subresource)
        return [write for write in self.writes if matches(write)]

    def fail(
        self,
        error: Exception,
        verb: str = "",
        resource: Resource[Any] | None = None,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        skip: int = 0,
        times: int | None = 1,
    ) -> None:
        """
        Raise `error` from matching writes: `times` of them (None: all) after the first `skip`.

        Of several plans that match a write, the earliest counts.
        """
        matches = _matcher(verb, resource, namespace, name, subresource)
        self._plans.append(_Plan(matches, skip, times, error=error))

    def answer(
        self,
        obj: msgspec.Struct | Mapping[str, Any] | bytes,
        verb: str = "",
        resource: Resource[Any] | None = None,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
        skip: int = 0,
        times: int | None = 1,
    ) -> None:
        """Answer matching writes with this object: for code that needs a uid, or a name made by the server."""
        matches = _matcher(verb, resource, namespace, name, subresource)
        self._plans.append(_Plan(matches, skip, times, answer=encode(obj)))

    def take(self, request: Request, guard: Callable[[], None] | None = None) -> Response:
        """Note a request. Raises the planned error, or ReadFromRecorder for a request that isn't a write."""
        if not request.is_write:
            raise _read(request)
        if guard is not None:
            guard()
        write = _write_of(request)
        self.writes.append(write)
        plan = next((plan for plan in self._plans if plan.applies(write)), None)
        if plan is None:
            return Response(status=200, body=_echo(write))
        if plan.error is not None:
            raise plan.error
        return Response(status=200, body=plan.answer)


def _read(request: Request) -> ReadFromRecorder:
    what = "watch" if "watch" in request.query else "read"
    return ReadFromRecorder(
        f"{what} of {request.subject or request.path} from a recorder: give the code under test a lister that holds "
        "what it should find (the generated `Lister.filled([...])`), or test it against the local control plane"
    )


def _matcher(
    verb: str, resource: Resource[Any] | None, namespace: str | None, name: str | None, subresource: str | None
) -> Callable[[Write], bool]:
    wanted = {
        "verb": verb or None,
        "resource": resource.qualified_name if resource else None,
        "namespace": namespace,
        "name": name,
        "subresource": subresource,
    }
    given = {key: value for key, value in wanted.items() if value is not None}
    return lambda write: all(getattr(write, key) == value for key, value in given.items())


def _write_of(request: Request) -> Write:
    resource, namespace, name, subresource = _address(request.path)
    body = msgspec.json.decode(request.body) if request.body else None
    media_type = request.headers.get("Content-Type", "")
    verb = _VERBS.get(request.method, "delete" if name else "delete_collection")
    if verb == "create" and not name:
        name = read_head(request.body).metadata.name
    return Write(
        verb="apply" if media_type == APPLY else verb,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        body=body,
        media_type=media_type,
        query=request.query,
        priority=request.priority,
    )


def _address(path: str) -> tuple[str, str, str, str]:
    """(qualified resource, namespace, name, subresource) of `/apis/group/version/namespaces/ns/plural/name/sub`."""
    _, root, *parts = [unquote(part) for part in path.split("/")]
    group = "" if root == "api" else parts.pop(0)
    parts = parts[1:]
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces" and not (len(parts) == 3 and parts[2] in _NAMESPACE_SUBRESOURCES):
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource = (*parts, "", "")[:3]
    return (f"{plural}.{group}" if group else plural), namespace, name, subresource


def _echo(write: Write) -> bytes:
    """What was sent; for a JSON patch, which sends no object, its name alone."""
    if write.verb in _DELETES or (write.verb == "create" and write.subresource):
        return b'{"apiVersion":"v1","kind":"Status","status":"Success"}'
    sent: dict[str, Any] = write.body if isinstance(write.body, dict) else {}
    identity = {"name": write.name} | ({"namespace": write.namespace} if write.namespace else {})
    return encode({**sent, "metadata": {**sent.get("metadata", {}), **identity}})


class _RecordingTransport(Transport):
    def __init__(self, log: WriteLog) -> None:  # it connects to nothing, so there is nothing to set up
        self._log = log

    async def send(self, request: Request, *, guard: Callable[[], None] | None = None) -> Response:
        return self._log.take(request, guard)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[LineStream]:
        raise _read(request)
        yield  # type: ignore[unreachable]  # makes this a generator


class _SyncRecordingTransport(SyncTransport):
    def __init__(self, log: WriteLog) -> None:  # it connects to nothing, so there is nothing to set up
        self._log = log

    def send(self, request: Request, *, guard: Callable[[], None] | None = None) -> Response:
        return self._log.take(request, guard)

    @contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[bytes]]:
        raise _read(request)
        yield  # type: ignore[unreachable]  # makes this a generator


class Recorder(Client):
    """An async client whose writes are found in `log.writes`."""

    def __init__(self, *, guard: Callable[[], None] | None = None) -> None:
        self.log = WriteLog()
        super().__init__(_RecordingTransport(self.log), guard=guard)

    @property
    def writes(self) -> list[Write]:
        """Every write so far, in order."""
        return self.log.writes


class SyncRecorder(SyncClient):
    """A client without async whose writes are found in `log.writes`."""

    def __init__(self, *, guard: Callable[[], None] | None = None) -> None:
        self.log = WriteLog()
        super().__init__(_SyncRecordingTransport(self.log), guard=guard)

    @property
    def writes(self) -> list[Write]:
        """Every write so far, in order."""
        return self.log.writes

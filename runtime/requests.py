"""
Requests to the API server as values, built without a socket.

Both shells (aiohttp for the components, http.client for vcctl) send them, so every rule about addresses,
bodies and what may be repeated after a broken connection stands here once.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any
from urllib.parse import urlencode

import msgspec

from runtime import wire
from runtime.bodies import Body, encode, encode_object
from runtime.patches import Patch
from runtime.resource import Resource

JSON = "application/json"
APPLY = "application/apply-patch+yaml"  # JSON is YAML
_NO_HEADERS: Mapping[str, str] = {}


class Priority(IntEnum):
    """
    Who goes first when requests queue for the rate limit; a higher number is served first.

    Events wait while binds wait. Reads stand just below binds: a scheduler whose caches wait for a list
    runs out of binds by itself, while reads behind a steady stream of writes would never be served.
    """

    EVENT = 0
    STATUS = 1
    DEFAULT = 2
    DELETE = 3
    READ = 4
    BIND = 5


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request, complete but for the server's address and the credentials."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = _NO_HEADERS
    body: bytes | None = None
    priority: Priority = Priority.DEFAULT
    repeatable: bool = False
    """Whether it may be sent again when it is unknown whether the server carried it out."""
    subject: str = ""
    """What it is about, for messages: `jobs.batch.volcano.sh name`."""
    timeout: float = 0.0
    """Seconds for the whole exchange; 0 takes the transport's own."""
    idle_timeout: float = 0.0
    """Seconds that a stream may stay silent; 0 means any time."""
    resumable: bool = False
    """Whether the reader of a stream goes on from where it was, so that it need not know a cut from an end."""

    @property
    def target(self) -> str:
        """Path and query, percent-encoded."""
        return f"{self.path}?{self.query_string}" if self.query else self.path

    @property
    def query_string(self) -> str:
        """The query, percent-encoded."""
        return urlencode(self.query) if self.query else ""

    @property
    def is_write(self) -> bool:
        return self.method != "GET"


def get(resource: Resource[Any], name: str, namespace: str | None = None, *, resource_version: str = "") -> Request:
    """Read one object, consistently, or as of at least `resource_version` (`0`: whatever the cache holds)."""
    query = {"resourceVersion": resource_version} if resource_version else {}
    return _read(resource.path(namespace, name), query, _subject(resource, name))


def list_page(
    resource: Resource[Any],
    namespace: str | None = None,
    *,
    label_selector: str = "",
    field_selector: str = "",
    limit: int = 500,
    continue_: str = "",
    resource_version: str = "",
    resource_version_match: str = "",
) -> Request:
    """
    Read one page of a list; `limit` 0 reads all at once.

    A continue token already fixes the resourceVersion, so the two version arguments count for first pages only.
    """
    query = _selectors(label_selector, field_selector)
    if limit:
        query["limit"] = str(limit)
    if continue_:
        query["continue"] = continue_
    else:
        query |= _filled(resourceVersion=resource_version, resourceVersionMatch=resource_version_match)
    return _read(resource.path(namespace), query, _subject(resource))


def watch(
    resource: Resource[Any],
    namespace: str | None = None,
    *,
    label_selector: str = "",
    field_selector: str = "",
    resource_version: str = "",
    bookmarks: bool = True,
    timeout: int = 300,
    idle_timeout: float = 150.0,
) -> Request:
    """
    Stream the changes after `resource_version`.

    The server ends the stream after `timeout` seconds, the client a little later in case the server can't.
    Bookmarks come about once a minute, so `idle_timeout` seconds of silence mean a dead connection, or a
    kind without any event so far, where a new watch costs nothing. A stream with bookmarks may end early without
    an error: its reader resumes it from the last version.
    """
    query = {"watch": "1", "timeoutSeconds": str(timeout)} | _selectors(label_selector, field_selector)
    query |= _filled(resourceVersion=resource_version, allowWatchBookmarks="true" if bookmarks else "")
    return Request(
        method="GET",
        path=resource.path(namespace),
        query=query,
        priority=Priority.READ,
        repeatable=True,
        subject=_subject(resource),
        timeout=timeout + 30.0,
        idle_timeout=idle_timeout if bookmarks else 0.0,
        resumable=bookmarks,
    )


def raw(path: str, query: Mapping[str, str] | None = None) -> Request:
    """Read any path: `/version`, `/readyz`, `/apis/<group>/<version>`."""
    return _read(path, query or {}, "")


def create(
    resource: Resource[Any],
    obj: object,
    namespace: str | None = None,
    *,
    field_manager: str = "",
    dry_run: bool = False,
    priority: Priority = Priority.DEFAULT,
) -> Request:
    """
    Create an object, in the given namespace or its own.

    Never repeated blindly: a second try would make a second object of a generated name, or answer
    AlreadyExists for our own.
    """
    body, head = encode_object(resource, obj)
    return Request(
        method="POST",
        path=resource.path(namespace or head.metadata.namespace),
        query=_options(field_manager, dry_run=dry_run),
        headers={"Content-Type": JSON},
        body=body,
        priority=priority,
        subject=_subject(resource, head.metadata.name),
    )


def create_subresource(
    resource: Resource[Any],
    name: str,
    namespace: str | None,
    subresource: str,
    body: Body,
    *,
    dry_run: bool = False,
    priority: Priority = Priority.DEFAULT,
) -> Request:
    """POST to a subresource of an object, such as `binding` or `eviction`; the body names its own type."""
    return Request(
        method="POST",
        path=resource.path(namespace, name, subresource),
        query=_options("", dry_run=dry_run),
        headers={"Content-Type": JSON},
        body=encode(body),
        priority=priority,
        subject=_subject(resource, name),
    )


def update(
    resource: Resource[Any],
    obj: object,
    namespace: str | None = None,
    *,
    subresource: str | None = None,
    field_manager: str = "",
    dry_run: bool = False,
    priority: Priority | None = None,
) -> Request:
    """Replace an object. One that names its resourceVersion may be repeated: a second application is a Conflict."""
    body, head = encode_object(resource, obj)
    name = _named(resource, head)
    return Request(
        method="PUT",
        path=resource.path(namespace or head.metadata.namespace, name, subresource),
        query=_options(field_manager, dry_run=dry_run),
        headers={"Content-Type": JSON},
        body=body,
        priority=_priority(priority, subresource),
        repeatable=bool(head.metadata.resource_version),
        subject=_subject(resource, name),
    )


def patch(
    resource: Resource[Any],
    name: str,
    namespace: str | None,
    patch: Patch,
    *,
    subresource: str | None = None,
    field_manager: str = "",
    dry_run: bool = False,
    priority: Priority | None = None,
) -> Request:
    """
    Change part of an object. Repeated only when it is pinned to a resourceVersion.

    Without one, a repeat could undo what another writer did between the two.
    """
    return Request(
        method="PATCH",
        path=resource.path(namespace, name, subresource),
        query=_options(field_manager, dry_run=dry_run),
        headers={"Content-Type": patch.media_type},
        body=patch.encode(),
        priority=_priority(priority, subresource),
        repeatable=patch.is_pinned,
        subject=_subject(resource, name),
    )


def apply(
    resource: Resource[Any],
    name: str,
    namespace: str | None,
    obj: Body,
    *,
    field_manager: str,
    force: bool = False,
    subresource: str | None = None,
    dry_run: bool = False,
    priority: Priority | None = None,
) -> Request:
    """
    Server-side apply of the fields that `field_manager` owns.

    The same intent twice gives the same object, so it is repeated where it can't create: on a subresource,
    or when the body names a uid. A body without metadata.name gets it.
    """
    body, head = encode_object(resource, obj, name)
    query = _options(field_manager, dry_run=dry_run)
    if force:
        query["force"] = "true"
    return Request(
        method="PATCH",
        path=resource.path(namespace, name, subresource),
        query=query,
        headers={"Content-Type": APPLY},
        body=body,
        priority=_priority(priority, subresource),
        repeatable=subresource is not None or bool(head.metadata.uid),
        subject=_subject(resource, name),
    )


def delete(
    resource: Resource[Any],
    name: str,
    namespace: str | None = None,
    *,
    uid: str = "",
    resource_version: str = "",
    propagation: str = "",
    grace_period: int | None = None,
    dry_run: bool = False,
) -> Request:
    """
    Delete one object, if given only while it has that uid and resourceVersion.

    Repeated only with a uid: by name alone, a second try could hit a successor of the same name.
    `propagation` is Background, Foreground or Orphan; `grace_period` is in seconds.
    """
    pinned = wire.Preconditions(uid=uid, resource_version=resource_version) if uid or resource_version else None
    return _delete(
        resource.path(namespace, name),
        {},
        _delete_options(pinned, propagation, grace_period, dry_run=dry_run),
        repeatable=bool(uid),
        subject=_subject(resource, name),
    )


def delete_collection(
    resource: Resource[Any],
    namespace: str | None = None,
    *,
    label_selector: str = "",
    field_selector: str = "",
    propagation: str = "",
    grace_period: int | None = None,
    dry_run: bool = False,
) -> Request:
    """Delete all objects that match. Never repeated: those that came in between would go as well."""
    return _delete(
        resource.path(namespace),
        _selectors(label_selector, field_selector),
        _delete_options(None, propagation, grace_period, dry_run=dry_run),
        repeatable=False,
        subject=_subject(resource),
    )


def _read(path: str, query: Mapping[str, str], subject: str) -> Request:
    return Request(method="GET", path=path, query=query, priority=Priority.READ, repeatable=True, subject=subject)


def _delete(path: str, query: Mapping[str, str], body: bytes, *, repeatable: bool, subject: str) -> Request:
    return Request(
        method="DELETE",
        path=path,
        query=query,
        headers={"Content-Type": JSON},
        body=body,
        priority=Priority.DELETE,
        repeatable=repeatable,
        subject=subject,
    )


def _delete_options(
    preconditions: wire.Preconditions | None, propagation: str, grace_period: int | None, *, dry_run: bool
) -> bytes:
    return msgspec.json.encode(
        wire.DeleteOptions(
            api_version="v1",
            kind="DeleteOptions",
            preconditions=preconditions,
            propagation_policy=propagation,
            grace_period_seconds=grace_period,
            dry_run=("All",) if dry_run else (),
        )
    )


def _priority(given: Priority | None, subresource: str | None) -> Priority:
    if given is not None:
        return given
    return Priority.STATUS if subresource == "status" else Priority.DEFAULT


def _named(resource: Resource[Any], head: wire.Head) -> str:
    if not head.metadata.name:
        raise ValueError(f"the {resource.kind} has no metadata.name")
    return head.metadata.name


def _subject(resource: Resource[Any], name: str = "") -> str:
    return f"{resource.qualified_name} {name}" if name else resource.qualified_name


def _selectors(label_selector: str, field_selector: str) -> dict[str, str]:
    return _filled(labelSelector=label_selector, fieldSelector=field_selector)


def _options(field_manager: str, *, dry_run: bool) -> dict[str, str]:
    return _filled(fieldManager=field_manager, dryRun="All" if dry_run else "")


def _filled(**values: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}

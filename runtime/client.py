"""
The API client of the components: one verb a method, the kind first.

Requests are built and answers read by `runtime.requests` and `runtime.responses`; this class only sends. Its
twin without async is `runtime.client_sync`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import msgspec

from runtime import requests
from runtime.bodies import Body
from runtime.decoding import decoder_of
from runtime.errors import Gone, NotFound
from runtime.pages import Page, Pager, read_page
from runtime.patches import Patch
from runtime.reading import read_object
from runtime.requests import Priority, Request
from runtime.resource import Resource
from runtime.responses import Response, check, check_delete
from runtime.streaming import LineStream
from runtime.transport import Transport
from runtime.watching import Change, read_change
from runtime.wire import ApiResource, ApiResourceList, ServerVersion

T = TypeVar("T")
Decode = Callable[[msgspec.Raw], T]


class Client:
    """
    Reads and writes objects of any kind.

    `guard` is called before each write, repeats included, and raises when this process may no longer write
    (a lost lease). All methods raise `runtime.errors`: an ApiError for the server's refusal, ConnectionFailed
    when no answer came, DecodeError when the answer doesn't fit the model.
    """

    def __init__(self, transport: Transport, *, guard: Callable[[], None] | None = None) -> None:
        self.transport = transport
        self._guard = guard

    async def get(
        self, resource: Resource[T], name: str, namespace: str | None = None, *, resource_version: str = ""
    ) -> T:
        """One object."""
        response = await self._send(requests.get(resource, name, namespace, resource_version=resource_version))
        return read_object(resource, response.body)

    async def list_page(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
        continue_: str = "",
        resource_version: str = "",
        resource_version_match: str = "",
        decode: Decode[T] | None = None,
    ) -> Page[T]:
        """One page. `decode` reads an object's text in place of the model's decoder; what fails is `unreadable`."""
        response = await self._send(
            requests.list_page(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=limit,
                continue_=continue_,
                resource_version=resource_version,
                resource_version_match=resource_version_match,
            )
        )
        return read_page(resource, response.body, decode)

    async def list(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = 500,
    ) -> Page[T]:
        """All pages; starts over when the server forgets the list in the middle."""
        pager: Pager[T] = Pager(page_size)
        while not pager.is_complete:
            try:
                page = await self.list_page(
                    resource,
                    namespace,
                    label_selector=label_selector,
                    field_selector=field_selector,
                    limit=pager.limit,
                    continue_=pager.continue_,
                )
            except Gone as error:
                pager.restart(error)
            else:
                pager.take(page)
        return pager.result()

    def watch(
        self,
        resource: Resource[Any],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        bookmarks: bool = True,
        timeout: int = 300,
        idle_timeout: float = 150.0,
    ) -> AbstractAsyncContextManager[LineStream]:
        """The raw lines of a watch, for `runtime.watching.read_event`. See `runtime.requests.watch`."""
        return self.transport.stream(
            requests.watch(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                resource_version=resource_version,
                bookmarks=bookmarks,
                timeout=timeout,
                idle_timeout=idle_timeout,
            )
        )

    async def changes(
        self,
        resource: Resource[T],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        seconds: int = 300,
    ) -> AsyncGenerator[Change[T], None]:
        """Typed events of one watch that lasts `seconds`, without bookmarks. For short waits; long-lived readers use an informer."""
        stream = self.watch(
            resource,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            bookmarks=False,
            timeout=seconds,
        )
        async with stream as lines:
            async for line in lines:
                yield read_change(resource, line)

    async def create(
        self,
        resource: Resource[T],
        obj: T | Mapping[str, Any] | bytes,
        namespace: str | None = None,
        *,
        field_manager: str = "",
        dry_run: bool = False,
        priority: Priority = Priority.DEFAULT,
    ) -> T:
        """Create, in the given namespace or the object's own; the object as stored."""
        request = requests.create(
            resource, obj, namespace, field_manager=field_manager, dry_run=dry_run, priority=priority
        )
        return read_object(resource, (await self._send(request)).body)

    async def create_subresource(
        self,
        resource: Resource[Any],
        name: str,
        namespace: str | None,
        subresource: str,
        body: Body,
        *,
        dry_run: bool = False,
        priority: Priority = Priority.DEFAULT,
    ) -> bytes:
        """POST to `binding`, `eviction` and the like; the answer as sent."""
        request = requests.create_subresource(
            resource, name, namespace, subresource, body, dry_run=dry_run, priority=priority
        )
        return (await self._send(request)).body

    async def update(
        self,
        resource: Resource[T],
        obj: T | Mapping[str, Any] | bytes,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        field_manager: str = "",
        dry_run: bool = False,
        priority: Priority | None = None,
    ) -> T:
        """PUT. Only for a Lease and for status of kinds that one writer owns: it drops fields unknown here."""
        request = requests.update(
            resource,
            obj,
            namespace,
            subresource=subresource,
            field_manager=field_manager,
            dry_run=dry_run,
            priority=priority,
        )
        return read_object(resource, (await self._send(request)).body)

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        namespace: str | None,
        patch: Patch,
        *,
        subresource: str | None = None,
        field_manager: str = "",
        dry_run: bool = False,
        priority: Priority | None = None,
    ) -> T:
        """Change part of an object; the whole object as stored."""
        request = requests.patch(
            resource,
            name,
            namespace,
            patch,
            subresource=subresource,
            field_manager=field_manager,
            dry_run=dry_run,
            priority=priority,
        )
        return read_object(resource, (await self._send(request)).body)

    async def apply(
        self,
        resource: Resource[T],
        name: str,
        namespace: str | None,
        obj: Body,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
        dry_run: bool = False,
        priority: Priority | None = None,
    ) -> T:
        """Server-side apply. Raises Conflict without `force` when another manager owns a field with another value."""
        request = requests.apply(
            resource,
            name,
            namespace,
            obj,
            field_manager=field_manager,
            force=force,
            subresource=subresource,
            dry_run=dry_run,
            priority=priority,
        )
        return read_object(resource, (await self._send(request)).body)

    async def delete(
        self,
        resource: Resource[Any],
        name: str,
        namespace: str | None = None,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete; raises NotFound, and Conflict when uid or resourceVersion is another."""
        request = requests.delete(
            resource,
            name,
            namespace,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace_period=grace_period,
            dry_run=dry_run,
        )
        response = await self.transport.send(request, guard=self._guard)
        check_delete(response, request)

    async def delete_collection(
        self,
        resource: Resource[Any],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        propagation: str = "",
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete every object that matches."""
        await self._send(
            requests.delete_collection(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                propagation=propagation,
                grace_period=grace_period,
                dry_run=dry_run,
            )
        )

    async def raw(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """GET of any path, such as `/readyz`."""
        return (await self._send(requests.raw(path, query))).body

    async def server_version(self) -> ServerVersion:
        """Version of the API server."""
        return decoder_of(ServerVersion).decode(await self.raw("/version"))

    async def api_resources(self, api_version: str) -> tuple[ApiResource, ...]:
        """What the server serves under `v1` or `group/version`, subresources included; empty when it knows none."""
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        try:
            return decoder_of(ApiResourceList).decode(await self.raw(path)).resources
        except NotFound:
            return ()

    async def _send(self, request: Request) -> Response:
        guard = self._guard if request.is_write else None
        return check(await self.transport.send(request, guard=guard), request)

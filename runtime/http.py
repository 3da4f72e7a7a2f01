"""
HTTP to peers that are no Kubernetes: fabric managers, scheduler extenders, Prometheus, probes.

Such a peer may be slow, broken or hostile, so everything is bounded: time, size of the answer, redirects (none
unless asked for). Nothing is sent twice; the caller knows its own rhythm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from runtime.credentials import FixedCredentials
from runtime.sockets import new_socket
from runtime.tls import Tls

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")


class PeerError(Exception):
    """A peer gave no usable answer. Names the URL and what is wrong."""


class HttpAnswer(msgspec.Struct, frozen=True):
    """An answer, whatever its code."""

    url: str
    status: int
    headers: Mapping[str, str]
    """Looked up without regard to case."""
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def check(self) -> Self:
        """The answer itself. Raises PeerError with the beginning of the body when the code is no success."""
        if not self.is_success:
            text = self.body[:200].decode("utf-8", "replace").strip()
            raise PeerError(f"{self.url}: the server answered {self.status}: {text}")
        return self

    def json(self, model: type[T]) -> T:
        """The body as a model or plain type. Raises PeerError naming the field that doesn't fit."""
        try:
            return msgspec.json.decode(self.body, type=model)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise PeerError(f"{self.url}: unexpected answer: {error}") from error


class HttpClient:
    """Connections to any number of peers that share TLS settings and bounds; of one event loop."""

    def __init__(
        self,
        *,
        tls: Tls | None = None,
        timeout: float = 10.0,
        connect_timeout: float = 5.0,
        max_body: int = 4 * 1024 * 1024,
        headers: Mapping[str, str] | None = None,
        user_agent: str = "stromboli",
    ) -> None:
        """`timeout` bounds a whole exchange in seconds, `max_body` an answer in bytes; `tls` None trusts the system's CAs."""
        self._tls = tls or Tls()
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._max_body = max_body
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "identity", **(headers or {})}
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: str, **options: Any) -> HttpAnswer:
        """`request` with GET."""
        return await self.request("GET", url, **options)

    async def post_json(self, url: str, value: Any, **options: Any) -> HttpAnswer:
        """`request` with POST and a value encoded as JSON."""
        return await self.request(
            "POST", url, body=msgspec.json.encode(value), content_type="application/json", **options
        )

    async def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
        basic: tuple[str, str] | None = None,
        seconds: float | None = None,
        redirects: int = 0,
    ) -> HttpAnswer:
        """
        One exchange. `basic` is user and password, `seconds` replaces the time bound, `redirects` are followed at most.

        Raises PeerError when no answer comes in time, is larger than allowed, or `url` is no http(s) URL.
        """
        import aiohttp  # noqa: PLC0415  # most processes never ask such a peer, and it takes long to import

        sent = dict(headers or {})
        if content_type:
            sent["Content-Type"] = content_type
        if basic:
            sent["Authorization"] = FixedCredentials.basic(*basic).header()
        try:
            async with self._get_session().request(
                method,
                url,
                data=body,
                headers=sent,
                ssl=self._tls.context(),
                timeout=aiohttp.ClientTimeout(total=seconds or self._timeout, sock_connect=self._connect_timeout),
                allow_redirects=redirects > 0,
                max_redirects=redirects,
            ) as response:
                return HttpAnswer(url, response.status, response.headers, await self._read(url, response))
        except TimeoutError as error:
            raise PeerError(f"{url}: no answer within {seconds or self._timeout:g} s") from error
        except aiohttp.TooManyRedirects as error:
            raise PeerError(f"{url}: more than {redirects} redirects") from error
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise PeerError(f"{url}: no http or https URL") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PeerError(f"{url}: {error}") from error

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    def _get_session(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415  # as above

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit_per_host=16, socket_factory=new_socket),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session

    async def _read(self, url: str, response: aiohttp.ClientResponse) -> bytes:
        parts = []
        size = 0
        while chunk := await response.content.readany():
            parts.append(chunk)
            size += len(chunk)
            if size > self._max_body:
                response.close()
                raise PeerError(f"{url}: the answer is larger than {self._max_body} bytes")
        return b"".join(parts)

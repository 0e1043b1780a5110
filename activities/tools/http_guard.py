"""The HTTP client of the tools: it reaches public addresses and nothing else.

What a URL *says* decides nothing, since a name can be pointed anywhere, a redirect can lead
anywhere, and `http://2130706433/` is `127.0.0.1` too. So the check stands where the connection is
made: the name is resolved once, every address of the answer is judged, and the socket is opened
to the very address that was judged. A second lookup, which a hostile name server could answer
differently (DNS rebinding), never happens. TLS still verifies the name.

Every request, redirects included, opens a connection of its own through this door: nothing is
kept alive. The environment (`HTTP_PROXY`, `.netrc`) is ignored, since a proxy would look names up
by itself; and no cookie is kept, since members share this client.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import contextmanager
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, cast

import httpcore
import httpx
import structlog

from activities.tools import addresses

PORTS = frozenset({80, 443, 8080, 8443})
"""Ports where web servers listen; on others a request could speak to something else."""

MAX_URL = 2048

_MAX_ADDRESSES = 4
"""Addresses of one name that are tried in turn."""

_DISCORD_CDN = frozenset({"cdn.discordapp.com", "media.discordapp.net"})

log = structlog.get_logger(__name__)

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""(host, port) to IP literals, best first. Raises OSError when the name has none."""


class TargetRefused(Exception):
    """The guard did not let a connection be made. The text may be shown to the model."""


def parse_url(text: str) -> httpx.URL:
    """The URL of a page, absolute and without credentials. Raises ValueError with a sentence.

    Where it leads is not judged here but when the connection is made.
    """
    if len(text) > MAX_URL:
        raise ValueError(f"the URL is longer than {MAX_URL} characters")
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError):
        raise ValueError("this is not a valid URL") from None
    if url.scheme not in ("http", "https"):
        raise ValueError("only http:// and https:// URLs can be fetched")
    if not url.host:
        raise ValueError("the URL names no host")
    if url.userinfo:
        raise ValueError("a URL with a user name or password in it is not fetched")
    return url


def host_of(url: httpx.URL) -> str:
    """The host alone, in ASCII: what may be shown and logged of a URL."""
    return url.raw_host.decode("ascii", "replace")


async def resolve_by_system(host: str, port: int) -> list[str]:
    """Ask the operating system, as any other program would."""
    loop = asyncio.get_running_loop()
    answer = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in answer))


class AddressGuard:
    """Decides which addresses of a host a connection may go to.

    `allow_private` are `host:port` pairs, the host a name or an address, that pass unchecked.
    """

    def __init__(
        self, allow_private: Sequence[str] = (), resolve: Resolver = resolve_by_system
    ) -> None:
        self._allowed = {_host_and_port(entry) for entry in allow_private}
        self._resolve = resolve

    async def permitted(self, host: str, port: int) -> list[str]:
        """IP literals to connect to, in order. Raises TargetRefused, or OSError without any.

        One refused address refuses the whole answer: an honest public name has none.
        """
        try:
            answer = await self._resolve(host, port)
        except UnicodeError:  # a label that no name server would accept
            raise OSError(f"{host!r} is not a host name") from None
        if not answer:
            raise OSError("the name has no address")
        for address in answer:
            if self._is_allowed(host, address, port):
                continue
            label = addresses.refusal(address)
            if label is not None and not _is_fake_ip(host, port, label):
                log.warning("fetch refused", host=host, port=port, address=address, range=label)
                raise TargetRefused(f"{host} leads to a private or reserved address")
            if port not in PORTS:
                raise TargetRefused(
                    f"port {port} is not fetched; the ports are "
                    + ", ".join(str(allowed) for allowed in sorted(PORTS))
                )
        return answer[:_MAX_ADDRESSES]

    def _is_allowed(self, host: str, address: str, port: int) -> bool:
        return (address.lower(), port) in self._allowed or (host.lower(), port) in self._allowed


def _is_fake_ip(host: str, port: int, label: str) -> bool:
    """Some home networks route through a proxy that answers every name with an address of the
    benchmarking range. Discord's own files stay reachable there, where TLS proves the host."""
    return label == addresses.BENCHMARKING and host.lower() in _DISCORD_CDN and port == 443


def _host_and_port(entry: str) -> tuple[str, int]:
    host, _, port = entry.strip().rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"{entry!r} is not host:port; write for example 127.0.0.1:8000")
    return host.strip("[]").lower(), int(port)


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens sockets for httpcore, to addresses that the guard has permitted."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._sockets = cast(httpcore.AsyncNetworkBackend, httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                return await self._connect(host, port, timeout, local_address, socket_options)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"no connection to {host}") from None

    async def _connect(
        self,
        host: str,
        port: int,
        timeout: float | None,
        local_address: str | None,
        socket_options: Iterable[Any] | None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            targets = await self._guard.permitted(host, port)
        except OSError as error:
            raise httpcore.ConnectError(f"{host} could not be resolved") from error
        share = None if timeout is None else timeout / len(targets)
        failure: Exception | None = None
        for address in targets:
            try:
                return await self._sockets.connect_tcp(
                    address, port, share, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        raise TargetRefused("sockets of this machine are not fetched")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _GuardedTransport(httpx.AsyncBaseTransport):
    """httpx on a pool of our own, since httpx's transport takes no network backend.

    Built on the public interfaces of both: a release that moved a private attribute must not
    quietly take the guard away.
    """

    def __init__(self, guard: AddressGuard) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls(),
            max_connections=64,
            max_keepalive_connections=0,
            network_backend=_GuardedBackend(guard),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        with _httpx_errors(request):
            response = await self._pool.handle_async_request(
                httpcore.Request(
                    request.method,
                    url,
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_GuardedStream(response, request),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _GuardedStream(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response, request: httpx.Request) -> None:
        self._response = response
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _httpx_errors(self._request):
            async for chunk in self._response.aiter_stream():
                yield chunk

    async def aclose(self) -> None:
        with _httpx_errors(self._request):
            await self._response.aclose()


@contextmanager
def _httpx_errors(request: httpx.Request):
    """httpcore's errors under the names that httpx gives them: the two sets are the same."""
    try:
        yield
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        kind: type[httpx.RequestError] = getattr(httpx, type(error).__name__, httpx.TransportError)
        raise kind(str(error), request=request) from error


@cache
def _tls() -> ssl.SSLContext:
    """One for all clients: reading the certificates takes 45 ms."""
    return httpx.create_ssl_context(trust_env=False)


def guarded_client(guard: AddressGuard) -> httpx.AsyncClient:
    """A client for many callers. Redirects are the caller's, hop by hop."""
    return httpx.AsyncClient(
        transport=_GuardedTransport(guard),
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=False,
    )

"""A request to Discord that is made once, and whose address may hold a webhook's token.

discord.py repeats a request that was answered 5xx, up to five times. Where Discord knows no nonce
(a webhook's message, a new webhook) each repeat may make another one, so those requests go this
way: one attempt, and the caller looks before it tries again.

In: method, path below the API's base, JSON. Out: the answer's JSON. Raises what discord.py raises
for the same answers, and `NoAnswerError` when it is not known what became of the request. What
always holds: rate limits are kept to, a request that met one (and so was not carried out) is made
again after the pause; no error and no log line holds the address.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from typing import Any

import aiohttp
import discord
from discord.http import Route

ANSWER_WITHIN = aiohttp.ClientTimeout(total=8.0)
"""Seconds. Less than a message under way is given when its turn is stopped, so that there is time
left to look for it."""
LONGEST_PAUSE = 30.0
"""Seconds that a rate limit is waited out here; Temporal waits for a longer one."""
RATE_LIMITED_TIMES = 3
BUCKETS_KEPT = 1000

_FAULTS = {403: discord.Forbidden, 404: discord.NotFound}


class NoAnswerError(ConnectionError):
    """The connection broke, or nothing came in time: it may have been carried out or not."""


class OneAttempt:
    def __init__(self, client: discord.Client) -> None:
        self._client = client
        self._session: aiohttp.ClientSession | None = None
        self._free_at: OrderedDict[str, float] = OrderedDict()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        bucket: str,
        body: dict[str, Any] | None = None,
        params: dict[str, str] | None = None,
        as_bot: bool = False,
    ) -> Any:
        """`bucket`: requests that share a rate limit. `as_bot`: with the bot's own token."""
        met_limits = 0
        while True:
            await self._rest(bucket)
            status, answer, response = await self._ask(method, path, body, params, as_bot)
            self._note_limit(bucket, response)
            if 200 <= status < 300:
                return answer
            pause = _pause(answer, response) if status == 429 else None
            if pause is None:
                break
            met_limits += 1
            self._keep(bucket, pause)
            if met_limits == RATE_LIMITED_TIMES:
                raise discord.RateLimited(pause)
        kind = discord.DiscordServerError if status >= 500 else _FAULTS.get(status)
        raise (kind or discord.HTTPException)(response, answer)

    async def _ask(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        params: dict[str, str] | None,
        as_bot: bool,
    ) -> tuple[int, Any, aiohttp.ClientResponse]:
        http = self._client.http
        headers = {"User-Agent": http.user_agent}
        if as_bot:
            headers["Authorization"] = f"Bot {http.token}"
        try:
            async with self._open().request(
                method,
                Route.BASE + path,
                json=body,
                params=params,
                headers=headers,
                proxy=http.proxy,
                proxy_auth=http.proxy_auth,
                allow_redirects=False,
            ) as response:
                text = await response.text()
        except (aiohttp.ClientError, OSError, UnicodeError) as error:
            # Its text may hold the whole address.
            raise NoAnswerError(f"no answer ({type(error).__name__})") from None
        try:
            return response.status, json.loads(text) if text else None, response
        except ValueError:
            if response.status < 300:
                raise NoAnswerError("an answer that cannot be read") from None
            return response.status, text, response

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=ANSWER_WITHIN)
        return self._session

    async def _rest(self, bucket: str) -> None:
        while (left := self._free_at.get(bucket, 0.0) - time.monotonic()) > 0:
            if left > LONGEST_PAUSE:
                raise discord.RateLimited(left)
            await asyncio.sleep(left)

    def _note_limit(self, bucket: str, response: aiohttp.ClientResponse) -> None:
        if response.headers.get("X-RateLimit-Remaining") != "0":
            return
        pause = _seconds(response.headers.get("X-RateLimit-Reset-After"))
        if pause is not None:
            self._keep(bucket, pause)

    def _keep(self, bucket: str, pause: float) -> None:
        self._free_at[bucket] = time.monotonic() + pause
        self._free_at.move_to_end(bucket)
        while len(self._free_at) > BUCKETS_KEPT:
            self._free_at.popitem(last=False)


def _pause(answer: Any, response: aiohttp.ClientResponse) -> float | None:
    """Seconds that a 429 of Discord's own asks for."""
    if not isinstance(answer, dict) or "Via" not in response.headers:
        return None
    return _seconds(answer.get("retry_after"))  # type: ignore[reportUnknownMemberType]


def _seconds(given: object) -> float | None:
    try:
        seconds = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < 86_400 else None

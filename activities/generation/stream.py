"""Reading one stream to its end, under the budgets of behaviour 6.4.

What comes in: how to open a stream. What goes out: the response, or the error, on the
`ModelStream` itself, so that what is known so far can be booked when the reading is cancelled.
What always holds afterwards: the connection to the provider is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import structlog
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import StreamedResponse
from pydantic_ai.usage import RequestUsage

from activities.generation import errors
from activities.generation.received import fit
from activities.generation.settings import GenerationSettings
from activities.generation.visible import MOST_CHARACTERS, VisibleText
from workflows.contracts.generation import ErrorType, ModelError

MOST_CALLS = 200
"""Tool calls of one response. Each of them costs the turn several events in its history."""

OpenStream = Callable[[], AbstractAsyncContextManager[StreamedResponse]]

log = structlog.get_logger(__name__)


class ModelStream:
    """One call of the model, as far as it has come."""

    def __init__(
        self,
        settings: GenerationSettings,
        where: str,
        text: VisibleText,
        is_stopped: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._where = where
        self._text = text
        self._is_stopped = is_stopped
        self._opened_at = 0.0
        self._first_at: float | None = None
        self._stream: StreamedResponse | None = None
        self.response: ModelResponse | None = None
        """Set when the response is complete, and fit to be kept."""
        self.error: ModelError | None = None

    @property
    def usage(self) -> RequestUsage:
        """What the provider has reported until now."""
        return self._stream.usage if self._stream else RequestUsage()

    @property
    def first_chunk_ms(self) -> float | None:
        return None if self._first_at is None else (self._first_at - self._opened_at) * 1000

    @property
    def finish_reason(self) -> str | None:
        """None while, and when, the response is not complete."""
        if self.response is None:
            return None
        return "stop" if self._text.stopped else self.response.finish_reason

    async def read(self, open_stream: OpenStream) -> None:
        """Open and read to the end. Raises nothing but CancelledError."""
        clock = asyncio.get_running_loop().time
        self._opened_at = clock()
        budget = self._settings.first_token_budget
        deadline = asyncio.timeout(budget.total_seconds())
        try:
            async with deadline, open_stream() as stream:
                self._stream = stream
                async for event in stream:
                    self._check_stop()
                    if deadline.expired():
                        break  # the stream swallowed the interruption
                    if self._first_at is None:
                        self._first_at = clock()
                        budget = self._settings.idle_budget
                    deadline.reschedule(clock() + budget.total_seconds())
                    self._text.accept(event)
                    self._check_stop()
                    if self._text.stopped:
                        break
                    if (error := self._excess()) is not None:
                        self.error = error
                        break
        except Exception as error:
            if not deadline.expired():
                self.error = self._describe(error)
        self._check_stop()
        if deadline.expired():
            self.error = errors.silence(self._where, budget, self._first_at is not None)
        if self.error is None and self._stream is not None:
            self._judge(self._stream.get())

    def _excess(self) -> ModelError | None:
        if self._text.calls > MOST_CALLS:
            return errors.too_many_calls(self._where, MOST_CALLS)
        if self._text.ran_on:
            return errors.ran_on(self._where, MOST_CHARACTERS)
        return None

    def _check_stop(self) -> None:
        """A stream that swallows a cancel does not turn a kill into a finished answer (T07)."""
        if self._is_stopped():
            raise asyncio.CancelledError

    def _judge(self, response: ModelResponse) -> None:
        """Whether the response is whole: a missing terminal marker means it was cut (D34)."""
        details = response.provider_details or {}
        if response.finish_reason == "content_filter":
            self.error = errors.content_blocked(self._where)
        elif response.finish_reason == "error":
            self.error = errors.failed_generation(self._where)
        elif not (self._text.stopped or response.finish_reason or details.get("finish_reason")):
            self.error = errors.cut_stream(self._where)
        else:
            self.response = fit(response)

    def _describe(self, error: Exception) -> ModelError:
        described = errors.provider_error(error, self._where, self._first_at is not None)
        if described is not None:
            return described
        log.exception("the model call failed inside", exc_info=error)
        return errors.internal(error)


def is_timeout(error: ModelError) -> bool:
    """Whether a call that ended with `error` has the status `timeout` rather than `error`."""
    return error.type is ErrorType.TIMEOUT

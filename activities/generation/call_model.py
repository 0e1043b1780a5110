"""The model call: one activity, ids in, segments by signal, one result.

    append the new transcript entries       storage
    load context and transcript             `prompt`
    stream                                  `stream` under the budgets, `visible` makes segments
        segments ──► turn, by signal        `segments`, beside the stream
    look at the calls                       `calls`, of a response that `received` made fit to keep
    book the usage                          `usage`, whatever the outcome (T15)
    result                                  status, tail of the text, calls, error; `sizes`

A provider's fault is a result and never an exception: the turn decides what follows. So is a bug of
ours: to the turn, an activity that fails is a worker that died, and the call would be paid for
again. Degrading a rejected request (behaviour 6.8) belongs around `_Call._read`, before anything
was received.

A cancel means one of two things, told apart by `activity.cancellation_details()`: a person stopped
the turn, or this worker or attempt ends and another attempt starts over. After a stop the
text so far is told once more, for a turn that still wants it; otherwise nothing more is said. The
provider's connection is closed first, the usage is booked, and the activity ends as
cancelled, even if a library swallowed the cancellation (T07).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Sequence
from typing import Any

import structlog
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from temporalio import activity

from activities.context.document import ContextDocument
from activities.generation import errors
from activities.generation.calls import function_calls
from activities.generation.models import ModelSource
from activities.generation.prompt import (
    context_messages,
    response_from_bytes,
    response_to_bytes,
    transcript_messages,
)
from activities.generation.segments import SegmentSender, SegmentSignaller
from activities.generation.sizes import fitting
from activities.generation.stream import ModelStream, is_timeout
from activities.generation.usage import usage_of
from activities.generation.visible import VisibleText
from activities.tools.registry import ToolRegistry
from runtime.heartbeat import heartbeating
from runtime.logs import brief, redact
from storage import Storage, StorageError
from workflows.contracts.generation import (
    CALL_MODEL,
    ErrorType,
    FunctionCall,
    ModelError,
    ModelRequest,
    ModelResult,
    Segment,
    StreamStatus,
    Usage,
)

BOOK_BUDGET = 5.0
"""Seconds to book usage after a cancel; a store that hangs must not hold the turn's end."""

FLUSH_BUDGET = 1.0
"""Seconds to tell the rest of the text after a stop: the turn waits for it."""

log = structlog.get_logger(__name__)


class GenerationActivities:
    """`signal` carries segments to the turn; the registry only examines calls here."""

    def __init__(
        self,
        storage: Storage,
        models: ModelSource,
        registry: ToolRegistry,
        signal: SegmentSignaller,
    ) -> None:
        self.storage = storage
        self.models = models
        self.registry = registry
        self.signal = signal

    @activity.defn(name=CALL_MODEL.name)
    async def call_model(self, request: ModelRequest) -> ModelResult:
        """See the module. Raises CancelledError when it is cancelled, else it returns."""
        call = _Call(self, request)
        try:
            async with heartbeating():
                return await call.run()
        except Exception as fault:
            return await call.broken(fault)


class _Call:
    """The state of one attempt at one call."""

    def __init__(self, parts: GenerationActivities, request: ModelRequest) -> None:
        self._storage = parts.storage
        self._models = parts.models
        self._registry = parts.registry
        self._request = request
        self._attempt = activity.info().attempt
        self._started = time.monotonic()
        self._sender = SegmentSender(parts.signal, request.call_index, self._attempt)
        self._text: VisibleText | None = None
        self._stream: ModelStream | None = None

    async def run(self) -> ModelResult:
        self._sender.start()
        try:
            result = await self._outcome()
            if activity.is_cancelled():
                raise asyncio.CancelledError
        except asyncio.CancelledError:
            await _uninterrupted(_within(2 * BOOK_BUDGET, self._after_cancel()))
            raise
        finally:
            await self._sender.abandon()
        self._log(result)
        return result

    async def broken(self, fault: BaseException) -> ModelResult:
        """The result of a call that a bug of ours ended, with the text it had come to."""
        error = _own_fault(fault)
        if self._text is not None:
            with contextlib.suppress(Exception):
                self._text.finish()
        tail = await self._sender.close()
        try:
            usage = self._usage()
            result = fitting(self._as_result(error, tail, usage), self._models.endpoint)
        except Exception as another:
            log.exception("the model call's result cannot be told", exc_info=another)
            usage = Usage()
            result = self._as_result(errors.internal(fault), [], usage)
        await _within(BOOK_BUDGET, self._book(usage, result.status))
        return result

    async def _outcome(self) -> ModelResult:
        """What the call has come to. Raises nothing but the CancelledError of a cancel."""
        try:
            error = await self._generate()
            return await self._result(error, await self._sender.close())
        except asyncio.CancelledError as stray:
            # A library may raise one that nobody asked for; the SDK would take it for a failure.
            if activity.is_cancelled() or _is_being_cancelled():
                raise
            return await self.broken(stray)
        except Exception as fault:
            return await self.broken(fault)

    async def _generate(self) -> ModelError | None:
        """Everything up to the end of the text. An error that is returned is the result's."""
        try:
            messages, stop_strings = await self._prompt()
            model = await self._models.get()
        except UserError as error:
            return errors.provider_error(error, self._models.endpoint, streaming=False)
        except Exception as error:
            return _own_fault(error)
        self._text = VisibleText(self._sender.put, stop_strings)
        self._stream = ModelStream(
            self._models.settings, self._models.endpoint, self._text, activity.is_cancelled
        )
        await self._read(self._stream, model, messages)
        self._text.finish()
        return self._stream.error

    async def _prompt(self) -> tuple[list[ModelMessage], list[str]]:
        request, storage = self._request, self._storage
        if request.new_entries:
            await storage.transcript.append(
                request.turn_id, request.transcript_length, request.new_entries
            )
        document = await storage.blobs.get_model(request.context_id, ContextDocument)
        length = request.transcript_length + len(request.new_entries)
        entries = await storage.transcript.load(request.turn_id, length) if length else []
        responses = [
            response_from_bytes(await storage.blobs.get(entry.response_id)) for entry in entries
        ]
        messages = context_messages(document) + transcript_messages(entries, responses)
        return messages, document.stop_strings

    async def _read(self, stream: ModelStream, model: Model, messages: list[ModelMessage]) -> None:
        settings = self._models.settings
        tools = self._registry.declarations(
            settings.provider, self._request.tools, self._request.withheld
        )
        parameters = ModelRequestParameters(
            function_tools=[
                ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.parameters_json_schema,
                    # Arguments are checked by the registry; strict mode is not known everywhere.
                    strict=False,
                )
                for tool in tools
            ]
        )
        await stream.read(
            lambda: model_request_stream(
                model,
                messages,
                model_settings=ModelSettings(max_tokens=settings.max_output_tokens),
                model_request_parameters=parameters,
            )
        )

    async def _result(self, error: ModelError | None, tail: list[Segment]) -> ModelResult:
        calls: list[FunctionCall] = []
        response_id: str | None = None
        response = self._stream.response if self._stream else None
        if response is not None and error is None:
            try:
                calls = function_calls(
                    response,
                    self._registry,
                    self._models.settings.provider,
                    self._request.tools,
                    self._request.withheld,
                )
                if calls:
                    response_id = await self._storage.blobs.put(
                        "response", response_to_bytes(response)
                    )
            except Exception as fault:
                error, calls = _own_fault(fault), []
        usage = self._usage()
        result = fitting(
            self._as_result(error, tail, usage, calls, response_id), self._models.endpoint
        )
        await self._book(usage, result.status)
        return result

    def _as_result(
        self,
        error: ModelError | None,
        tail: list[Segment],
        usage: Usage,
        calls: Sequence[FunctionCall] = (),
        response_id: str | None = None,
    ) -> ModelResult:
        stream, settings = self._stream, self._models.settings
        visible = self._text.visible_chars if self._text else 0
        if error is not None:
            status = StreamStatus.TIMEOUT if is_timeout(error) else StreamStatus.ERROR
        elif calls:
            status = StreamStatus.FUNCTION_CALL
        else:
            status = StreamStatus.COMPLETED if visible else StreamStatus.EMPTY_RESPONSE
        return ModelResult(
            status=status,
            attempt=self._attempt,
            segments_signalled=self._sender.signalled,
            tail=tail,
            calls=list(calls),
            response_id=response_id,
            visible_chars=visible,
            details=self._text.details.strip() if self._text else "",
            finish_reason=stream.finish_reason if stream else None,
            error=error,
            usage=usage,
            provider=settings.provider,
            model=settings.model_name,
            first_chunk_ms=stream.first_chunk_ms if stream else None,
            duration_ms=self._elapsed_ms(),
        )

    async def _after_cancel(self) -> None:
        """The provider's connection is closed already when this runs."""
        details = activity.cancellation_details()
        stopped = details is not None and details.cancel_requested
        status = StreamStatus.STOPPED_BY_USER if stopped else "interrupted"
        await asyncio.gather(
            _within(BOOK_BUDGET, self._book(self._usage(), status)),
            _within(FLUSH_BUDGET, self._flush()) if stopped else self._sender.abandon(),
        )
        log.info(
            "model call stopped" if stopped else "model call interrupted",
            turn_id=self._request.turn_id,
            call=self._request.call_index,
            attempt=self._attempt,
            ms=round(self._elapsed_ms()),
        )

    async def _flush(self) -> None:
        """What had been said and not yet told. A turn that was killed drops it; one that was asked
        in words to stop shows it (behaviour 2.4)."""
        if self._text is not None:
            self._text.finish()
            await self._sender.flush()

    def _usage(self) -> Usage:
        return usage_of(self._stream.usage, self._models.settings) if self._stream else Usage()

    async def _book(self, usage: Usage, status: str) -> None:
        """Idempotent by (turn, call, attempt). A failure costs a row of statistics, no answer."""
        settings = self._models.settings
        try:
            await self._storage.usage.book(
                self._request.turn_id,
                self._request.call_index,
                self._attempt,
                settings.provider,
                settings.model_name,
                usage,
                str(status),
                round(self._elapsed_ms()),
            )
        except Exception as error:
            log.error("usage not booked", turn_id=self._request.turn_id, reason=str(error))

    def _elapsed_ms(self) -> float:
        return (time.monotonic() - self._started) * 1000

    def _log(self, result: ModelResult) -> None:
        fields: dict[str, Any] = {
            "turn_id": self._request.turn_id,
            "call": self._request.call_index,
            "attempt": self._attempt,
            "provider": result.provider,
            "model": result.model,
            "status": str(result.status),
            "ms": round(result.duration_ms),
            "input_tokens": result.usage.input_tokens,
            "output_tokens": result.usage.output_tokens,
            "calls": len(result.calls),
        }
        if result.error is None:
            log.info("model call", **fields)
        else:
            log.warning("model call failed", reason=result.error.message, **fields)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _own_fault(error: BaseException) -> ModelError:
    if isinstance(error, StorageError):
        log.error("the model call cannot use the database", reason=str(error))
        return ModelError(
            type=ErrorType.MODEL_ERROR,
            message=redact(f"internal: {error}"),
            member_message=errors.internal(error).member_message,
        )
    log.exception("the model call failed inside", exc_info=error)
    return errors.internal(error)


async def _within(seconds: float, work: Coroutine[Any, Any, None]) -> None:
    """Best effort, bounded: what fails or takes too long here is logged and left."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except Exception as error:
        log.warning("left undone after a cancel", reason=brief(str(error)) or type(error).__name__)


async def _uninterrupted(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` to its end, however often this task is cancelled meanwhile."""
    task = asyncio.create_task(work)
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    task.result()

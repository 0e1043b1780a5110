"""Provider faults, told once to the operator and once to the member.

One table for every provider (behaviour 6.8, error types). What comes in: whatever pydantic-ai, a
provider's client or the transport raises. What goes out: a `ModelError`. It never carries a body, a
header or an address with credentials: of what the provider said only its machine-readable code is
kept, and that only when it looks like one.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import httpx2
from pydantic_ai import exceptions as ai

from runtime.logs import redact
from workflows.contracts.generation import ErrorType, ModelError


@dataclass(frozen=True)
class _Row:
    raised: type[BaseException]
    type: ErrorType
    retryable: bool
    operator: str
    """`{where}` is the provider's endpoint, `{why}` what little is known and safe to say."""
    member: str


_CALL_THE_OPERATOR = "Whoever runs this bot has to fix that."

_ROWS = (
    _Row(
        ai.ModelAuthenticationError,
        ErrorType.API_ERROR,
        False,
        "{where} refused the API key{why}: check the key and that it may use this model",
        f"The model provider does not accept this bot's key. {_CALL_THE_OPERATOR}",
    ),
    _Row(
        ai.ModelQuotaExceededError,
        ErrorType.RATE_LIMIT,
        False,
        "{where} says that the account's quota or credit is used up{why}: top it up there",
        f"This bot's credit at the model provider is used up. {_CALL_THE_OPERATOR}",
    ),
    _Row(
        ai.ModelNotFoundError,
        ErrorType.API_ERROR,
        False,
        "{where} does not know the model or the address{why}: check the model's name and base URL",
        f"The model provider does not know the model this bot is set to. {_CALL_THE_OPERATOR}",
    ),
    _Row(
        ai.ModelRateLimitError,
        ErrorType.RATE_LIMIT,
        True,
        "{where} limits the rate of requests{why}: wait, or raise the account's limit",
        "The model provider is getting too many requests. Please try again in a minute.",
    ),
    _Row(
        ai.ModelContextWindowExceededError,
        ErrorType.MODEL_ERROR,
        False,
        "{where} found the conversation longer than the model's context window{why}",
        "This conversation has become too long for the model.",
    ),
    _Row(
        ai.ModelRequestRejectedError,
        ErrorType.API_ERROR,
        False,
        "{where} rejected the request{why}",
        "The model provider rejected the request.",
    ),
    _Row(
        ai.ModelOverloadedError,
        ErrorType.PROVIDER_OVERLOADED,
        True,
        "{where} is overloaded{why}",
        "The model provider is overloaded right now. Please try again in a moment.",
    ),
    _Row(
        ai.ModelUnavailableError,
        ErrorType.PROVIDER_OVERLOADED,
        True,
        "{where} is unavailable{why}",
        "The model provider is unavailable right now. Please try again in a moment.",
    ),
    _Row(
        ai.ModelServerError,
        ErrorType.API_ERROR,
        True,
        "{where} failed with an error of its own{why}",
        "The model provider had an error. Please try again in a moment.",
    ),
    _Row(
        ai.ModelTimeoutError,
        ErrorType.TIMEOUT,
        True,
        "{where} did not answer in time{why}",
        "The model provider did not answer in time. Please try again in a moment.",
    ),
    _Row(
        ai.ModelHTTPError,
        ErrorType.API_ERROR,
        False,
        "{where} answered with an unexpected status{why}",
        "The model provider gave an unexpected answer.",
    ),
    _Row(
        ai.ContentFilterError,
        ErrorType.CONTENT_BLOCKED,
        False,
        "{where} blocked the content",
        "The model provider declined to answer this.",
    ),
    _Row(
        ai.UserError,
        ErrorType.API_ERROR,
        False,
        "{where} cannot be used with these settings{why}",
        f"This bot's model is not set up correctly. {_CALL_THE_OPERATOR}",
    ),
)

_GARBAGE = _Row(
    Exception,
    ErrorType.API_ERROR,
    True,
    "{where} sent something that is not a model's answer{why}: check the base URL",
    "The model provider sent an answer that could not be read. Please try again in a moment.",
)

_CUT = _Row(
    Exception,
    ErrorType.API_ERROR,
    True,
    "{where} ended the stream before the answer was complete",
    "The answer broke off before it was complete. Please try again.",
)

_UNREACHABLE = _Row(
    Exception,
    ErrorType.API_ERROR,
    True,
    "{where} cannot be reached{why}: check the base URL and the network",
    "The model provider cannot be reached. Please try again in a moment.",
)

_TRANSPORT_FAULTS = (httpx2.TransportError, httpx2.StreamError, OSError)

_LONGEST_ADVICE = 200

_MACHINE_CODE = re.compile(r"[A-Za-z][A-Za-z_.\-]{2,48}\Z")
"""Error codes are words; keys and sentences do not match."""


def provider_error(error: BaseException, where: str, streaming: bool) -> ModelError | None:
    """The `ModelError` for a provider's fault, or None when `error` is a bug of ours.

    `where` names the provider for the operator; `streaming` says whether the answer had begun.
    """
    if isinstance(error, ai.ModelConnectionError) and not isinstance(error, ai.ModelTimeoutError):
        return _transport_error(error, where, streaming)
    for row in _ROWS:
        if isinstance(error, row.raised):
            return _filled(row, where, error)
    if isinstance(error, ai.ModelAPIError | ai.UnexpectedModelBehavior):
        return _filled(_CUT if streaming else _GARBAGE, where, error)
    if isinstance(error, _TRANSPORT_FAULTS) or _is_legacy_transport_error(error):
        return _transport_error(error, where, streaming)
    if _raised_by_provider_client(error):
        return _filled(_GARBAGE, where, error)
    return None


def cut_stream(where: str) -> ModelError:
    """The stream ended in good order, but without the marker that says it is complete (D34)."""
    return _filled(_CUT, where, None)


def content_blocked(where: str) -> ModelError:
    return _filled(_row(ai.ContentFilterError), where, None)


def failed_generation(where: str) -> ModelError:
    """The provider itself ended the answer with `finish_reason` error."""
    return _filled(_row(ai.ModelServerError), where, None)


def ran_on(where: str, limit: int) -> ModelError:
    return ModelError(
        type=ErrorType.MODEL_ERROR,
        message=f"{where} sent more than {limit} characters without coming to an end",
        member_message="The model did not come to an end, so its answer was cut off.",
    )


def too_many_calls(where: str, limit: int) -> ModelError:
    return ModelError(
        type=ErrorType.MODEL_ERROR,
        message=f"{where} sent more than {limit} tool calls in one response",
        member_message="The model asked for too many tools at once, so its answer was cut off.",
    )


def too_large(where: str, size: int, limit: int) -> ModelError:
    return ModelError(
        type=ErrorType.MODEL_ERROR,
        message=f"{where} sent a response too large for a result: {size} bytes, at most {limit}",
        member_message="The model's answer was too large, so it was cut off.",
    )


def silence(where: str, budget: timedelta, had_begun: bool) -> ModelError:
    """A budget of behaviour 6.4 ran out."""
    seconds = f"{budget.total_seconds():g} s"
    return ModelError(
        type=ErrorType.TIMEOUT,
        message=(
            f"{where} fell silent for {seconds} in the middle of an answer"
            if had_begun
            else f"{where} gave no sign of life for {seconds}"
        ),
        member_message=(
            "The model stopped in the middle of its answer. Please try again."
            if had_begun
            else "The model did not answer in time. Please try again in a moment."
        ),
        retryable=True,
    )


def internal(error: BaseException) -> ModelError:
    """A bug, or a fault of our own store; the log has the stack."""
    return ModelError(
        type=ErrorType.MODEL_ERROR,
        message=f"internal: {type(error).__name__} in the model call, see the worker's log",
        member_message="Something went wrong inside this bot. The log of its worker says what.",
    )


def _row(raised: type[BaseException]) -> _Row:
    return next(row for row in _ROWS if row.raised is raised)


def _filled(row: _Row, where: str, error: BaseException | None) -> ModelError:
    status = error.status_code if isinstance(error, ai.ModelHTTPError) else None
    known = [f"HTTP {status}"] if status else []
    if isinstance(error, ai.ModelAPIError):
        for code in (error.provider_error_code, error.provider_error_type):
            if code and _MACHINE_CODE.match(code) and code not in known:
                known.append(code)
    if isinstance(error, ai.UserError):
        # The library's own advice about settings; it has not talked to anybody yet.
        known.append(str(error).partition("\n")[0][:_LONGEST_ADVICE])
    why = f" ({', '.join(known)})" if known else ""
    return ModelError(
        type=row.type,
        message=redact(row.operator.format(where=where, why=why)),
        member_message=row.member,
        retryable=row.retryable,
        code=status,
    )


def _transport_error(error: BaseException, where: str, streaming: bool) -> ModelError:
    if streaming:
        return _filled(_CUT, where, None)
    for cause in _chain(error):
        match cause:
            case ssl.SSLError():
                why = "its TLS certificate or protocol is not accepted"
            case socket.gaierror():
                why = "its name does not resolve"
            case ConnectionRefusedError():
                why = "the connection is refused"
            case ConnectionResetError() | httpx2.RemoteProtocolError() | httpx2.ReadError():
                why = "the connection broke before an answer"
            case TimeoutError() | httpx2.ConnectTimeout():
                why = "the connection attempt timed out"
            case _:
                continue
        break
    else:
        why = ""
    row = _UNREACHABLE
    return ModelError(
        type=row.type,
        message=redact(row.operator.format(where=where, why=f" ({why})" if why else "")),
        member_message=row.member,
        retryable=row.retryable,
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it came from, and what those groups contain; the innermost first."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is None or current in seen:
            continue
        seen.append(current)
        waiting += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
    return reversed(seen)


def _is_legacy_transport_error(error: BaseException) -> bool:
    """httpx proper, which a provider's client may still use, has classes of its own."""
    return any(
        kind.__module__.partition(".")[0] == "httpx" and kind.__name__ in _LEGACY_FAULTS
        for kind in type(error).__mro__
    )


_LEGACY_FAULTS = ("TransportError", "StreamError")


def _raised_by_provider_client(error: BaseException) -> bool:
    """Whether the innermost frame is a provider library's: it choked on what it was sent."""
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    return module in _PROVIDER_LIBRARIES


_PROVIDER_LIBRARIES = ("openai", "anthropic", "google", "httpx2", "httpcore2", "json")

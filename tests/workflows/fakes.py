"""The boundary of the workflows, replaced: a Discord in memory and a scripted worker.

Activities are replaced, never anything inside the workflows. The fakes keep the contracts: the
nonce makes a repeated send harmless, segments arrive by signal, a cancel ends a model call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from temporalio import activity
from temporalio.client import Client

from workflows.contracts.context import BUILD_CONTEXT, ContextRef, ContextRequest
from workflows.contracts.delivery import (
    DELETE_MESSAGES,
    END_TYPING,
    POST_HIDDEN_NOTICES,
    REPORT_BACK,
    SEND_SEGMENTS,
    DeleteRequest,
    DeleteResult,
    EndTyping,
    HiddenNotices,
    Nothing,
    OutgoingKind,
    Refusal,
    ReportBack,
    SendRequest,
    SendResult,
    SentMessage,
    message_nonce,
)
from workflows.contracts.effects import FINISH_TURN, FinishRequest
from workflows.contracts.generation import (
    CALL_MODEL,
    SEGMENTS_SIGNAL,
    FunctionCall,
    ModelRequest,
    ModelResult,
    Segment,
    SegmentBatch,
    StreamStatus,
)
from workflows.contracts.history import READ_HISTORY, HistoryRef, HistoryRequest
from workflows.contracts.planning import (
    GIVE_UP_PLAN,
    PLAN_TURNS,
    PlannedTurn,
    PlanRequest,
    TurnPlan,
)
from workflows.contracts.reminders import CHECK_REMINDER, ReminderKey, ReminderStanding
from workflows.contracts.tools import RUN_TOOL, ToolRequest, ToolResult
from workflows.contracts.turn import TurnLimits


@dataclass
class Message:
    id: str
    nonce: str
    text: str
    kind: OutgoingKind
    reply_to: str | None
    title: str = ""
    sticker_id: str | None = None
    voice: str = ""
    """The webhook's name; empty: the bot's own account."""


class FakeDiscord:
    """The Discord queue. `messages` is what stands in the channels, in order."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.deleted: list[str] = []
        self.deletions: list[DeleteRequest] = []
        self.requests: list[SendRequest] = []
        self.typing_ended: list[str] = []
        self.hidden: list[HiddenNotices] = []
        self.reports: list[ReportBack] = []
        self.refusal: Refusal | None = None
        self.checked: list[ReminderKey] = []
        self.on_check: Callable[[ReminderKey], ReminderStanding] = lambda _: ReminderStanding()
        self.fail_sends = 0
        self.alien_ordinal = False
        self.on_send: Callable[[SendRequest], Awaitable[None]] | None = None
        self.takes: asyncio.Semaphore | None = None
        """How many messages Discord takes for now; None: any number. A cancel ends the waiting."""

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    @activity.defn(name=READ_HISTORY.name)
    async def read_history(self, request: HistoryRequest) -> HistoryRef:
        return HistoryRef(history_id=f"history-{request.trigger_message_id}")

    @activity.defn(name=CHECK_REMINDER.name)
    async def check_reminder(self, key: ReminderKey) -> ReminderStanding:
        self.checked.append(key)
        return self.on_check(key)

    @activity.defn(name=SEND_SEGMENTS.name)
    async def send_segments(self, request: SendRequest) -> SendResult:
        self.requests.append(request)
        if self.on_send is not None:
            await self.on_send(request)
        if self.fail_sends > 0:
            self.fail_sends -= 1
            raise RuntimeError("Discord is away")
        if self.alien_ordinal:
            return SendResult(sent=[SentMessage(ordinal=99, message_id="1")])
        if self.refusal is not None:
            return SendResult(refusal=self.refusal)
        sent: list[SentMessage] = []
        reply_to = request.reply_to
        for outgoing in request.outgoing:
            if not await self._may_send():
                return SendResult(sent=sent, stopped=True)
            nonce = message_nonce(
                request.trigger_message_id,
                request.persona_id,
                request.generation,
                outgoing.ordinal,
                0,
            )
            found = next((m for m in self.messages if m.nonce == nonce), None)
            if found is None:
                found = Message(
                    str(len(self.messages) + len(self.deleted) + 1),
                    nonce,
                    outgoing.text,
                    outgoing.kind,
                    reply_to,
                    outgoing.title,
                    outgoing.sticker_id,
                    "" if request.voice.is_main else request.voice.name,
                )
                self.messages.append(found)
            reply_to = None
            sent.append(SentMessage(ordinal=outgoing.ordinal, message_id=found.id))
        return SendResult(sent=sent)

    async def _may_send(self) -> bool:
        """False: cancelled meanwhile."""
        try:
            while self.takes is not None and self.takes.locked():
                activity.heartbeat()
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            return False
        if self.takes is not None:
            await self.takes.acquire()
        return True

    @activity.defn(name=DELETE_MESSAGES.name)
    async def delete_messages(self, request: DeleteRequest) -> DeleteResult:
        self.deletions.append(request)
        self.deleted.extend(request.message_ids)
        gone = set(request.message_ids)
        if request.stop_button_id is not None:
            gone |= {m.id for m in self.messages if m.kind is OutgoingKind.WORKING}
        self.messages = [m for m in self.messages if m.id not in gone]
        return DeleteResult(deleted=len(request.message_ids))

    @activity.defn(name=END_TYPING.name)
    async def end_typing(self, request: EndTyping) -> Nothing:
        self.typing_ended.append(request.turn_id)
        return Nothing()

    @activity.defn(name=POST_HIDDEN_NOTICES.name)
    async def post_hidden_notices(self, request: HiddenNotices) -> Nothing:
        self.hidden.append(request)
        return Nothing()

    @activity.defn(name=REPORT_BACK.name)
    async def report_back(self, request: ReportBack) -> Nothing:
        self.reports.append(request)
        return Nothing()

    def activities(self) -> list[Callable[..., object]]:
        return [
            self.read_history,
            self.send_segments,
            self.delete_messages,
            self.end_typing,
            self.post_hidden_notices,
            self.report_back,
            self.check_reminder,
        ]


ModelScript = Callable[["ModelCall"], Awaitable[ModelResult]]


@dataclass
class ModelCall:
    """One attempt of one model call, for a script to play."""

    request: ModelRequest
    attempt: int
    client: Client
    sequence: int = 0

    async def say(self, *texts: str) -> None:
        """Signal segments, as the streaming activity does."""
        segments: list[Segment] = []
        for text in texts:
            segments.append(Segment(sequence=self.sequence, text=text))
            self.sequence += 1
        await self.signal(segments)

    async def signal(self, segments: list[Segment]) -> None:
        info = activity.info()
        assert info.workflow_id is not None
        handle = self.client.get_workflow_handle(info.workflow_id)
        batch = SegmentBatch(
            call_index=self.request.call_index, attempt=self.attempt, segments=segments
        )
        await handle.signal(SEGMENTS_SIGNAL, batch)

    async def until_cancelled(self) -> ModelResult:
        """Stream for ever, beating, as a model does that is in the middle of its answer."""
        while True:
            activity.heartbeat()
            await asyncio.sleep(0.05)

    def result(self, *tail: str, status: StreamStatus = StreamStatus.COMPLETED) -> ModelResult:
        segments = [
            Segment(sequence=self.sequence + place, text=text) for place, text in enumerate(tail)
        ]
        return ModelResult(
            status=status,
            attempt=self.attempt,
            segments_signalled=self.sequence,
            tail=segments,
            response_id=f"response-{self.request.call_index}",
            provider="scripted",
            model="script",
        )

    def tool(self, name: str, arguments: str = "{}", *tail: str, **fields: object) -> ModelResult:
        call = FunctionCall.model_validate(
            {
                "call_id": f"call-{self.request.call_index}",
                "name": name,
                "arguments": arguments,
                **fields,
            }
        )
        result = self.result(*tail, status=StreamStatus.FUNCTION_CALL)
        visible = sum(len(text) for text in tail)
        return result.model_copy(update={"calls": [call], "visible_chars": visible})

    def tools(self, *calls: FunctionCall, text: str = "") -> ModelResult:
        """A response with several calls."""
        result = self.tool("", "{}", *([text] if text else []))
        return result.model_copy(update={"calls": list(calls)})


def script_of(*steps: Callable[[ModelCall], ModelResult]) -> ModelScript:
    """One step for each model call of the turn; the last one for all that follow."""

    async def script(call: ModelCall) -> ModelResult:
        return steps[min(call.request.call_index, len(steps) - 1)](call)

    return script


async def says_hello(call: ModelCall) -> ModelResult:
    return call.result("Hello.")


async def shows_and_goes_on(call: ModelCall) -> ModelResult:
    """One segment, and then a stream without an end."""
    await call.say("shown")
    return await call.until_cancelled()


@dataclass
class FakeWorker:
    """The turns queue. `script` plays every model call; `running` counts overlaps."""

    client: Client
    script: ModelScript = says_hello
    limits: TurnLimits = field(default_factory=TurnLimits)
    context: ContextRef = field(default_factory=lambda: ContextRef(context_id=""))
    """What every built context says of the turn's tools; its id is set for each turn."""
    personas: list[PlannedTurn] = field(
        default_factory=lambda: [PlannedTurn(persona_id=1, persona_name="Nova")]
    )

    def __post_init__(self) -> None:
        self.model_calls: list[ModelRequest] = []
        self.triggers: list[str] = []
        self.built: list[ContextRequest] = []
        self.tools_run: list[ToolRequest] = []
        self.finished: list[FinishRequest] = []
        self.cancelled: list[str] = []
        self.cannot_finish = False
        self.cannot_build: Exception | None = None
        self.plan_failures = 0
        """How many more times planning fails."""
        self.planned: list[PlanRequest] = []
        self.given_up: list[PlanRequest] = []
        self.plan: Callable[[PlanRequest, TurnPlan], TurnPlan] | None = None
        """What becomes of a plan before it is returned."""
        self.running = 0
        self.most_running = 0
        self.tool: Callable[[ToolRequest], Awaitable[ToolResult]] = self._tool_succeeds

    @activity.defn(name=PLAN_TURNS.name)
    async def plan_turns(self, request: PlanRequest) -> TurnPlan:
        if self.plan_failures:
            self.plan_failures -= 1
            raise RuntimeError("the database is away")
        self.planned.append(request)
        message = request.invocation
        selected = message.selected_persona_id
        turns = [p for p in self.personas if selected in (None, p.persona_id)]
        plan = TurnPlan(turns=turns, limits=self.limits)
        return self.plan(request, plan) if self.plan is not None else plan

    @activity.defn(name=GIVE_UP_PLAN.name)
    async def give_up_plan(self, request: PlanRequest) -> Nothing:
        self.given_up.append(request)
        return Nothing()

    @activity.defn(name=BUILD_CONTEXT.name)
    async def build_context(self, request: ContextRequest) -> ContextRef:
        if self.cannot_build is not None:
            raise self.cannot_build
        self.triggers.append(request.invocation.message_id)
        self.built.append(request)
        return self.context.model_copy(update={"context_id": f"context-{request.turn_id}"})

    @activity.defn(name=CALL_MODEL.name)
    async def call_model(self, request: ModelRequest) -> ModelResult:
        self.model_calls.append(request)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self.script(ModelCall(request, activity.info().attempt, self.client))
        except asyncio.CancelledError:
            self.cancelled.append("call_model")
            raise
        finally:
            self.running -= 1

    @activity.defn(name=RUN_TOOL.name)
    async def run_tool(self, request: ToolRequest) -> ToolResult:
        self.tools_run.append(request)
        try:
            return await self.tool(request)
        except asyncio.CancelledError:
            self.cancelled.append("run_tool")
            raise

    @activity.defn(name=FINISH_TURN.name)
    async def finish_turn(self, request: FinishRequest) -> Nothing:
        if self.cannot_finish:
            raise RuntimeError("the database is away")
        self.finished.append(request)
        return Nothing()

    async def _tool_succeeds(self, request: ToolRequest) -> ToolResult:
        return tool_success(request)

    def activities(self) -> list[Callable[..., object]]:
        return [
            self.plan_turns,
            self.give_up_plan,
            self.build_context,
            self.call_model,
            self.run_tool,
            self.finish_turn,
        ]


def tool_success(request: ToolRequest, **content: object) -> ToolResult:
    return ToolResult(
        call_id=request.call_id, name=request.name, success=True, content=json.dumps(content)
    )

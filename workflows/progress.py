"""What a turn is doing right now, as its current details in the Temporal UI.

In: what the loop reports. Out: Markdown, set as the workflow's current details; it changes while
the turn runs and stays as its summary when it is over. No content of the conversation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from workflows.contracts.generation import ModelResult, StreamStatus, Usage


@dataclass
class Progress:
    title: str = ""
    doing: str = "reads the channel"
    messages: int = 0
    """How many stand in the channel because of this turn."""
    iteration: int = 0
    tools_run: int = 0
    long: bool = False
    """The channel has been told that this turn takes longer than usual."""
    model: str = ""
    provider: str = ""
    usage: Usage = field(default_factory=Usage)

    def reading(self) -> None:
        self._now("reads the channel")

    def building(self) -> None:
        self._now("builds the context")

    def model_called(self, iteration: int) -> None:
        self.iteration = iteration + 1
        self._now(f"waits for the model, call {self.iteration}")

    def streaming(self) -> None:
        self._now("the model streams")

    def delivered(self, messages: int) -> None:
        self.messages = messages
        self._now(self.doing)

    def model_answered(self, result: ModelResult) -> None:
        self.model = result.model or self.model
        self.provider = result.provider or self.provider
        self.usage = _sum(self.usage, result.usage)
        self._now("has its answer")

    def tool_called(self, summary: str) -> None:
        self.tools_run += 1
        self._now(f"runs `{summary.replace('`', '')}`")

    def warned(self) -> None:
        self.long = True

    def delivering(self) -> None:
        self._now("delivers")

    def ended(self, status: StreamStatus, error: str | None) -> None:
        text = _ENDINGS.get(status, status.value)
        self._now(f"{text}: {error}" if error else text)

    def _now(self, doing: str) -> None:
        self.doing = doing
        workflow.set_current_details(self.markdown())

    def markdown(self) -> str:
        lines = [f"**{self.title}**", "", self.doing[:1].upper() + self.doing[1:], ""]
        if self.model:
            lines.append(f"- model: {self.model} ({self.provider})")
        if self.iteration:
            lines.append(f"- model calls: {self.iteration}, tools run: {self.tools_run}")
        lines.append(f"- messages in the channel: {self.messages}")
        if self.long:
            lines.append("- long: the channel has a Stop button for it")
        if self.usage.input_tokens or self.usage.output_tokens:
            tokens = f"{self.usage.input_tokens} in, {self.usage.output_tokens} out"
            cost = self.usage.cost_usd
            lines.append(f"- tokens: {tokens}" + (f", ${cost:.4f}" if cost is not None else ""))
        return "\n".join(lines)


_ENDINGS = {
    StreamStatus.COMPLETED: "has answered",
    StreamStatus.STOPPED_BY_USER: "was stopped",
    StreamStatus.FOLLOW_UP_INTERRUPT: "gave way to a follow-up",
    StreamStatus.EMPTY_RESPONSE: "the model sent nothing",
    StreamStatus.TIMEOUT: "took too long",
    StreamStatus.ERROR: "failed",
}


def _sum(left: Usage, right: Usage) -> Usage:
    costs = [cost for cost in (left.cost_usd, right.cost_usd) if cost is not None]
    return Usage(
        input_tokens=left.input_tokens + right.input_tokens,
        output_tokens=left.output_tokens + right.output_tokens,
        cost_usd=sum(costs) if costs else None,
    )

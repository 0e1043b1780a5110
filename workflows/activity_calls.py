"""How workflows call activities: one policy per activity, and one way to wait.

Every wait of a turn goes through `outcome_of`, and a stop reaches a turn at exactly one place
(`TurnWorkflow.run`), which sets the `Stop`. No other code handles `CancelledError`, so a cancel
that lands together with a completion cannot be lost between two awaits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.workflow import ActivityCancellationType

with workflow.unsafe.imports_passed_through():
    from workflows.contracts.base import ActivityStub
    from workflows.contracts.context import BUILD_CONTEXT
    from workflows.contracts.delivery import (
        DELETE_MESSAGES,
        END_TYPING,
        POST_HIDDEN_NOTICES,
        REPORT_BACK,
        SEND_SEGMENTS,
    )
    from workflows.contracts.effects import FINISH_TURN
    from workflows.contracts.generation import CALL_MODEL
    from workflows.contracts.history import READ_HISTORY
    from workflows.contracts.planning import GIVE_UP_PLAN, PLAN_TURNS
    from workflows.contracts.tools import RUN_TOOL

Input = TypeVar("Input")
Result = TypeVar("Result")

CANCEL_GRACE = timedelta(seconds=15)
"""How long a stopped turn waits for an activity to close its connections and book its usage.
Measured, that takes under a second; the bound is for an activity that ignores the cancel."""

HEARTBEAT_TIMEOUT = timedelta(seconds=5)
"""After how long without a beat a process counts as dead. Beats come every 0.5 s; most of the
time to recover from a killed worker is this."""

NONCE_WINDOW = timedelta(minutes=2)
"""Inside it Discord answers a repeated nonce with the message it has. It publishes "a few
minutes"; two are always inside."""

RECONCILE_FOR = timedelta(hours=24)
"""How long an answer waits for a bot that is away before it is given up."""


class StoppedError(Exception):
    """The turn was stopped while it waited. Raised by `outcome_of` only, caught by the turn."""


@dataclass
class Stop:
    """Whether somebody has stopped this turn: `/kill`, or a cancel in Temporal."""

    requested: bool = False
    natural: bool = False
    """The member who is being answered asked in words that it stop: nothing new is begun, and what
    has been said is still delivered (behaviour 2.4)."""
    follow_up: bool = False
    """The member whose message is being answered has written more: it comes next, and what is
    still streaming before any tool has run gives way to it (behaviour 2.3)."""

    def check(self) -> None:
        """Raises StoppedError after a stop: call it before anything new is scheduled."""
        if self.ends_the_work:
            raise StoppedError

    @property
    def ends_the_work(self) -> bool:
        """Whether the model and the tools have to stop, by whichever kind of stop."""
        return self.requested or self.natural


_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=500), maximum_interval=timedelta(seconds=10)
)


@dataclass(frozen=True)
class Policy:
    start_to_close: timedelta
    schedule_to_close: timedelta | None = None
    schedule_to_start: timedelta | None = None
    heartbeat: timedelta | None = None
    retry: RetryPolicy = field(default_factory=lambda: _RETRY)


_RECONCILE_RETRY = RetryPolicy(
    initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)
)

TOOL_PATIENCE = timedelta(minutes=2)
"""How long a tool waits for somebody to run it, such as a bot that is away. It has not begun then,
and what is said to the model later would no longer be true."""

POLICIES: dict[str, Policy] = {
    # The channel tries again itself: while a local activity is tried again it hears no `/kill`.
    PLAN_TURNS.name: Policy(
        start_to_close=timedelta(seconds=10), retry=RetryPolicy(maximum_attempts=1)
    ),
    GIVE_UP_PLAN.name: Policy(
        start_to_close=timedelta(seconds=5), retry=RetryPolicy(maximum_attempts=1)
    ),
    # It waits for a bot as long as it takes; one that is there has these attempts.
    READ_HISTORY.name: Policy(
        start_to_close=timedelta(seconds=30),
        heartbeat=HEARTBEAT_TIMEOUT,
        retry=RetryPolicy(initial_interval=timedelta(milliseconds=500), maximum_attempts=6),
    ),
    BUILD_CONTEXT.name: Policy(
        start_to_close=timedelta(seconds=60), retry=RetryPolicy(maximum_attempts=3)
    ),
    # An hour bounds a stream that never ends; the budgets inside the activity end it far earlier.
    # Provider faults are results, so only a dead or departing worker leads to another attempt.
    CALL_MODEL.name: Policy(
        start_to_close=timedelta(hours=1),
        heartbeat=HEARTBEAT_TIMEOUT,
        retry=RetryPolicy(initial_interval=timedelta(milliseconds=200), maximum_attempts=5),
    ),
    # A tool may have done its work before it died: it is never run again.
    RUN_TOOL.name: Policy(
        start_to_close=timedelta(seconds=300),
        schedule_to_start=TOOL_PATIENCE,
        heartbeat=HEARTBEAT_TIMEOUT,
        retry=RetryPolicy(maximum_attempts=1),
    ),
    SEND_SEGMENTS.name: Policy(
        start_to_close=NONCE_WINDOW, schedule_to_close=NONCE_WINDOW, heartbeat=HEARTBEAT_TIMEOUT
    ),
    DELETE_MESSAGES.name: Policy(
        start_to_close=timedelta(seconds=60), schedule_to_close=timedelta(minutes=10)
    ),
    END_TYPING.name: Policy(
        start_to_close=timedelta(seconds=5), schedule_to_close=timedelta(seconds=5)
    ),
    # Both best effort, and what they wait for holds up the channel.
    POST_HIDDEN_NOTICES.name: Policy(
        start_to_close=timedelta(seconds=20), schedule_to_close=timedelta(seconds=30)
    ),
    REPORT_BACK.name: Policy(
        start_to_close=timedelta(seconds=30), schedule_to_close=timedelta(hours=1)
    ),
    FINISH_TURN.name: Policy(
        start_to_close=timedelta(seconds=30), retry=RetryPolicy(maximum_attempts=3)
    ),
}

NOTICE_GOES_POLICY = Policy(
    start_to_close=timedelta(seconds=10), schedule_to_close=timedelta(seconds=30)
)
"""For a notice that goes with its turn: the channel waits for it no longer than that."""

RECONCILE_POLICY = Policy(
    start_to_close=NONCE_WINDOW,
    schedule_to_close=RECONCILE_FOR,
    heartbeat=HEARTBEAT_TIMEOUT,
    retry=_RECONCILE_RETRY,
)


def start(
    stub: ActivityStub[Input, Result],
    argument: Input,
    *,
    summary: str,
    task_queue: str | None = None,
    start_to_close: timedelta | None = None,
    policy: Policy | None = None,
) -> workflow.ActivityHandle[Result]:
    """Schedule an activity on `task_queue` (None: the workflow's own). `summary` is for the UI."""
    policy = policy or POLICIES[stub.name]
    return workflow.start_activity(
        stub.name,
        argument,
        result_type=stub.result_type,
        task_queue=task_queue,
        start_to_close_timeout=start_to_close or policy.start_to_close,
        schedule_to_close_timeout=policy.schedule_to_close,
        schedule_to_start_timeout=policy.schedule_to_start,
        heartbeat_timeout=policy.heartbeat,
        retry_policy=policy.retry,
        cancellation_type=ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        summary=summary,
    )


async def run_local(stub: ActivityStub[Input, Result], argument: Input, *, summary: str) -> Result:
    """Run an activity that needs only the database inside this workflow task.

    It costs a marker in the history in place of three events and a round trip to the server.
    Raises FailureError: a local activity's own error comes as it is, not inside an ActivityError.
    """
    policy = POLICIES[stub.name]
    return await workflow.execute_local_activity(
        stub.name,
        argument,
        result_type=stub.result_type,
        start_to_close_timeout=policy.start_to_close,
        retry_policy=policy.retry,
        summary=summary,
    )


async def work_of(handle: workflow.ActivityHandle[Result], stop: Stop) -> Result:
    """`outcome_of`, for work that a stop in words ends as well: the model's and the tools'."""
    await workflow.wait_condition(lambda: handle.done() or stop.ends_the_work)
    if stop.ends_the_work:
        await settle(handle)
        raise StoppedError
    return await handle


async def outcome_of(handle: workflow.ActivityHandle[Result], stop: Stop) -> Result:
    """The activity's result, or its ActivityError, or StoppedError when the turn is stopped.

    A stop is passed on to the activity, and waited for up to CANCEL_GRACE, so that what the
    activity still has to do (close a connection, book usage) is done before the turn closes. A
    result that arrives together with the stop is dropped: after a stop nothing goes on.
    """
    await workflow.wait_condition(lambda: handle.done() or stop.requested)
    if stop.requested:
        await settle(handle)
        raise StoppedError
    return await handle


async def settle(handle: workflow.ActivityHandle[Any]) -> None:
    """Cancel an activity and wait until it has ended, at most CANCEL_GRACE. Never raises."""
    if not handle.done():
        handle.cancel()
        try:
            await workflow.wait_condition(
                handle.done,
                timeout=CANCEL_GRACE,
                timeout_summary="until what was stopped has ended",
            )
        except TimeoutError:
            workflow.logger.warning("an activity ignored its cancellation")
            return
    if not handle.cancelled():
        handle.exception()  # marks it as seen

"""The bot process from start to stop.

Order of the start: login, personas, gateway; at READY the Discord task queue is served, and once a
worker has brought the personas the bot is ready; beside that is read what was said while it was
away (`missed`). Order of the stop: no more messages are taken in, those taken in are signalled, the
marks of the channels are written (`progress`), sends and tools in flight finish, the connection is
closed. What the tools use beside Discord belongs to the caller, who closes it afterwards.

Two processes may run for one application: each message is then signalled twice and answered once
(the channel drops the second), and the two share the task queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar

import structlog
from temporalio.client import Client

from bot.active_turns import ActiveTurns, WatchedTurns
from bot.client import EverturnClient, Intake
from bot.commands.config import add_config
from bot.commands.cooldown import CommandCooldowns
from bot.commands.kill import add_kill
from bot.commands.persona import add_persona
from bot.commands.refresh import add_refresh
from bot.commands.respond import Responder, add_respond
from bot.commands.stop_button import add_stop_button
from bot.commands.sync import sync_commands
from bot.config import BotConfig
from bot.delivery.delete import DeleteActivities
from bot.delivery.hidden_notices import HiddenNoticeActivities
from bot.delivery.send import SendActivities
from bot.directory import ServerDirectory
from bot.dispatch import Dispatcher
from bot.gateway import log_in, stay_connected, use_api
from bot.history import HistoryActivities
from bot.missed import MissedMessages
from bot.port.client_port import ClientPort
from bot.progress import Progress
from bot.refusals import RefusalMemory
from bot.reminders import ReminderRights
from bot.reporting import ReportingActivities
from bot.running_turns import RunningTurns
from bot.serving import DiscordQueue
from bot.typing_sessions import TypingSessions
from bot.webhooks import ManagedWebhooks
from runtime.logs import register_secret
from storage import Storage
from workflows.contracts.discord_port import DiscordPort

log = structlog.get_logger(__name__)

Result = TypeVar("Result")
ToolActivities: TypeAlias = Callable[[DiscordPort], Sequence[Callable[..., Any]]]
"""The activities that run tools, which `activities` implements and this package does not know."""


def no_tools(port: DiscordPort) -> Sequence[Callable[..., Any]]:
    return ()


DRAIN = timedelta(seconds=5)
"""How long messages that were taken in wait for a Temporal that does not answer at the stop."""


async def run_bot(
    config: BotConfig,
    temporal: Client,
    storage: Storage,
    stop: asyncio.Event,
    on_ready: Callable[[], None] | None = None,
    tool_activities: ToolActivities = no_tools,
) -> None:
    """Run until `stop` is set. `on_ready` is called once, when messages are taken in and answers
    can be delivered. `tool_activities` is asked once for what else the Discord queue serves.

    Raises BotStartError when Discord refuses this bot for good, and whatever ended the worker.
    """
    register_secret(config.token.get_secret_value())
    use_api(config.api_base)
    stopped = asyncio.create_task(stop.wait())
    try:
        client = await _unless(stopped, log_in(config))
        if client is None:
            return
        try:
            bot = await _assemble(config, client, temporal, storage, tool_activities)
            await _live(bot, stopped, on_ready)
        finally:
            await client.close()
    finally:
        stopped.cancel()


@dataclass(frozen=True)
class _Bot:
    """A bot that has logged in, and its parts."""

    client: EverturnClient
    intake: Intake
    missed: MissedMessages
    progress: Progress
    dispatcher: Dispatcher
    queue: DiscordQueue
    personas: ServerDirectory
    running: RunningTurns
    typing: TypingSessions
    webhooks: ManagedWebhooks


async def _assemble(
    config: BotConfig,
    client: EverturnClient,
    temporal: Client,
    storage: Storage,
    tool_activities: ToolActivities,
) -> _Bot:
    personas = ServerDirectory(storage.personas, storage.configs, config.base_words)
    await personas.refresh()
    refusals = RefusalMemory()
    turns = ActiveTurns()
    running = RunningTurns(temporal, turns)
    dispatcher = Dispatcher(temporal, told=turns.asked)
    typing = TypingSessions(lambda channel_id: client.http.send_typing(int(channel_id)))
    client.tree.cooldowns = CommandCooldowns(config.command_cooldown_scale)
    add_kill(client, temporal, typing)
    add_stop_button(client, temporal, typing)
    add_config(client, storage.configs, personas)
    add_persona(client, storage.personas, personas)
    responder = Responder(
        personas, refusals, dispatcher, lambda channel_id: turns.active(channel_id) is not None
    )
    add_respond(client, responder, personas)
    add_refresh(client, storage.marks, storage.short_term)
    webhooks = ManagedWebhooks(client, personas.known, said_by=turns.said_by)
    client.webhooks = webhooks
    port = ClientPort(client, dispatcher, refusals, webhooks)
    queue = DiscordQueue(
        temporal,
        str(client.application_id),
        [
            HistoryActivities(client, storage, typing, webhooks).read_history,
            SendActivities(client, typing, refusals, webhooks).send_segments,
            DeleteActivities(client, webhooks).delete_messages,
            HiddenNoticeActivities(client).post_hidden_notices,
            ReportingActivities(port, storage).report_back,
            ReminderRights(port, storage).check_reminder,
            *tool_activities(port),
            typing.end_typing,
        ],
        [WatchedTurns(turns)],
    )
    intake = Intake(personas, refusals, dispatcher, webhooks, turns)
    progress = Progress(storage.marks, dispatcher.oldest_waiting)

    async def prepare() -> None:
        await asyncio.gather(personas.refresh(client.guild_ids()), running.look())

    missed = MissedMessages(intake, progress, storage.marks, prepare)
    return _Bot(
        client, intake, missed, progress, dispatcher, queue, personas, running, typing, webhooks
    )


async def _live(
    bot: _Bot, stopped: asyncio.Task[bool], on_ready: Callable[[], None] | None
) -> None:
    # Before the connection: a session that begins delivers messages at once.
    bot.client.sessions = bot.missed
    bot.client.take_messages(bot.missed)
    gateway = asyncio.create_task(stay_connected(bot.client))
    ready = asyncio.create_task(bot.client.gateway_ready.wait())
    serving: asyncio.Task[None] | None = None
    beside: list[asyncio.Task[Any]] = [ready]
    try:
        await _first(gateway, ready, stopped)
        if ready.done():
            serving = asyncio.create_task(bot.queue.run())
            beside.append(asyncio.create_task(bot.progress.keep_writing()))
            beside.append(asyncio.create_task(sync_commands(bot.client)))
            beside.append(asyncio.create_task(bot.personas.keep_fresh(bot.client.guild_ids)))
            beside.append(asyncio.create_task(bot.running.keep_looking()))
            log.info("connected to Discord", name=str(bot.client.user))
            found = asyncio.create_task(bot.personas.found.wait())
            beside.append(found)
            await _first(gateway, serving, stopped, found)
            if found.done() and on_ready is not None:
                on_ready()
            await _first(gateway, serving, stopped)
    finally:
        bot.client.take_messages(None)
        bot.client.sessions = None
        await bot.missed.close()
        await bot.intake.close()
        await bot.dispatcher.drain(DRAIN)
        await bot.progress.write()
        await bot.queue.shutdown()
        if serving is not None:
            await asyncio.wait({serving})
        await bot.typing.close()
        await bot.webhooks.close()
        await bot.client.close()
        await _cancel(gateway, *beside)
    for task in (gateway, serving):
        if task is not None and task.done() and not task.cancelled():
            task.result()  # raises what ended the bot, if it was not asked to stop


async def _unless(stopped: asyncio.Task[bool], work: Coroutine[Any, Any, Result]) -> Result | None:
    """The result of `work`; None when the bot is asked to stop before."""
    task = asyncio.create_task(work)
    try:
        await _first(task, stopped)
        return task.result() if task.done() else None
    finally:
        await _cancel(task)


async def _first(*tasks: asyncio.Task[Any]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

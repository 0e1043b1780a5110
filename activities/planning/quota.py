"""Text quotas: asked before a turn, charged when it has said something (behaviour 5.4 and 6.9).

In: the message, later the turn's end. Out: a refusal, or nothing. What always holds: one message is
charged once, however many personas answer it (C045), and only for an answer (C046); what fails is
logged and refuses nobody.
"""

from __future__ import annotations

from datetime import datetime

import structlog

from activities.planning.guards import fail_open
from activities.planning.known import Known
from activities.planning.refusals import told
from storage import Charge, Storage
from workflows.contracts.base import server_key
from workflows.contracts.effects import FinishRequest
from workflows.contracts.invocation import ChatIncoming, QuotaSource
from workflows.contracts.planning import PlanReason, PlanRefusal

log = structlog.get_logger(__name__)


async def quota_refusal(
    storage: Storage, message: ChatIncoming, known: Known, now: datetime
) -> PlanRefusal | None:
    """Takes nothing. Further personas of a message are not asked again."""
    quota = known.server.quota
    if not _is_charged(message) or message.is_persona_job:
        return None
    if not (quota.user_daily or quota.server_pool):
        return None
    exhausted = await fail_open(
        "text quota",
        storage.limits.would_refuse(
            message.text_quota_key or message.message_id,
            server_key=server_key(message.guild_id, message.author_id),
            user_id=message.author_id,
            user_daily=quota.user_daily,
            server_pool=quota.server_pool,
            pool_days=quota.pool_days,
            at=now,
        ),
    )
    match exhausted:
        case Charge.USER_EXHAUSTED:
            notice = (
                f"You have had your {_answers(quota.user_daily)} of today in this server."
                " The next day begins at midnight UTC."
            )
        case Charge.POOL_EXHAUSTED:
            days = "day" if quota.pool_days == 1 else f"{quota.pool_days} days"
            notice = (
                f"This server has used up its {_answers(quota.server_pool)}. There are new ones"
                f" every {days}: please ask again later."
            )
        case _:
            return None
    return told(PlanReason.QUOTA, message, notice)


async def charge_answer(storage: Storage, request: FinishRequest, now: datetime) -> None:
    """Charge a turn that has said something. Raises StorageError."""
    if request.quota_key is None or request.guild_id is None or not request.reply_text.strip():
        return
    key = server_key(request.guild_id, request.user_id)
    quota = (await storage.configs.server(key)).quota
    charge = await storage.limits.charge(
        request.quota_key,
        server_key=key,
        user_id=request.user_id,
        user_daily=quota.user_daily,
        server_pool=quota.server_pool,
        pool_days=quota.pool_days,
        at=now,
    )
    if charge in (Charge.USER_EXHAUSTED, Charge.POOL_EXHAUSTED):
        # answers that were under way at the same time
        log.info("planning.quota_exceeded", guild=request.guild_id, quota=charge.value)


def _answers(number: int) -> str:
    return "1 answer" if number == 1 else f"{number:,} answers"


def _is_charged(message: ChatIncoming) -> bool:
    return (
        message.text_quota_source is QuotaSource.USER
        and message.guild_id is not None
        and not (message.is_stop_response or message.is_synthetic)
    )

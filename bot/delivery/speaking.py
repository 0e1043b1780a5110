"""Who says it: the bot's own account, or the persona's webhook (behaviour 6.2).

In: the persona's voice, then one message after the other. Out: what Discord made of each. What
always holds: the main persona, and the system's own words, come from the bot's account, under their
nonces; another persona speaks through its channel's webhook, and where there is none by the bot's
account, with its name before the first message of a turn; a webhook that is gone, or was moved, is
looked for once more, and then done without; what landed elsewhere by it is taken away and said
where it belongs.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

import discord
import structlog

from bot.delivery import signatures
from bot.delivery.parts import Part
from bot.delivery.post import Outcome, Posted, post
from bot.delivery.post_by_webhook import (
    Astray,
    Gone,
    UnclearError,
    Unnameable,
    delete_by_webhook,
    post_by_webhook,
)
from bot.discord_faults import (
    NETWORK_FAULTS,
    UNKNOWN_MESSAGE,
    describe,
    is_transient,
    try_again,
)
from bot.webhooks import ManagedWebhook, ManagedWebhooks
from text.usernames import same_username
from workflows.contracts.delivery import OutgoingKind
from workflows.contracts.identity import Voice

log = structlog.get_logger(__name__)

TURNS_REMEMBERED = 1000
STICKER_ADDRESS = "https://media.discordapp.net/stickers/{id}.png"
"""Of a sticker that is not in the cache."""


@dataclass
class Mouth:
    """Of one batch, or of one call of a tool."""

    voice: Voice
    channel: discord.PartialMessageable
    turn_id: str
    """In which the persona is named once."""
    by_account: bool = False
    """No webhook speaks for it here, so that none is looked for any more."""

    @property
    def is_alter(self) -> bool:
        """Not the main persona's."""
        return not self.voice.is_main

    @property
    def name(self) -> str:
        """Of a persona that the bot's account does not stand for; else empty."""
        return self.voice.name if self.is_alter else ""

    def is_own(self, webhooks: ManagedWebhooks, message: discord.Message) -> bool:
        """Whether this persona may have said it, through a webhook."""
        return (
            self.is_alter
            and webhooks.recognise(message)
            and same_username(message.author.name, self.voice.name)
        )


class Speaking:
    def __init__(self, client: discord.Client, webhooks: ManagedWebhooks) -> None:
        self._client = client
        self._webhooks = webhooks
        self._introduced: OrderedDict[str, None] = OrderedDict()
        """Turns whose persona the bot's account has named."""

    async def say(self, mouth: Mouth, part: Part, reply_to: str | None) -> Outcome:
        """Raises UnclearError where a webhook may or may not have said it, and ApplicationError
        (retryable)."""
        if part.is_notice or not mouth.is_alter:
            return await post(mouth.channel, part, reply_to)
        if not mouth.by_account:
            outcome = await self._say_by_webhook(mouth, part, reply_to)
            if outcome is not None:
                return outcome
        return await self._say_by_account(mouth, part, reply_to)

    async def _say_by_webhook(
        self, mouth: Mouth, part: Part, reply_to: str | None
    ) -> Outcome | None:
        """None: it has to be said without one."""
        channel_id = str(mouth.channel.id)
        for _ in range(2):
            # Of each message anew, from memory: it may have been moved since the one before.
            webhook = await self._webhook(mouth.channel.id)
            if webhook is None:
                return None
            content = self._words(part)
            if reply_to is not None and part.kind is OutgoingKind.TEXT:
                content = signatures.with_reply_line(
                    content, webhook.guild_id, channel_id, reply_to
                )
            try:
                outcome = await post_by_webhook(
                    self._webhooks.once,
                    webhook,
                    mouth.voice,
                    content,
                    self._client.allowed_mentions,
                )
            except UnclearError:
                # It may have been said elsewhere: whoever comes next looks where the webhook is.
                self._webhooks.forget(webhook)
                raise
            if isinstance(outcome, Unnameable):
                log.warning(
                    "a persona's name is not taken; the bot's account speaks for it",
                    persona=mouth.name,
                    error=outcome.description,
                )
                mouth.by_account = True
                return None
            if not isinstance(outcome, Gone | Astray):
                return outcome
            log.info("a webhook is gone, or was moved; looking for it", channel=channel_id)
            self._webhooks.forget(webhook)
            if isinstance(outcome, Astray):
                await self._take_back(webhook, outcome)
        log.warning("no webhook speaks here; the bot's account does", channel=channel_id)
        mouth.by_account = True
        return None

    async def _take_back(self, webhook: ManagedWebhook, astray: Astray) -> None:
        """Delete what was said in a channel that it was not for."""

        async def by_webhook() -> None:
            there = replace(webhook, channel_id=astray.channel_id, thread_id=None)
            await delete_by_webhook(self._webhooks.once, there, astray.message_id)

        async def by_account() -> None:
            await self._client.http.delete_message(int(astray.channel_id), int(astray.message_id))

        fault: Exception | None = None
        for delete in (by_webhook, by_webhook, by_account):
            try:
                await delete()
            except (discord.HTTPException, *NETWORK_FAULTS) as error:
                fault = error
            else:
                return
        if isinstance(fault, discord.HTTPException) and fault.code == UNKNOWN_MESSAGE:
            return
        log.warning(
            "a message went to a channel that it was not for, and could not be taken away",
            channel=astray.channel_id,
            message=astray.message_id,
            error=describe(fault) if fault is not None else "",
        )

    async def _say_by_account(self, mouth: Mouth, part: Part, reply_to: str | None) -> Outcome:
        turn_id = mouth.turn_id
        names = part.kind is OutgoingKind.TEXT and turn_id not in self._introduced
        if names:
            part = replace(part, text=signatures.with_name(part.text, mouth.name))
        outcome = await post(mouth.channel, part, reply_to)
        if names and isinstance(outcome, Posted):
            self._introduced[turn_id] = None
            while len(self._introduced) > TURNS_REMEMBERED:
                self._introduced.popitem(last=False)
        return outcome

    def _words(self, part: Part) -> str:
        """A webhook cannot send a sticker: Discord shows its address as the picture."""
        if part.kind is not OutgoingKind.STICKER:
            return part.text
        known = self._client.get_sticker(int(part.sticker_id or 0))
        return known.url if known is not None else STICKER_ADDRESS.format(id=part.sticker_id)

    async def _webhook(self, channel_id: int) -> ManagedWebhook | None:
        try:
            return await self._webhooks.for_channel(channel_id)
        except discord.HTTPException as error:
            if is_transient(error):
                raise try_again(error) from error
            raise
        except NETWORK_FAULTS as error:
            raise try_again(error) from error

"""Commands, buttons, forms and completions: a member acts, the bot has three seconds to answer.

Source: Discord's API reference, "Receiving and Responding". Interactions and ephemeral answers
live in memory only: Discord's clients forget them as well.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from playground import wire
from playground.drafts import Draft, Upload, read_changes, read_draft
from playground.errors import (
    DiscordError,
    already_acknowledged,
    empty_message,
    invalid_form,
    invalid_webhook_token,
    unknown_interaction,
    unknown_message,
    unknown_webhook,
)
from playground.events import Event
from playground.forms import Form, read_form
from playground.messages import Messages
from playground.records import EPHEMERAL, LOADING, Channel, Message
from playground.snowflakes import now_iso
from playground.world import World

RESPONSE_SECONDS = 3.0
TOKEN_SECONDS = 15 * 60.0
_KEPT = 1000


class InteractionType(IntEnum):
    COMMAND = 2
    COMPONENT = 3
    AUTOCOMPLETE = 4
    MODAL = 5


class Callback(IntEnum):
    MESSAGE = 4
    DEFERRED_MESSAGE = 5
    DEFERRED_UPDATE = 6
    UPDATE = 7
    CHOICES = 8
    MODAL = 9


class Status(StrEnum):
    WAITING = "waiting"
    """The bot has said nothing yet."""
    DEFERRED = "deferred"
    """The bot is "thinking"; the answer is still to come."""
    ANSWERED = "answered"
    UNANSWERED = "unanswered"
    """Three seconds passed: Discord shows "The application did not respond"."""


@dataclass
class Interaction:
    id: int
    token: str
    kind: InteractionType
    name: str
    channel: Channel
    member_id: int
    source: Message | None = None
    """The message whose button was pressed."""
    opener: Interaction | None = None
    """Of a form: the interaction that it was the answer to."""
    started: float = field(default_factory=time.monotonic)
    acknowledged_by: Callback | None = None
    original: Message | None = None
    followups: list[Message] = field(default_factory=list)
    choices: list[dict[str, Any]] | None = None
    form: Form | None = None
    """Shown to the member, until the bot has taken it in."""

    @property
    def age(self) -> float:
        return time.monotonic() - self.started

    @property
    def status(self) -> Status:
        if self.acknowledged_by is None:
            return Status.WAITING if self.age < RESPONSE_SECONDS else Status.UNANSWERED
        if self.original is not None and self.original.flags & LOADING:
            return Status.DEFERRED
        return Status.ANSWERED

    @property
    def metadata(self) -> dict[str, Any]:
        return {"id": self.id, "type": self.kind, "name": self.name, "user_id": self.member_id}


class Interactions:
    def __init__(self, world: World, messages: Messages) -> None:
        self._world = world
        self._messages = messages
        self._recent: OrderedDict[int, Interaction] = OrderedDict()

    # a member acts

    def start(
        self,
        kind: InteractionType,
        name: str,
        channel: Channel,
        member_id: int,
        data: dict[str, Any],
        source: Message | None = None,
        opener: Interaction | None = None,
    ) -> Interaction:
        """Tells the bot about it; the answer is found in the returned record later."""
        interaction = Interaction(
            self._world.snowflakes.next(),
            secrets.token_urlsafe(48),
            kind,
            name,
            channel,
            member_id,
            source,
            opener,
        )
        self._recent[interaction.id] = interaction
        while len(self._recent) > _KEPT:
            self._recent.popitem(last=False)
        payload = self._payload(interaction, data)
        self._world.hub.publish(Event("INTERACTION_CREATE", payload, channel=channel))
        return interaction

    def submit(self, opener: Interaction, given: Mapping[str, str]) -> Interaction:
        """The form that `opener` was answered with, filled in. Raises NotFilledIn."""
        assert opener.form is not None
        data = opener.form.submission(given)
        kind = InteractionType.MODAL
        channel, member_id, source = opener.channel, opener.member_id, opener.source
        return self.start(kind, opener.name, channel, member_id, data, source, opener)

    def _payload(self, interaction: Interaction, data: dict[str, Any]) -> dict[str, Any]:
        world, channel = self._world, interaction.channel
        user = wire.user(world.users[interaction.member_id])
        payload: dict[str, Any] = {
            "id": str(interaction.id),
            "application_id": str(world.bot_id),
            "type": interaction.kind,
            "data": data,
            "token": interaction.token,
            "version": 1,
            "channel_id": str(channel.id),
            "channel": wire.interaction_channel(world, channel, interaction.member_id),
            "app_permissions": str(world.permissions_of(world.bot_id, channel)),
            "locale": "en-US",
            "entitlements": [],
            "attachment_size_limit": 10 * 1024 * 1024,
        }
        if interaction.source is not None:
            payload["message"] = wire.message(world, interaction.source)
        if channel.guild_id is None:
            owners = {"0": "0"}
            return payload | {
                "user": user,
                "context": 1,
                "authorizing_integration_owners": owners,
            }
        member = wire.member(world, world.members[interaction.member_id])
        member["permissions"] = str(world.permissions_of(interaction.member_id, channel))
        return payload | {
            "member": member,
            "guild_id": str(world.guild_id),
            "guild": {"id": str(world.guild_id), "locale": "en-US", "features": []},
            "guild_locale": "en-US",
            "context": 0,
            "authorizing_integration_owners": {"0": str(world.guild_id)},
        }

    # the bot answers

    def find(self, interaction_id: int, token: str) -> Interaction:
        """For the first response. Raises 10062 when unknown or too late."""
        interaction = self._recent.get(interaction_id)
        if interaction is None or interaction.token != token:
            raise unknown_interaction()
        if interaction.acknowledged_by is None and interaction.age > RESPONSE_SECONDS:
            raise unknown_interaction()
        return interaction

    def by_token(self, token: str) -> Interaction:
        """For follow-ups. Raises 50027 when the token is unknown or older than 15 minutes, and
        10015 before the first response."""
        for interaction in self._recent.values():
            if interaction.token == token and interaction.age < TOKEN_SECONDS:
                if interaction.acknowledged_by is None:
                    raise unknown_webhook()
                return interaction
        raise invalid_webhook_token()

    def respond(
        self, interaction: Interaction, payload: dict[str, Any], uploads: list[Upload]
    ) -> dict[str, Any]:
        """The first response; returns what `with_response` asks for."""
        if interaction.acknowledged_by is not None:
            raise already_acknowledged()
        try:
            kind = Callback(payload.get("type", 0))
        except ValueError:
            raise DiscordError(400, 50035, "Invalid Form Body") from None
        data = payload.get("data") or {}
        match kind:
            case Callback.MESSAGE:
                interaction.original = self._post(interaction, read_draft(data, uploads))
            case Callback.DEFERRED_MESSAGE:
                flags = LOADING | (int(data.get("flags") or 0) & EPHEMERAL)
                interaction.original = self._post(interaction, Draft(flags=flags))
            case Callback.DEFERRED_UPDATE:
                interaction.original = interaction.source
            case Callback.UPDATE:
                interaction.original = interaction.source
                if interaction.source is not None:
                    self.edit(interaction, "@original", read_changes(data))
            case Callback.CHOICES:
                interaction.choices = list(data.get("choices") or [])[:25]
            case Callback.MODAL:
                if interaction.kind not in (InteractionType.COMMAND, InteractionType.COMPONENT):
                    raise invalid_form("type", "BASE_TYPE_CHOICES", "A form cannot be shown here.")
                interaction.form = read_form(data)
        interaction.acknowledged_by = kind
        if interaction.opener is not None:
            interaction.opener.form = None
        self._world.hub.wake()
        return self._response(interaction, kind)

    def _response(self, interaction: Interaction, kind: Callback) -> dict[str, Any]:
        about: dict[str, Any] = {"id": str(interaction.id), "type": interaction.kind}
        original = interaction.original
        if original is None:
            return {"interaction": about}
        about |= {
            "response_message_id": str(original.id),
            "response_message_loading": bool(original.flags & LOADING),
            "response_message_ephemeral": original.ephemeral,
        }
        resource = {"type": kind, "message": wire.message(self._world, original)}
        return {"interaction": about, "resource": resource}

    def follow_up(self, interaction: Interaction, draft: Draft) -> Message:
        """A further message. The first one after a deferral takes the place of "thinking"."""
        original = interaction.original
        if original is not None and original.flags & LOADING:
            changes = {
                "content": draft.content,
                "embeds": draft.embeds,
                "components": draft.components,
                "allowed_mentions": draft.allowed_mentions,
            }
            return self.edit(interaction, "@original", changes)
        message = self._post(interaction, draft)
        interaction.followups.append(message)
        self._world.hub.wake()
        return message

    def message(self, interaction: Interaction, which: str) -> Message:
        """`@original` or the id of a follow-up. Raises 10008 when it is gone."""
        wanted = interaction.original if which == "@original" else None
        for message in (interaction.original, *interaction.followups):
            if message is not None and str(message.id) == which:
                wanted = message
        if wanted is None or wanted.deleted_at is not None:
            raise unknown_message()
        if wanted.ephemeral:
            return wanted
        return self._messages.get(interaction.channel, wanted.id)

    def get(self, interaction_id: int) -> Interaction | None:
        return self._recent.get(interaction_id)

    def ephemeral(self, message_id: int, member_id: int) -> Message | None:
        """An ephemeral message that this member sees."""
        for interaction in self._recent.values():
            if interaction.member_id != member_id:
                continue
            for message in (interaction.original, *interaction.followups):
                if message is not None and message.id == message_id and message.ephemeral:
                    return None if message.deleted_at else message
        return None

    def edit(self, interaction: Interaction, which: str, changes: dict[str, Any]) -> Message:
        return self._change(interaction, self.message(interaction, which), changes)

    def delete(self, interaction: Interaction, which: str) -> None:
        message = self.message(interaction, which)
        if message.ephemeral:
            message.deleted_at = now_iso()
            self._announce_ephemeral(interaction, message)
        else:
            self._messages.remove(interaction.channel, message, self._world.bot_id)

    def _post(self, interaction: Interaction, draft: Draft) -> Message:
        message = self._messages.send_for_interaction(
            interaction.channel,
            draft,
            interaction.metadata,
            stored=not draft.flags & EPHEMERAL,
        )
        if message.ephemeral:
            self._announce_ephemeral(interaction, message)
        return message

    def _change(
        self, interaction: Interaction, message: Message, changes: dict[str, Any]
    ) -> Message:
        thinking = bool(message.flags & LOADING)
        if thinking:
            if not any(changes.get(key) for key in ("content", "embeds", "components")):
                raise empty_message()
            message.flags &= ~LOADING
        if message.ephemeral:
            self._messages.apply_edit(interaction.channel, message, changes, first=thinking)
            self._announce_ephemeral(interaction, message)
        else:
            self._messages.edit(
                interaction.channel, message, message.author_id, changes, first=thinking
            )
        if interaction.original is not None and interaction.original.id == message.id:
            interaction.original = message
        self._world.hub.wake()
        return message

    def _announce_ephemeral(self, interaction: Interaction, message: Message) -> None:
        data = {"member_id": str(interaction.member_id)}
        event = Event("PLAYGROUND_EPHEMERAL", data, interaction.channel, message)
        self._world.hub.publish(event)

"""The tables. A change here goes with a revision in `migrations/versions`; a test compares them.

All large content is in `blobs`; the other tables hold ids, names and numbers. There are no foreign
keys into `blobs`: housekeeping takes old content away, and the small rows that named it stay
readable.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    text,
)

metadata = MetaData()

PERSONA_ID_LIMIT = 36**4 - 1
"""A persona's id has four base-36 places in a message's nonce (`contracts.delivery`)."""


class UtcTime(TypeDecorator[datetime]):
    """An aware datetime in UTC; SQLite, which knows no time zones, stores it without one."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


blobs = Table(
    "blobs",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("kind", String(40), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("last_used_at", UtcTime, nullable=False),
    Index("blobs_by_last_use", "last_used_at"),
)

_EVERYWHERE = text("guild_id IS NULL")
_LIVES_SOMEWHERE = text("guild_id IS NOT NULL AND retired_at IS NULL")
_MAIN_EVERYWHERE = text("is_main AND guild_id IS NULL")
_MAIN_SOMEWHERE = text("is_main AND guild_id IS NOT NULL")

personas = Table(
    "personas",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("guild_id", String(20)),
    Column("name", String(80), nullable=False),
    Column("is_main", Boolean, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("triggers", JSON, nullable=False),
    # the file that it was seeded from
    Column("source", String(255)),
    # when its file was found to be gone, or its server removed it; the row stays, for turns in
    # flight and, where there is a file, for its return
    Column("retired_at", UtcTime),
    Column("created_at", UtcTime, nullable=False),
    Column("avatar_url", String(512)),
    CheckConstraint(f"id <= {PERSONA_ID_LIMIT}", name="personas_id_fits_nonce"),
    # Two indexes for each rule, since NULLs never collide in a unique index. A server may give the
    # name of a persona that it removed to a new one; a file that returns finds its row by the name.
    Index(
        "personas_name_in_guild",
        "guild_id",
        "name",
        unique=True,
        sqlite_where=_LIVES_SOMEWHERE,
        postgresql_where=_LIVES_SOMEWHERE,
    ),
    Index(
        "personas_name_everywhere",
        "name",
        unique=True,
        sqlite_where=_EVERYWHERE,
        postgresql_where=_EVERYWHERE,
    ),
    Index(
        "personas_main_in_guild",
        "guild_id",
        unique=True,
        sqlite_where=_MAIN_SOMEWHERE,
        postgresql_where=_MAIN_SOMEWHERE,
    ),
    Index(
        "personas_main_everywhere",
        "is_main",
        unique=True,
        sqlite_where=_MAIN_EVERYWHERE,
        postgresql_where=_MAIN_EVERYWHERE,
    ),
    sqlite_autoincrement=True,  # ids name turns and messages, so none is ever used again
)

transcript = Table(
    "transcript",
    metadata,
    Column("turn_id", String(255), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("blob_id", String(64), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Index("transcript_by_age", "created_at"),
)

model_calls = Table(
    "model_calls",
    metadata,
    Column("turn_id", String(255), primary_key=True),
    Column("call_index", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("provider", String(80), nullable=False),
    Column("model", String(255), nullable=False),
    Column("status", String(40), nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost_usd", Float),
    Column("duration_ms", Float, nullable=False),
    Column("created_at", UtcTime, nullable=False),
)

turns = Table(
    "turns",
    metadata,
    Column("turn_id", String(255), primary_key=True),
    Column("guild_id", String(20)),
    Column("channel_id", String(20), nullable=False),
    Column("persona_id", Integer, nullable=False),
    Column("trigger_message_id", String(20), nullable=False),
    Column("user_id", String(20), nullable=False),
    Column("status", String(40), nullable=False),
    Column("iterations", Integer, nullable=False),
    Column("messages_sent", Integer, nullable=False),
    Column("error", Text),
    Column("finished_at", UtcTime, nullable=False),
    Index("turns_by_channel", "channel_id", "finished_at"),
)

server_settings = Table(
    "server_settings",
    metadata,
    Column("server_key", String(24), primary_key=True),
    # what was set, and nothing that has its default
    Column("settings", JSON, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)

user_settings = Table(
    "user_settings",
    metadata,
    Column("user_id", String(20), primary_key=True),
    Column("settings", JSON, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
)

memories = Table(
    "memories",
    metadata,
    Column("id", Integer, primary_key=True),
    # made by whoever adds it: the same addition, written twice, is one row
    Column("token", String(32), nullable=False, unique=True),
    Column("server_key", String(24), nullable=False),
    Column("persona_id", Integer, nullable=False),
    # whom it is about; without, everybody in the server
    Column("user_id", String(20)),
    Column("text", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("author_id", String(20), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime, nullable=False),
    Index("memories_of_server", "server_key", "persona_id"),
    Index("memories_of_user", "user_id", "persona_id"),
    sqlite_autoincrement=True,  # a model may still name one that is gone
)

# Short-term memory. What people wrote, and what channels are called, is sealed (`storage.vault`).
# The key of both tables begins with whom the copy is for, a member or a server (D78).

stm_records = Table(
    "stm_records",
    metadata,
    Column("scope", String(32), primary_key=True),
    Column("persona_id", Integer, primary_key=True, autoincrement=False),
    Column("channel_id", String(20), primary_key=True),
    Column("server_key", String(24), nullable=False),
    Column("is_private", Boolean, nullable=False),
    Column("channel_name", LargeBinary, nullable=False),
    Column("summary", LargeBinary),
    Column("summary_at", UtcTime),
    Column("turns_since_update", Integer, nullable=False),
    # when a turn or an update last wrote it: from there its time runs
    Column("touched_at", UtcTime, nullable=False),
    Index("stm_records_of_channel", "server_key", "channel_id"),
    Index("stm_records_by_age", "touched_at"),
)

stm_entries = Table(
    "stm_entries",
    metadata,
    Column("scope", String(32), primary_key=True),
    Column("persona_id", Integer, primary_key=True, autoincrement=False),
    Column("channel_id", String(20), primary_key=True),
    Column("turn_id", String(255), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("server_key", String(24), nullable=False),
    Column("entry", LargeBinary, nullable=False),
    Column("at", UtcTime, nullable=False),
    Index("stm_entries_of_channel", "server_key", "channel_id"),
    Index("stm_entries_by_age", "at"),
)

stm_turns = Table(
    "stm_turns",
    metadata,
    Column("turn_id", String(255), primary_key=True),
    Column("captured_at", UtcTime, nullable=False),
    Index("stm_turns_by_age", "captured_at"),
)

stm_clears = Table(
    "stm_clears",
    metadata,
    Column("server_key", String(24), primary_key=True),
    Column("channel_id", String(20), primary_key=True),
    # nothing that was written up to then comes back
    Column("cleared_at", UtcTime, nullable=False),
    Index("stm_clears_by_age", "cleared_at"),
)

reminders = Table(
    "reminders",
    metadata,
    Column("id", Integer, primary_key=True),
    # as for memories
    Column("token", String(32), nullable=False, unique=True),
    Column("server_key", String(24), nullable=False),
    Column("guild_id", String(20)),
    Column("guild_name", String(100), nullable=False),
    Column("application_id", String(20), nullable=False),
    Column("bot_user_id", String(20), nullable=False),
    Column("channel_id", String(20), nullable=False),
    Column("channel_name", String(100), nullable=False),
    Column("is_dm", Boolean, nullable=False),
    Column("is_thread", Boolean, nullable=False),
    # its purpose was said where not everybody reads
    Column("is_private", Boolean, nullable=False),
    Column("persona_id", Integer, nullable=False),
    Column("user_id", String(20), nullable=False),
    Column("user_name", String(100), nullable=False),
    # without, it is a task of the persona's own
    Column("recipient_id", String(20)),
    Column("purpose", Text, nullable=False),
    # what the clock in `zone` shows when it is due, without a time zone of its own
    Column("wall_time", DateTime, nullable=False),
    Column("zone", String(64), nullable=False),
    # 0: once
    Column("interval_hours", Integer, nullable=False),
    Column("due_at", UtcTime, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    # names the latest change that its workflow may not have heard of
    Column("untold", String(32)),
    Index("reminders_of_server", "server_key", "due_at"),
    Index("reminders_untold", "untold"),
    sqlite_autoincrement=True,  # ids name workflows, so none is ever used again
)

tool_uses = Table(
    "tool_uses",
    metadata,
    Column("turn_id", String(255), primary_key=True),
    Column("tool", String(80), primary_key=True),
    Column("server_key", String(24), nullable=False),
    Column("uses", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Index("tool_uses_of_server", "server_key", "tool"),
)

tool_dispatches = Table(
    "tool_dispatches",
    metadata,
    Column("turn_id", String(255), primary_key=True),
    Column("iteration", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    # of whoever claimed the call, so that a repeated write of theirs knows its own row
    Column("token", String(32), nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Index("tool_dispatches_by_age", "created_at"),
)

cooldowns = Table(
    "cooldowns",
    metadata,
    # what is limited: a user, a channel, a server, as the planner names it
    Column("key", String(255), primary_key=True),
    # which message took it
    Column("holder", String(64), primary_key=True),
    Column("since", UtcTime, nullable=False),
    Column("free_at", UtcTime, nullable=False),
    Index("cooldowns_of_key", "key", "free_at"),
    Index("cooldowns_by_end", "free_at"),
)

quota_charges = Table(
    "quota_charges",
    metadata,
    # kept for a few days, so that nothing is charged twice
    Column("server_key", String(24), primary_key=True),
    Column("quota_key", String(255), primary_key=True),
    Column("charged_at", UtcTime, nullable=False),
    Index("quota_charges_by_age", "charged_at"),
)

quota_days = Table(
    "quota_days",
    metadata,
    # what a member has used in a server, by day of UTC
    Column("server_key", String(24), primary_key=True),
    Column("user_id", String(20), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("used", Integer, nullable=False),
)

quota_pools = Table(
    "quota_pools",
    metadata,
    Column("server_key", String(24), primary_key=True),
    # the day of UTC of the first answer that was charged to it
    Column("started_on", Date, nullable=False),
    Column("used", Integer, nullable=False),
)

answering = Table(
    "answering",
    metadata,
    # a channel answers one message at a time
    Column("channel_id", String(20), primary_key=True),
    Column("message_id", String(20), nullable=False),
    Column("server_key", String(24), nullable=False),
    Column("user_id", String(20), nullable=False),
    # a turn that dies without saying so counts until then
    Column("until", UtcTime, nullable=False),
    Index("answering_of_user", "user_id"),
    Index("answering_of_server", "server_key"),
)

seen_messages = Table(
    "seen_messages",
    metadata,
    Column("channel_id", String(20), primary_key=True),
    # a number, since as texts they would not be in order
    Column("message_id", BigInteger, nullable=False),
    Column("noted_at", UtcTime, nullable=False),
    Index("seen_messages_by_age", "noted_at"),
)

history_cuts = Table(
    "history_cuts",
    metadata,
    Column("channel_id", String(20), primary_key=True),
    # what is not newer is not shown to a persona any more
    Column("message_id", BigInteger, nullable=False),
    Column("cut_at", UtcTime, nullable=False),
)

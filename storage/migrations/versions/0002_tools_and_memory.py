"""Settings, memories, short-term memory, reminders, and which tools were dispatched and used."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "server_settings",
        sa.Column("server_key", sa.String(24), primary_key=True),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
    )
    op.create_table(
        "user_settings",
        sa.Column("user_id", sa.String(20), primary_key=True),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
    )

    op.create_table(
        "memories",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("token", sa.String(32), nullable=False, unique=True),
        sa.Column("server_key", sa.String(24), nullable=False),
        sa.Column("persona_id", sa.Integer, nullable=False),
        sa.Column("user_id", sa.String(20)),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("tags", sa.JSON, nullable=False),
        sa.Column("author_id", sa.String(20), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("memories_of_server", "memories", ["server_key", "persona_id"])
    op.create_index("memories_of_user", "memories", ["user_id", "persona_id"])

    op.create_table(
        "stm_records",
        sa.Column("scope", sa.String(32), primary_key=True),
        sa.Column("persona_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("channel_id", sa.String(20), primary_key=True),
        sa.Column("server_key", sa.String(24), nullable=False),
        sa.Column("is_private", sa.Boolean, nullable=False),
        sa.Column("channel_name", sa.LargeBinary, nullable=False),
        sa.Column("summary", sa.LargeBinary),
        sa.Column("summary_at", TIME),
        sa.Column("turns_since_update", sa.Integer, nullable=False),
        sa.Column("touched_at", TIME, nullable=False),
    )
    op.create_index("stm_records_of_channel", "stm_records", ["server_key", "channel_id"])
    op.create_index("stm_records_by_age", "stm_records", ["touched_at"])

    op.create_table(
        "stm_entries",
        sa.Column("scope", sa.String(32), primary_key=True),
        sa.Column("persona_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("channel_id", sa.String(20), primary_key=True),
        sa.Column("turn_id", sa.String(255), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("server_key", sa.String(24), nullable=False),
        sa.Column("entry", sa.LargeBinary, nullable=False),
        sa.Column("at", TIME, nullable=False),
    )
    op.create_index("stm_entries_of_channel", "stm_entries", ["server_key", "channel_id"])
    op.create_index("stm_entries_by_age", "stm_entries", ["at"])

    op.create_table(
        "stm_turns",
        sa.Column("turn_id", sa.String(255), primary_key=True),
        sa.Column("captured_at", TIME, nullable=False),
    )
    op.create_index("stm_turns_by_age", "stm_turns", ["captured_at"])

    op.create_table(
        "stm_clears",
        sa.Column("server_key", sa.String(24), primary_key=True),
        sa.Column("channel_id", sa.String(20), primary_key=True),
        sa.Column("cleared_at", TIME, nullable=False),
    )
    op.create_index("stm_clears_by_age", "stm_clears", ["cleared_at"])

    op.create_table(
        "reminders",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("token", sa.String(32), nullable=False, unique=True),
        sa.Column("server_key", sa.String(24), nullable=False),
        sa.Column("guild_id", sa.String(20)),
        sa.Column("guild_name", sa.String(100), nullable=False),
        sa.Column("application_id", sa.String(20), nullable=False),
        sa.Column("bot_user_id", sa.String(20), nullable=False),
        sa.Column("channel_id", sa.String(20), nullable=False),
        sa.Column("channel_name", sa.String(100), nullable=False),
        sa.Column("is_dm", sa.Boolean, nullable=False),
        sa.Column("is_thread", sa.Boolean, nullable=False),
        sa.Column("is_private", sa.Boolean, nullable=False),
        sa.Column("persona_id", sa.Integer, nullable=False),
        sa.Column("user_id", sa.String(20), nullable=False),
        sa.Column("user_name", sa.String(100), nullable=False),
        sa.Column("recipient_id", sa.String(20)),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("wall_time", sa.DateTime, nullable=False),
        sa.Column("zone", sa.String(64), nullable=False),
        sa.Column("interval_hours", sa.Integer, nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("untold", sa.String(32)),
        sqlite_autoincrement=True,
    )
    op.create_index("reminders_of_server", "reminders", ["server_key", "due_at"])
    op.create_index("reminders_untold", "reminders", ["untold"])

    op.create_table(
        "tool_uses",
        sa.Column("turn_id", sa.String(255), primary_key=True),
        sa.Column("tool", sa.String(80), primary_key=True),
        sa.Column("server_key", sa.String(24), nullable=False),
        sa.Column("uses", sa.Integer, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
    )
    op.create_index("tool_uses_of_server", "tool_uses", ["server_key", "tool"])

    op.create_table(
        "tool_dispatches",
        sa.Column("turn_id", sa.String(255), primary_key=True),
        sa.Column("iteration", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
    )
    op.create_index("tool_dispatches_by_age", "tool_dispatches", ["created_at"])

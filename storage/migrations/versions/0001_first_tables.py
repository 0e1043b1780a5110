"""The first tables: blobs, personas, transcript, model calls, turns."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "blobs",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME, nullable=False),
    )
    op.create_index("blobs_by_last_use", "blobs", ["last_used_at"])

    op.create_table(
        "personas",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("guild_id", sa.String(20)),
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("is_main", sa.Boolean, nullable=False),
        sa.Column("prompt", sa.Text, nullable=False),
        sa.Column("triggers", sa.JSON, nullable=False),
        sa.Column("source", sa.String(255)),
        sa.Column("retired_at", TIME),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("id <= 1679615", name="personas_id_fits_nonce"),
        sqlite_autoincrement=True,
    )
    for name, columns, where in (
        ("personas_name_in_guild", ["guild_id", "name"], "guild_id IS NOT NULL"),
        ("personas_name_everywhere", ["name"], "guild_id IS NULL"),
        ("personas_main_in_guild", ["guild_id"], "is_main AND guild_id IS NOT NULL"),
        ("personas_main_everywhere", ["is_main"], "is_main AND guild_id IS NULL"),
    ):
        op.create_index(
            name,
            "personas",
            columns,
            unique=True,
            sqlite_where=sa.text(where),
            postgresql_where=sa.text(where),
        )

    op.create_table(
        "transcript",
        sa.Column("turn_id", sa.String(255), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("blob_id", sa.String(64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
    )
    op.create_index("transcript_by_age", "transcript", ["created_at"])

    op.create_table(
        "model_calls",
        sa.Column("turn_id", sa.String(255), primary_key=True),
        sa.Column("call_index", sa.Integer, primary_key=True),
        sa.Column("attempt", sa.Integer, primary_key=True),
        sa.Column("provider", sa.String(80), nullable=False),
        sa.Column("model", sa.String(255), nullable=False),
        sa.Column("status", sa.String(40), nullable=False),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Float),
        sa.Column("duration_ms", sa.Float, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
    )

    op.create_table(
        "turns",
        sa.Column("turn_id", sa.String(255), primary_key=True),
        sa.Column("guild_id", sa.String(20)),
        sa.Column("channel_id", sa.String(20), nullable=False),
        sa.Column("persona_id", sa.Integer, nullable=False),
        sa.Column("trigger_message_id", sa.String(20), nullable=False),
        sa.Column("user_id", sa.String(20), nullable=False),
        sa.Column("status", sa.String(40), nullable=False),
        sa.Column("iterations", sa.Integer, nullable=False),
        sa.Column("messages_sent", sa.Integer, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("finished_at", TIME, nullable=False),
    )
    op.create_index("turns_by_channel", "turns", ["channel_id", "finished_at"])

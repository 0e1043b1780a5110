"""Cooldowns, quotas, what was seen last in each channel; avatars, and names that are free again."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    with op.batch_alter_table("personas") as personas:
        personas.add_column(sa.Column("avatar_url", sa.String(512)))
    op.drop_index("personas_name_in_guild", "personas")
    lives_somewhere = sa.text("guild_id IS NOT NULL AND retired_at IS NULL")
    op.create_index(
        "personas_name_in_guild",
        "personas",
        ["guild_id", "name"],
        unique=True,
        sqlite_where=lives_somewhere,
        postgresql_where=lives_somewhere,
    )

    op.create_table(
        "cooldowns",
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("holder", sa.String(64), primary_key=True),
        sa.Column("since", TIME, nullable=False),
        sa.Column("free_at", TIME, nullable=False),
    )
    op.create_index("cooldowns_of_key", "cooldowns", ["key", "free_at"])
    op.create_index("cooldowns_by_end", "cooldowns", ["free_at"])

    op.create_table(
        "quota_charges",
        sa.Column("server_key", sa.String(24), primary_key=True),
        sa.Column("quota_key", sa.String(255), primary_key=True),
        sa.Column("charged_at", TIME, nullable=False),
    )
    op.create_index("quota_charges_by_age", "quota_charges", ["charged_at"])
    op.create_table(
        "quota_days",
        sa.Column("server_key", sa.String(24), primary_key=True),
        sa.Column("user_id", sa.String(20), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("used", sa.Integer, nullable=False),
    )
    op.create_table(
        "quota_pools",
        sa.Column("server_key", sa.String(24), primary_key=True),
        sa.Column("started_on", sa.Date, nullable=False),
        sa.Column("used", sa.Integer, nullable=False),
    )

    op.create_table(
        "answering",
        sa.Column("channel_id", sa.String(20), primary_key=True),
        sa.Column("message_id", sa.String(20), nullable=False),
        sa.Column("server_key", sa.String(24), nullable=False),
        sa.Column("user_id", sa.String(20), nullable=False),
        sa.Column("until", TIME, nullable=False),
    )
    op.create_index("answering_of_user", "answering", ["user_id"])
    op.create_index("answering_of_server", "answering", ["server_key"])

    op.create_table(
        "seen_messages",
        sa.Column("channel_id", sa.String(20), primary_key=True),
        sa.Column("message_id", sa.BigInteger, nullable=False),
        sa.Column("noted_at", TIME, nullable=False),
    )
    op.create_index("seen_messages_by_age", "seen_messages", ["noted_at"])
    op.create_table(
        "history_cuts",
        sa.Column("channel_id", sa.String(20), primary_key=True),
        sa.Column("message_id", sa.BigInteger, nullable=False),
        sa.Column("cut_at", TIME, nullable=False),
    )

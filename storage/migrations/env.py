"""What alembic runs for a migration. The connection comes from `storage.schema`, within a
transaction that is committed there.

A new revision: write `versions/000N_what_changes.py` by hand after the pattern of those that are
there, and name it in `storage.schema.REVISIONS`. It runs on SQLite as well: change tables through
`op.batch_alter_table`.
"""

from alembic import context

from storage.schema import VERSION_TABLE
from storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()

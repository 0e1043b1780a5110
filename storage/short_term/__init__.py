"""Short-term memory: what a persona has lately heard and said, channel by channel.

`models` has what is read and written, `repository` the way to the tables, `expiry` what ends it,
`forget` what a member wants ended.
"""

from storage.short_term.expiry import CRUDE_LIFETIME, RETENTION, SUMMARY_LIFETIME
from storage.short_term.models import StmEntry, StmRecord
from storage.short_term.repository import ShortTermMemories

__all__ = [
    "CRUDE_LIFETIME",
    "RETENTION",
    "SUMMARY_LIFETIME",
    "ShortTermMemories",
    "StmEntry",
    "StmRecord",
]

"""From the bytes of a file that a member has posted to its text.

`kinds` says what the bytes are, `pdf` reads PDFs in a process of their own. In: bytes, of whatever
claims to be a document. Out: text of bounded size, or `Unreadable` with a reason for the model.
What always holds: the event loop never waits for a document, and nothing believes a file's name.
"""

from activities.tools.documents.reading import (
    MAX_FILE,
    MAX_TEXT,
    DocumentText,
    read_document,
)
from activities.tools.documents.unreadable import Unreadable

__all__ = ["MAX_FILE", "MAX_TEXT", "DocumentText", "Unreadable", "read_document"]

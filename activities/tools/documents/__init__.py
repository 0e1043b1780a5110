"""From a file that a member has posted, or a web page, to its text.

`kinds` says what the bytes of a file are; `pdf` and `html` have PDFs and pages read in a process of
their own (`process`, and in it `child` with a reader). In: what a stranger wrote. Out: text of
bounded size, or `Unreadable` with a reason for the model.
What always holds: the event loop never waits for a document, and nothing believes a file's name.
"""

from activities.tools.documents.html import Html, read_html
from activities.tools.documents.reading import (
    MAX_FILE,
    MAX_TEXT,
    DocumentText,
    read_document,
)
from activities.tools.documents.unreadable import Unreadable

__all__ = [
    "MAX_FILE",
    "MAX_TEXT",
    "DocumentText",
    "Html",
    "Unreadable",
    "read_document",
    "read_html",
]

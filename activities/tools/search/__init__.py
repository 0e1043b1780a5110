"""Searching the web: several engines, asked one after the other.

base.py     what an engine takes and gives, and what becomes of a stranger's words on the way
brave.py  searxng.py  duckduckgo.py   one file for one engine
chain.py    who is asked, in which order
"""

from activities.tools.search.base import Category, Found, SearchFailed
from activities.tools.search.chain import NothingAnswered, SearchSettings, WebSearch

__all__ = [
    "Category",
    "Found",
    "NothingAnswered",
    "SearchFailed",
    "SearchSettings",
    "WebSearch",
]

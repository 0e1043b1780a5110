"""Search attributes of channels and turns: how operators find them in the Temporal UI.

They are never encrypted, so they hold ids, names and states, and no content.
"""

from __future__ import annotations

from temporalio.common import SearchAttributeKey

GUILD = SearchAttributeKey.for_keyword("EverturnGuild")
"""Guild id, or `dm`."""
CHANNEL = SearchAttributeKey.for_keyword("EverturnChannel")
"""Channel id."""
PERSONA = SearchAttributeKey.for_keyword("EverturnPersona")
"""Persona name."""
STATUS = SearchAttributeKey.for_keyword("EverturnStatus")
"""`running`, then the `StreamStatus` the turn ended with."""
SOURCE = SearchAttributeKey.for_keyword("EverturnSource")
"""`Source` of the turn."""
PROVIDER = SearchAttributeKey.for_keyword("EverturnProvider")
"""Model provider that answered, once one has."""

SEARCH_ATTRIBUTES = (GUILD, CHANNEL, PERSONA, STATUS, SOURCE, PROVIDER)
"""All of them; a namespace must know them before a turn can start."""

DIRECT_MESSAGE_GUILD = "dm"

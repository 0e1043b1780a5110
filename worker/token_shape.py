"""Whether DISCORD_TOKEN looks like a bot token. Only Discord knows whether it is one."""

from __future__ import annotations

import re

_SHAPE = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)
"""Three base64url parts: the bot's id, a time and a signature (Discord, reference.mdx, the example
of the Authorization header)."""


def token_doubt(token: str) -> str | None:
    """What is odd about `token`, in one line without it; None when nothing is."""
    if _SHAPE.fullmatch(token):
        return None
    if token.lower().startswith("bot "):
        hint = "leave out the word Bot before it"
    elif token[0] in "\"'" or token[-1] in "\"'":
        hint = "leave out the quotes around it"
    elif any(letter.isspace() for letter in token):
        hint = "there are spaces in it"
    else:
        hint = "one has three parts with dots between them"
    return f"DISCORD_TOKEN does not look like a bot token: {hint}"

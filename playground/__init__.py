"""A loopback Discord: REST, gateway and a page to chat in, for one bot on 127.0.0.1.

The unmodified bot process connects to it instead of Discord. It keeps the rules of Discord that a
bot can trip over (nonces, limits, permissions, error codes, rate limits, sessions), remembers
everything in one SQLite file, and lets tests act as members and break things through `/control`.

It is a Discord of its own and imports nothing of the rest of this repository.
"""

from playground.config import PlaygroundConfig
from playground.errors import PlaygroundError
from playground.server import Playground, serve

__all__ = ["Playground", "PlaygroundConfig", "PlaygroundError", "serve"]

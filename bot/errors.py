"""Why a bot could not start: one line for the operator, and the exit code that says whether
starting again could help."""

from __future__ import annotations

EX_CONFIG = 78
"""`EX_CONFIG` of sysexits(3). A supervisor that sees it must not start the bot again: each start is
an IDENTIFY, and Discord resets the token of a bot that makes more than 1,000 of them in a day."""


class BotStartError(Exception):
    def __init__(self, message: str, exit_code: int = EX_CONFIG) -> None:
        super().__init__(message)
        self.message = message
        self.exit_code = exit_code


def refused_token() -> BotStartError:
    return BotStartError(
        "Discord refused the token: set DISCORD_TOKEN to the one shown under "
        "https://discord.com/developers/applications → your application → Bot → Reset Token."
    )


def missing_intent() -> BotStartError:
    return BotStartError(
        "Discord refused the Message Content intent: switch it on under "
        "https://discord.com/developers/applications → your application → Bot → "
        "Privileged Gateway Intents → Message Content Intent, save, and start the bot again."
    )

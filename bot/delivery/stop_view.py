"""The Stop button as it is sent. What it does when it is pressed is in `bot.commands.stop_button`,
which needs nothing of this object: all that it must know is in the custom id."""

from __future__ import annotations

import discord

LABEL = "Stop"


class _Sent(discord.ui.View):
    """A view that is sent and forgotten: discord.py would keep it for as long as the bot runs, to
    call the buttons' own callbacks, which are empty."""

    def is_dispatchable(self) -> bool:
        return False


def stop_view(custom_id: str) -> discord.ui.View:
    view = _Sent(timeout=None)
    view.add_item(
        discord.ui.Button(style=discord.ButtonStyle.danger, label=LABEL, custom_id=custom_id)
    )
    return view

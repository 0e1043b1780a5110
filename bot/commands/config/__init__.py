"""`/config` and `/personal`: the settings of a server, and of a member (behaviour 8, 17).

`changes`   what a setting becomes, and what it may not become
`named`     which command sets which setting
`shown`     settings as text
`zones`     names of time zones
`desk`      read, change and suggest: between Discord and the store
`triggers`, `memory`, `channels`, `server`, `personal`   the commands, thin
"""

from __future__ import annotations

from bot.client import EverturnClient
from bot.commands.config.desk import ConfigStore, Desk
from bot.commands.config.personal import PersonalCommands
from bot.commands.config.server import ConfigCommands


def add_config(client: EverturnClient, store: ConfigStore) -> None:
    desk = Desk(store)
    client.tree.add_command(ConfigCommands(desk))
    client.tree.add_command(PersonalCommands(desk))

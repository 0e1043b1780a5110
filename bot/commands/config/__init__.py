"""`/config`, `/triggers`, `/access`, `/limits` and `/personal`: the settings of a server, and of a
member (behaviour 5, 8, 17).

`changes`   what a setting becomes, and what it may not become
`named`     which command sets which setting
`shown`     settings as text
`zones`     names of time zones
`desk`      read, change and suggest: between Discord and the store
`triggers`, `memory`, `channels`, `server`, `personal`   the commands, thin

Of what makes personas answer, of access and of limits:
`answering`, `answering_shown`   as `changes` and `shown`
`answering_named`                which command sets which setting
`picking`, `places`              which channel or role is meant
`answers_when`, `access`, `limits`   the commands, thin
`reloading`   a change holds for the next message
"""

from __future__ import annotations

from bot.client import EverturnClient
from bot.commands.config.access import AccessCommands
from bot.commands.config.answers_when import AnswersCommands
from bot.commands.config.desk import ConfigStore, Desk
from bot.commands.config.limits import LimitsCommands
from bot.commands.config.personal import PersonalCommands
from bot.commands.config.reloading import ReloadingStore
from bot.commands.config.server import ConfigCommands
from bot.directory import ServerDirectory


def add_config(client: EverturnClient, store: ConfigStore, directory: ServerDirectory) -> None:
    desk = Desk(ReloadingStore(store, directory))
    client.tree.add_command(ConfigCommands(desk))
    client.tree.add_command(AnswersCommands(desk, directory))
    client.tree.add_command(AccessCommands(desk, directory))
    client.tree.add_command(LimitsCommands(desk))
    client.tree.add_command(PersonalCommands(desk, directory))

"""`/persona create|edit|list|remove`: the personas of a server's own.

`form`      the form that a persona is written in
`shown`     personas as text
`desk`      between Discord and the store, which has the rules (`storage.personas.own`)
`commands`  the commands, thin
"""

from __future__ import annotations

from bot.client import EverturnClient
from bot.commands.forms import take_forms
from bot.commands.persona.commands import PersonaCommands
from bot.commands.persona.desk import PersonaDesk, PersonaStore
from bot.commands.persona.form import PREFIX
from bot.directory import ServerDirectory


def add_persona(client: EverturnClient, store: PersonaStore, directory: ServerDirectory) -> None:
    desk = PersonaDesk(store, directory)
    client.tree.add_command(PersonaCommands(desk, directory))
    take_forms(client, {PREFIX: desk.submitted})

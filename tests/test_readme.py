"""What the README and the documentation tell people to do is what works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import discord
import pytest
from discord import app_commands

from bot.client import EverturnClient
from bot.commands.config import add_config
from bot.commands.kill import add_kill
from bot.commands.persona import add_persona
from bot.commands.refresh import add_refresh
from bot.commands.respond import add_respond
from tests.bot.servers import Source, directory_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_invitation_asks_for_exactly_what_it_names() -> None:
    found = re.search(r"permissions=(\d+)", README)
    assert found is not None
    asked = {name for name, on in discord.Permissions(int(found[1])) if on}
    named = {
        "read_messages": "View Channels",
        "send_messages": "Send Messages",
        "send_messages_in_threads": "Send Messages in Threads",
        "embed_links": "Embed Links",
        "read_message_history": "Read Message History",
    }
    for_tools = {
        "add_reactions": "Add Reactions",
        "create_public_threads": "Create Public Threads",
    }
    assert asked == set(named) | set(for_tools) | {"manage_webhooks"}
    needed = ", ".join(named.values())
    tools = " and ".join(for_tools.values())
    assert f"{needed}, for its other personas Manage Webhooks, and for its tools {tools}." in README


def test_every_file_it_points_to_exists() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_its_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


Tree = dict[str, app_commands.Command[Any, ..., Any] | app_commands.Group]


@pytest.fixture
async def tree() -> Tree:
    """Every command, by its path without the slash."""
    client, nothing, directory = EverturnClient(), cast(Any, None), directory_of(Source())
    add_kill(client, nothing, nothing)
    add_config(client, nothing, directory)
    add_persona(client, nothing, directory)
    add_respond(client, nothing, directory)
    add_refresh(client, nothing, nothing)
    return {
        command.qualified_name: command
        for command in client.tree.walk_commands()
        if isinstance(command, app_commands.Command | app_commands.Group)
    }


def named_in(page: str) -> set[str]:
    """What stands in a page as a command, with a value or two after it."""
    return set(re.findall(r"`/([a-z][a-z -]*)`", page))


def fits(tree: Tree, said: str) -> bool:
    """Whether it is a command or a group, and what follows a command is a value it takes."""
    words = said.split()
    while words and " ".join(words) not in tree:
        words.pop()
    found = tree.get(" ".join(words))
    values = said.split()[len(words) :]
    if isinstance(found, app_commands.Command):
        choices = [choice.value for each in found.parameters for choice in each.choices]
        return all(value in choices for value in values)
    return found is not None and not values


def test_every_command_is_explained_and_no_other(tree: Tree) -> None:
    commands = {name for name, each in tree.items() if isinstance(each, app_commands.Command)}
    explained = {name for name in named_in(COMMANDS) if name in commands}
    assert commands - explained == set()
    for page in PAGES:
        unknown = [said for said in named_in(page.read_text()) if not fits(tree, said)]
        assert unknown == [], page.name


def test_the_readme_names_every_command_that_stands_first(tree: Tree) -> None:
    first = {name.split()[0] for name in tree}
    assert first <= named_in(README)


def test_descriptions_are_written_one_way(tree: Tree) -> None:
    """What Discord shows beside a command is no sentence: a capital, and no full stop."""
    for name, command in tree.items():
        texts = [command.description]
        if isinstance(command, app_commands.Command):
            texts += [each.description for each in command.parameters]
        for text in map(str, texts):
            assert text == text.strip(), name
            assert not text.endswith("."), name
            assert not text[0].islower(), name

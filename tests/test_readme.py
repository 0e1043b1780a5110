"""What the README tells people to do is what works."""

from __future__ import annotations

import re
from pathlib import Path

import discord

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


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

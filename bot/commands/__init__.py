"""Slash commands: thin, each in its own module; `sync` makes them known to Discord."""

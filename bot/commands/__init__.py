"""Slash commands: thin, each in its own module; `sync` makes them known to Discord, `tree` sees to
it that each is answered."""

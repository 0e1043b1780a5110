"""What the tools may ask of Discord: `DiscordPort` over the bot's own client.

`client_port`  the port: every method, thin
`places`       channels, threads and members as the cache and the API know them
`standing`     what a member may do where
`commands`     the slash commands, as Discord has them
`emoji`        the emoji that a model has written, as Discord takes it
`files`        a file of a message, fresh and bounded
`refusing`     Discord's errors as sentences for the model
"""

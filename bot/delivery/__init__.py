"""Delivery: segments become Discord messages, each of them once.

`parts`      what to send: text cut into messages, each with its nonce
`notices`    the system's words, told from a persona's
`stop_view`  the Stop button below a notice
`post`       one message: send it, and say what Discord made of it
`pauses`     channels that Discord has told us to leave alone for a while
`send`       the activity: a batch in order, stopped between two messages if need be
`reconcile`  what of a batch the channel holds already
`delete`     take messages away again
`hidden_notices`  cards for the server's thought log
"""

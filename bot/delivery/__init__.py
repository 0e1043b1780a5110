"""Delivery: segments become Discord messages, each of them once.

`parts`      what to send: text cut into messages, each with its nonce
`post`       one message: send it, and say what Discord made of it
`send`       the activity: a batch in order, stopped between two messages if need be
`reconcile`  what of a batch the channel holds already
`delete`     take messages away again
"""

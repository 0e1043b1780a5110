"""Every message that crosses a process boundary, one module per boundary.

    bot ──► channel      `invocation`
    channel ──► turn     `turn`
    turn ──► bot         `history`, `delivery`
    turn ──► worker      `planning`, `context`, `generation`, `tools`, `effects`

Rules that hold for all of them:

- pure data and typed activity stubs; no I/O is imported here;
- every field added after a release has a default, so that turns in flight survive a deploy;
- no secrets, and nothing that grows with the conversation: what is large is in `storage`, and
  travels as an id.
"""

"""Building the prompt of a turn (behaviour 6.1), one part of it a module.

    sources         everything it is made of, read at once
    offer           the tools of the turn
    system_prompt   rows 01 and 02: rules, persona, where this is
    macros          what a persona's authored text may ask about the turn
    memories        rows 03 and 06: what was saved for good
    stickers        row 05
    participants    row 06: who is here, who may be mentioned, what is known of them
    errands         row 06: what is still to come due
    short_term      row 07: what was lately said, here and elsewhere
    trigger         the message to answer is always there
    perspective     which of the messages are the persona's own, and which another's
    budget          what fits: the oldest messages go first
    dialogue        row 11: the conversation, line by line
    references      `ref_N` and `media_N`, and how they are shown
    directives      what stands at the very end: of a turn that waited, a stop, a second attempt
    summons         the same of a turn that no message brought about

`compose` puts them together, without I/O; `build` is the activity around it; `document` is what is
stored. Words of members are never templates, and nothing in them can pass for another's line.
"""

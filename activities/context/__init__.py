"""Building the prompt of a turn (behaviour 6.1), one part of it a module.

    system_prompt   rows 01 and 02: rules, persona, where this is
    participants    row 06: who is here, who may be mentioned
    trigger         the message to answer is always there
    budget          what fits: the oldest messages go first
    dialogue        row 11: the conversation, line by line
    directives      what stands at the very end

`compose` puts them together, without I/O; `build` is the activity around it; `document` is what is
stored. Words of members are never templates, and nothing in them can pass for another's line.
"""

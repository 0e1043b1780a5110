"""Deliberate tool mode: which tools the model is shown (behaviour 8).

Pure: facts of a turn in, a `ToolSet` out; nothing is read, stored or waited for.

    decide      the mode, and the union of the six reasons
    triggers    words that the server, or a tool itself, has set
    intents     what a text asks for, in any language that `packs` knows; explicit wishes to
                remember something for good (behaviour 7.1) among it
    follow_up   "do that again", and what it refers to
    media       files and links of the trigger and of what it replies to
    matching    what all of them mean by a word in a text
"""

from activities.deliberate.decide import DeliberateInput, decide
from activities.deliberate.intents import is_memory_intent
from activities.deliberate.targets import TARGETS

__all__ = ["TARGETS", "DeliberateInput", "decide", "is_memory_intent"]

"""What the demo model says. Pure: the same conversation gets the same reply.

It understands a handful of wishes (dice, a link, something to remember, a reminder, a sticker, a
long story), and otherwise repeats a little of what was said to it, so that a person sees that the
message went the whole way and came back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import ModelRequest as RequestMessage

_QUEUED = re.compile(r"\A\[Reply to this earlier message by .{1,80}?: \"(.*)\"\]\Z")
_AUTHOR = re.compile(r"\A[^\n:]{1,100}: ")
_INDENT = re.compile(r"^  ", re.MULTILINE)
"""Of every line after the first, see `activities.context.dialogue`."""
_MENTION = re.compile(r"<[@#][!&]?\d+>|(?<!\S)@\S+")
_QUOTE_MARK = re.compile(r"^(?:>>>|>)[ \t]+", re.MULTILINE)
_DICE = re.compile(r"\b(\d*d\d+(?:\s?[+-]\s?\d+)?)\b", re.IGNORECASE)
"""Also absurd ones: what can be rolled is for the tool to say."""
_DICE_WISH = re.compile(r"\broll\b|\bdice\b|\bdie\b", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>()\"'`]+")
_LONG_WISH = re.compile(r"\blong\b|\bstory\b|\bessay\b", re.IGNORECASE)

_MEMORY_WISH = re.compile(r"\bremember(?: that)?[:,]?\s+(.+)", re.IGNORECASE | re.DOTALL)
_MEMORY_QUESTION = re.compile(r"\b(?:what|anything)\b.*\b(?:remember|know)\b", re.IGNORECASE)
_MEMORY = re.compile(r"^(?:- |  )*\[id:\d+\] (.+)$", re.MULTILINE)
"""A line of the context that holds a memory."""
_REMINDER_WISH = re.compile(
    r"\bremind me in (\d{1,4}) ?(minute|hour|day)s?(?: to| of| about)?\b(.*)", re.IGNORECASE
)
_STICKER_WISH = re.compile(
    r"\bsticker\b(?: (?:called|named))? ?[\"“]?(\w[\w ]{0,29})?", re.IGNORECASE
)

QUOTED_WORDS = 12
QUOTED_CHARS = 120

WHO_I_AM = (
    "I am a demo model. There is no AI behind me: I run offline, on the machine that runs this "
    "bot, and I always say the same things."
)

HOW_TO_GET_A_REAL_ONE = (
    "To talk to a real model instead, set `ANTHROPIC_API_KEY` or the key of another provider and "
    "start again."
)

WHAT_TO_TRY = (
    "Things you can try with me: ask me to **roll 2d6**, send me a **link** to read, tell me to "
    "**remember that you like tea** and ask later **what I remember**, say **remind me in 1 minute "
    "to stretch**, or ask for a **long story** and stop me in the middle with `/kill`."
)

LONG_STORY = f"""\
I am a demo model, and this is a long story. Stop me with `/kill` whenever you like; what I have \
said until then stays.

Once upon a time a message was typed into a channel. It was a short message, and it did not think \
much of itself, but everything that follows happened because of it. The bot saw it first. The bot \
is a quiet sort of program: it keeps the one connection to the chat, and it never decides anything \
that cannot be decided in the blink of an eye. It looked at the message, found that somebody was \
being spoken to, and passed it on before doing anything else.

> A thing that has been passed on cannot be lost by whoever passed it on.

The message arrived at its channel's workflow, which keeps the queue. Only one turn may run in a \
channel at a time, so that two answers never talk over each other:

```python
async def run(channel):
    while True:
        message = await channel.next_message()
        for persona in await plan(message):
            await take_turn(persona, message)
```

When its time had come, the message became a turn. A turn is a child of its channel, and it has a \
name of its own: the channel, the message, the persona. That is why a message that is delivered \
twice is still answered once. The second one finds that its name is taken, and goes home.

The turn had a list of things to do, and it wrote down each one as soon as it was done:

1. read what was said before,
2. put together what the model should know,
3. call the model, and pass on what it says while it says it,
4. run the tools that it asks for, and call it again,
5. write down what it cost.

Somewhere in the middle of the third step the lights went out. A worker fell over, as workers do. \
Nobody in the channel noticed much: after a few seconds another worker read the list, saw what had \
been done and what had not, and went on from there.

```text
worker one   read   build   call ... (gone)
worker two                  call ........ tools   call   done
```

The half sentence that the first worker had left in the channel was taken away again, because half \
a sentence followed by a whole one reads badly. Then the answer came, paragraph by paragraph, each \
in its place and none of them twice.

There are quicker ways to answer a message. You can do it in a few lines, and on most days nobody \
will see the difference. This is a story about the other days: days on which a cable is pulled, a \
process is killed, a provider falls silent for two minutes and then ends in the middle of a word.

And the message? It was answered. It lived on in the history of its channel, where it was read \
again and again, by every turn that came after, until eighty others had been said and nobody could \
see that far back any more.

That is the end. {HOW_TO_GET_A_REAL_ONE}"""


@dataclass(frozen=True)
class DemoReply:
    text: str
    call: tuple[str, dict[str, Any]] | None = None
    """Tool and arguments, asked for after the text."""


def demo_reply(messages: Sequence[ModelMessage], tools: Collection[str]) -> DemoReply:
    """The next reply. `tools` are the names of the tools that may be called."""
    results = _results(messages)
    if results:
        return DemoReply("\n\n".join([*map(_comment, results), *_advice(messages)]))
    said = _last_said(messages)
    if (url := _URL.search(said)) and "fetch_url" in tools:
        return DemoReply(
            "I am a demo model, but I can read that link for you.",
            ("fetch_url", {"url": url.group().rstrip(".,;:!?")}),
        )
    dice = _DICE.search(said)
    if (dice or _DICE_WISH.search(said)) and "roll_dice" in tools:
        notation = "".join(dice.group(1).split()) if dice else "1d6"
        return DemoReply(
            "I am a demo model, but the dice are real. Rolling.", ("roll_dice", {"dice": notation})
        )
    wish = _wish(said, tools)
    if wish is not None:
        return wish
    if _MEMORY_QUESTION.search(said):
        return DemoReply(_recollection(messages))
    if _LONG_WISH.search(said):
        return DemoReply(LONG_STORY)
    advice = _advice(messages)
    if not advice:
        return DemoReply(f"I am a demo model. {_echo(said)}")
    return DemoReply("\n\n".join([WHO_I_AM, _echo(said), *advice]))


def _wish(said: str, tools: Collection[str]) -> DemoReply | None:
    """A tool that `said` asks for in words this model knows."""
    if (found := _REMINDER_WISH.search(said)) and "create_task" in tools:
        purpose = found[3].strip(" .!?") or "something"
        unit = f"{found[2].lower()}s_from_now"
        return DemoReply(
            "I am a demo model, but the clock is real.",
            (
                "create_task",
                {"reminder_purpose": purpose, "repetition_interval_hours": 0, unit: int(found[1])},
            ),
        )
    if (found := _MEMORY_WISH.search(said)) and "create_long_term_memory" in tools:
        fact = " ".join(found[1].split())[:200]
        return DemoReply(
            "I am a demo model, but this I can keep.",
            ("create_long_term_memory", {"memory_content": fact, "memory_scope": "target_user"}),
        )
    if (found := _STICKER_WISH.search(said)) and "select_sticker_for_response" in tools:
        name = (found[1] or "wave").strip()
        return DemoReply("", ("select_sticker_for_response", {"sticker_name": name}))
    return None


def _recollection(messages: Sequence[ModelMessage]) -> str:
    """What long-term memory has put into the context; only the system's own notes count, and there
    a member's words are indented or quoted."""
    known = [
        _plain(line)
        for message in messages
        if isinstance(message, RequestMessage)
        for part in message.parts
        if isinstance(part, SystemPromptPart | UserPromptPart) and isinstance(part.content, str)
        for line in _MEMORY.findall(part.content)
    ]
    if not known:
        return "I am a demo model, and I remember nothing about you or this server yet."
    return "\n".join(["I remember:", *(f"- {fact}" for fact in dict.fromkeys(known))])


def _advice(messages: Sequence[ModelMessage]) -> list[str]:
    """The two paragraphs of advice, as far as the conversation does not hold them already."""
    spoken = "\n".join(
        part.content
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, TextPart)
    )
    return [text for text in (WHAT_TO_TRY, HOW_TO_GET_A_REAL_ONE) if text not in spoken]


def _last_said(messages: Sequence[ModelMessage]) -> str:
    """What is to be answered, without its author's name and without mentions.

    Several messages of one author in a row are one item of the context, and look like one of
    several lines: all of it counts. A message that waited in the queue is named by a directive at
    the end.
    """
    for message in reversed(messages):
        if not isinstance(message, RequestMessage):
            continue
        for part in reversed(message.parts):
            if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                content = part.content.strip()
                queued = _QUEUED.match(content)
                said = queued[1] if queued else _AUTHOR.sub("", content, count=1)
                return _MENTION.sub("", _QUOTE_MARK.sub("", _INDENT.sub("", said))).strip()
    return ""


def _results(messages: Sequence[ModelMessage]) -> list[ToolReturnPart[Any]]:
    last = messages[-1] if messages else None
    if not isinstance(last, RequestMessage):
        return []
    return [part for part in last.parts if isinstance(part, ToolReturnPart)]


def _echo(said: str) -> str:
    words = said.split()
    if not words:
        return "Your message had no words in it that I could repeat."
    quote = _plain(" ".join(words[:QUOTED_WORDS]))
    more = " …" if len(words) > QUOTED_WORDS else ""
    count = "one word" if len(words) == 1 else f"{len(words)} words"
    question = " It sounds like a question." if said.rstrip().endswith("?") else ""
    return f"You said “{quote}{more}”, which is {count}.{question}"


def _comment(result: ToolReturnPart[Any]) -> str:
    fields = _fields(result.content)
    if result.outcome != "success":
        reason = _plain(str(fields.get("reason", "it did not say why")))
        return f"That did not work: {reason}"
    if result.tool_name == "roll_dice":
        rolls = fields.get("rolls")
        shown = ", ".join(map(str, rolls)) if isinstance(rolls, list) else "something"
        return (
            f"The dice are cast: **{fields.get('total', '?')}** for "
            f"{_plain(str(fields.get('dice', 'your roll')))} ({shown})."
        )
    if result.tool_name == "create_long_term_memory":
        return "That is kept: ask me what I remember, also after a restart."
    if result.tool_name == "create_task":
        return "It is set. It would come also if everything here were restarted in between."
    if result.tool_name == "select_sticker_for_response":
        return "Here you are."
    title = _plain(str(fields.get("title") or "a page without a title"))
    text = " ".join(str(fields.get("text", "")).split())
    beginning = f" It begins: “{_plain(text)} …”" if text else ""
    return f"I read “{title}”.{beginning}"


def _fields(content: object) -> dict[str, Any]:
    """The result as an object; a result that is only a head is no longer JSON, and gives none."""
    try:
        value = json.loads(content) if isinstance(content, str) else content
    except ValueError:
        title = re.search(r'"title":\s*"((?:[^"\\]|\\.)*)"', str(content))
        return {"title": json.loads(f'"{title[1]}"')} if title else {}
    return value if isinstance(value, dict) else {}


def _plain(text: str) -> str:
    """Short, on one line, and shown as it was written: no Markdown, no mention, no early end."""
    flat = " ".join(re.sub(r"[“”]", '"', text).split())
    if len(flat) > QUOTED_CHARS:
        flat = flat[:QUOTED_CHARS].rstrip() + " …"
    apart = re.sub(r"<(?=[@#])", "< ", flat)
    return re.sub(r"[\\`*_~|\[\]]", r"\\\g<0>", apart)

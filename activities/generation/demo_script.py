"""What the demo model says. Pure: the same conversation gets the same reply.

It understands a handful of wishes (`demo_wishes`) and every turn that no message began
(`demo_summons`), and otherwise repeats a little of what was said to it, so that a person sees that
the message went the whole way and came back.
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

from activities.context.stickers import HEADING as STICKERS
from activities.generation.demo_summons import Kind, Summons, read_summons
from activities.generation.demo_wishes import asks_for_memories, find_wish
from activities.generation.demo_words import QUOTED_WORDS, plain, quoted

_QUEUED = re.compile(r"\A\[Reply to this earlier message by .{1,120}?: \"(.*)\"\]\Z")
_AUTHOR = re.compile(r"\A[^\n:]{1,100}: ")
_INDENT = re.compile(r"^  ", re.MULTILINE)
"""Of every line after the first, see `activities.context.dialogue`."""
_MENTION = re.compile(r"<[@#][!&]?\d+>|(?<!\S)@\S+")
_QUOTE_MARK = re.compile(r"^(?:>>>|>)[ \t]+", re.MULTILINE)
_LONG_WISH = re.compile(r"\blong\b|\bstory\b|\bessay\b", re.IGNORECASE)
_HELP_WISH = re.compile(
    r"\bwhat (?:else |all )?(?:can|could) (?:you|i|we) (?:do|try|ask)\b|\A\W*(?:\w+\W+)?help\W*\Z",
    re.IGNORECASE,
)
_SPEAKING = re.compile(
    r"\A(?:please )?(?:say|announce|write|post|tell (?:them|everybody|everyone|people)(?: that)?)"
    r"[:,]? (.+)",
    re.IGNORECASE | re.DOTALL,
)

_MEMORY = re.compile(r"^(?:- |  )?\[id:\d+\] (.+)$")
"""A line of the context that holds a memory, in the system prompt or below a person's name."""
_PERSON = re.compile(r"^- \"?(.+?)\"?(?:, handle <@\d+>)?$")
_ABOUT_PEOPLE = "[About this conversation"
"""How the note begins that says who takes part. No member's line begins with a bracket."""
_STICKER = re.compile(r"^- (.+?)(?:: .*| \(.*\))?$")

ERRAND_CHARS = 300

WHO_I_AM = (
    "I am a demo model. There is no AI behind me: I run offline, on the machine that runs this "
    "bot, and I always say the same things."
)

HOW_TO_GET_A_REAL_ONE = (
    "To talk to a real model instead, set `ANTHROPIC_API_KEY` or the key of another provider and "
    "start again."
)

WHAT_TO_TRY = (
    "Things you can try with me: ask me to **roll 2d6**, send me a **link** to read, say "
    "**remember that I like tea** and later **what do you remember?**, say **remind me in 1 "
    "minute to stretch**, ask me to **send a sticker**, or ask for a **long story** and stop me in "
    "the middle with `/kill`."
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
    errand = read_summons(_closing_note(messages))
    if results := _results(messages):
        advice = [] if errand else _advice(messages)
        return DemoReply("\n\n".join([*map(_comment, results), *advice]))
    if errand is not None:
        return _run_errand(errand, tools, _stickers(messages))
    said = _last_said(messages)
    if (wish := find_wish(said, tools, _stickers(messages))) is not None:
        return DemoReply(wish.words, wish.call)
    if asks_for_memories(said):
        return DemoReply(_recollection(messages))
    advice = _advice(messages)
    if _HELP_WISH.search(said):
        rest = [text for text in advice if text != WHAT_TO_TRY]
        return DemoReply("\n\n".join([WHO_I_AM, WHAT_TO_TRY, *rest]))
    if _LONG_WISH.search(said):
        return DemoReply(LONG_STORY)
    if not advice:
        return DemoReply(f"I am a demo model. {_echo(said)}")
    return DemoReply("\n\n".join([WHO_I_AM, _echo(said), *advice]))


def _run_errand(errand: Summons, tools: Collection[str], stickers: Sequence[str]) -> DemoReply:
    """What a turn does that no message began: it reminds, does its task, or reports."""
    task = quoted(errand.task, ERRAND_CHARS)
    who = plain(errand.asked_by)
    there = plain(errand.where) or "another channel"
    match errand.kind:
        case Kind.REMINDER:
            return DemoReply(f"{errand.mention} Reminder: {plain(errand.task, ERRAND_CHARS)}")
        case Kind.OWN_TASK:
            return _do(errand.task, "A task of my own has come due", tools, stickers)
        case Kind.SENT_HERE:
            return _do(errand.task, f"{who} has sent me here from {there}", tools, stickers)
        case Kind.BACK:
            said = f" Last said there: “{quoted(errand.last_said, ERRAND_CHARS)}”."
            return DemoReply(
                f"{who}, I am back from {there}, where my task was “{task}”. {errand.outcome}"
                f"{said if errand.last_said else ''}"
            )
        case Kind.LOST:
            return DemoReply(
                f"{who}, I was in another channel, where my task was “{task}”. What came of it "
                "is not known any more."
            )


def _do(task: str, why: str, tools: Collection[str], stickers: Sequence[str]) -> DemoReply:
    if (wish := find_wish(task, tools, stickers)) is not None:
        return DemoReply(f"{why}: “{quoted(task, ERRAND_CHARS)}”.", wish.call)
    if spoken := _SPEAKING.match(task):
        return DemoReply(f"{why} to say: {plain(spoken[1], ERRAND_CHARS)}")
    return DemoReply(
        f"{why}: “{quoted(task, ERRAND_CHARS)}”. I am a demo model, so to say it is all that I "
        "can do of it."
    )


def _recollection(messages: Sequence[ModelMessage]) -> str:
    """What long-term memory has put into the context, and whom it is about."""
    known: list[str] = []
    for part in _prompts(messages):
        if isinstance(part, SystemPromptPart):
            about = "this place"
        elif str(part.content).startswith(_ABOUT_PEOPLE):
            about = ""
        else:
            continue
        for line in str(part.content).splitlines():
            if found := _MEMORY.match(line):
                known.append(f"- about {plain(about)}: {quoted(found[1])}")
            elif isinstance(part, UserPromptPart) and (person := _PERSON.match(line)):
                about = person[1]
    if not known:
        return "I am a demo model, and I remember nothing about you or this place yet."
    return "\n".join(["I remember:", *dict.fromkeys(known)])


def _stickers(messages: Sequence[ModelMessage]) -> list[str]:
    """The names of the server's stickers, as the system prompt lists them."""
    for part in _prompts(messages):
        if isinstance(part, SystemPromptPart) and STICKERS in part.content:
            listed = part.content.partition(STICKERS)[2].strip().splitlines()
            found = [_STICKER.match(line) for line in listed]
            return [match[1] for match in found if match]
    return []


def _prompts(messages: Sequence[ModelMessage]) -> list[SystemPromptPart | UserPromptPart]:
    """What the model is told in words, oldest first."""
    return [
        part
        for message in messages
        if isinstance(message, RequestMessage)
        for part in message.parts
        if isinstance(part, SystemPromptPart | UserPromptPart) and isinstance(part.content, str)
    ]


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
    the end; any other note, which begins with a bracket as no member's line does, is nobody's word.
    """
    for part in reversed(_prompts(messages)):
        content = str(part.content).strip()
        if isinstance(part, SystemPromptPart):
            continue
        queued = _QUEUED.match(content)
        if queued is None and content.startswith("["):
            continue
        said = queued[1] if queued else _AUTHOR.sub("", content, count=1)
        return _MENTION.sub("", _QUOTE_MARK.sub("", _INDENT.sub("", said))).strip()
    return ""


def _closing_note(messages: Sequence[ModelMessage]) -> str:
    """The note behind the conversation; empty where the conversation itself stands last."""
    prompts = _prompts(messages)
    last = str(prompts[-1].content) if prompts else ""
    return last if last.startswith("[") else ""


def _results(messages: Sequence[ModelMessage]) -> list[ToolReturnPart[Any]]:
    last = messages[-1] if messages else None
    if not isinstance(last, RequestMessage):
        return []
    return [part for part in last.parts if isinstance(part, ToolReturnPart)]


def _echo(said: str) -> str:
    words = said.split()
    if not words:
        return "Your message had no words in it that I could repeat."
    quote = quoted(" ".join(words[:QUOTED_WORDS]))
    more = " …" if len(words) > QUOTED_WORDS else ""
    count = "one word" if len(words) == 1 else f"{len(words)} words"
    question = " It sounds like a question." if said.rstrip().endswith("?") else ""
    return f"You said “{quote}{more}”, which is {count}.{question}"


def _comment(result: ToolReturnPart[Any]) -> str:
    fields = _fields(result.content)
    if result.outcome != "success":
        reason = plain(str(fields.get("reason", "it did not say why")))
        nearest = fields.get("nearest")
        names = ", ".join(map(str, nearest)) if isinstance(nearest, list) else ""
        return f"That did not work: {reason}" + (f" ({plain(names)})" if names else "")
    if result.tool_name == "roll_dice":
        rolls = fields.get("rolls")
        shown = ", ".join(map(str, rolls)) if isinstance(rolls, list) else "something"
        return (
            f"The dice are cast: **{fields.get('total', '?')}** for "
            f"{plain(str(fields.get('dice', 'your roll')))} ({shown})."
        )
    if result.tool_name == "create_long_term_memory":
        return "That is kept: ask me what I remember, also after a restart."
    if result.tool_name == "create_task":
        return "It is set. It would come also if everything here were restarted in between."
    if result.tool_name == "select_sticker_for_response":
        return "Here you are."
    named = fields.get("title")
    title = quoted(str(named)) if named else "a page without a title"
    text = " ".join(str(fields.get("text", "")).split())
    beginning = f" It begins: “{quoted(text)} …”" if text else ""
    return f"I read “{title}”.{beginning}"


def _fields(content: object) -> dict[str, Any]:
    """The result as an object; a result that is only a head is no longer JSON, and gives none."""
    try:
        value = json.loads(content) if isinstance(content, str) else content
    except ValueError:
        title = re.search(r'"title":\s*"((?:[^"\\]|\\.)*)"', str(content))
        return {"title": json.loads(f'"{title[1]}"')} if title else {}
    return value if isinstance(value, dict) else {}

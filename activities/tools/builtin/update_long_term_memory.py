"""`update_long_term_memory`: replace what the persona remembers, or forget it (behaviour 7.2).

A memory can be changed by the persona that has it, in the server it was made in, and one about a
member only while that member takes part in the conversation: the notice of a deletion quotes it.
To anybody else there is no such memory (C098, D78).
"""

from __future__ import annotations

import structlog
from pydantic import Field

from activities.context.document import ContextDocument, load_document
from activities.memory.subject import Ambiguous, Member, Nobody, WholeServer, find_subject
from activities.memory.text import without_placeholders
from activities.tools.builtin.create_long_term_memory import (
    MAX_ARGUMENT,
    Outcome,
    is_available,
    save_failed,
)
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage import StorageError
from storage.config import Privacy
from storage.memories import Memory
from workflows.contracts.base import server_key
from workflows.contracts.tools import NoticeColour, ToolContext, ToolNotice

log = structlog.get_logger(__name__)


class UpdateLongTermMemoryArguments(ToolArguments):
    memory_id: int = Field(ge=1, le=2**31 - 1, description="The number of `[id:N]`.")
    memory_content: str = Field(
        max_length=MAX_ARGUMENT,
        description="What to remember instead, in full. Empty: forget it.",
    )
    target_user: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Whom the memory is about, by name, mention or id, if it is about a person.",
    )


async def update_long_term_memory(
    arguments: UpdateLongTermMemoryArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    try:
        return await _update(arguments, context, resources)
    except StorageError as error:
        log.error("memory not changed", turn_id=context.turn_id, reason=str(error))
        raise save_failed(
            Outcome.DB_ERROR, "The memory could not be changed just now. Try again later."
        ) from None


async def _update(
    arguments: UpdateLongTermMemoryArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    storage = resources.storage
    key = server_key(context.guild_id, context.user_id)
    if not is_available(context.situation, await storage.configs.server(key)):
        raise save_failed(Outcome.DISABLED, "Long-term memory is switched off in this server.")
    document = await load_document(storage, context)
    memory = await storage.memories.get(arguments.memory_id)
    if memory is None or memory.server_key != key or memory.persona_id != context.persona_id:
        raise _no_such(arguments)
    _check_subject(arguments, memory, document, context)
    if not arguments.memory_content:
        return await _delete(arguments, context, resources)
    if memory.user_id is not None:
        user = await storage.configs.user(memory.user_id)
        if user.privacy is not Privacy.NONE:
            raise save_failed(
                Outcome.PRIVACY_RESTRICTED,
                "That person does not want to be remembered. The memory can only be deleted.",
            )
    return await _replace(arguments, memory, context, resources)


async def _replace(
    arguments: UpdateLongTermMemoryArguments,
    memory: Memory,
    context: ToolContext,
    resources: ToolResources,
) -> Answer:
    text = without_placeholders(arguments.memory_content)
    if not text:
        raise save_failed(Outcome.INTERNAL_ERROR, "Nothing is left of it to be remembered.")
    longest = resources.memory_limits.length
    if len(text) > longest:
        raise save_failed(
            Outcome.LIMIT_EXCEEDED,
            f"A memory has at most {longest} characters, and this one has {len(text)}. "
            "Say it in fewer words.",
        )
    if await resources.storage.memories.replace(memory.id, text) is None:
        raise _no_such(arguments)
    return Answer(
        {"status": "memory_updated_successfully", "memory_id": memory.id},
        notices=[
            ToolNotice(
                title=f"{context.persona_name or 'A persona'} changed a memory",
                text=text,
                colour=NoticeColour.AMBER,
            )
        ],
    )


async def _delete(
    arguments: UpdateLongTermMemoryArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    old = await resources.storage.memories.delete(arguments.memory_id)
    if old is None:
        raise _no_such(arguments)
    return Answer(
        {"status": "memory_deleted_successfully", "memory_id": old.id},
        notices=[
            ToolNotice(
                title=f"{context.persona_name or 'A persona'} forgot a memory",
                text=old.text,
                colour=NoticeColour.RED,
            )
        ],
    )


def _check_subject(
    arguments: UpdateLongTermMemoryArguments,
    memory: Memory,
    document: ContextDocument,
    context: ToolContext,
) -> None:
    """Raises ToolFailure when the memory is not about whom the model says, or about somebody who
    is not here."""
    if memory.user_id is not None:
        present = {context.user_id, *(person.user_id for person in document.people)}
        if memory.user_id not in present:
            raise _no_such(arguments)
    if arguments.target_user is None:
        return
    match find_subject(arguments.target_user, document, context):
        case WholeServer():
            raise save_failed(
                Outcome.USER_NOT_FOUND,
                "That is a bot, and no memory is about one. Leave `target_user` out.",
            )
        case Nobody():
            raise save_failed(
                Outcome.USER_NOT_FOUND, "Nobody of that name takes part in this conversation."
            )
        case Ambiguous(candidates):
            # The memory itself tells which of them is meant.
            if memory.user_id not in {each.user_id for each in candidates}:
                raise _no_such(arguments)
        case Member(user_id):
            if memory.user_id != user_id:
                raise _no_such(arguments)


def _no_such(arguments: UpdateLongTermMemoryArguments) -> ToolFailure:
    return ToolFailure(
        f"You have no memory with the id {arguments.memory_id} here.",
        data={"status": "memory_not_found"},
    )


TOOL = Tool(
    name="update_long_term_memory",
    description=(
        "Correct one of your long-term memories, or forget it: when it turns out wrong or out of "
        "date, or somebody asks for it. Memories are shown to you as `[id:N] text`."
    ),
    arguments=UpdateLongTermMemoryArguments,
    run=update_long_term_memory,
    summarise=lambda arguments: f"memory {arguments.memory_id}",
    is_available_for_context=is_available,
    requires_follow_up=False,
    deliberate_target="memory",
)

"""`create_long_term_memory`: a fact that the persona keeps for good (behaviour 7.2)."""

from __future__ import annotations

from enum import StrEnum

import structlog
from pydantic import Field

from activities.context.document import load_document
from activities.memory.subject import Ambiguous, Member, Nobody, WholeServer, find_subject
from activities.memory.text import without_placeholders
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage import StorageError
from storage.config import Privacy, ServerConfig
from storage.errors import MemoryLimitReached
from workflows.contracts.base import server_key
from workflows.contracts.tools import NoticeColour, Situation, ToolContext, ToolNotice

log = structlog.get_logger(__name__)

MAX_ARGUMENT = 20_000
"""Code points that are looked at at all; how long a memory may be is the operator's setting."""


class Scope(StrEnum):
    SERVER_WIDE = "server_wide"
    TARGET_USER = "target_user"


class CreateLongTermMemoryArguments(ToolArguments):
    memory_content: str = Field(
        min_length=1,
        max_length=MAX_ARGUMENT,
        description="The fact, in a sentence or two that can be understood on their own. {user} "
        "stands for the person it is about, {bot} for yourself.",
    )
    memory_scope: Scope = Field(
        description="server_wide: holds for everybody here. target_user: is about one person."
    )
    target_user: str | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="With target_user: whom it is about, by name, mention or id. Default: the "
        "user you are answering.",
    )


class Outcome(StrEnum):
    """The end of a failure's `status`."""

    DISABLED = "disabled"
    LIMIT_EXCEEDED = "limit_exceeded"
    AMBIGUOUS_USER = "ambiguous_user"
    USER_NOT_FOUND = "user_not_found"
    PRIVACY_RESTRICTED = "privacy_restricted"
    INTERNAL_ERROR = "internal_error"
    DB_ERROR = "db_error"


def save_failed(outcome: Outcome, reason: str, **data: object) -> ToolFailure:
    return ToolFailure(reason, data={"status": f"memory_save_failed_{outcome}", **data})


def is_available(situation: Situation, config: ServerConfig) -> bool:
    return config.tools.self_teaching


async def create_long_term_memory(
    arguments: CreateLongTermMemoryArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    try:
        return await _create(arguments, context, resources)
    except StorageError as error:
        log.error("memory not saved", turn_id=context.turn_id, reason=str(error))
        raise save_failed(
            Outcome.DB_ERROR, "The memory could not be stored just now. Try again later."
        ) from None


async def _create(
    arguments: CreateLongTermMemoryArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    """The checks stand in the order of behaviour 7.2."""
    storage = resources.storage
    key = server_key(context.guild_id, context.user_id)
    if not is_available(context.situation, await storage.configs.server(key)):
        raise save_failed(Outcome.DISABLED, "Long-term memory is switched off in this server.")
    member = await _member(arguments, context, resources)
    text = without_placeholders(arguments.memory_content)
    if not text:
        raise save_failed(Outcome.INTERNAL_ERROR, "Nothing is left of it to be remembered.")
    if context.persona_id == 0:
        raise save_failed(Outcome.INTERNAL_ERROR, "This persona keeps no memories.")
    limits = resources.memory_limits
    if len(text) > limits.length:
        raise save_failed(
            Outcome.LIMIT_EXCEEDED,
            f"A memory has at most {limits.length} characters, and this one has {len(text)}. "
            "Say it in fewer words.",
        )
    try:
        memory = await storage.memories.add(
            server_key=key,
            persona_id=context.persona_id,
            user_id=member.user_id if member else None,
            text=text,
            author_id=context.user_id,
            limit=limits.personal if member else limits.server,
        )
    except MemoryLimitReached:
        raise save_failed(
            Outcome.LIMIT_EXCEEDED,
            f"There is no room for more memories {_about(member)}. Update or delete an old one "
            "with update_long_term_memory.",
        ) from None
    return Answer(
        {
            "status": "memory_saved_successfully",
            "memory_id": memory.id,
            "scope": Scope.TARGET_USER if member else Scope.SERVER_WIDE,
        },
        notices=[
            ToolNotice(
                title=f"Remembered something {_about(member)}",
                text=text,
                colour=NoticeColour.SUCCESS,
            )
        ],
    )


async def _member(
    arguments: CreateLongTermMemoryArguments, context: ToolContext, resources: ToolResources
) -> Member | None:
    """Whom it is about; None for the whole server."""
    if arguments.memory_scope is Scope.SERVER_WIDE:
        return None
    document = await load_document(resources.storage, context)
    match find_subject(arguments.target_user, document, context):
        case WholeServer():
            return None
        case Nobody():
            raise save_failed(
                Outcome.USER_NOT_FOUND,
                "Nobody of that name takes part in this conversation.",
            )
        case Ambiguous(candidates):
            raise save_failed(
                Outcome.AMBIGUOUS_USER,
                "Several people have that name. Ask who is meant, and give their id.",
                candidates=[{"id": each.user_id, "name": each.name} for each in candidates],
            )
        case Member() as member:
            user = await resources.storage.configs.user(member.user_id)
            if user.privacy is not Privacy.NONE:
                raise save_failed(
                    Outcome.PRIVACY_RESTRICTED,
                    f"{member.name} does not want to be remembered.",
                )
            return member


def _about(member: Member | None) -> str:
    return f"about {member.name}" if member else "about this server"


TOOL = Tool(
    name="create_long_term_memory",
    description=(
        "Remember a fact for good: something lasting that was said about a person or this server, "
        "above all when somebody asks to remember it. Not for what only matters now."
    ),
    arguments=CreateLongTermMemoryArguments,
    run=create_long_term_memory,
    summarise=lambda arguments: arguments.memory_scope.value,
    is_available_for_context=is_available,
    requires_follow_up=False,
    deliberate_target="memory",
)

"""`select_sticker_for_response`: a sticker of the server's, to go with the answer.

The choice only travels with the result: the sticker is sent once the turn has completed, after its
text (behaviour 11). A name that is not there voids an earlier choice.
"""

from __future__ import annotations

import difflib
import unicodedata

from pydantic import BaseModel, Field

from activities.context.document import load_document
from activities.tools.resources import ToolResources
from activities.tools.tool import Answer, Tool, ToolArguments, ToolFailure
from storage.config import ServerConfig
from workflows.contracts.history import StickerInfo
from workflows.contracts.tools import SELECT_STICKER, Situation, StickerChoice, ToolContext

MAX_NAME = 60
"""Code points. Discord's names have at most 30; a model may add colons or words."""
MAX_NEAREST = 5


class SelectStickerArguments(ToolArguments):
    sticker_name: str = Field(
        min_length=1,
        max_length=MAX_NAME,
        description="Name of one of this server's stickers, as it is listed in the conversation.",
    )


class SelectedSticker(BaseModel):
    sticker_name: str
    note: str = "It is sent after your answer. Do not write its name."


async def select_sticker(
    arguments: SelectStickerArguments, context: ToolContext, resources: ToolResources
) -> Answer:
    stickers = (await load_document(resources.storage, context)).stickers
    sticker = _named(arguments.sticker_name, stickers)
    if sticker is None:
        nearest = _nearest(arguments.sticker_name, stickers)
        raise ToolFailure(
            "This server has no such sticker, and none is selected now."
            + (" Nearest names are listed." if nearest else ""),
            data={"nearest": nearest},
            sticker=StickerChoice(),
        )
    return Answer(
        SelectedSticker(sticker_name=sticker.name),
        sticker=StickerChoice(sticker_id=sticker.id, name=sticker.name),
    )


def _named(name: str, stickers: list[StickerInfo]) -> StickerInfo | None:
    """Of several with one name, the oldest."""
    wanted = _folded(name)
    return next((sticker for sticker in stickers if _folded(sticker.name) == wanted), None)


def _nearest(name: str, stickers: list[StickerInfo]) -> list[str]:
    by_name = {_folded(sticker.name): sticker.name for sticker in reversed(stickers)}
    close = difflib.get_close_matches(_folded(name), by_name, n=MAX_NEAREST, cutoff=0.5)
    return [by_name[folded] for folded in close]


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().strip(": ").split())


def _is_available(situation: Situation, config: ServerConfig) -> bool:
    return (
        config.tools.sticker_usage
        and situation.has_stickers
        and not situation.is_dm
        and not situation.impersonated
    )


TOOL = Tool(
    name=SELECT_STICKER,
    description=(
        "Send one of this server's stickers after your answer. Call it at most once, when a "
        "sticker fits the mood; the latest call counts."
    ),
    arguments=SelectStickerArguments,
    run=select_sticker,
    is_available_for_context=_is_available,
    requires_follow_up=False,
)

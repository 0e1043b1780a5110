"""A turn to decide about: messages, and the tools that Everturn ships or will."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from activities.deliberate import DeliberateInput
from activities.tools.tool import Tool, ToolArguments
from storage.config import DeliberateConfig, UserConfig
from workflows.contracts.history import FileInfo, HistoryMessage
from workflows.contracts.tools import Situation

USER = "100"
OTHER = "200"
BOT = "900"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def _run(arguments: Any, context: Any, resources: Any) -> str:
    return ""


def tool(name: str, target: str | None = None, triggers: Sequence[str] = ()) -> Tool[Any]:
    return Tool(
        name=name,
        description=name,
        arguments=ToolArguments,
        run=_run,
        deliberate_target=target,
        deliberate_triggers=triggers,
    )


TOOLS = (
    tool("create_long_term_memory", "memory"),
    tool("create_task", "reminder"),
    tool("update_task", "reminder"),
    tool("web_search", "search"),
    tool("fetch_url", "search"),
    tool("read_file", "media-analysis"),
    tool("analyze_image", "media-analysis"),
    tool("process_gif"),
    tool("process_youtube_video"),
    tool("generate_image", "image"),
    tool("generate_video", "video"),
    tool("generate_voice_message", "voice"),
    tool("manage_message", "message-action"),
    tool("cross_channel_message", "cross-channel"),
    tool("create_thread", "thread"),
    tool("block_user", "user-blocking"),
    tool("update_user_info", "user-info"),
    tool("review_capabilities", "capabilities"),
    tool("roll_dice", None, ("dice", "roll*")),
    tool("update_short_term_memory"),
)
STICKERS = tool("select_sticker_for_response")


class Conversation:
    """Writes messages, each with the next id, a minute apart."""

    def __init__(self) -> None:
        self.messages: list[HistoryMessage] = []

    def says(
        self,
        content: str,
        author: str = USER,
        files: Sequence[tuple[str, str]] = (),
        reply_to: str | None = None,
    ) -> HistoryMessage:
        number = len(self.messages) + 1
        message = HistoryMessage(
            id=str(number),
            author_id=author,
            author_name=f"member {author}",
            content=content,
            created_at=NOON + timedelta(minutes=number),
            is_bot=author == BOT,
            is_self=author == BOT,
            reply_to=reply_to,
            attachments=[name for name, _ in files],
            files=[FileInfo(id=name, filename=name, content_type=kind) for name, kind in files],
        )
        self.messages.append(message)
        return message

    def turn(self, **changes: Any) -> DeliberateInput:
        """About the newest message."""
        trigger = self.messages[-1]
        target = next((m for m in self.messages if m.id == trigger.reply_to), None)
        turn = DeliberateInput(
            config=DeliberateConfig(enabled=True),
            user=UserConfig(),
            situation=Situation(),
            text=trigger.content,
            messages=self.messages,
            trigger_id=trigger.id,
            reply_target=target,
            retained=[],
            tools=TOOLS,
        )
        return replace(turn, **changes)


def about(text: str, **changes: Any) -> DeliberateInput:
    conversation = Conversation()
    conversation.says(text)
    return conversation.turn(**changes)

"""The built context, as it is stored and as the model call reads it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class ContextItem(BaseModel):
    model_config = ConfigDict(frozen=True)

    role: Literal["user", "model"]
    text: str


class ContextDocument(BaseModel):
    """Neutral towards providers: how roles and items become requests is the model call's matter.

    The first and the last item are always the user's.
    """

    model_config = ConfigDict(frozen=True)

    persona_name: str
    system: str
    items: list[ContextItem]
    stop_strings: list[str] = []

"""`read_tool_result`: the rest of a result that was too long to be shown whole.

The id is one of this turn's own results, and is looked up in this turn's transcript and nowhere
else: nobody reads what another turn stored, whatever id a page or a member talks the model into.
"""

from __future__ import annotations

import json

from pydantic import Field

from activities.tools.resources import ToolResources
from activities.tools.results import RESULT_ID, readable, result_id_of, window_json
from activities.tools.tool import Tool, ToolArguments, ToolFailure, ToolOutput
from storage.errors import BlobMissing
from workflows.contracts.tools import ToolContext


class ReadToolResultArguments(ToolArguments):
    result_id: str = Field(
        pattern=rf"^[0-9a-f]{{{RESULT_ID}}}$", description="As the cut result gave it."
    )
    offset: int = Field(ge=0, le=100_000_000, description="Where to read on: its next_offset.")


async def read_tool_result(
    arguments: ReadToolResultArguments, context: ToolContext, resources: ToolResources
) -> ToolOutput:
    storage = resources.storage
    content_id = next(
        (
            result.content_id
            for entry in await storage.transcript.stored(context.turn_id)
            for result in entry.results
            if result.content_id and result_id_of(result.content_id) == arguments.result_id
        ),
        None,
    )
    if content_id is None:
        raise ToolFailure("This turn has no cut result with that result_id.")
    try:
        stored = await storage.blobs.get(content_id)
    except BlobMissing:
        raise ToolFailure("That result is not kept any more.") from None
    whole = readable(stored.decode())
    if arguments.offset >= len(whole):
        raise ToolFailure(
            f"The result has {len(whole)} characters; there is nothing at that offset."
        )
    return json.loads(window_json(whole, arguments.result_id, arguments.offset))


TOOL = Tool(
    name="read_tool_result",
    description=(
        "Read on in a result of this turn that was cut because of its length. Only with a "
        "result_id that such a result gave."
    ),
    arguments=ReadToolResultArguments,
    run=read_tool_result,
)

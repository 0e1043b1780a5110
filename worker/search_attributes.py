"""Registers the search attributes that turns carry, in whichever namespace we are connected to."""

from __future__ import annotations

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from worker.errors import EXIT_CONFIGURATION, ConnectionFailed
from workflows.contracts.attributes import SEARCH_ATTRIBUTES

log = structlog.get_logger(__name__)

KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
NAMES = tuple(key.name for key in SEARCH_ATTRIBUTES)


async def missing_search_attributes(client: Client) -> list[str]:
    """Names that the namespace does not know yet. Raises RPCError where listing is not allowed."""
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return [name for name in NAMES if name not in known.custom_attributes]


async def register_search_attributes(client: Client) -> None:
    """Register what is missing; nothing when all is there. Raises ConnectionFailed, one line.

    Several workers may do it at once.
    """
    try:
        missing = await missing_search_attributes(client)
        if not missing:
            return
        await client.operator_service.add_search_attributes(
            AddSearchAttributesRequest(
                namespace=client.namespace,
                search_attributes=dict.fromkeys(missing, KEYWORD),
            )
        )
        log.info("search_attributes.registered", names=missing)
    except RPCError as error:
        if error.status is RPCStatusCode.ALREADY_EXISTS:
            return
        if error.status is RPCStatusCode.UNAVAILABLE:
            raise ConnectionFailed("Temporal went away while it was being set up") from None
        if error.status is RPCStatusCode.NOT_FOUND:
            raise ConnectionFailed(
                f"Temporal has no namespace {client.namespace}:"
                " create it, or set TEMPORAL_NAMESPACE to one that exists",
                EXIT_CONFIGURATION,
            ) from None
        raise ConnectionFailed(
            f"the search attributes of namespace {client.namespace} cannot be set up from here"
            f" ({error.status.name.lower()}): create them as Keyword in Temporal's UI"
            f" or with its CLI: {', '.join(NAMES)}",
            EXIT_CONFIGURATION,
        ) from None

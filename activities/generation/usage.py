"""Tokens and their price, as far as the provider and the price list know them."""

from __future__ import annotations

from genai_prices import calc_price
from pydantic_ai.usage import RequestUsage

from activities.generation.settings import GenerationSettings
from workflows.contracts.generation import Usage


def usage_of(reported: RequestUsage, settings: GenerationSettings) -> Usage:
    """What the provider reported. Nothing is estimated: without a report the tokens are 0."""
    if not (reported.input_tokens or reported.output_tokens):
        return Usage()
    return Usage(
        input_tokens=reported.input_tokens,
        output_tokens=reported.output_tokens,
        cost_usd=_cost(reported, settings),
    )


def _cost(reported: RequestUsage, settings: GenerationSettings) -> float | None:
    """US dollars by the price list that is installed; None when it does not know the model.

    The list is read from the package. It is updated over the network only by a process that asks
    for that, which none of ours does.
    """
    try:
        if settings.base_url:
            price = calc_price(reported, settings.model_name, provider_api_url=settings.base_url)
        else:
            price = calc_price(reported, settings.model_name, provider_id=settings.provider)
    except Exception:
        # A price is worth knowing, never worth an answer: a list that lags behind is common.
        return None
    return float(price.total_price)

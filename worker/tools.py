"""The tools of a process, and what they share: of the worker, and of the bot for those that need
Discord."""

from __future__ import annotations

from activities.tools.registry import ToolRegistry
from activities.tools.resources import ToolResources
from activities.tools.search import SearchSettings
from activities.tools.tool import ToolDefinitionError
from worker.errors import EXIT_CONFIGURATION, OperatorError, SettingsError
from worker.settings import Settings


def make_tools(settings: Settings) -> tuple[ToolRegistry, ToolResources]:
    """Our tools and those of installed packages, and what they share; what is opened later is
    handed over by `ToolResources.connect`. Raises OperatorError."""
    search = SearchSettings(settings.brave_api_key, settings.searxng_url)
    limits = settings.memory_limits()
    try:
        registry = ToolRegistry.installed()
        resources = ToolResources(settings.fetch_allow, memory_limits=limits, search=search)
    except ToolDefinitionError as error:
        raise OperatorError(str(error), EXIT_CONFIGURATION) from None
    except ValueError as error:
        raise SettingsError(f"EVERTURN_FETCH_ALLOW is not valid: {error}") from None
    return registry, resources

"""The errors that Discord answers with, by their JSON codes, and the one that stops a start.

Source: Discord's API reference, "Opcodes and Status Codes", and the bodies it sends.
"""

from __future__ import annotations

from typing import Any


class PlaygroundError(Exception):
    """The playground cannot start; the message is one line that says what to do."""


class DiscordError(Exception):
    """A refusal: HTTP `status`, Discord's JSON `code`, its `message`, and per-field `errors`."""

    def __init__(
        self, status: int, code: int, message: str, errors: dict[str, Any] | None = None
    ) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"message": self.message, "code": self.code}
        if self.errors:
            body["errors"] = self.errors
        return body


def not_found() -> DiscordError:
    return DiscordError(404, 0, "404: Not Found")


def unauthorized() -> DiscordError:
    return DiscordError(401, 0, "401: Unauthorized")


def unknown_channel() -> DiscordError:
    return DiscordError(404, 10003, "Unknown Channel")


def unknown_guild() -> DiscordError:
    return DiscordError(404, 10004, "Unknown Guild")


def unknown_member() -> DiscordError:
    return DiscordError(404, 10007, "Unknown Member")


def unknown_message() -> DiscordError:
    return DiscordError(404, 10008, "Unknown Message")


def unknown_user() -> DiscordError:
    return DiscordError(404, 10013, "Unknown User")


def unknown_emoji() -> DiscordError:
    return DiscordError(400, 10014, "Unknown Emoji")


def unknown_sticker() -> DiscordError:
    return DiscordError(404, 10060, "Unknown sticker")


def invalid_sticker() -> DiscordError:
    return DiscordError(400, 50081, "An invalid sticker was sent")


def unknown_webhook() -> DiscordError:
    return DiscordError(404, 10015, "Unknown Webhook")


def unknown_interaction() -> DiscordError:
    return DiscordError(404, 10062, "Unknown interaction")


def unknown_command() -> DiscordError:
    return DiscordError(404, 10063, "Unknown application command")


def already_acknowledged() -> DiscordError:
    return DiscordError(400, 40060, "Interaction has already been acknowledged.")


def missing_access() -> DiscordError:
    return DiscordError(403, 50001, "Missing Access")


def cannot_edit_others() -> DiscordError:
    return DiscordError(403, 50005, "Cannot edit a message authored by another user")


def empty_message() -> DiscordError:
    return DiscordError(400, 50006, "Cannot send an empty message")


def missing_permissions() -> DiscordError:
    return DiscordError(403, 50013, "Missing Permissions")


def invalid_webhook_token() -> DiscordError:
    return DiscordError(401, 50027, "Invalid Webhook Token")


def invalid_form(field: str, code: str, message: str) -> DiscordError:
    """50035 for one field; `field` is a dotted path such as `embeds.0.description`."""
    errors: dict[str, Any] = {"_errors": [{"code": code, "message": message}]}
    for name in reversed(field.split(".")):
        errors = {name: errors}
    return DiscordError(400, 50035, "Invalid Form Body", errors)


def too_long(field: str, limit: int) -> DiscordError:
    return invalid_form(field, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")

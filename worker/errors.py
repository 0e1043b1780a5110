"""What an operator is told when something is wrong: one line, and an exit code with a meaning."""

from __future__ import annotations

EXIT_FAILED = 1
"""Something went wrong that another try may mend."""
EXIT_UNAVAILABLE = 69
"""`EX_UNAVAILABLE` of sysexits.h: a service that is needed does not answer."""
EXIT_CONFIGURATION = 78
"""`EX_CONFIG` of sysexits.h: the same start would fail the same way. Never restarted (D38)."""


class OperatorError(Exception):
    """An error whose text is meant for the operator: one line, what is wrong and what to do.

    The text never holds a secret, and never the value of a setting that may be one.
    """

    def __init__(self, message: str, exit_code: int = EXIT_FAILED) -> None:
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code


class SettingsError(OperatorError):
    """A setting is malformed, unknown, or missing; the text names it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, EXIT_CONFIGURATION)


class ConnectionFailed(OperatorError):
    """Temporal cannot be reached, or refuses us."""

    def __init__(self, message: str, exit_code: int = EXIT_UNAVAILABLE) -> None:
        super().__init__(message, exit_code)

"""Stop strings on visible text.

They are applied here and not by the provider: a provider's own stop sequences also fire inside
thoughts (D65), are limited to four, and some models reject them.
"""

from __future__ import annotations


class StopStrings:
    """Ends the text where the first stop string begins, also when it arrives in pieces.

    What always holds: joined, the parts that come out are the text up to the first stop string.
    """

    def __init__(self, strings: list[str]) -> None:
        self._strings = [string for string in strings if string]
        self._held = ""
        self.hit = False

    def feed(self, text: str) -> str:
        """What may be shown now. A tail that could be the beginning of a stop string waits."""
        if self.hit or not self._strings:
            return "" if self.hit else text
        text = self._held + text
        found = [at for at in map(text.find, self._strings) if at >= 0]
        if found:
            self.hit, self._held = True, ""
            return text[: min(found)]
        self._held = text[len(text) - self._possible_beginning(text) :]
        return text[: len(text) - len(self._held)]

    def finish(self) -> str:
        """What waited for the rest of a stop string that did not come."""
        held, self._held = self._held, ""
        return held

    def _possible_beginning(self, text: str) -> int:
        longest = max(map(len, self._strings)) - 1
        for length in range(min(longest, len(text)), 0, -1):
            if any(string.startswith(text[-length:]) for string in self._strings):
                return length
        return 0

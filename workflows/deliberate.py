"""Which tools a channel keeps on offer because they were of use lately (behaviour 8, rule 4).

In: what the channel kept so far, and the `ToolsUsed` of each turn that ended. Out: the names the
next turn may add to its own (`offered`), and the state that travels through continue-as-new.
What always holds: one turn that built a context takes one from every countdown, whoever it
answered; a success starts the tool's own countdown anew; a tool is offered for exactly as many
turns after its success as the server has set; the order is that of the latest successes.
"""

from __future__ import annotations

from collections.abc import Sequence

from workflows.contracts.turn import RetainedTool, ToolsUsed

MAX_RETAINED = 64
"""Tools that one channel keeps at most, the latest first to stay: the state has to be small."""


class Retention:
    def __init__(self, kept: Sequence[RetainedTool] = ()) -> None:
        self._turns_left = {tool.name: tool.turns_left for tool in kept if tool.turns_left > 0}

    def offered(self) -> list[str]:
        """Names for the next turn, the latest success last."""
        return list(self._turns_left)

    def apply(self, used: ToolsUsed) -> None:
        """Account for one turn that has ended.

        With the mode off (`retain_for` 0) a success keeps nothing, and the countdowns go on.
        """
        if used.context_built:
            self._turns_left = {
                name: turns - 1 for name, turns in self._turns_left.items() if turns > 1
            }
        if used.retain_for <= 0:
            return
        for name in used.succeeded:
            self._turns_left.pop(name, None)
            self._turns_left[name] = used.retain_for
        while len(self._turns_left) > MAX_RETAINED:
            del self._turns_left[next(iter(self._turns_left))]

    def state(self) -> list[RetainedTool]:
        return [
            RetainedTool(name=name, turns_left=turns) for name, turns in self._turns_left.items()
        ]

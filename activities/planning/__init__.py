"""Who answers a message, and whether anybody may: behaviour 5, one module per stage.

In: a message that the bot admitted, and what its channel counts. Out: a `TurnPlan`. `plan` has the
stages in their order; each of the others is one of them.
"""

from activities.planning.plan import PlanningActivities
from activities.planning.settings import PlanningSettings

__all__ = ["PlanningActivities", "PlanningSettings"]

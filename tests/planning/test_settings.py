"""What an operator decides reaches planning (behaviour 18)."""

from __future__ import annotations

import pytest

from activities.planning import PlanningSettings
from worker.errors import SettingsError
from worker.settings import load_settings


def test_the_operator_s_settings_reach_planning() -> None:
    assert load_settings({}, None).planning() == PlanningSettings()
    environ = {
        "RUN_ENV": "production",
        "MAX_USER_ACTIVE_MESSAGES": "1",
        "MAX_SERVER_ACTIVE_MESSAGES": "2",
        "MAX_FOLLOW_UP_INTERRUPTS": "4",
        "BASE_TRIGGER_WORDS": "nova, hey you,",
        "DISABLE_COOLDOWN_EXEMPTIONS": "true",
        "COMMAND_COOLDOWN_SCALE": "2.5",
    }
    assert load_settings(environ, None).planning() == PlanningSettings(
        production=True,
        max_user_active=1,
        max_server_active=2,
        cooldown_exemptions=False,
        command_cooldown_scale=2.5,
        max_follow_ups=4,
        base_words=("nova", "hey you"),
    )


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "much"])
def test_a_scale_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match="COMMAND_COOLDOWN_SCALE"):
        load_settings({"COMMAND_COOLDOWN_SCALE": value}, None)

"""For all tests: how hypothesis searches.

At a desk it looks for new examples in every run. In CI it always tries the same ones, so that a
change is judged by what it changed; what a desk finds becomes an `@example`.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

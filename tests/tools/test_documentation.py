"""`docs/adding-a-tool.md` walks through a real file, and shows it as it is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_file_whole_and_in_order() -> None:
    page = (ROOT / "docs/adding-a-tool.md").read_text()
    walk = page[: page.index("## 7. The test")]
    blocks = re.findall(r"^```python\n(.*?)^```$", walk, flags=re.MULTILINE | re.DOTALL)
    shown = "\n\n\n".join(block.strip("\n") for block in blocks) + "\n"
    # Between functions stand two empty lines, before a constant one: that is layout, not content.
    source = (ROOT / "activities/tools/builtin/roll_dice.py").read_text()
    assert re.sub(r"\n{3,}", "\n\n", shown) == re.sub(r"\n{3,}", "\n\n", source)

"""What every page is held to in a browser: nothing beyond its edges in any width, no grave finding of axe-core."""

from pathlib import Path
from typing import Any

AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
NEXT_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
WIDTHS = (360, 720, 1440, 1920)


def check(page: Any) -> None:
    """In both themes and all widths, with everything unfolded."""
    page.evaluate("() => document.querySelectorAll('details').forEach(node => (node.open = true))")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(NEXT_FRAME)
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, f"overflows at {width}"
        found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
        grave = [rule for rule in found if rule["impact"] in ("serious", "critical")]
        assert [(rule["id"], [node["html"][:160] for node in rule["nodes"]]) for rule in grave] == []

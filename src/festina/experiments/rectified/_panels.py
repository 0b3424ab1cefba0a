"""What the figures of this family share."""

from typing import Any

import festina as fs

GREYS = ("0.95", "0.7", "0.45", "0.2", "0.0")
SIZE_LOOKS: dict[int, dict[str, Any]] = {
    1: {"color": fs.lab.style.VERMILLION, "ls": (0, (1, 1)), "lw": 1.3},
    2: {"color": fs.lab.style.BLUE, "ls": "-", "lw": 1.4},
    3: {"color": fs.lab.style.GREEN, "ls": (0, (5, 1.2)), "lw": 1.3},
    4: {"color": fs.lab.style.PURPLE, "ls": (0, (6, 1, 1, 1)), "lw": 1.3},
    5: {"color": fs.lab.style.ORANGE, "ls": (0, (2, 1)), "lw": 1.3},
    6: {"color": fs.lab.style.SKY, "ls": (0, (3, 1, 1, 1, 1, 1)), "lw": 1.3},
}

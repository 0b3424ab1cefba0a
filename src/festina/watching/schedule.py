"""When to look at a network: often at first, ever more seldom later."""

from dataclasses import dataclass
from numbers import Integral

from festina.errors import require


@dataclass(frozen=True)
class Schedule:
    """The steps 0, 1, 2, 3, 4, 6, 8, 11, 16 …: so many looks each time the number of steps doubles.

    Args:
        per_octave: looks while the number of steps doubles.

    Example:
        >>> [step for step in range(50) if step in fs.watching.Schedule()]
        [0, 1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45]
    """

    per_octave: int = 2

    def __post_init__(self) -> None:
        require(self.per_octave >= 1, "per_octave", "be at least 1", self.per_octave)

    def __contains__(self, step: object) -> bool:
        if not isinstance(step, Integral) or step < 0:
            return False
        if step == 0:
            return True
        octave = int(step).bit_length() - 1
        near = (2.0 ** (octave + k / self.per_octave) for k in range(-1, self.per_octave + 1))
        return any(step == round(moment) for moment in near)

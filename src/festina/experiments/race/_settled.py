"""Whether a run was long enough for a claim about its end."""

from collections.abc import Callable
from typing import Any

from festina.claims import NotApplicable

FALLEN = 0.9  # of the loss at the start: above it, a small start has hardly begun to learn


def require_settled(loss: Any, tolerance: float = 1e-3) -> None:
    """NotApplicable unless losses have fallen, and in the last tenth of the time by no more than ``tolerance``·L(0)."""
    times = loss["time"].values
    first, last, before = (loss.isel(time=number) for number in (0, -1, int((times <= 0.9 * times[-1]).sum()) - 1))
    if bool(((last > FALLEN * first) | (abs(last - before) > tolerance * first)).any()):
        raise NotApplicable("needs a longer run: networks still learn")


def at_the_end(quantity: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A claim's quantity that means something only once the variable `loss` has settled."""

    def judged(result: Any) -> Any:
        require_settled(result["loss"])
        return quantity(result)

    return judged

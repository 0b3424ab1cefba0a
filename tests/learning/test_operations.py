"""The hot kernels do no more work than they did: operations, bytes and instructions of one compiled step, not seconds.

XLA counts what it has compiled: floating-point operations, bytes read and written if no cache helped, instructions.
These numbers do not depend on how busy a machine is. The ones below were read off; a step may have a fifth more flops
and bytes, and half as many instructions again, before a test fails. One that does less passes: lower its numbers then.
"""

from dataclasses import dataclass
from typing import Any

import jax
import pytest

import festina as fs
from festina.worlds import Population, Sampled, Wishart
from narrowing import there
from small_kernels import deep_linear, gated, joint, posterior, rectified

MORE, MANY_MORE = 1.2, 1.5


@dataclass(frozen=True)
class Work:
    """Of one step of a batch; flops and bytes in thousands."""

    flops: float
    bytes: float
    instructions: int

    @classmethod
    def of(cls, step, state):
        with fs.double():
            compiled = jax.jit(step).lower(state).compile()
        cost: Any = compiled.cost_analysis()
        instructions = sum(" = " in line for line in there(compiled.as_text()).splitlines())
        return cls(cost["flops"] / 1e3, cost["bytes accessed"] / 1e3, instructions)

    def exceeds(self, known):
        """What there is too much of, in words."""
        limits = {"flops": MORE, "bytes": MORE, "instructions": MANY_MORE}
        pairs = {name: (getattr(self, name), limit * getattr(known, name)) for name, limit in limits.items()}
        return [f"{name}: {now:.0f} > {most:.0f}" for name, (now, most) in pairs.items() if now > most]


KERNELS = {
    "wishart": (lambda: joint(Wishart(200)), Work(827, 2990, 650)),
    "sampled": (lambda: joint(Sampled(200)), Work(4121, 3953, 884)),
    "population": (lambda: joint(Population()), Work(220, 2666, 259)),
    "closure": (lambda: joint(None), Work(9.4, 56.6, 249)),
    "deep-linear": (deep_linear, Work(283, 301, 108)),
    "gated": (gated, Work(1256, 1051, 220)),
    "rectified": (rectified, Work(1563, 647, 91)),
    "posterior": (posterior, Work(1524, 613, 77)),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.full
def test_a_step_does_no_more_work_than_it_did(name):
    make, known = KERNELS[name]
    now = Work.of(*make())
    assert not now.exceeds(known), now


@pytest.mark.full
@pytest.mark.parametrize("name", ["population", "closure", "rectified"])
def test_twice_the_work_is_noticed(name):
    make, known = KERNELS[name]
    step, state = make()
    found = Work.of(lambda state: step(step(state)), state).exceeds(known)
    assert any("flops" in words for words in found), found

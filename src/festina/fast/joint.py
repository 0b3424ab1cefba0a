"""Joint descent on students and gates by the kernels in C, see `festina.learning.wide` for the equations."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt64

from festina.fast.building import library

MOST_PATHS = 256  # as in joint.c
KERNELS = {"float32": "festina_joint_32", "float64": "festina_joint_64"}

Students = tuple[Float[np.ndarray, "n o i"], ...]
Gates = tuple[Float[np.ndarray, " n"], ...]


class _Joint(ctypes.Structure):
    """What joint.c is asked for: the same fields in the same order."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("runs", "paths", "tasks", "outputs", "inputs", "blocks")),
        *((name, ctypes.c_int64) for name in ("first", "steps", "order", "batch", "powers", "shifted")),
        *((name, ctypes.c_double) for name in ("step_size", "loss_share", "reach")),
        *((name, ctypes.c_void_p) for name in ("students", "gates", "maps", "set_of")),
        *((name, ctypes.c_void_p) for name in ("weight_timescale", "gate_timescale", "nonnegativity", "normalization")),
        *((name, ctypes.c_void_p) for name in ("ends", "shown", "shifts", "keys", "chi")),
    ]


@dataclass(frozen=True)
class Descent:
    """What n networks descend; networks with one key see the same data, and stand side by side if they are neighbours.

    Attributes:
        maps: sets of teachers, of the type of number in which all is computed.
        set_of: which of the sets the teachers of each network are.
        weight_timescale: τ_w, of each network.
        gate_timescale: τ_c, of each network.
        nonnegativity: coefficient of Σ max(0, −c), of each network.
        normalization: coefficient of (‖c‖_k − 1)², of each network.
        ends: the step before which each block of a round ends, of each network.
        shown: the task of each block.
        keys: of the data of each network.
        step_size: dt.
        loss_share: κ of L = ½κ⟨|y* − y|²⟩.
        order: k of the norm.
        shifts: by how many blocks each step is further on than the clock says; None if it is not.
        batch: of the second moments of inputs; 0 for infinitely many inputs.
        chi: polynomials of χ on the diagonal of a Wishart matrix's root, in z/reach.
        reach: largest |z|.

    Example:
        >>> from festina import fast
        >>> one = np.ones(1)
        >>> descent = fast.Descent(
        ...     np.eye(2)[None, None], np.zeros(1, int), one, one, 0 * one, 0 * one, np.array([[5]]), (0,),
        ...     np.zeros(1, np.uint64), step_size=0.5, loss_share=1.0)
        >>> if fast.library() is not None:  # a compiler is there
        ...     students, gates = descent.after((np.zeros((1, 2, 2)),), (one,), first=0, steps=1)
        ...     assert students[0][0].tolist() == [[0.5, 0.0], [0.0, 0.5]] and gates[0].tolist() == [1.0]
    """

    maps: Float[np.ndarray, "sets m o i"]
    set_of: Int[np.ndarray, " n"]
    weight_timescale: Float[np.ndarray, " n"]
    gate_timescale: Float[np.ndarray, " n"]
    nonnegativity: Float[np.ndarray, " n"]
    normalization: Float[np.ndarray, " n"]
    ends: Int[np.ndarray, "n blocks"]
    shown: tuple[int, ...]
    keys: UInt64[np.ndarray, " n"]
    step_size: float
    loss_share: float
    order: int = 1
    shifts: Int[np.ndarray, "n steps"] | None = None
    batch: int = 0
    chi: Float[np.ndarray, "i powers"] | None = None
    reach: float = 1.0

    def after(self, students: Students, gates: Gates, first: int, steps: int) -> tuple[Students, Gates]:
        """Students and gates after some steps, of which the first has the number ``first``."""
        own = self._begun(students, gates)
        own.take(first, steps)
        return tuple(own.students), tuple(np.ascontiguousarray(gate) for gate in own.gates.T)

    def course(
        self, students: Students, gates: Gates, stops: Sequence[int]
    ) -> tuple[Float[np.ndarray, "times p n o i"], Float[np.ndarray, "times n p"]]:
        """Students and gates before each of some steps, in rising order, of networks that begin at step 0."""
        own, now = self._begun(students, gates), 0
        seen = [np.empty((len(stops), *part.shape), part.dtype) for part in (own.students, own.gates)]
        for place, stop in enumerate(stops):
            own.take(now, stop - now)
            now, seen[0][place], seen[1][place] = stop, own.students, own.gates
        return seen[0], seen[1]

    def _begun(self, students: Students, gates: Gates) -> "_Networks":
        """Networks to be stepped, with students and gates of their own."""
        own = np.stack([*students]), np.stack([*gates], axis=1)
        return _Networks(self, *(np.array(part, self.maps.dtype, order="C") for part in own))

    def task_at(self, step: int) -> Int[np.ndarray, " n"]:
        """The task that a step shows to each network."""
        place = step % self.ends[:, -1:]
        block = np.sum(place >= self.ends[:, :-1], axis=1)
        if self.shifts is not None:
            block = (block + self.shifts[:, min(step, self.shifts.shape[1] - 1)]) % len(self.shown)
        return np.asarray(self.shown)[block]


class _Networks:
    """Networks that the kernels step in place.

    Attributes:
        students: of all paths and networks (p, n, o, i).
        gates: of all networks (n, p).
    """

    def __init__(self, descent: Descent, students: np.ndarray, gates: np.ndarray) -> None:
        kernels, dtype = library(), descent.maps.dtype
        if kernels is None:
            raise RuntimeError("there are no kernels; ask `festina.fast.library` first")
        self.students, self.gates, self._kernel = students, gates, getattr(kernels, KERNELS[dtype.name])
        self._held: list[Any] = []  # what C reads, as long as it is called
        self._ask = self._asked(descent, dtype)

    def take(self, first: int, steps: int) -> None:
        """Some steps, of which the first has the number ``first``."""
        self._ask.first, self._ask.steps = first, steps
        if self._kernel(ctypes.byref(self._ask)) != 0:
            raise MemoryError("there is no memory for the kernels' copy of the networks")

    def _asked(self, descent: Descent, dtype: np.dtype) -> _Joint:
        """All but the steps to take."""
        pointers = (ctypes.c_void_p * len(self.students))(*(student.ctypes.data for student in self.students))
        self._held.append(pointers)
        chi, shifts, at = descent.chi, descent.shifts, self._at
        return _Joint(
            *(*self.gates.shape, *descent.maps.shape[1:], descent.ends.shape[1], 0, 0, descent.order, descent.batch),
            *(0 if chi is None else chi.shape[1], 0 if shifts is None else shifts.shape[1]),
            *(descent.step_size, descent.loss_share, descent.reach),
            *(ctypes.addressof(pointers), self.gates.ctypes.data, at(descent.maps, dtype)),
            *(at(descent.set_of, np.int64), at(descent.weight_timescale, float), at(descent.gate_timescale, float)),
            *(at(descent.nonnegativity, float), at(descent.normalization, float), at(descent.ends, np.int64)),
            *(at(descent.shown, np.int64), at(() if shifts is None else shifts, np.int8)),
            *(at(descent.keys, np.uint64), at(() if chi is None else chi.T, float)),
        )

    def _at(self, values: Any, kind: Any) -> int:
        """Where values of a type are."""
        self._held.append(np.ascontiguousarray(values, kind))
        return self._held[-1].ctypes.data


def normals(key: int, count: int) -> Float[np.ndarray, " count"]:
    """The first normal numbers of a key, in 32 bits, as the kernels draw them."""
    kernels = library()
    if kernels is None:
        raise RuntimeError("there are no kernels; ask `festina.fast.library` first")
    drawn = np.zeros(count, np.float32)
    kernels.festina_normals(ctypes.c_uint64(key), ctypes.c_int64(count), ctypes.c_void_p(drawn.ctypes.data))
    return drawn

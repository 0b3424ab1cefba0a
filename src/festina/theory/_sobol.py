"""Points that fill a cube evenly: the first of a Sobol sequence, scrambled.

They are, to the last bit, those of `scipy.stats.qmc.Sobol` with the generator of seed 0. To import `scipy.stats` for
them takes longer than most theories do.
"""

import numpy as np
from jaxtyping import Float, UInt32

BITS = 30
#: Primitive polynomials and first direction numbers of Joe and Kuo (2008), one pair for each dimension after the first:
#: the inner coefficients of a polynomial as bits, and as many odd numbers as its degree.
DIRECTIONS = (
    (0, (1,)),
    (1, (1, 3)),
    (1, (1, 3, 1)),
    (2, (1, 1, 1)),
    (1, (1, 1, 3, 3)),
    (4, (1, 3, 5, 13)),
    (2, (1, 1, 5, 5, 17)),
    (4, (1, 1, 5, 5, 5)),
    (7, (1, 1, 7, 11, 19)),
)

Vectors = UInt32[np.ndarray, "size bits"]


def sobol(count: int, size: int) -> Float[np.ndarray, "count size"]:
    """The first ``count`` points, a power of 2, in [0, 1)^size.

    Point n is the exclusive or of those direction numbers whose bits are set in the Gray code of n: the second half of
    the points is the first half backwards, with one direction number more.
    """
    if size > len(DIRECTIONS) + 1:
        from scipy.stats import qmc

        return qmc.Sobol(size, rng=np.random.default_rng(0)).random(count)
    random = np.random.default_rng(0).spawn(1)[0]
    flips = random.integers(2, size=(size, BITS), dtype=np.uint32)
    mixing = np.tril(random.integers(2, size=(size, BITS, BITS), dtype=np.uint32))
    directions = _scrambled(_directions(size), mixing)
    points = (flips @ (1 << np.arange(BITS, dtype=np.uint32)))[None]
    for bit in range(count.bit_length() - 1):
        points = np.concatenate([points, points[::-1] ^ directions[:, bit]])
    return points / 2.0**BITS


def _directions(size: int) -> Vectors:
    """Direction numbers as binary fractions, their first digit the highest bit."""
    found = [[1] * BITS]
    for inner, first in DIRECTIONS[: size - 1]:
        degree, numbers = len(first), list(first)
        while len(numbers) < BITS:
            following = numbers[-degree] ^ (numbers[-degree] << degree)
            for back in range(1, degree):
                following ^= (inner >> (degree - 1 - back) & 1) * (numbers[-back] << back)
            numbers.append(following)
        found.append(numbers)
    return np.asarray([[number << (BITS - 1 - place) for place, number in enumerate(row)] for row in found], np.uint32)


def _scrambled(directions: Vectors, mixing: UInt32[np.ndarray, "size bits bits"]) -> Vectors:
    """Each digit of a direction number, from the highest, with a random choice of the digits above it."""
    places = np.arange(BITS - 1, -1, -1, dtype=np.uint32)
    digits = directions[:, None, :] >> places[None, :, None] & 1  # of each dimension: digit, number
    mixed = (mixing | np.eye(BITS, dtype=np.uint32)) @ digits & 1
    return np.bitwise_or.reduce(mixed << places[None, :, None], axis=1)

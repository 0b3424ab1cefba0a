"""Gradient flow of deep linear networks as it is written: plain products, plain loops, an integrator of its own."""

from functools import reduce

import numpy as np
from scipy.integrate import solve_ivp


def chain(matrices, size):
    return reduce(lambda product, weights: weights @ product, matrices, np.eye(size))


def gradient_flow(layers, target, times):
    """|S − W_D⋯W_1|²/|S|² over time, with the rate divided by the depth."""
    depth, inputs = len(layers), target.shape[1]
    cuts = np.cumsum([layer.size for layer in layers])[:-1]

    def unpacked(flat):
        return [part.reshape(layer.shape) for part, layer in zip(np.split(flat, cuts), layers, strict=True)]

    def rate(_, flat):
        now = unpacked(flat)
        error = target - chain(now, inputs)
        slopes = [chain(now[k + 1 :], len(now[k])).T @ error @ chain(now[:k], inputs).T / depth for k in range(depth)]
        return np.concatenate([slope.ravel() for slope in slopes])

    start = np.concatenate([np.asarray(layer).ravel() for layer in layers])
    solved = solve_ivp(rate, (0, times[-1]), start, "DOP853", times, rtol=1e-9, atol=1e-11)
    products = [chain(unpacked(flat), inputs) for flat in solved.y.T]
    return np.array([np.sum((product - target) ** 2) for product in products]) / np.sum(target**2)

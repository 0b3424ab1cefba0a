"""PyTorch's own gradients and tangent kernels, of the same weights."""

from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.measures.kernels import empirical_kernel
from references.facts import GRADIENTS, KERNELS

pytestmark = pytest.mark.full
torch: Any = None  # takes seconds to import, and so is imported only where these tests run


@pytest.fixture(autouse=True, scope="module")
def torch_is_there():
    global torch
    torch = pytest.importorskip("torch")


SIZES = (5, 16, 3)


class Rectified(eqx.Module):
    """A rectified network with biases, as `torch.nn.Sequential(Linear, ReLU, Linear)` is."""

    first: jax.Array
    first_bias: jax.Array
    second: jax.Array
    second_bias: jax.Array

    def __call__(self, x):
        return jax.nn.relu(x @ self.first.T + self.first_bias) @ self.second.T + self.second_bias


@pytest.fixture
def both():
    """The same network twice, and its data."""
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(
        torch.nn.Linear(*SIZES[:2]), torch.nn.ReLU(), torch.nn.Linear(*SIZES[1:])
    ).double()  # fmt: skip
    ours = Rectified(*(jnp.asarray(weight.detach().numpy()) for weight in theirs.parameters()))
    random = np.random.default_rng(0)
    return theirs, ours, random.standard_normal((20, SIZES[0])), random.standard_normal((20, SIZES[-1]))


def test_one_step_of_descent_goes_down_their_gradient(both):
    theirs, ours, inputs, targets = both
    error = theirs(torch.tensor(inputs)) - torch.tensor(targets)
    (0.5 * (error**2).sum(1).mean()).backward()
    run = fs.descent(ours, fs.worlds.Dataset(inputs, targets), until=1.0, step_size=1.0, records=1, observe=_nothing)
    for name, weight in zip(("first", "first_bias", "second", "second_bias"), theirs.parameters(), strict=True):
        step, gradient = getattr(ours, name) - getattr(run.final, name), weight.grad.numpy()
        assert np.max(np.abs(step - gradient)) <= GRADIENTS.allowed * max(1.0, np.max(np.abs(weight.detach().numpy())))


def _nothing(network, data):
    return {"zero": jnp.zeros(())}


def test_tangent_kernels_are_theirs():
    torch.manual_seed(1)
    theirs = torch.nn.Sequential(*(torch.nn.Linear(*sizes, bias=False) for sizes in pairwise(SIZES))).double()
    weights = {name: weight.detach() for name, weight in theirs.named_parameters()}
    inputs = np.random.default_rng(1).standard_normal((20, SIZES[0]))

    def answers(weights):
        return torch.func.functional_call(theirs, weights, (torch.tensor(inputs),))

    slopes = torch.func.jacrev(answers)(weights)
    kernel = np.sum([torch.einsum("no...,mp...->onpm", slope, slope).numpy() for slope in slopes.values()], axis=0)
    first, second = (weight.numpy() for weight in weights.values())
    found = empirical_kernel(first, second, inputs.T)
    assert np.max(np.abs(found - kernel.reshape(60, 60))) <= KERNELS.allowed * np.max(np.abs(kernel))

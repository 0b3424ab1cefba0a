"""A network of one's own, in ten lines."""

import jax

import festina as fs


def learn_tree() -> fs.measures.Comparison:
    """Two linear layers learn a tree of concepts; the closed form stands beside them."""
    world = fs.worlds.tree(branching=(2, 2, 2), flip=0.1, features=100)
    net = fs.networks.DeepLinear.init(jax.random.key(0), sizes=(8, 64, 100), scale=1e-4)
    run = fs.flow(net, world, until=20.0)  # the gradient flow, integrated adaptively in float64
    exact = fs.theory.modes(world, initial=run.initial)  # a function of time
    return fs.compare(run, exact)

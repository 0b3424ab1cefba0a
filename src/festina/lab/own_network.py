"""A network of one's own: two linear layers learn a tree of concepts, and the closed form is put beside them."""

import jax

import festina as fs
from festina.measures.compare import Comparison


def learn_tree() -> Comparison:
    world = fs.worlds.tree(branching=(2, 2, 2), flip=0.1, features=100)
    net = fs.networks.DeepLinear.init(jax.random.key(0), sizes=(8, 64, 100), scale=1e-4)
    run = fs.flow(net, world, until=60.0)
    exact = fs.theory.modes(world, initial=run.initial)
    return fs.compare(run, exact)

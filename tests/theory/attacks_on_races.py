"""Attacks on the exact solutions of races: every weight of every pathway is integrated where there are weights."""

import math

import numpy as np

import festina as fs
from theory.attacking import between, instants, integrate, largest, orthonormal, sometimes, until_rest

CORNERS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
ANSWERS = CORNERS.prod(axis=1)


def competition(random: np.random.Generator) -> float:
    """Three pathways with a random Gram matrix, singular now and then; logarithms of strengths are integrated."""
    depth = random.choice([2.0, 3.0, math.inf])
    views = random.normal(size=(12, 3)) + random.uniform(0, 1)
    if sometimes(random):
        views[:, 2] = views[:, 0]
    target = views @ random.normal(size=3)
    overlaps, correlation = views.T @ views / 12, views.T @ target / 12
    initial, timescale = between(random, 1e-3, 1, 3), between(random, 0.1, 10)
    times = instants(random, timescale * between(random, 0.1, 5))
    speed = 1.0 if math.isinf(depth) else depth

    def rate(logs: np.ndarray) -> np.ndarray:
        strength = np.exp(logs)
        return speed * strength ** (1 - 2 / depth) * (correlation - overlaps @ strength) / timescale

    exact = fs.theory.views.competition(depth, correlation, overlaps, initial, timescale)(times)["strength"]
    found = np.exp(integrate(rate, np.log(initial), times, 20 / timescale))
    return largest(np.asarray(exact) / found - 1)


def species(random: np.random.Generator) -> float:
    """Three species, from below and from above the capacity; logarithms are integrated."""
    rates, initial, capacity = between(random, 0.1, 3, 3), between(random, 1e-4, 2, 3), between(random, 0.1, 10)
    rates[1:] = rates[0] if sometimes(random) else rates[1:]
    times = instants(random, between(random, 0.1, 20))
    exact = fs.theory.views.lotka_volterra(rates, initial, capacity)(times)["strength"]
    fastest = 2 * max(rates) * max(1.0, np.sum(initial**2) / capacity)
    found = integrate(lambda logs: rates * (1 - np.sum(np.exp(2 * logs)) / capacity), np.log(initial), times, fastest)
    return largest(np.asarray(exact) / np.exp(found) - 1)


def vectors(random: np.random.Generator) -> float:
    """Three pathways to three outputs, each one hidden unit, absent now and then."""
    gates = random.random((8, 3)) < 0.6
    gates[0] = True
    inputs, targets = random.normal(size=8), random.normal(size=(8, 3))
    overlaps = (gates * inputs[:, None] ** 2).T @ gates / 8
    cross = (gates * inputs[:, None]).T @ targets / 8
    initial = between(random, 1e-4, 0.5, 3) * np.where(sometimes(random), [1.0, 1.0, 0.0], 1.0)
    times = instants(random, between(random, 0.1, 10))

    def rate(flat: np.ndarray) -> np.ndarray:
        inward, outward = flat[:3], flat[3:].reshape(3, 3)
        left = cross - overlaps @ (inward[:, None] * outward)
        return np.concatenate([np.sum(outward * left, axis=1), (inward[:, None] * left).ravel()])

    sizes = np.linalg.norm(cross, axis=1)
    start = np.sqrt(initial)
    state = np.concatenate([start, (start[:, None] * cross / sizes[:, None]).ravel()])
    flat = integrate(rate, state, times, 4 * (max(sizes) + overlaps.max() * max(initial)), 1e-18)
    found = flat[:, :3, None] * flat[:, 3:].reshape(-1, 3, 3)
    exact = fs.theory.views.vector_race(cross, overlaps, initial)(times)["map"]
    return largest(np.asarray(exact) - found, np.max(np.abs(found)))


def _gated_units(inputs: np.ndarray, gates: np.ndarray, strengths: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The strength of pathways of one hidden unit each, balanced and along their own Σyx, in the loss of all examples.

    Both weights of each begin as √strength; the strength is the answer's length along Σyx, (times, pathways).
    """
    cross = (gates * ANSWERS) @ inputs
    directions = cross / np.linalg.norm(cross, axis=1, keepdims=True)
    count, size = len(gates), inputs.shape[1]

    def rate(flat: np.ndarray) -> np.ndarray:
        outgoing, incoming = flat[:count], flat[count:].reshape(count, size)
        active = gates * (incoming @ inputs.T)
        error = (ANSWERS - outgoing @ active) / 4
        return np.concatenate([active @ error, (outgoing[:, None] * ((gates * error) @ inputs)).ravel()])

    root = np.sqrt(strengths)
    start = np.concatenate([root, (root[:, None] * directions).ravel()])
    fastest = 4 * np.sum(inputs**2) * max(1.0, np.max(strengths))
    flat = integrate(rate, start, times, fastest, 1e-18)
    return flat[:, :count] * np.einsum("tpi,pi->tp", flat[:, count:].reshape(-1, count, size), directions)


def at_the_margin(random: np.random.Generator) -> float:
    """Four pathways for one example and two for one class; one kind is absent, or the margin is zero, now and then."""
    nonlinear, linear = between(random, 1e-5, 2, 2)
    separation = 0.0 if sometimes(random) else between(random, 0.1, 2)
    linear = 0.0 if sometimes(random) else linear
    times = instants(random, between(random, 0.3, 20))
    exact = fs.theory.margin.race(nonlinear, linear, separation)(times)
    inputs = np.concatenate([CORNERS, separation * ANSWERS[:, None]], axis=1)
    gates = np.concatenate([np.eye(4), np.repeat(np.eye(2), 2, axis=1)])
    if separation * linear == 0:  # a pathway for a class would have no direction to grow in
        found = _gated_units(inputs, gates[:4], np.full(4, nonlinear), times)
        return largest(exact["nonlinear"] / found[:, 0] - 1)
    found = _gated_units(inputs, gates, np.repeat([nonlinear, linear], [4, 2]), times)
    errors = [largest(exact[name] / found[:, at] - 1) for name, at in (("nonlinear", 0), ("linear", 5))]
    return max(errors)


def _two_pathways(
    depths: tuple[int, int], weights: np.ndarray, paths: int, on: float, same: bool, times: np.ndarray
) -> np.ndarray:
    """Strengths of a first pathway and of a rival whose paths share an edge, from the flow of every single weight."""
    depth, rival_depth = depths
    middle = paths * depth
    start = np.repeat(weights, [middle, 1, paths * (rival_depth - 1)])

    def parts(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        first, own = flat[:middle].reshape(paths, depth), flat[middle + 1 :].reshape(paths, rival_depth - 1)
        return first, own, first.prod(axis=1), flat[middle] * own.prod(axis=1)

    def rate(flat: np.ndarray) -> np.ndarray:
        first, own, one, two = parts(flat)
        both, apart = 1.0 - one - two, 1.0 - one
        error = on * both + (1.0 - on) * apart if same else apart
        rival = on * (both if same else 1.0 - two)
        slopes = (error * one)[:, None] / first, np.sum(rival * two) / flat[middle], (rival * two)[:, None] / own
        return np.concatenate([np.ravel(slope) for slope in slopes])

    flat = integrate(rate, start, times, 4 * paths * max(depths) * max(1.0, weights.max() ** 2), 1e-18)
    return np.stack([[one[0], two[0]] for _, _, one, two in map(parts, flat)])


def two_pathways(random: np.random.Generator) -> float:
    """Two pathways of two to four layers, with outputs of their own or the same; up to four paths share an edge."""
    depths = int(random.integers(2, 5)), int(random.integers(2, 5))
    weights, paths, same = between(random, 0.05, 0.9, 3), int(random.integers(1, 5)), sometimes(random)
    on = 1.0 if sometimes(random) else between(random, 0.1, 1)
    times = instants(random, between(random, 0.3, 20))
    exact = fs.theory.speeds.race(depths, weights, paths=paths, correlation=on, same=same)(times)["strength"]
    return largest(np.asarray(exact) / _two_pathways(depths, weights, paths, on, same, times) - 1)


def speed_of_a_pathway(random: np.random.Generator) -> float:
    """A rival with outputs of its own is at the level when the closed form says so; at depth 2 also if imbalanced."""
    depth, paths, on = int(random.integers(2, 5)), int(random.integers(1, 5)), between(random, 0.1, 1)
    initial, level = between(random, 1e-2, 0.2), random.uniform(0.25, 0.75)
    ratio = between(random, 0.1, 10) if depth == 2 else 1.0
    own = (initial / (ratio * paths**0.5)) ** (1 / depth)
    weights = np.array([0.5, ratio * paths**0.5 * own, own])
    given = {"correlation": on, "paths": paths, "imbalance": ratio}
    time = float(fs.theory.speeds.time_to_reach(depth, level, initial, **given))
    found = _two_pathways((2, depth), weights, paths, on, False, np.array([0.0, time]))
    return abs(found[-1, 1] / level - 1)


def exclusive_or(random: np.random.Generator) -> float:
    """One pathway for each example of exclusive-or."""
    initial, times = between(random, 1e-5, 2), instants(random, between(random, 0.3, 30))
    exact = fs.theory.margin.xor(initial)(times)["strength"]
    found = _gated_units(CORNERS, np.eye(4), np.full(4, initial), times)
    return largest(np.asarray(exact) / found[:, 0] - 1)


def gated_network(random: np.random.Generator) -> float:
    """All weights of four pathways of three hidden units each, one for each example, from unequal decoupled layers."""
    units = orthonormal(random, 3, 3)[:, random.integers(0, 3, 4)].T
    inward, outward = between(random, 1e-2, 1, (4,)), between(random, 1e-2, 1, (4,))
    outward = inward if sometimes(random) else outward
    first = inward[:, None, None] * units[:, :, None] * (CORNERS * ANSWERS[:, None] / 2**0.5)[:, None]
    second = outward[:, None] * units
    times = instants(random, between(random, 0.3, 15))

    def rate(flat: np.ndarray) -> np.ndarray:
        one, two = flat[:24].reshape(4, 3, 2), flat[24:].reshape(4, 3)
        hidden = np.einsum("khi,ki->kh", one, CORNERS)  # pathway k is on for example k alone
        error = (ANSWERS - np.sum(two * hidden, axis=1)) / 4
        return np.concatenate(
            [(error[:, None, None] * two[:, :, None] * CORNERS[:, None]).ravel(), (error[:, None] * hidden).ravel()]
        )

    names = [f"h{k}" for k in range(4)]
    widths = {"x": 2, "y": 1} | dict.fromkeys(names, 3)
    graph = fs.networks.Graph.of(*(f"x -> {name} -> y" for name in names), widths=widths)
    gates = dict(zip(names, np.eye(4), strict=True))
    world = fs.worlds.GatedDataset({"x": CORNERS}, {"y": ANSWERS[:, None]}, gates)
    weights = {f"x->{name}": first[k] for k, name in enumerate(names)}
    weights |= {f"{name}->y": second[k][None] for k, name in enumerate(names)}
    exact = fs.theory.reduction(graph, world, weights)(times)["loss"]
    flat = integrate(rate, np.concatenate([first.ravel(), second.ravel()]), times, 8.0)
    hidden = np.einsum("tkhi,ki->tkh", flat[:, :24].reshape(-1, 4, 3, 2), CORNERS)
    answers = np.sum(flat[:, 24:].reshape(-1, 4, 3) * hidden, axis=2)
    return largest(exact - np.sum((ANSWERS - answers) ** 2, axis=1) / 8)


def pathways_alone(random: np.random.Generator) -> float:
    """Two pathways with inputs and answers of their own, balanced in every mode: maps and loss, from all weights."""
    counts, widths = 6, {"a": 2, "h": 3, "y": 2, "b": 3, "k": 2, "z": 2}
    places = {"h": ("a", "y"), "k": ("b", "z")}
    inputs, targets, weights, start = {}, {}, {}, []
    for middle, (source, target) in places.items():
        rank = min(widths[source], widths[target])
        frame, right = orthonormal(random, counts, widths[source]), orthonormal(random, widths[source], widths[source])
        left, inner = orthonormal(random, widths[target], rank), orthonormal(random, widths[middle], rank)
        sizes, answers = between(random, 0.3, 3, widths[source]), between(random, 0.3, 3, rank)
        sizes = np.full(widths[source], sizes[0]) if sometimes(random) else sizes
        inputs[source] = frame * sizes @ right.T
        beside = np.eye(counts) - frame @ frame.T  # of the targets, what inputs do not tell
        targets[target] = frame[:, :rank] * answers @ left.T + beside @ random.normal(size=(counts, widths[target]))
        begin = between(random, 1e-2, 0.5, rank)
        weights[f"{source}->{middle}"] = inner * begin @ right[:, :rank].T
        weights[f"{middle}->{target}"] = left * begin @ inner.T
        start += [weights[f"{source}->{middle}"], weights[f"{middle}->{target}"]]
    timescale = between(random, 0.1, 10)
    times = instants(random, timescale * between(random, 0.3, 10))
    shapes, cuts = [part.shape for part in start], np.cumsum([part.size for part in start])[:-1]

    def split(flat: np.ndarray) -> list[np.ndarray]:
        return [part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)]

    def rate(flat: np.ndarray) -> np.ndarray:
        parts, slopes = split(flat), []
        for one, two, (source, target) in zip(parts[::2], parts[1::2], places.values(), strict=True):
            error = (targets[target] - inputs[source] @ one.T @ two.T).T @ inputs[source] / counts
            slopes += [two.T @ error, error @ one.T]
        return np.concatenate([slope.ravel() for slope in slopes]) / timescale

    graph = fs.networks.Graph.of("a -> h -> y", "b -> k -> z", widths=widths)
    world = fs.worlds.GatedDataset(inputs, targets, {name: np.ones(counts) for name in places})
    solution = fs.theory.reduction(graph, world, weights, timescale).closed_form()(times)["loss"]
    literal = []
    for flat in integrate(rate, np.concatenate([part.ravel() for part in start]), times, 10 / timescale):
        parts = split(flat)
        literal.append(sum(
            np.sum((targets[target] - inputs[source] @ one.T @ two.T) ** 2) / (2 * counts)
            for one, two, (source, target) in zip(parts[::2], parts[1::2], places.values(), strict=True)
        ))  # fmt: skip
    return largest(solution - np.array(literal), literal[0])


def _routing(random: np.random.Generator) -> tuple[int, int, float, np.ndarray]:
    """Domains, trained pairs of each, a strength, and starts that are equal now and then."""
    domains = int(random.integers(1, 8))
    start = np.full(3, between(random, 0.05, 0.5)) if sometimes(random) else between(random, 0.05, 1, 3)
    return domains, int(random.integers(1, domains + 1)), between(random, 0.3, 5), start


def _all_domains(strength: float, start: np.ndarray, domains: int, trained: int, times: np.ndarray) -> np.ndarray:
    """b1, b2 and b3 of one mode, from the weights of every domain in the loss of all trained pairs."""
    pairs = np.zeros((domains, domains))
    for shift in range(trained):  # each input to `trained` outputs, and each output from as many inputs
        pairs[(np.arange(domains) + shift) % domains, np.arange(domains)] = 1.0 / domains**2

    def rate(flat: np.ndarray) -> np.ndarray:
        first, second, third = flat[:domains], flat[domains], flat[domains + 1 :]
        error = pairs * (strength - second * np.outer(third, first))
        return np.concatenate([second * error.T @ third, [third @ error @ first], second * error @ first])

    state = np.repeat(start, [domains, 1, domains])
    fastest = 8 * max(strength, 1.0) ** (4 / 3) * max(1.0, *start) ** 2
    flat = integrate(rate, state, times, fastest)
    return flat[:, [0, domains, -1]]


def routing_course(random: np.random.Generator) -> float:
    domains, trained, strength, start = _routing(random)
    strength = random.choice([-1, 1]) * strength
    times = instants(random, between(random, 0.3, 20))
    exact = fs.theory.routing.reduction(strength, tuple(start), domains, trained)(times)["layers"][:, :, 0]
    found = _all_domains(strength, start, domains, trained, times)
    return largest(exact - found, np.max(np.abs(found)))


def routing_time(random: np.random.Generator) -> float:
    """The product at the time at which it should have reached a level, in units of the level."""
    domains, trained, strength, start = _routing(random)
    level = max(random.uniform(0.1, 0.9), min(0.95, 1.1 * start.prod() / strength))
    if start.prod() >= level * strength:
        start = start * (0.5 * level * strength / start.prod()) ** (1 / 3)
    time = fs.theory.routing.time_to_reach(level, strength, tuple(start), domains, trained)
    reached = _all_domains(strength, start, domains, trained, np.array([0.0, time]))[-1].prod()
    return largest(reached / (level * strength) - 1)


def end_of_co_occurring_views(random: np.random.Generator) -> float:
    """Views that always co-occur, integrated until nothing moves."""
    depth, amplitudes = random.choice([2.0, 3.0, 4.0]), between(random, 0.3, 2, 3)
    initial = between(random, 1e-3, 1, 3)
    exact = fs.theory.views.co_occurring_end(depth, amplitudes, initial)

    def rate(logs: np.ndarray) -> np.ndarray:
        strength = np.exp(logs)
        return depth * strength ** (1 - 2 / depth) * amplitudes * (1 - amplitudes @ strength)

    fastest = 2 * depth * np.sum(amplitudes**2 * np.maximum(initial, exact) ** (2 - 2 / depth))
    found = until_rest(rate, np.log(initial), fastest)
    return largest(exact / np.exp(found) - 1)


def shared_against_private(random: np.random.Generator) -> float:
    """A shared and a private pathway of three balanced layers each that learn the same pairs, until nothing moves."""
    domains = int(random.integers(1, 6))
    trained = int(random.integers(1, domains + 1))
    strength = between(random, 0.3, 3)
    shared, private = strength * between(random, 1e-2, 0.4, 2)
    exact = fs.theory.routing.race_outcome(strength, shared, private, domains, trained)

    def rate(layers: np.ndarray) -> np.ndarray:
        (one, two, three), own = layers[:3], layers[3:]
        error = strength - one * two * three - own.prod()
        outer = [two * three * trained, one * three * trained * domains, one * two * trained]
        return error * np.array([*outer, own[1] * own[2], own[0] * own[2], own[0] * own[1]])

    small = (shared / domains**0.5) ** (1 / 3)
    start = np.array([small, domains**0.5 * small, small, *[private ** (1 / 3)] * 3])
    gain = trained * domains ** (1 / 3)
    found = until_rest(rate, start, 3 * (gain * exact[0] ** (4 / 3) + exact[1] ** (4 / 3)))
    ends = np.array([found[:3].prod(), found[3:].prod()])
    return largest(np.array(exact) - ends, strength)


def path_that_is_always_on(random: np.random.Generator) -> float:
    """Both matrices of a linear network in a world with contexts, written out sample by sample; the loss."""
    objects, contexts, scale = 4, int(random.integers(2, 5)), between(random, 0.3, 3)
    strengths, initial = between(random, 0.3, 3, objects), between(random, 1e-3, 0.3)
    over_objects = np.linalg.qr(np.column_stack([np.ones(objects), random.normal(size=(objects, objects - 1))]))[0]
    features = over_objects * strengths @ orthonormal(random, 5, objects).T
    item, context = (grid.ravel() for grid in np.indices((objects, contexts)))
    inputs = np.concatenate([np.eye(objects)[item], scale * np.eye(contexts)[context]], axis=1)
    blocks = np.concatenate([np.ones((len(item), 1)), np.eye(contexts)[context]], axis=1)  # common, and one for each
    targets = np.einsum("nb,nf->nbf", blocks, features[item]).reshape(len(item), -1)
    cross, squares = targets.T @ inputs / len(item), inputs.T @ inputs / len(item)
    left, sizes, right = np.linalg.svd(cross, full_matrices=False)
    kept = sizes > 1e-10 * sizes[0]
    first, second = initial**0.5 * right[kept], initial**0.5 * left[:, kept]

    def rate(flat: np.ndarray) -> np.ndarray:
        one, two = flat[: first.size].reshape(first.shape), flat[first.size :].reshape(second.shape)
        error = cross - two @ one @ squares
        return np.concatenate([(two.T @ error).ravel(), (error @ one.T).ravel()])

    times = instants(random, between(random, 0.3, 20))
    modes = fs.theory.rectified.always_on(contexts, strengths, scale)
    exact = modes(times, initial)["loss"] + fs.theory.rectified.residual_loss(contexts, strengths)
    flat = integrate(rate, np.concatenate([first.ravel(), second.ravel()]), times, 4 * sizes[0])
    ones, twos = flat[:, : first.size].reshape(-1, *first.shape), flat[:, first.size :].reshape(-1, *second.shape)
    found = np.sum((targets - inputs @ (twos @ ones).swapaxes(1, 2)) ** 2, axis=(1, 2)) / 2 / len(item)
    return largest(np.asarray(exact) - found, found[0])


def paths_off_in_one_context(random: np.random.Generator) -> float:
    """Both matrices of every path that is off in one context, sample by sample, on what a linear map leaves."""
    objects, contexts, features = 4, int(random.integers(2, 5)), int(random.integers(3, 6))
    structure, initial = random.normal(size=(features, objects)), between(random, 1e-3, 0.3)
    path = fs.theory.structures.paths_but_one([structure] * contexts)
    item, context = (grid.ravel() for grid in np.indices((objects, contexts)))
    own = np.eye(contexts)[context] - 1 / contexts
    targets = np.einsum("nb,nf->nbf", own, (structure - structure.mean(axis=1, keepdims=True)).T[item])
    targets = targets.reshape(len(item), -1)
    on = 1.0 - np.eye(contexts)[context].T  # path k is off in context k
    shown = np.eye(objects)[item]
    first, second = initial**0.5 * path.right, initial**0.5 * np.swapaxes(path.left[..., features:], 1, 2)

    def maps(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return flat[: first.size].reshape(first.shape), flat[first.size :].reshape(second.shape)

    def error(flat: np.ndarray) -> np.ndarray:
        one, two = maps(flat)
        return targets - np.einsum("kn,kom,kmi,ni->no", on, two, one, shown)

    def rate(flat: np.ndarray) -> np.ndarray:
        one, two = maps(flat)
        slopes = np.einsum("kn,no,ni->koi", on, error(flat), shown) / len(item)
        return np.concatenate([(np.swapaxes(two, 1, 2) @ slopes).ravel(), (slopes @ np.swapaxes(one, 1, 2)).ravel()])

    times = instants(random, between(random, 0.3, 20))
    exact = path.modes(times, initial)["loss"]
    flat = integrate(rate, np.concatenate([first.ravel(), second.ravel()]), times, 4 * float(path.modes.strength.max()))
    found = np.array([np.sum(error(one) ** 2) / 2 / len(item) for one in flat])
    return largest(np.asarray(exact) - found, found[0])

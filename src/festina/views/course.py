"""The gallery as a course: which family comes first, what it is about, and which experiment to see before which."""

from __future__ import annotations

FAMILIES = {
    "linear": "Deep linear networks: the smallest ones that have saddles, stages, and regimes of learning.",
    "race": "Pathways that race: gated networks, in which the fastest decides what is learned.",
    "rectified": "ReLU networks are gated ones: which units come to be on, and when.",
    "abstraction": "Tasks without labels: gates that learn which task is on.",
    "coding": "Wide Bayesian networks: one task, three codes.",
    "model": "The models by themselves: every number can be turned.",
}

ORDER = {
    "linear": "chain depth semantics saddles transition regimes alignment reversal continual mice",
    "race": "xor margin speeds context tasks views routing systematic",
    "rectified": "selectivity race contexts structures frozen depth",
    "abstraction": (
        "specialization mechanism regimes blocks interleaved reduction dimension starts similarity mixtures capacity "
        "redundancy regularizer composition few_shot practice connected connected_map images clothes"
    ),
    "coding": (
        "analog redundant sparse temperature predictor outliers depth deeper width scaling regime descent digits "
        "ten_digits"
    ),
}
"""Experiments of each family, the first to be seen first."""


def place(name: str) -> int:
    """The place of an experiment in the course; what is not in it comes last, in its own order.

    Example:
        >>> from festina.views.course import place
        >>> place("linear/chain") < place("linear/mice") < place("race/xor")
        True
    """
    family, _, own = name.partition("/")
    families = list(FAMILIES)
    if family not in families:
        return 1000 * len(families)
    listed = ORDER.get(family, "").split()
    return 1000 * families.index(family) + (listed.index(own) if own in listed else len(listed))

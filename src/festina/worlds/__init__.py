"""What there is to learn: data sets, teachers, curricula, and their statistics."""

from festina.worlds.curriculum import Curriculum
from festina.worlds.data import Moments, Samples
from festina.worlds.semantic import SemanticWorld, grid, partition, ring, tree
from festina.worlds.statistics import Population, Sampled, Statistics, Wishart
from festina.worlds.world import Dataset, Teacher, World

__all__ = [
    "Curriculum",
    "Dataset",
    "Moments",
    "Population",
    "Sampled",
    "Samples",
    "SemanticWorld",
    "Statistics",
    "Teacher",
    "Wishart",
    "World",
    "grid",
    "partition",
    "ring",
    "tree",
]

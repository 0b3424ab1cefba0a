"""What there is to learn: data sets, teachers, curricula, and their statistics."""

from festina.worlds import images
from festina.worlds.blocks import Blocks
from festina.worlds.contexts import ContextWorld, different_structures, in_contexts, multitask
from festina.worlds.curriculum import Curriculum
from festina.worlds.data import Moments, Samples
from festina.worlds.gated import GatedDataset, GatedSamples, Patterns
from festina.worlds.images import ImageSet, load_images
from festina.worlds.semantic import SemanticWorld, grid, partition, ring, tree
from festina.worlds.statistics import Population, Sampled, Statistics, Wishart
from festina.worlds.tasks import MEAN, SUM, Convention, Tasks, convention
from festina.worlds.world import Dataset, Teacher, World

__all__ = [
    "MEAN",
    "SUM",
    "Blocks",
    "ContextWorld",
    "Convention",
    "Curriculum",
    "Dataset",
    "GatedDataset",
    "GatedSamples",
    "ImageSet",
    "Moments",
    "Patterns",
    "Population",
    "Sampled",
    "Samples",
    "SemanticWorld",
    "Statistics",
    "Tasks",
    "Teacher",
    "Wishart",
    "World",
    "convention",
    "different_structures",
    "grid",
    "images",
    "in_contexts",
    "load_images",
    "multitask",
    "partition",
    "ring",
    "tree",
]

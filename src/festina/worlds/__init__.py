"""What there is to learn: data sets, teachers, curricula, and their statistics."""

from festina.worlds import contexts, gratings, images, labellings, logic, losses, routing, views
from festina.worlds.blocks import Blocks
from festina.worlds.classes import Classes, orthogonal_classes, random_classes, toy_classes
from festina.worlds.contexts import ContextWorld, different_structures, in_contexts, multitask
from festina.worlds.curriculum import Curriculum
from festina.worlds.data import Moments, Samples
from festina.worlds.decision import Decision, decision
from festina.worlds.from_data import from_data
from festina.worlds.gated import GatedDataset, GatedSamples, Patterns
from festina.worlds.images import ImageSet, load_images
from festina.worlds.logic import margin, xor
from festina.worlds.routing import ALL_PAIRS, TRAINED_PAIRS, Normalisation, Routing
from festina.worlds.semantic import SemanticWorld, grid, partition, ring, tree
from festina.worlds.statistics import Population, Sampled, Statistics, Wishart
from festina.worlds.streams import Stream, Taught
from festina.worlds.tasks import MEAN, SUM, Convention, Tasks, convention
from festina.worlds.views import SimilarTasks, Slots, Views, co_occurring_views, separate_slots, similar_tasks
from festina.worlds.world import Dataset, Teacher, World

__all__ = [
    "ALL_PAIRS",
    "MEAN",
    "SUM",
    "TRAINED_PAIRS",
    "Blocks",
    "Classes",
    "ContextWorld",
    "Convention",
    "Curriculum",
    "Dataset",
    "Decision",
    "GatedDataset",
    "GatedSamples",
    "ImageSet",
    "Moments",
    "Normalisation",
    "Patterns",
    "Population",
    "Routing",
    "Sampled",
    "Samples",
    "SemanticWorld",
    "SimilarTasks",
    "Slots",
    "Statistics",
    "Stream",
    "Tasks",
    "Taught",
    "Teacher",
    "Views",
    "Wishart",
    "World",
    "co_occurring_views",
    "contexts",
    "convention",
    "decision",
    "different_structures",
    "from_data",
    "gratings",
    "grid",
    "images",
    "in_contexts",
    "labellings",
    "load_images",
    "logic",
    "losses",
    "margin",
    "multitask",
    "orthogonal_classes",
    "partition",
    "random_classes",
    "ring",
    "routing",
    "separate_slots",
    "similar_tasks",
    "toy_classes",
    "tree",
    "views",
    "xor",
]

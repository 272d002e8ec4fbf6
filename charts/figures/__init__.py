"""Plotly figures of a report, one function each: the report in, a figure out."""

from __future__ import annotations

from collections.abc import Callable

from plotly.graph_objects import Figure

from .bars import plot_classes, plot_iou, plot_models, plot_scores, plot_votes
from .curves import plot_parts, plot_thresholds
from .matrices import annotator_order, plot_confusion, plot_pairs
from .people import free_places, plot_annotators, plot_bias
from .theme import safe, shortened

#: figures that need only the report, by the name that sections use
FIGURES: dict[str, Callable[..., Figure]] = {
    "pairs": plot_pairs,
    "annotators": plot_annotators,
    "confusion": plot_confusion,
    "votes": plot_votes,
    "classes": plot_classes,
    "iou": plot_iou,
    "bias": plot_bias,
    "thresholds": plot_thresholds,
    "models": plot_models,
}

__all__ = [
    "FIGURES",
    "plot_annotators",
    "plot_bias",
    "plot_classes",
    "plot_confusion",
    "plot_iou",
    "plot_models",
    "plot_pairs",
    "plot_parts",
    "plot_scores",
    "plot_thresholds",
    "plot_votes",
]

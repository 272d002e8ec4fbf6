"""Plotly figures of a report, one function each: the report in, a figure out."""

from __future__ import annotations

from .class_bars import plot_classes
from .distributions import plot_iou, plot_scores, plot_votes
from .matrices import plot_confusion, plot_pairs
from .people import plot_annotators, plot_bias
from .thresholds import plot_thresholds

__all__ = [
    "plot_annotators",
    "plot_bias",
    "plot_classes",
    "plot_confusion",
    "plot_iou",
    "plot_pairs",
    "plot_scores",
    "plot_thresholds",
    "plot_votes",
]

"""Confidence intervals by resampling samples."""

from __future__ import annotations

from .confidence import bootstrap_parts, delta_intervals
from .draws import ColumnMoments, Columns, Part, column_sums, n_given, vstack

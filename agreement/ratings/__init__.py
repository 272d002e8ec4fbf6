"""Agreement on ratings: one class or number by every annotator on every sample."""

from __future__ import annotations

from .compute import agreeing, compute_ratings, mean_and_spread, record_ratings
from .report import RatingReport, build_rating_report

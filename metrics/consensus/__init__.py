"""The consensus of several annotators' labels."""

from __future__ import annotations

from .consensus import (
    NO_CLASS,
    consensus_score,
    interval_medians,
    keypoint_medians,
    majority_pixels,
    medoids,
    quorum_votes,
    vote_classes,
)

"""Fast runs for tests of units and settings: without intervals, other thresholds and other rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from annotator_agreement import AgreementReport, compute_agreement

ANNOTATORS = ["alice", "bob", "carol"]
#: name of the label list in the field of every annotator
LISTS = dict.fromkeys(ANNOTATORS, "detections")


def compute_quickly(dataset: Any, fields: str | Sequence[str] = ANNOTATORS, **options: Any) -> AgreementReport:
    """Compute agreement without intervals and without the sweep."""
    return compute_agreement(dataset, fields, resamples=0, sensitivity=False, **options)

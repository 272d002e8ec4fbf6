"""Fast runs, without intervals, and refused calls, for tests of units, decisions and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from annotator_agreement import AgreementInputError, AgreementReport
from annotator_agreement.dataset_io import compute_agreement

ANNOTATORS = ["alice", "bob", "carol"]
#: what takes time, and writes nothing more
QUICKLY: dict[str, Any] = {"resamples": 0}
#: name of the label list in the field of every annotator
LISTS = dict.fromkeys(ANNOTATORS, "detections")


def compute_quickly(dataset: Any, fields: str | Sequence[str] = ANNOTATORS, **options: Any) -> AgreementReport:
    """Compute agreement without intervals, unless they are asked for."""
    return compute_agreement(dataset, fields, **{**QUICKLY, **options})


def refused(match: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """A call is refused with a sentence."""
    with pytest.raises(AgreementInputError, match=match):
        call(*arguments, **options)

"""Fast runs, without intervals, and refused calls, for tests of units, decisions and settings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.datasets import random_annotators, stored

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


@functools.cache
def run_on(
    n_samples: int = 0, names: tuple[str, ...] = tuple(ANNOTATORS), seed: int = 51, **options: Any
) -> Callable[..., Any]:
    """A recipe for ``lend``: the example, or so many random samples, with a run of these options.

    Args:
        n_samples: 0 for the example
        names: the annotators
        seed: of the random samples
        options: of the run
    """

    def make(make_dataset: Any) -> Any:
        dataset = make_dataset(random_annotators(n_samples, names, seed)) if n_samples else make_dataset()
        compute_quickly(dataset, names, **options)
        return dataset

    return make


def refused(match: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """A call is refused with a sentence."""
    with pytest.raises(AgreementInputError, match=match):
        call(*arguments, **options)


def refused_run(message: str, samples: Any, fields: str | Sequence[str] = ANNOTATORS, **options: Any) -> None:
    """A run is refused with a sentence, before anything is written."""
    before = stored(samples._dataset)
    refused(message, compute_quickly, samples, fields, **options)
    assert stored(samples._dataset) == before, message

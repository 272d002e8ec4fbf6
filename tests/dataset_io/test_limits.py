"""Data at the limits: no polygon that takes minutes."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement

pytestmark = pytest.mark.long


def test_scribbled_polygons_are_refused_or_left_out_before_they_take_minutes(make_dataset) -> None:
    rng = np.random.default_rng(3)
    scribble = rng.random((2_000, 2)).tolist()
    square = [(0.1, 0.1), (0.5, 0.1), (0.5, 0.6)]
    dataset = make_dataset({})
    sample = fo.Sample(filepath="/nowhere/scribble.jpg")
    for name in ("alice", "bob"):
        lines = [fo.Polyline(label="x", points=[points], closed=True) for points in (square, scribble)]
        sample[name] = fo.Polylines(polylines=lines)
    dataset.add_sample(sample)
    with pytest.raises(AgreementInputError, match="cross themselves at most 2,000 times"):
        compute_agreement(dataset, ["alice", "bob"], resamples=0)
    report = compute_agreement(dataset, ["alice", "bob"], resamples=0, invalid="skip", overwrite=True)
    assert (report.n_objects, report.n_units) == (2, 1)

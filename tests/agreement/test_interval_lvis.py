"""The interval of alpha on 200 images of LVIS annotated twice: images are resampled, not objects."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.test_lvis import LVIS, lvis  # noqa: F401  (a fixture)

from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.build import build_object_report
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.agreement.statistics.report import ReportContext, RunFacts
from annotator_agreement.metrics import krippendorff_alpha

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not LVIS.is_file(), reason=f"needs {LVIS}, which is not part of the repository"),
]


def test_images_are_resampled_not_their_objects(lvis: tuple[list[str], list[str], Batch]) -> None:  # noqa: F811
    annotators, class_names, batch = lvis
    config = make_config(annotators)
    agreement = compute_agreement_of(batch, config)
    context = ReportContext(config, annotators, class_names, ["Detections"], RunFacts())
    report = build_object_report(record(agreement), context)
    interval = report.intervals["alpha.pooled"]
    assert report.alpha.pooled == pytest.approx(0.646623, abs=5e-7)
    assert (interval.low, interval.high) == pytest.approx((0.603, 0.691), abs=0.006)
    unit, objects = agreement.matching.unit, batch.objects
    assert interval.n == len(np.unique(objects.sample)) == 186  # images with an object

    table = np.zeros((agreement.matching.n_units, 2))
    table[unit, objects.annotator] = objects.category
    assert krippendorff_alpha(table) == pytest.approx(report.alpha.pooled, abs=1e-12)
    rng = np.random.default_rng(51)
    of_units = [krippendorff_alpha(table[rng.integers(0, len(table), len(table))]) for _ in range(400)]
    narrow = np.quantile(of_units, [0.025, 0.975])
    assert narrow == pytest.approx([0.625, 0.669], abs=0.006)
    assert interval.high - interval.low > 1.8 * np.ptp(narrow)

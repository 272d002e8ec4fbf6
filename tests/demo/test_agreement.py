"""Agreement on the demo dataset, on all label types."""

from __future__ import annotations

import pytest

from tests.chance import few

pytestmark = pytest.mark.long

CAREFUL = ("alice", "bob")
LABEL_TYPES = ["boxes", "masks", "class", "tags", "polygons", "segmentation", "keypoints", "quality"]


@pytest.fixture(scope="module")
def demo(demo_copy):
    # without its samples in memory, which FiftyOne would read again after every run
    return demo_copy


@pytest.mark.parametrize("label_type", few(["masks", "polygons", "segmentation", "keypoints"]))
def test_the_careful_annotators_agree_best_on_every_kind_of_shape(demo, label_type):
    from tools.demo.dataset import LABEL_TYPES

    from annotator_agreement.dataset_io import compute_agreement, delete_agreement

    report = compute_agreement(demo, run_key="of_type", progress=False, **LABEL_TYPES[label_type])
    assert report.n_rated == 28
    best = max(report.pairs, key=lambda pair: pair.score)
    assert (best.a, best.b) == CAREFUL
    delete_agreement(demo, "of_type")

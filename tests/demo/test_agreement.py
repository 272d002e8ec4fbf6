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


@pytest.fixture(scope="module")
def copied(demo):
    """The fields of carol and copies of them, by label type."""
    from tools.demo.dataset import field_name

    fields = {label_type: field_name(label_type, "carol") for label_type in LABEL_TYPES}
    copies = {field: f"{field}_copy" for field in fields.values()}
    demo.clone_sample_fields(copies)
    yield {label_type: [field, copies[field]] for label_type, field in fields.items()}
    demo.delete_sample_fields(list(copies.values()))


@pytest.mark.parametrize("label_type", few(LABEL_TYPES, 4))
def test_everybody_agrees_with_a_copy_of_themselves_exactly(demo, copied, label_type):
    from annotator_agreement.dataset_io import compute_agreement, delete_agreement

    report = compute_agreement(demo, copied[label_type], run_key="itself", resamples=0, progress=False)
    scores = [score for score in demo.values("itself_score") if score is not None]
    assert len(scores) > 20
    assert set(scores) == {1.0}
    assert (report.score.mean, report.alpha.pooled) == (1.0, 1.0)
    delete_agreement(demo, "itself")


@pytest.mark.parametrize("label_type", few(["masks", "polygons", "segmentation", "keypoints"]))
def test_the_careful_annotators_agree_best_on_every_kind_of_shape(demo, label_type):
    from tools.demo.dataset import LABEL_TYPES

    from annotator_agreement.dataset_io import compute_agreement, delete_agreement

    report = compute_agreement(demo, run_key="of_type", progress=False, **LABEL_TYPES[label_type])
    assert report.n_rated == 28
    best = max(report.pairs, key=lambda pair: pair.score)
    assert (best.a, best.b) == CAREFUL
    delete_agreement(demo, "of_type")

"""The simulated annotators really have the habits that their description claims."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.habits import CLASSES, SMALL_PX2, Habits, Simulated, area, simulate
from tests.agreement.known_alpha import draw, limit_of_alpha

from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.metrics import NominalTally
from annotator_agreement.metrics.geometry.boxes import box_area, box_intersection
from annotator_agreement.metrics.geometry.objects import iou_from_areas

PLANTED = (
    Habits("alice", miss_small=0.2),
    Habits("bob", size=1.1, size_spread=0.05, lower=0.03),
    Habits("carol", confuses=("bus", "coach", 0.25)),
    Habits("dave", duplicates=0.03),
    Habits("erin", copies="dave"),
)


@pytest.fixture(scope="module")
def simulated() -> Simulated:
    return simulate(PLANTED, 4_000, np.random.default_rng(7))


def test_objects_are_small_medium_and_large_and_classes_differ(simulated: Simulated) -> None:
    areas = area(simulated.true_xyxy_px)
    shares = np.diff([0.0, np.mean(areas < SMALL_PX2), np.mean(areas < 96.0**2), 1.0])
    assert shares.min() > 0.2
    assert np.bincount(simulated.true_category)[1:].min() > 1_000
    drawn = simulated.xyxy_rel
    assert (drawn.min(), drawn.max()) == (pytest.approx(0.0, abs=0.05), pytest.approx(1.0, abs=0.05))
    assert (drawn[:, 2:] > drawn[:, :2]).all()


def test_misses_are_as_frequent_as_planted_and_come_together(simulated: Simulated) -> None:
    missed = ~simulated.drawn()
    small = area(simulated.true_xyxy_px) < SMALL_PX2
    assert missed[small, 0].mean() == pytest.approx(0.20, abs=0.015)
    for rows, annotator in ((~small, 0), (small, 1), (~small, 2)):
        assert missed[rows, annotator].mean() == pytest.approx(0.02, abs=0.004)
    together = (missed[:, 1] & missed[:, 2]).mean()
    assert together > 1.8 * missed[:, 1].mean() * missed[:, 2].mean()


def test_boxes_are_larger_and_lower_as_planted(simulated: Simulated) -> None:
    rows = simulated.annotator == 1
    true, drawn = simulated.true_xyxy_px[simulated.true_object[rows]], simulated.xyxy_px[rows]
    assert np.sqrt(area(drawn) / area(true)).mean() == pytest.approx(1.10, abs=0.002)
    height = true[:, 3] - true[:, 1]
    assert ((drawn[:, 3] - true[:, 3]) / height).mean() == pytest.approx(0.03, abs=0.001)
    assert ((drawn[:, 1] - true[:, 1]) / height).mean() == pytest.approx(-0.07, abs=0.002)


def test_a_class_is_confused_as_planted(simulated: Simulated) -> None:
    rows = simulated.annotator == 2
    true, said = simulated.true_category[simulated.true_object[rows]], simulated.category[rows]
    bus, coach = CLASSES.index("bus"), CLASSES.index("coach")
    assert (said[true == bus] == coach).mean() == pytest.approx(0.25, abs=0.015)
    assert (said[true != bus] == true[true != bus]).all()


def _iou(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """IoU of boxes row by row."""
    return iou_from_areas(box_intersection(a, b), box_area(a), box_area(b))


def test_duplicates_stand_on_what_was_drawn_before(simulated: Simulated) -> None:
    rows = np.flatnonzero((simulated.annotator == 3) & simulated.duplicate)
    first = {
        t: k
        for k, t in enumerate(simulated.true_object.tolist())
        if simulated.annotator[k] == 3 and not simulated.duplicate[k]
    }
    originals = [first[t] for t in simulated.true_object[rows].tolist()]
    assert len(rows) / len(first) == pytest.approx(0.03, abs=0.004)
    assert _iou(simulated.xyxy_px[rows], simulated.xyxy_px[originals]).min() > 0.92


def test_a_copy_has_the_errors_of_the_original(simulated: Simulated) -> None:
    original, copy = simulated.annotator == 3, simulated.annotator == 4
    assert np.array_equal(simulated.true_object[original], simulated.true_object[copy])
    assert np.array_equal(simulated.category[original], simulated.category[copy])
    iou = _iou(simulated.xyxy_px[original], simulated.xyxy_px[copy])
    assert 0.98 < iou.min() < 1.0


def test_the_alpha_of_many_samples_comes_close_to_its_limit() -> None:
    n = 60_000
    batch = draw(n, np.random.default_rng(3))
    agreement = compute_agreement_of(batch, make_config(["a", "b", "c"]))
    ratings = agreement.ratings
    alpha = NominalTally.from_counts(ratings.unit, ratings.category, ratings.count).alpha()
    assert alpha == pytest.approx(limit_of_alpha(), abs=0.005)
    assert 0.5 < limit_of_alpha() < 0.8

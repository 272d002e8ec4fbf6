"""Properties of every metric: a registry of traits, a test that none was forgotten, and the examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.chance import examples

from annotator_agreement import metrics
from annotator_agreement.metrics import Objects, box_iou, box_overlaps

Labels = np.ndarray

#: public names that are no metrics, by what they are; each is tested with its own subject
NOT_METRICS = {
    "columns": "Intervals Keypoints Lines MaskCrops Objects Overlaps Polygons Regions TagSets lines_from_points "
    "polygons_from_rings boxes_as_polygons",
    "counts and maps": "JointCounts NominalTally joint_counts disagreement_map ignored_pixels sums_of_clusters "
    "category_weights",
    "results": "Alignment AlternativeAnnotatorTest BoundaryAgreement ConfidenceIntervals Matching ThresholdFromData "
    "Votes unit_votes",
    "settings": "COCO_SIGMAS MIN_SAMPLES Resampling THRESHOLDS chance_corrected",
    "methods": "alternative_annotator_test average_precision bootstrap box_overlaps match_detections match_objects "
    "sweep_thresholds threshold_from_data wilson_interval",
    "areas, lengths and pixels": "line_overlap mask_box_intersection mask_intersection mask_polygon_intersection "
    "pillow_mask polygon_intersection",
    "values of every object": "best_similarities similarities_between_samples",
}


@dataclass(frozen=True)
class Metric:
    """A metric as a function of what two annotators labelled, with its traits.

    ``labels``: ``boxes`` (of one image), ``codes`` (a class for every unit), ``points`` (of every object) or ``masks``
    (of one region). ``each``: the metric gives a value for every pair of boxes (``all``) or every row (``row``) instead
    of one for the image.
    """

    of: Callable[[Labels, Labels], np.ndarray | float]
    labels: str
    each: str = ""
    lowest: float = 0.0
    highest: float = 1.0
    symmetric: bool = True
    identity: float = 1.0


def _matched(a: Labels, b: Labels) -> tuple[float, int]:
    """Sum of IoU and number of matched pairs."""
    objects = Objects(*(np.r_[np.full(len(a), k), np.full(len(b), v)] for k, v in ((0, 0), (0, 1), (1, 1))))
    unit = metrics.match_objects(objects, box_overlaps(objects, np.r_[a, b])).unit
    i, j = np.nonzero(unit[: len(a), None] == unit[None, len(a) :])
    return float(box_iou(a, b)[i, j].sum()), len(i)


def _alpha_by_group(a: Labels, b: Labels) -> np.ndarray:
    unit = np.arange(len(a))
    same = a == b
    units, codes = np.r_[unit, unit[~same]], np.r_[a, b[~same]]
    counts = np.r_[np.where(same, 2, 1), np.ones((~same).sum(), np.int64)]
    return metrics.alpha_by_group(units, codes, counts, np.zeros(len(a), np.int64), 1)


def _alpha_of(a: Labels, b: Labels) -> np.ndarray:
    counts = np.bincount(np.r_[a, b])
    n = counts.sum()
    return metrics.alpha_of(2.0 * (a != b).sum(), n * n - (counts**2).sum(), n)


def _table(a: Labels, b: Labels) -> np.ndarray:
    return np.column_stack([a, b]).astype(float)


def _boundaries(name: str) -> Callable[[Labels, Labels], float]:
    """One of the boundary numbers of a region."""
    return lambda a, b: float(getattr(metrics.boundary_agreement(a, b, [1], tolerance_px=1), name)[0])


#: by public name; what comes after a dot is one of several numbers
METRICS = {
    "alpha_by_group": Metric(_alpha_by_group, "codes", lowest=-np.inf),
    "alpha_of": Metric(_alpha_of, "codes", lowest=-np.inf),
    "box_iou": Metric(metrics.box_iou, "boxes", each="all"),
    "boundary_agreement.boundary_iou": Metric(_boundaries("boundary_iou"), "masks"),
    "boundary_agreement.hd95": Metric(_boundaries("hd95"), "masks", highest=np.inf, identity=0.0),
    "boundary_agreement.surface_dice": Metric(_boundaries("surface_dice"), "masks"),
    "brennan_prediger": Metric(lambda a, b: metrics.brennan_prediger(_table(a, b)), "codes", lowest=-1.0),
    "cohen_kappa": Metric(metrics.cohen_kappa, "codes", lowest=-1.0),
    "conger_kappa": Metric(lambda a, b: metrics.conger_kappa(_table(a, b)), "codes", lowest=-1.0),
    "dice_from_iou": Metric(lambda a, b: metrics.dice_from_iou(box_iou(a, b)), "boxes", each="all"),
    "f1_score": Metric(lambda a, b: metrics.f1_score(_matched(a, b)[1], len(a), len(b)), "boxes"),
    "fleiss_kappa": Metric(lambda a, b: metrics.fleiss_kappa(_table(a, b)), "codes", lowest=-1.0),
    "gwet_ac1": Metric(lambda a, b: metrics.gwet_ac1(_table(a, b)), "codes", lowest=-1.0),
    "gwet_ac2": Metric(lambda a, b: metrics.gwet_ac2(_table(a, b), weights="identity"), "codes", lowest=-1.0),
    "krippendorff_alpha": Metric(lambda a, b: metrics.krippendorff_alpha(_table(a, b)), "codes", lowest=-np.inf),
    "nominal_alpha_of_sums": Metric(
        lambda a, b: metrics.nominal_alpha_of_sums(2.0 * (a != b).sum(), np.bincount(np.r_[a, b])),
        "codes",
        lowest=-np.inf,
    ),
    "oks": Metric(metrics.oks, "points", each="row"),
    "panoptic_quality": Metric(lambda a, b: metrics.panoptic_quality(_matched(a, b)[0], len(a), len(b)), "boxes"),
    "percent_agreement": Metric(lambda a, b: metrics.percent_agreement(_table(a, b)), "codes"),
    "scott_pi": Metric(metrics.scott_pi, "codes", lowest=-1.0),
    "segmentation_quality": Metric(lambda a, b: metrics.segmentation_quality(*_matched(a, b)), "boxes"),
    "visibility_agreement": Metric(metrics.visibility_agreement, "points", each="row"),
    "weighted_alpha": Metric(
        lambda a, b: metrics.weighted_alpha(_table(a, b), weights="identity"), "codes", lowest=-np.inf
    ),
}


def test_no_metric_was_forgotten_and_every_one_says_when_it_is_undefined() -> None:
    names = {name.split(".")[0] for name in METRICS}
    assert names | set(" ".join(NOT_METRICS.values()).split()) == set(metrics.__all__)
    for name in names:
        assert "Undefined:" in (getattr(metrics, name).__doc__ or ""), name


def _labels(kind: str, seed: int) -> tuple[Labels, Labels]:
    """What two annotators labelled, alike but not the same; sides and axes differ."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    if kind == "codes":
        a = np.r_[1, 2, rng.integers(1, 5, n)]
        return a, np.where(rng.random(len(a)) < 0.6, a, rng.integers(1, 5, len(a)))
    if kind == "points":
        points = rng.uniform(0, [90.0, 30.0], (n, 5, 2)) + rng.normal(0, 2.0, (2, n, 5, 2))
        points[:, :, 1:][rng.random((2, n, 4)) < 0.3] = np.nan
        return points[0], points[1]
    if kind == "masks":
        masks = np.zeros((2, 15, 32), np.bool_)
        for top, left in rng.integers(1, [8, 20], (n, 2)):
            for mask in masks:
                y, x = rng.integers((top - 1, left - 1), (top + 2, left + 2))
                mask[y : y + 3, x : x + 9] = True
        return masks[0], masks[1]
    low = rng.uniform(0, [20.0, 6.0], (n, 2))
    a = np.hstack([low, low + rng.uniform(1.0, [9.0, 4.0], (n, 2))])
    b = np.sort((a + rng.normal(0, 0.8, a.shape)).reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    return a, b


@pytest.mark.parametrize("name", METRICS)
@examples(25)
@given(st.integers(0, 10_000))
def test_every_metric_has_its_traits(name: str, seed: int) -> None:
    """Symmetric, within its bounds, perfect for the same labels; neither their order nor names nor units matter."""
    metric = METRICS[name]
    a, b = _labels(metric.labels, seed)
    expected, swapped, own = (np.asarray(metric.of(*labels)) for labels in ((a, b), (b, a), (a, a)))
    every = metric.each == "all"
    assert metric.symmetric
    assert_allclose(swapped.T if every else swapped, expected, rtol=0, atol=1e-12)
    defined = expected[~np.isnan(expected)]
    assert (defined >= metric.lowest).all()
    assert (defined <= metric.highest + 1e-12).all()
    assert_allclose(np.diag(own) if every else own, metric.identity, rtol=0, atol=1e-12)
    rng = np.random.default_rng(seed)
    p, q = rng.permutation(len(a)), rng.permutation(len(b))
    if metric.each == "all":
        assert_allclose(metric.of(a[p], b[q]), expected[np.ix_(p, q)], rtol=0, atol=1e-12)
    elif metric.each == "row":
        assert_allclose(metric.of(a[p], b[p]), expected[p], rtol=0, atol=1e-12)
    elif metric.labels == "masks":  # pixels have a place: the image can be mirrored, but not shuffled
        assert_allclose(metric.of(a[::-1], b[::-1]), expected, rtol=0, atol=1e-12)
        assert_allclose(metric.of(a.T, b.T), expected, rtol=0, atol=1e-12)
    else:  # units of codes stay together, boxes are independent
        assert_allclose(metric.of(a[p], b[p if metric.labels == "codes" else q]), expected, rtol=0, atol=1e-12)
    if metric.labels == "codes":
        names = rng.permutation(20)
        assert_allclose(metric.of(names[a], names[b]), expected, rtol=0, atol=1e-12)
    elif metric.labels == "boxes":
        scale = np.array([1 / 640, 3.0, 1 / 640, 3.0])
        assert_allclose(metric.of(a * scale, b * scale), expected, rtol=0, atol=1e-9)


MODULES = [module.name for module in pkgutil.walk_packages(metrics.__path__, f"{metrics.__name__}.")]


def _examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    return doctest.DocTestFinder(exclude_empty=True).find(module, globs={"np": np, **vars(module)})


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_the_module_give_what_they_show(name: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for example in _examples(name):
        assert runner.run(example).failed == 0, example.name


def test_there_are_examples_to_run() -> None:
    assert sum(len(example.examples) for name in MODULES for example in _examples(name)) >= 40

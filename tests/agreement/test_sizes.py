"""Small, medium and large objects in a report, against loops."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.agreement.agreement_oracle import Sample, Unit, batch_of, config_of, object_report, report_of
from tests.agreement.found import Found, assigned_pairs, each_case, found, mean, median, same, share
from tests.dataset_io.same_values import assert_same

from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.metrics.geometry import Boxes

SIZES = ("small", "medium", "large")


def area_of(unit: Unit, width: float = 1.0, height: float = 1.0) -> float:
    """Median area of the labels of a unit."""
    boxes = [label[1:] for label in unit.members.values()]
    return float(np.median([(x1 - x0) * width * (y1 - y0) * height for x0, y0, x1, y1 in boxes]))


def sized_report(
    samples: list[Sample], sizes_px: list[tuple[float, float]] | None, in_pixels: bool = False, cuts: int = 1
) -> ObjectReport:
    """The report where image sizes are known, or the boxes are in pixels, from one or more batches."""
    batches = []
    for rows in np.array_split(np.arange(len(samples)), cuts):
        batch = batch_of([samples[k] for k in rows], 4)
        if sizes_px is not None:
            sizes = np.array(sizes_px)[rows]
            batch = dataclasses.replace(batch, size_px=sizes)
            if in_pixels:
                xyxy = batch.geometry.boxes_xyxy() * np.tile(sizes, 2)[batch.objects.sample]
                batch = dataclasses.replace(batch, geometry=Boxes(xyxy), size_px=None)
        batches.append(batch)
    return object_report(batches, config_of(4))


def check(case: Found, report: ObjectReport, size_of: dict[int, str]) -> None:
    """The numbers of every size; ``size_of`` units, by their number."""
    assert [entry.size for entry in report.sizes] == list(SIZES)
    for entry in report.sizes:
        own = [
            unit
            for number, unit in enumerate(case.units)
            if size_of[number] == entry.size and len(case.samples[unit.sample]) >= 2
        ]
        pairs = [unit.iou(a, b) for unit in own for a, b in unit.pairs()]
        assert (entry.n_units, entry.n_pairs) == (len(own), len(pairs))
        assert entry.n_lone == sum(len(unit.members) == 1 for unit in own)
        same(entry.mean_iou, mean(pairs))
        same(entry.median_iou, median(pairs))
        several = [unit for unit in own if len(unit.members) >= 2]
        n_assigned = sum(len(case.samples[unit.sample]) for unit in several)
        same(entry.miss_rate, share(n_assigned - sum(len(unit.members) for unit in several), n_assigned))
        n_labels = sum(
            (a in unit.members) + (b in unit.members)
            for unit in own
            for a, b in assigned_pairs(case.samples[unit.sample])
        )
        same(entry.f1, share(2 * len(pairs), n_labels))
    for r, annotator in enumerate(report.annotators):
        for size in SIZES:
            seen = [
                unit
                for number, unit in enumerate(case.units)
                if size_of[number] == size and r in case.samples[unit.sample] and len(unit.members.keys() - {r}) >= 2
            ]
            same(annotator.miss_rate_by_size[size], share(sum(r not in unit.members for unit in seen), len(seen)))


@each_case
def test_sizes_are_thirds_of_the_units_where_images_have_no_size(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    rated = [area_of(unit) for unit in case.rated_units]
    low, high = np.quantile(rated, [1 / 3, 2 / 3])
    sizes = {k: SIZES[int(area_of(unit) >= low) + int(area_of(unit) >= high)] for k, unit in enumerate(case.units)}
    check(case, case.report, sizes)
    small, medium, large = case.report.sizes
    assert {entry.unit for entry in case.report.sizes} == {"share of the image"}
    assert (small.area_from, large.area_to) == (None, None)
    assert (small.area_to, medium.area_to) == pytest.approx((low, high), rel=1e-6)
    assert (medium.area_from, large.area_from) == (small.area_to, medium.area_to)
    assert sum(entry.n_units for entry in case.report.sizes) == case.report.n_units


def coco_size(area: float) -> str:
    """COCO's sizes."""
    return SIZES[int(area >= 32**2) + int(area >= 96**2)]


@pytest.mark.parametrize("in_pixels", [False, True])
def test_sizes_are_those_of_coco_where_areas_in_pixels_are_known(in_pixels: bool) -> None:
    case = found(1, {})
    rng = np.random.default_rng(5)
    px = [(float(width), float(height)) for width, height in rng.integers(100, 700, (len(case.samples), 2))]
    report = sized_report(case.samples, px, in_pixels)
    check(case, report, {k: coco_size(area_of(unit, *px[unit.sample])) for k, unit in enumerate(case.units)})
    assert [(entry.area_from, entry.area_to) for entry in report.sizes] == [(None, 1024), (1024, 9216), (9216, None)]
    assert {entry.unit for entry in report.sizes} == {"px²"}
    assert all(entry.n_units for entry in report.sizes)


def test_of_three_annotators_one_misses_what_two_drew_and_of_two_nobody_does() -> None:
    box = (1, 0.1, 0.1, 0.2, 0.2)
    for samples, n, rate in (([{0: [box], 1: [box], 2: []}], 3, 1 / 3), ([{0: [box], 1: [box]}], 2, None)):
        (medium,) = [size for size in report_of(samples, config_of(n)).sizes if size.n_units]
        assert medium.miss_rate == pytest.approx(rate)


def test_one_image_without_a_size_is_enough_for_thirds_and_batches_do_not_matter() -> None:
    case = found(1, {})
    px = [(640.0, 480.0)] * len(case.samples)
    whole, in_parts = (sized_report(case.samples, px, cuts=cuts).to_dict() for cuts in (1, 7))
    assert_same(in_parts, whole, relative=0.0, absolute=1e-12)
    px[7] = (np.nan, np.nan)
    assert sized_report(case.samples, px).sizes == case.report.sizes


def test_a_box_of_32_by_32_pixels_is_medium_and_labels_on_samples_of_one_annotator_have_no_size() -> None:
    box = (1, 100 / 640, 100 / 480, 132 / 640, 132 / 480)
    report = sized_report([{0: [box], 1: [box]}], [(640.0, 480.0)])
    assert [entry.n_units for entry in report.sizes] == [0, 1, 0]
    for samples in ([{0: [(1, 0.1, 0.1, 0.2, 0.2)]}], []):
        assert report_of(samples, config_of(2)).sizes == []

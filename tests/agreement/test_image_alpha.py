"""The alpha of images: brute force over all pairs, and what simulations must show."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import krippendorff
import numpy as np
import pytest
import shapely
from scipy.optimize import linear_sum_assignment
from scipy.stats import ks_2samp

from tests.agreement.agreement_oracle import object_report
from tests.agreement.families import KINDS
from tests.chance import few, seeds

from annotator_agreement.agreement import AgreementReport, make_config
from annotator_agreement.agreement.matching import Batch
from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.agreement.statistics import ImageAlpha
from annotator_agreement.metrics import Objects, Polygons, Regions, box_iou
from annotator_agreement.metrics.geometry import Boxes, region_pixels

#: image, annotator, and the boxes with their classes
Annotation = tuple[int, int, np.ndarray, np.ndarray]


def _annotations(rng, n_images, n_annotators, n_objects=3.0) -> list[Annotation]:
    """Boxes of one class: 15 % are missed, a false one is on 20 % of the images."""
    found = []
    for image in range(n_images):
        size = rng.uniform(0.15, 0.45, (rng.poisson(n_objects), 2))
        true = np.concatenate([corner := rng.uniform(0, 1 - size), corner + size], axis=1)
        for annotator in range(n_annotators):
            seen = true[rng.random(len(true)) >= 0.15]
            drawn = seen + rng.normal(0, 0.04, seen.shape) * np.tile(seen[:, 2:] - seen[:, :2], 2)
            if rng.random() < 0.2:
                corner, size = rng.uniform(0, 0.6, 2), rng.uniform(0.15, 0.4, 2)
                drawn = np.vstack([drawn, np.concatenate([corner, corner + size])])
            found.append((image, annotator, drawn, np.ones(len(drawn), np.int64)))
    return found


def _report(annotations: list[Annotation], videos: np.ndarray | None = None, **options: Any) -> ObjectReport:
    """The report; who has no annotation of an image was not assigned."""
    images, annotators = (np.array([entry[k] for entry in annotations]) for k in (0, 1))
    order = np.lexsort((annotators, images))
    annotations = [annotations[k] for k in order]
    assigned = np.zeros((images.max() + 1, annotators.max() + 1), np.bool_)
    assigned[images, annotators] = True
    counts = [len(boxes) for *_, boxes, _ in annotations]
    classes = np.concatenate([classes for *_, classes in annotations])
    objects = Objects(np.repeat(images[order], counts), np.repeat(annotators[order], counts), classes)
    config = make_config([f"annotator {k}" for k in range(assigned.shape[1])], **{"resamples": 0, **options})
    boxes = Boxes(np.concatenate([boxes for *_, boxes, _ in annotations]).astype(np.float32).astype(np.float64))
    names = ["(missing)", *(f"class {k}" for k in range(1, 12))]
    return object_report(Batch(objects, boxes, assigned), config, names, clusters=videos)


def _of(report: AgreementReport) -> ImageAlpha:
    assert report.image_alpha is not None
    return report.image_alpha


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """1 - PQ of boxes of one class, by the assignment with the greatest surplus over 0.5."""
    if not len(a) or not len(b):
        return float(len(a) != len(b))
    iou = box_iou(a, b)
    i, j = linear_sum_assignment(np.maximum(iou - 0.5, 0.0), maximize=True)
    return 1.0 - 2.0 * float(iou[i, j][iou[i, j] >= 0.5].sum()) / (len(a) + len(b))


def _brute_force(annotations: list[Annotation], videos: np.ndarray | None = None) -> dict[str, float]:
    """All numbers, pair by pair; Krippendorff's weights of the observed distances."""
    rated = [entry for entry in annotations if sum(entry[0] == other[0] for other in annotations) > 1]
    n = {image: sum(image == other[0] for other in rated) for image, *_ in rated}
    observed, weights, expected = [], [], []
    for a, b in itertools.combinations(rated, 2):
        distance = _distance(a[2].astype(np.float32).astype(float), b[2].astype(np.float32).astype(float))
        if a[0] == b[0]:
            observed.append(distance)
            weights.append(2.0 / (n[a[0]] - 1) / len(rated))
        elif videos is None or videos[a[0]] != videos[b[0]]:
            expected.append(distance)
    mean = float(np.dot(observed, weights))
    return {
        "value": 1.0 - mean / np.mean(expected), "observed": mean, "expected": float(np.mean(expected)),
        "sigma": float(np.mean(np.array(observed) < np.quantile(expected, 0.05) - 1e-9)),
        "ks": float(ks_2samp(observed, expected, alternative="greater").statistic), "n_images": len(n),
        "n_expected": len(expected),
    }  # fmt: skip


def test_equal_distances_of_one_image_and_of_different_images_count_as_equal() -> None:
    """One annotator draws 21 pixels further right, at one of two places: compared in 64 bits, and in 32."""
    place = np.random.default_rng(3).integers(0, 2, 40)
    left = (33 + 21 * np.arange(2) + 320 * place[:, None]).ravel() / 640
    boxes = Boxes(np.column_stack([left, np.full(80, 0.1), left + 211 / 640, np.full(80, 0.6)]))
    objects = Objects(np.repeat(np.arange(40), 2), np.tile([0, 1], 40), np.ones(80, np.int64))
    batch = Batch(objects, boxes, np.ones((40, 2), np.bool_))
    found = _of(object_report(batch, make_config(["alice", "bob"], resamples=0), ["(missing)", "cat"]))
    pairs = itertools.combinations(place.tolist(), 2)
    expected = [2 if p != q else int(u != v) for p, q in pairs for u in (0, 1) for v in (0, 1)]
    assert found.ks == pytest.approx(1 - np.mean(np.array(expected) <= 1), abs=1e-12)
    assert found.sigma == 0.0  # the 5 % quantile is 0, which no observed distance is below


@pytest.mark.parametrize("seed", seeds(8))
def test_the_numbers_are_those_of_brute_force_over_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    annotations = _annotations(rng, 14, 4, n_objects=1.5)
    annotations = [entry for entry in annotations if rng.random() < 0.8]
    videos = np.arange(14) // 3 if seed % 2 else None
    found = dataclasses.asdict(_of(_report(annotations, videos)))
    assert found == pytest.approx(_brute_force(annotations, videos), rel=0, abs=1e-9)


BOX, NOTHING = np.array([[0.0, 0.0, 1.0, 1.0]]), np.empty((0, 4))


def _one_box(rng, n_images, n_annotators, n_places, fresh, empty, large) -> list[Annotation]:
    """At most one box of three classes from everybody: one of few places, so that annotations repeat, or a new one."""
    size = rng.uniform(0.7, 1.0, (n_places, 2)) if large else rng.uniform(0.1, 0.6, (n_places, 2))
    corner = rng.uniform(0.0, 1.0 - size)
    places, found = np.concatenate([corner, corner + size], axis=1), []
    for image, annotator in itertools.product(range(n_images), range(n_annotators)):
        if annotator == 0:
            true, code = places[rng.integers(n_places)], int(rng.integers(1, 4))
        box = true if rng.random() < 0.7 else places[rng.integers(n_places)]
        if rng.random() < fresh:
            low, high = np.sort(np.clip(box + rng.normal(0, 0.03, 4), 0, 1).reshape(2, 2), axis=0)
            box = np.concatenate([low, high + 0.001])
        drawn = bool(rng.random() >= empty)
        classes = np.array([code if rng.random() < 0.8 else int(rng.integers(1, 4))])
        found.append((image, annotator, box[None][:drawn], classes[:drawn]))
    return found


def _exact_expected(annotations: list[Annotation]) -> float:
    """The mean distance of all annotations of different images, of at most one box each, row by row."""
    image = np.array([entry[0] for entry in annotations])
    drawn = np.array([len(entry[2]) > 0 for entry in annotations])
    boxes = (
        np.concatenate([entry[2] if len(entry[2]) else BOX for entry in annotations]).astype(np.float32).astype(float)
    )
    code = np.array([entry[3][0] if len(entry[3]) else -k for k, entry in enumerate(annotations)])
    total, n = 0.0, 0
    for start in range(0, len(image), 500):
        some = slice(start, start + 500)
        iou = box_iou(boxes[some], boxes) * (code[some, None] == code)
        distance = np.where(drawn[some, None] & drawn, 1.0 - iou * (iou >= 0.5), drawn[some, None] != drawn)
        other = image[some, None] != image
        total, n = total + float(distance[other].sum()), n + int(other.sum())
    return total / n


@pytest.mark.parametrize("seed", seeds(8))
def test_the_expected_distance_is_that_of_all_pairs_where_annotations_repeat(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_images, n_annotators, n_places = (
        int(rng.choice([50, 120, 250])),
        int(rng.integers(2, 6)),
        rng.choice([2, 10, 300]),
    )
    fresh, empty, large = rng.choice([0.0, 0.5, 1.0]), rng.choice([0.0, 0.3, 0.8]), rng.random() < 0.5
    annotations = _one_box(rng, n_images, n_annotators, int(n_places), fresh, empty, bool(large))
    found, exact = _of(_report(annotations)), _exact_expected(annotations)
    assert found.observed is not None
    assert found.value == pytest.approx(1.0 - found.observed / exact, rel=0, abs=0.005)
    assert found.n_expected == sum(a[0] != b[0] for a, b in itertools.combinations(annotations, 2))


def test_annotations_of_two_kinds_are_counted_exactly_and_empty_images_alike_with_and_without_a_score() -> None:
    codes = np.repeat([1, 1, 2, 2], 50)  # the second annotator exchanges 21 of each class
    other = np.where(np.arange(200) % 100 < 21, 3 - codes, codes)
    both = [(s, r, BOX, np.array([of[s]])) for s in range(200) for r, of in enumerate((codes, other))]
    found = _of(_report(both))
    apart = 200 * 200 - sum(a != b for a, b in zip(codes, other, strict=True))  # of 400 * 398 / 2 pairs
    assert found.expected == pytest.approx(apart / (400 * 398 / 2), rel=0, abs=1e-12)
    assert found.observed == pytest.approx(0.21, rel=0, abs=1e-12)
    by_one = [
        (s, r, *((BOX, np.array([1])) if r == s % 3 else (NOTHING, codes[:0]))) for s in range(400) for r in range(3)
    ]
    assert _of(_report(by_one)).expected == pytest.approx(4 / 9, rel=0, abs=1e-12)
    annotations = _annotations(np.random.default_rng(16), 80, 3, n_objects=0.4)
    skipped, agreed = (_report(annotations, empty=empty) for empty in ("skip", "agree"))
    assert skipped.score.n < agreed.score.n == 80
    assert dataclasses.asdict(_of(skipped)) == pytest.approx(dataclasses.asdict(_of(agreed)), rel=0, abs=1e-12)
    assert _of(skipped).n_images == 80
    for one, other in zip(skipped.pairs, agreed.pairs, strict=True):
        assert one.image_alpha == pytest.approx(other.image_alpha, rel=0, abs=1e-12)


def test_without_other_images_or_other_labels_or_shapes_it_is_undefined() -> None:
    box = np.array([[0.0, 0.0, 0.5, 0.5]])
    (_, _, shape), *_ = _shapes(np.random.default_rng(15), 1, 1)
    for found in (
        *(_report([(s, r, box, np.array([1])) for s in range(n) for r in range(2)], resamples=20) for n in (1, 2)),
        _shape_report([(s, r, shape) for s in range(20) for r in range(2)]),
    ):
        assert (_of(found).value, _of(found).expected, found.pairs[0].image_alpha) == (None, None, None)
    report = _report(_annotations(np.random.default_rng(9), 30, 2))  # of two annotators their pair has it
    assert report.pairs[0].image_alpha == pytest.approx(_of(report).value, rel=0, abs=1e-12)


def _shapes(rng: np.random.Generator, n_images: int, n_annotators: int) -> list[tuple[int, int, list[Any]]]:
    """One large shape around the middle of every image, which everybody draws a little differently; some miss it."""
    found = []
    angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    for image in range(n_images):
        radius, middle = rng.uniform(90, 200) * rng.normal(1, 0.1, 30), rng.normal([320, 240], 30)
        for annotator in range(n_annotators):
            drawn = radius * rng.normal(1, 0.04, 30)
            ring = np.stack([1.2 * drawn * np.cos(angle), drawn * np.sin(angle)], 1) + rng.normal(middle, 6)
            polygon = shapely.make_valid(shapely.Polygon(ring)).buffer(0)
            if rng.random() < 0.3:
                polygon = polygon.difference(shapely.affinity.scale(polygon, 0.7, 0.7))
            found.append((image, annotator, [polygon] if rng.random() < 0.95 else []))
    return found


def _shape_report(annotations: list[tuple[int, int, list[Any]]], *, painted: bool = False) -> ObjectReport:
    """The report on polygons, or on masks of their pixels."""
    images, annotators = (np.array([entry[k] for entry in annotations]) for k in (0, 1))
    counts = [len(shapes) for *_, shapes in annotations]
    geometry = np.array([shape for *_, shapes in annotations for shape in shapes], np.object_)
    regions = Regions.of_polygons(Polygons.from_geometry(geometry))
    if painted:
        regions = Regions.of_masks(region_pixels(regions, np.tile([640, 480], (len(geometry), 1))))
    assigned = np.ones((images.max() + 1, annotators.max() + 1), np.bool_)
    objects = Objects(np.repeat(images, counts), np.repeat(annotators, counts), np.ones(len(geometry), np.int64))
    config = make_config([f"annotator {k}" for k in range(assigned.shape[1])], resamples=0)
    return object_report(Batch(objects, regions, assigned), config, ["(missing)", "cell"])


@pytest.mark.parametrize("painted", few([False, True]), ids=["polygons", "masks"])
def test_shapes_of_different_images_are_compared_by_their_outlines(painted: bool) -> None:
    annotations = _shapes(np.random.default_rng(12), 25, 3)
    distances, boxes = [], []
    for (s, _, a), (t, _, b) in itertools.combinations(annotations, 2):
        if s != t and (a or b):
            iou = a[0].intersection(b[0]).area / a[0].union(b[0]).area if a and b else 0.0
            distances.append(1.0 - iou * (iou >= 0.5))
            of_boxes = float(box_iou(*(np.array([x[0].bounds]) for x in (a, b)))[0, 0]) if a and b else 0.0
            boxes.append(1.0 - of_boxes * (of_boxes >= 0.5))
    both_empty = sum(s != t and not a and not b for (s, _, a), (t, _, b) in itertools.combinations(annotations, 2))
    assert np.mean(distances) > np.mean(boxes) + 0.05
    expected_distance = np.sum(distances) / (len(distances) + both_empty)
    report = _shape_report(annotations, painted=painted)
    assert _of(report).expected == pytest.approx(expected_distance, rel=0, abs=0.005)
    assert _of(report).observed == pytest.approx(1.0 - (report.score.mean or 0.0), rel=0, abs=1e-12)


def test_neither_the_order_of_images_nor_that_of_annotators_matters_where_boxes_are_equal() -> None:
    rng = np.random.default_rng(14)
    triangles = [shapely.Polygon([(0, 0), (90, 0), (90, 90), (x, 90)]) for x in range(0, 90, 10)]
    kinds = np.array([shapely.box(0, 0, 90, 90), *triangles], np.object_)
    annotations = [(s, r, [rng.choice(kinds)]) for s in range(90) for r in range(3)]
    # some are of one kind, some are empty, and some are like no other
    for k, (s, r, _) in enumerate(annotations):
        if k % 2 == 1:
            annotations[k] = (s, r, [shapely.box(0, 0, *rng.uniform(50, 90, 2)).buffer(5)])
        elif k % 3 == 0:
            annotations[k] = (s, r, [])
    images, names = rng.permutation(90), [2, 0, 1]
    other = sorted(((int(images[s]), names[r], shapes) for s, r, shapes in annotations), key=lambda entry: entry[:2])
    found = [dataclasses.asdict(_of(_shape_report(each))) for each in (annotations, other)]
    assert found[1] == pytest.approx(found[0], rel=0, abs=1e-12)


def _report_on_masks(masks: list[list[np.ndarray]], **options: Any) -> AgreementReport:
    """The report on masks, image by image; 0 is background."""
    return KINDS["masks"].report([dict(enumerate(of_image)) for of_image in masks], resamples=0, **options)


def _blobs(rng: np.random.Generator, n_images: int, n_annotators: int) -> list[list[np.ndarray]]:
    """Masks of two ellipses, of images of different sizes; everybody shifts them a little."""
    found = []
    for _ in range(n_images):
        height, width = rng.integers(40, 90, 2)
        y, x = np.mgrid[:height, :width] / [[[height]], [[width]]]
        centres, radii = rng.uniform(0.2, 0.8, (2, 2)), rng.uniform(0.1, 0.4, (2, 2))
        found.append([])
        for _ in range(n_annotators):
            mask = np.zeros((height, width), np.uint8)
            for value, (centre, radius) in enumerate(zip(centres, radii, strict=True), 1):
                (dx, dy), (a, b) = rng.normal(0, 0.02, 2) + centre, radius
                mask[((x - dx) / a) ** 2 + ((y - dy) / b) ** 2 < 1] = value
            found[-1].append(mask)
    return found


def test_masks_of_different_images_are_compared_as_if_they_had_the_same_size() -> None:
    masks = _blobs(np.random.default_rng(10), 12, 2)
    cells = [(np.arange(240) + 0.5) / 240 for _ in range(2)]
    fine = [
        (image, mask[np.ix_(*((cell * side).astype(int) for cell, side in zip(cells, mask.shape, strict=True)))])
        for image, of_image in enumerate(masks)
        for mask in of_image
    ]
    distances = []
    for (s, a), (t, b) in itertools.combinations(fine, 2):
        if s != t:
            ious = [((a == c) & (b == c)).sum() / ((a == c) | (b == c)).sum() for c in (1, 2) if c in a or c in b]
            distances.append(1.0 - np.mean(ious))
    assert _of(_report_on_masks(masks)).expected == pytest.approx(np.mean(distances), rel=0, abs=0.005)


def _lanes(rng: np.random.Generator, n_images: int) -> list[list[np.ndarray]]:
    """A lane 6 of 256 pixels wide, about the middle of every image."""
    x = np.mgrid[:256, :256][1]
    return [
        [(np.abs(x - centre - rng.normal(0, 0.7)) < 3).astype(np.uint8) for _ in range(2)]
        for centre in rng.normal(128, 6, n_images)
    ]


def test_thin_lines_of_masks_are_compared_as_pixel_by_pixel() -> None:
    masks = _lanes(np.random.default_rng(18), 60)
    pixels = np.stack([mask.ravel() for of_image in masks for mask in of_image]).astype(np.float32)
    area, shared = pixels.sum(axis=1), pixels @ pixels.T
    apart = 1.0 - shared / (area[:, None] + area - shared)
    image = np.arange(len(area)) // 2
    exact = apart[image[:, None] != image].mean()
    assert _of(_report_on_masks(masks)).expected == pytest.approx(exact, rel=0, abs=0.01)


def test_masks_of_two_kinds_are_counted_exactly_and_empty_ones_are_equal() -> None:
    rng = np.random.default_rng(19)
    left = (np.arange(64) < 32)[None].repeat(64, axis=0).astype(np.uint8)
    kinds = [left, 1 - left, np.zeros_like(left)]
    chosen = rng.choice(3, (200, 3), p=[0.2, 0.2, 0.6])
    chosen[:, 1] = np.where(rng.random(200) < 0.7, chosen[:, 0], chosen[:, 1])
    masks = [[kinds[k] for k in of_image] for of_image in chosen]
    cell, image = chosen.ravel(), np.arange(600) // 3
    exact = (cell[:, None] != cell)[image[:, None] != image].mean()
    skipped, agreed = (_report_on_masks(masks, empty=empty) for empty in ("skip", "agree"))
    assert skipped.score.n < agreed.score.n == _of(skipped).n_images == 200
    assert _of(skipped).expected == pytest.approx(exact, rel=0, abs=1e-12)
    assert dataclasses.asdict(_of(skipped)) == pytest.approx(dataclasses.asdict(_of(agreed)), rel=0, abs=1e-12)
    for one, other in zip(skipped.pairs, agreed.pairs, strict=True):
        assert (one.image_alpha, one.n_samples) == (pytest.approx(other.image_alpha, rel=0, abs=1e-12), other.n_samples)


def test_with_the_pairs_of_one_image_among_the_expected_it_is_the_alpha_of_another_program() -> None:
    rng = np.random.default_rng(3)
    n_images, n_annotators = 40, 3
    classes = rng.integers(1, 4, n_images)[:, None] + np.zeros(n_annotators, np.int64)
    wrong = rng.random(classes.shape) < 0.3
    classes[wrong] = rng.integers(1, 4, int(wrong.sum()))
    box = np.array([[0.2, 0.1, 0.9, 0.8]])
    cells = itertools.product(range(n_images), range(n_annotators))
    found = _of(_report([(s, r, box, classes[s, r][None]) for s, r in cells]))
    assert found.observed is not None
    assert found.expected is not None
    n = classes.size
    n_within = n * (n_annotators - 1)
    of_all = (found.observed * n_within + found.expected * (n * (n - 1) - n_within)) / (n * (n - 1))
    alpha = krippendorff.alpha(reliability_data=classes.T, level_of_measurement="nominal")
    assert 1.0 - found.observed / of_all == pytest.approx(alpha, rel=0, abs=1e-12)


@pytest.mark.long
def test_it_does_not_depend_on_the_number_of_annotators() -> None:
    annotations = _annotations(np.random.default_rng(7), 200, 6)
    reports = {n: _report([entry for entry in annotations if entry[1] < n]) for n in (2, 6)}
    values = [_of(report).value or 0.0 for report in reports.values()]
    assert np.ptp(values) <= 0.02  # each within 0.01 of their middle
    assert reports[2].alpha.pooled is not None
    assert reports[2].alpha.pooled < 0.0 < 0.2 < (reports[6].alpha.pooled or 0.0)

"""The method ``recursive`` against the tables of the source documents, and on polygons a program of its own."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
import shapely
from numpy.testing import assert_allclose
from scipy.optimize import linear_sum_assignment

from tests.conftest import SHARED_DATA
from tests.metrics.matching_oracle import match, sorted_rows
from tests.metrics.published import GOLDEN, corners, fraction

from annotator_agreement.metrics import Objects, Polygons, Regions, krippendorff_alpha, match_objects

ARTWORK = {case["name"]: case for case in GOLDEN["matching"]}


def _match_lists(annotators: list, threshold: float, **options: str) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Units as tuples of ids (-1 is empty) by annotator, and the table of their classes (0 is empty)."""
    rows = [(0, k, o[1], *corners(o[2:])) for k, objects in enumerate(annotators) for o in objects]
    ids = [o[0] for objects in annotators for o in objects]
    options = {"method": "recursive", "classes": "ignore", **options}
    matching = match(rows, threshold=threshold, **options)
    table = np.full((matching.n_units, len(annotators)), -1)
    classes = np.zeros(table.shape)
    for row, unit, number in zip(rows, matching.unit, ids, strict=True):
        assert table[unit, row[1]] == -1
        table[unit, row[1]] = number
        classes[unit, row[1]] = row[2]
    return sorted(map(tuple, table.tolist())), classes


def _expected(ids: list) -> list[tuple[int, ...]]:
    return sorted(map(tuple, np.array(ids).T.tolist()))


def test_units_and_alpha_are_those_of_the_source_document_in_every_order_of_annotators() -> None:
    for case in GOLDEN["matching_unit_cases"].values():
        assert _match_lists(case["annotators"], case["threshold"])[0] == _expected(case["ids"])
    for case in ARTWORK.values():
        for threshold, expected in case["recursive"].items():
            units, classes = _match_lists(case["annotators"], float(threshold))
            assert units == _expected(expected["ids"])
            assert_allclose(krippendorff_alpha(classes), fraction(expected["category"]), rtol=0, atol=1e-12)
            ignored = np.where(classes == 0, np.nan, classes)
            assert_allclose(krippendorff_alpha(ignored), fraction(expected["ignore"]), rtol=0, atol=1e-12)
    for case in ARTWORK.values():
        for pair in case["pairwise_at_0_5"]:
            units, _ = _match_lists([case["annotators"][number - 1] for number in pair["annotators"]], 0.5)
            assert [unit for unit in units if -1 not in unit] == sorted(map(tuple, pair["pairs"]))
    for case in GOLDEN["matching_order_dependence"]:
        name, threshold = case["case"].split("@")
        (image,) = [entry for key, entry in ARTWORK.items() if key.startswith(name)]
        for orders, alpha in case["alpha_by_annotator_order"].items():
            for order in orders.split(","):
                _, classes = _match_lists([image["annotators"][int(number) - 1] for number in order], float(threshold))
                assert_allclose(krippendorff_alpha(classes), fraction(alpha), rtol=0, atol=1e-12)


def test_a_chain_of_three_boxes_is_one_unit_unless_the_ends_come_first() -> None:
    for order in permutations(range(3)):
        boxes = [GOLDEN["intransitive_chain"][k] for k in order]
        matching = match([(0, k, 1, *box) for k, box in enumerate(boxes)], method="recursive")
        assert matching.n_units == (2 if order[2] == 1 else 1)  # A, C, B and C, A, B
    # the box of annotator 2 overlaps that of annotator 1 more, but annotator 0 comes first
    rows = [(0, 0, 1, 0, 0, 10, 2), (0, 1, 1, 6, 0, 16, 2), (0, 2, 1, 3, 0, 13, 2)]
    assert match(rows, method="recursive", threshold=0.5, classes="ignore").unit.tolist() == [0, 1, 0]


CLASH = [(0, 0, 1, 0, 0, 10, 4), (0, 1, 2, 0, 0, 10, 4), (0, 1, 1, 2, 0, 10, 4)]


def test_classes_decide_between_candidates_and_samples_without_any_overlap_are_matched_too() -> None:
    for classes, clash, alone in (
        ("ignore", [0, 0, 1], [0, 0]),
        ("prefer", [0, 1, 0], [0, 0]),
        ("require", [0, 1, 0], [0, 1]),
    ):
        assert match(CLASH, method="recursive", classes=classes).unit.tolist() == clash
        assert match(CLASH[:2], method="recursive", classes=classes).unit.tolist() == alone
    rows = sorted_rows([(s, r, 1, 20.0 * r, 0, 20.0 * r + 7, 3) for s in range(3) for r in range(2)])
    assert match(rows, method="recursive").unit.tolist() == list(range(6))


_TABLES = SHARED_DATA.parent / "golden" / "golden.json"


IMAGES = ("fruits:apple_banana.jpg", "smile_fruits:Smile_at_a_stranger.jpg", "landscape_annotations:Landscape.ppm",
          "test_annotation:orange.jpg", "test_annotation:fruits.png", "test_annotation:apple_banana.jpg")  # fmt: skip


THRESHOLDS = ("0.25", "0.5", "0.75", "0.9")


each_case = pytest.mark.parametrize(("name", "threshold"), [(name, each) for name in IMAGES for each in THRESHOLDS])


Shapes = dict[int, shapely.Geometry]


Units = list[tuple[int, ...]]


def independent_units(ids: Sequence[Sequence[int]], shapes: Shapes, threshold: float) -> Units:
    """Units by the published rule, with shapely and scipy alone."""
    of = {own: [own] for own in ids[0]}
    units = list(of.values())
    for k in range(1, len(ids)):
        left = list(ids[k])
        for earlier in ids[:k]:
            free = [a for a in earlier if not set(of[a]) & set(ids[k])]
            areas = [[(shapes[a] & shapes[b]).area / ((shapes[a] | shapes[b]).area or 1.0) for b in left] for a in free]
            iou = np.reshape(areas, (len(free), len(left)))
            rows, columns = np.flatnonzero((iou > threshold).any(axis=1)), np.flatnonzero((iou > threshold).any(axis=0))
            iou = iou[np.ix_(rows, columns)]
            assigned = zip(*linear_sum_assignment(np.where(iou > threshold, 1.0 - iou, 1.0)), strict=True)
            partners = [(free[rows[r]], left[columns[c]]) for r, c in assigned if iou[r, c] > threshold]
            for a, b in partners:
                of[a].append(b)
                of[b] = of[a]
                left.remove(b)
        for own in left:
            of[own] = [own]
            units.append(of[own])
    return sorted(tuple(next((i for i in unit if i in own), -1) for own in ids) for unit in units)


def _ids(name: str) -> list[list[int]]:
    cases = {case["name"]: case for case in json.loads(_TABLES.read_text())["matching"]}
    return [[entry["id"] for entry in own] for own in cases[name]["annotators"]]


@functools.cache
def _shapes(file: str) -> Shapes:
    annotations = json.loads((SHARED_DATA / "coco_raters" / f"{file}.json").read_text())["annotations"]
    rings = {entry["id"]: [np.reshape(ring, (-1, 2)) for ring in entry["segmentation"]] for entry in annotations}
    return {key: shapely.union_all([shapely.Polygon(ring).buffer(0) for ring in own]) for key, own in rings.items()}


def _of_product(name: str, threshold: float) -> Units:
    ids, shapes = _ids(name), _shapes(name.split(":")[0])
    rows = [(k, own) for k, each in enumerate(ids) for own in each]
    annotator = np.array([k for k, _ in rows])
    objects = Objects(np.zeros(len(rows), np.int64), annotator, np.ones(len(rows), np.int64))
    polygons = Polygons.from_geometry(np.array([shapes[own] for _, own in rows]))
    options = {"threshold": threshold, "method": "recursive", "classes": "ignore"}
    unit = match_objects(objects, Regions.of_polygons(polygons).overlaps(objects), **options).unit
    table = np.full((unit.max() + 1, len(ids)), -1)
    table[unit, annotator] = [own for _, own in rows]
    return sorted(map(tuple, table.tolist()))


@pytest.mark.long
@pytest.mark.skipif(not _TABLES.is_file(), reason=f"needs {_TABLES}, which is not part of the repository")
@each_case
def test_units_of_polygons_are_those_of_an_independent_program(name: str, threshold: str) -> None:
    expected = independent_units(_ids(name), _shapes(name.split(":")[0]), float(threshold))
    assert _of_product(name, float(threshold)) == expected

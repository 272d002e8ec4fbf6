"""``recursive`` on exact polygons: six images at four thresholds, against a program with shapely and scipy alone."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import shapely
from scipy.optimize import linear_sum_assignment

from tests.conftest import SHARED_DATA
from tests.metrics.golden_cases import fraction

from annotator_agreement.metrics import Objects, Polygons, Regions, krippendorff_alpha, match_objects

_TABLES = SHARED_DATA.parent / "golden" / "golden.json"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not _TABLES.is_file(), reason=f"needs {_TABLES}, which is not part of the repository"),
]

Shapes = dict[int, shapely.Geometry]
Units = list[tuple[int, ...]]

IMAGES = ("fruits:apple_banana.jpg", "smile_fruits:Smile_at_a_stranger.jpg", "landscape_annotations:Landscape.ppm",
          "test_annotation:orange.jpg", "test_annotation:fruits.png", "test_annotation:apple_banana.jpg")  # fmt: skip
THRESHOLDS = ("0.25", "0.5", "0.75", "0.9")
each_case = pytest.mark.parametrize(("name", "threshold"), [(name, each) for name in IMAGES for each in THRESHOLDS])


@functools.cache
def _shapes(file: str) -> Shapes:
    annotations = json.loads((SHARED_DATA / "coco_raters" / f"{file}.json").read_text())["annotations"]
    rings = {entry["id"]: [np.reshape(ring, (-1, 2)) for ring in entry["segmentation"]] for entry in annotations}
    return {key: shapely.union_all([shapely.Polygon(ring).buffer(0) for ring in own]) for key, own in rings.items()}


@functools.cache
def _cases() -> dict[str, dict[str, Any]]:
    return {case["name"]: case for case in json.loads(_TABLES.read_text())["matching"]}


def _ids(name: str) -> list[list[int]]:
    return [[entry["id"] for entry in own] for own in _cases()[name]["annotators"]]


def _classes(name: str) -> dict[int, int]:
    return {entry["id"]: entry["category_id"] for own in _cases()[name]["annotators"] for entry in own}


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


def independent_alpha(units: Units, classes: dict[int, int], *, missing: bool) -> str | None:
    """Krippendorff's alpha as an exact fraction, missing objects as a category or left out; None if undefined."""
    tables = [Counter(classes.get(i, 0) for i in unit if missing or i != -1) for unit in units]
    tables = [each for each in tables if each.total() >= 2]
    n, whole = sum(each.total() for each in tables), sum(tables, Counter())
    expected = n * n - sum(count**2 for count in whole.values())
    observed = sum(Fraction(m.total() ** 2 - sum(count**2 for count in m.values()), m.total() - 1) for m in tables)
    return str(1 - (n - 1) * observed / expected) if expected else None


def _of_product(name: str, threshold: float) -> tuple[Units, np.ndarray]:
    ids, classes, shapes = _ids(name), _classes(name), _shapes(name.split(":")[0])
    rows = [(k, own) for k, each in enumerate(ids) for own in each]
    annotator, category = np.array([k for k, _ in rows]), np.array([classes[own] for _, own in rows])
    objects = Objects(np.zeros(len(rows), np.int64), annotator, category)
    polygons = Polygons.from_geometry(np.array([shapes[own] for _, own in rows]))
    options = {"threshold": threshold, "method": "recursive", "classes": "ignore"}
    unit = match_objects(objects, Regions.of_polygons(polygons).overlaps(objects), **options).unit
    table, of_class = np.full((unit.max() + 1, len(ids)), -1), np.zeros((unit.max() + 1, len(ids)))
    for (k, own), u in zip(rows, unit.tolist(), strict=True):
        table[u, k], of_class[u, k] = own, classes[own]
    return sorted(map(tuple, table.tolist())), of_class


@each_case
def test_units_and_alpha_of_polygons_are_those_of_an_independent_program(name: str, threshold: str) -> None:
    units, table = _of_product(name, float(threshold))
    assert units == independent_units(_ids(name), _shapes(name.split(":")[0]), float(threshold))
    for missing, values in ((True, table), (False, np.where(table == 0, np.nan, table))):
        expected = fraction(independent_alpha(units, _classes(name), missing=missing))
        np.testing.assert_allclose(krippendorff_alpha(values), expected, rtol=0, atol=1e-12)

"""The method ``recursive`` against the tables of the source documents, and on polygons a program of its own."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.testing import assert_allclose

from tests.metrics.matching_oracle import match, sorted_rows
from tests.metrics.published import GOLDEN, corners, fraction

from annotator_agreement.metrics import krippendorff_alpha

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

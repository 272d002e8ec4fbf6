"""Rankings rest on evidence; names are in natural order, and those that probably mean the same class are found."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from tests.chance import seeds
from tests.charts.filled import filled_report, filled_values, interval

from annotator_agreement.agreement.evidence import (
    Confused,
    ends_of_ranking,
    in_order,
    least_first,
    most_first,
    supported,
)
from annotator_agreement.agreement.objects import count_codes, similar_names, similar_spellings, synonyms
from annotator_agreement.charts.figures import annotator_order


def _annotators(**intervals: tuple[float, float]) -> list:
    one = filled_values()["annotators"][0]
    entries = [{**one, "name": name, "intervals": {"score": interval(*ends)}} for name, ends in intervals.items()]
    return filled_report(annotators=entries).annotators


def test_names_with_numbers_are_in_the_order_of_the_numbers() -> None:
    names = ["worker 10", "worker 2", "Worker 1", "worker 02b", "anna", "9", "10", "", "worker " + "9" * 5000]
    assert in_order(names) == ["", "9", "10", "anna", "Worker 1", "worker 2", "worker 02b", "worker 10", names[-1]]


def test_a_ranking_goes_by_the_conservative_end_of_the_interval() -> None:
    entries = _annotators(wide=(0.1, 0.9), low=(0.2, 0.3), high=(0.7, 0.8), middle=(0.4, 0.6))
    assert [entry.name for entry in least_first(entries)] == ["low", "middle", "high", "wide"]
    assert [entry.name for entry in most_first(entries)] == ["high", "middle", "low", "wide"]
    ends = ends_of_ranking(entries, 4, 0.5)
    assert ([entry.name for entry in ends.least], [entry.name for entry in ends.most]) == (["low"], ["high"])
    assert ends.n_supported == 4
    # an interval that ends at the number of all is not clearly off it
    assert (ends_of_ranking(entries, 4, 0.3).least, ends_of_ranking(entries, 4, 0.7).most) == ([], [])


@pytest.mark.parametrize(
    ("field", "value"), [("n_objects", 19), ("intervals", {}), ("intervals", {"score": interval(0.1, 0.2, n=9)})]
)
def test_nothing_is_ranked_on_fewer_than_20_labels_or_10_images(field: str, value: object) -> None:
    entries = [{**filled_values()["annotators"][0], "name": name} for name in ("x 10", "x 9", "a")]
    for entry, ends in zip(entries, [(0.1, 0.2), (0.3, 0.4), (0.5, 0.6)], strict=True):
        entry |= {"n_objects": 20, "intervals": {"score": interval(*ends, n=10)}}
    entries[0] |= {field: value}
    found = filled_report(annotators=entries).annotators
    assert [supported(entry) is None for entry in found] == [True, False, False]
    assert [entry.name for entry in least_first(found)] == ["x 9", "a", "x 10"]


def test_the_matrix_of_many_shows_those_who_share_most() -> None:
    one = filled_values()["pairs"][0]
    shared = {("a 2", "a 10"): 9, ("a 10", "c"): 5, ("d", "e"): 8, ("c", "d"): 1}
    pairs = [{**one, "a": a, "b": b, "n_samples": n} for (a, b), n in shared.items()]
    report = filled_report(pairs=pairs, clusters=[])
    assert annotator_order(report, 3) == ["a 2", "a 10", "c"]
    assert annotator_order(report) == ["a 2", "a 10", "c", "d", "e"]


def test_names_are_similar_only_if_annotators_give_them_to_the_same_objects() -> None:
    """Real confusions of classes that are spelled alike do not count, nor what met a few times."""
    names = ["candle", "handle", "bicycle", "bicicle", "Car", "car", "money", "monkey"]
    n = {name: k for k, name in enumerate(names)}
    met = {("candle", "handle"): 30, ("candle", "candle"): 40, ("handle", "handle"): 40, ("bicycle", "bicycle"): 300,
           ("bicycle", "bicicle"): 12, ("bicicle", "bicicle"): 1, ("Car", "car"): 10, ("money", "monkey"): 9,
           ("bicycle", "car"): 50}  # fmt: skip
    rows = np.repeat([[n[a], n[b]] for a, b in met], list(met.values()), axis=0)
    enough = [
        Confused(sorted(pair), n, n, 0.1, 0.0, 0.2, 0.0) for pair, n in met.items() if pair[0] != pair[1] and n >= 10
    ]
    found = similar_names(names, synonyms(count_codes(*rows.T), names, enough))
    assert found == [["bicicle", "bicycle"], ["Car", "car"]]
    chain = ["bicycle", "bicycles", "bicyclesx"]
    assert similar_names(chain, [*itertools.pairwise(chain)]) == [chain]


#: names, and groups of those that probably mean the same class
SPELLINGS = [
    ([], []),
    (["car", "bus"], []),
    (["car", "Car ", "bus"], [["Car ", "car"]]),
    (["traffic light", "traffic_light", "Traffic-Light", "traffic  light"],
     [["Traffic-Light", "traffic  light", "traffic light", "traffic_light"]]),
    (["trafficlight", "traffic light"], [["traffic light", "trafficlight"]]),
    (["bicycle", "bycicle"], []),  # two letters
    (["bicycle", "bicicle"], [["bicicle", "bicycle"]]),
    (["person", "persons", "Persom"], [["Persom", "person", "persons"]]),
    (["cat", "car", "cart", "cars"], []),  # short
    (["trains", "train", "trai"], [["train", "trains"]]),  # one of four letters
    (["class_01", "class_02", "class_11", "class_1"], []),
    (["class 1 2", "class 12"], []),
    (["STRASSE", "straße"], [["STRASSE", "straße"]]),
    (["_", " "], [[" ", "_"]]),
    (["aabbb", "aabb", "abbbb"], [["aabbb", "abbbb"]]),
]  # fmt: skip


def test_names_are_similar_up_to_case_separators_and_one_letter() -> None:
    for names, groups in SPELLINGS:
        for order in (names, names[::-1]):
            assert similar_spellings(order) == groups


def _one_edit(a: str, b: str) -> bool:
    """Whether one letter makes the one the other, by trying all letters in all places."""
    letters = "abcd"
    edits = {a[:k] + a[k + 1 :] for k in range(len(a))}
    edits |= {a[:k] + letter + a[k:] for k in range(len(a) + 1) for letter in letters}
    edits |= {a[:k] + letter + a[k + 1 :] for k in range(len(a)) for letter in letters}
    return b in edits


@pytest.mark.parametrize("seed", seeds(10))
def test_groups_are_those_of_trying_every_edit(seed: int) -> None:
    rng = random.Random(seed)
    names = sorted({"".join(rng.choices("abcd", k=rng.choice([4, 5, 6]))) for _ in range(60)})
    group = {name: {name} for name in names}
    for a, b in itertools.combinations(names, 2):
        if min(len(a), len(b)) >= 5 and _one_edit(a, b) and group[a] is not group[b]:
            group[a] |= group[b]
            for name in group[a]:
                group[name] = group[a]
    expected = sorted({tuple(sorted(own)) for own in group.values() if len(own) > 1})
    assert [tuple(own) for own in similar_spellings(names)] == expected

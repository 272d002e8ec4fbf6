"""Which classes are confused rests on images: shares, intervals and similar names against counting by hand."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy import stats

from tests.agreement.agreement_oracle import object_report
from tests.agreement.habits import CLASSES, Habits, simulate

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import Batch, compute_agreement_of
from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.charts.objects import class_sentence
from annotator_agreement.charts.text import clearly_confused, confusions_section, unclear_conflicts
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry import Boxes


def _report(batch: Batch, names: list[str], classes: list[str], clusters: np.ndarray | None = None) -> ObjectReport:
    return object_report(batch, make_config(names, resamples=0), classes, clusters=clusters)


@pytest.mark.parametrize("n_of_cluster", [1, 3])
def test_shares_and_intervals_are_those_of_counting_by_image(n_of_cluster: int) -> None:
    habits = [Habits("a"), Habits("b", confuses=("bus", "coach", 0.4)), Habits("c", confuses=("tram", "bicycle", 0.1))]
    batch = simulate(habits, 120, np.random.default_rng(4)).batch()
    clusters = np.arange(120) // n_of_cluster
    report = _report(batch, ["a", "b", "c"], list(CLASSES), clusters if n_of_cluster > 1 else None)
    agreement = compute_agreement_of(batch, make_config(["a", "b", "c"]))
    met: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    for i, j in zip(agreement.pairs.i.tolist(), agreement.pairs.j.tolist(), strict=True):
        said = {CLASSES[agreement.objects.category[k]] for k in (i, j)}
        if len(said) == 2:
            met[tuple(sorted(said))][clusters[agreement.objects.sample[i]]] += 1
    in_all = sum(met.values(), Counter())
    n, total = len(in_all), in_all.total()
    assert {tuple(each.classes) for each in report.confused} == {pair for pair, of in met.items() if len(of) >= 10}
    assert len(report.confused) >= 2
    for each in report.confused:
        of_pair = met[tuple(each.classes)]
        share = of_pair.total() / total
        error = np.sqrt(sum((of_pair[k] - share * in_all[k]) ** 2 for k in in_all) * n / (n - 1)) / total
        reach = stats.t.ppf(0.975, n - 1) * error
        assert (each.n, each.n_images) == (of_pair.total(), len(of_pair))
        assert (each.share, each.low, each.high) == pytest.approx((share, share - reach, share + reach))
    assert [each.low for each in report.confused] == sorted((each.low for each in report.confused), reverse=True)
    assert clearly_confused(report)[0].classes == ["bus", "coach"]


def _spelled(n_images: int, of_image: int) -> Batch:
    """Two annotators who spell one class differently: ``of_image`` objects on each of some images, beside cars."""
    sample = np.repeat(np.arange(n_images), 2 * of_image + 2)
    annotator = np.tile(np.r_[np.zeros(of_image + 1, int), np.ones(of_image + 1, int)], n_images)
    category = np.tile(np.r_[[1] * of_image, 3, [2] * of_image, 3], n_images)
    left = np.tile(np.r_[np.arange(of_image + 1), np.arange(of_image + 1)], n_images) / (of_image + 1)
    boxes = np.column_stack([left, np.zeros(len(left)), left + 0.5 / (of_image + 1), np.ones(len(left))])
    return Batch(Objects(sample, annotator, category), Boxes(boxes), np.ones((n_images, 2), np.bool_))


def test_names_are_similar_and_classes_confused_only_on_ten_images() -> None:
    classes = ["(missing)", "bicycle", "bicicle", "car"]
    enough, few = (_report(_spelled(n, 30 // n), ["a", "b"], classes) for n in (10, 6))
    assert [entry["n"] for entry in enough.class_given_match.confusion] == [30]
    assert [entry["n"] for entry in few.class_given_match.confusion] == [30]
    assert (enough.similar_names, few.similar_names) == ([["bicicle", "bicycle"]], [])
    assert [each.classes for each in enough.confused] == [["bicicle", "bicycle"]]
    assert few.confused == []
    (section,) = confusions_section(few)
    few_images = "all are between 'bicicle' and 'bicycle' (on fewer than 10 images, too few for a test)"
    assert section.parts == [f"30 conflicts: {few_images}."]
    assert f"30 pairs of labels of one object have different classes; {few_images}." in class_sentence(few)


def test_a_share_of_all_conflicts_ends_at_all() -> None:
    """24 of 25 conflicts on 13 images: 24/25 and t(12) times its error are more than 1."""
    batch = _spelled(13, 2)
    category = np.r_[batch.objects.category[:-6], 1, 1, 3, 1, 1, 1]  # only the car differs
    objects = dataclasses.replace(batch.objects, category=category)
    report = _report(
        dataclasses.replace(batch, objects=objects), ["a", "b"], ["(missing)", "bicycle", "bicicle", "car"]
    )
    (found,) = report.confused
    assert (found.n, found.share, found.high) == pytest.approx((24, 24 / 25, 1.0))


def test_most_conflicts_are_named_though_they_are_no_evidence() -> None:
    report = _report(_spelled(12, 2), ["a", "b"], ["(missing)", "bicycle", "bicicle", "car"])
    even = {("a", "b"): 2, ("a", "c"): 2}
    assert unclear_conflicts(report, even) == "those of no two classes are clearly more than by chance"
    most = unclear_conflicts(report, {("bicicle", "bicycle"): 2, ("a", "c"): 1})
    assert most == "2 of 3 are between 'bicicle' and 'bicycle' (not clearly more than by chance)"
    assert "no two classes" in unclear_conflicts(report, {("bicicle", "bicycle"): 2}, n_unlisted=2)

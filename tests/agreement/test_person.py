"""Is a model as good as a person: against runs of every two annotators alone, and simulated models."""

from __future__ import annotations

import dataclasses
from itertools import combinations

import numpy as np
import pytest

from tests.agreement import habits as habits_of
from tests.agreement.agreement_oracle import batch_of
from tests.agreement.habits import CLASSES, Habits, Simulated, context_of, person_of, simulate, with_model
from tests.agreement.interval_oracle import proportion_of_none
from tests.dataset_io.same_values import assert_same

from annotator_agreement.agreement import AgreementConfig, make_config
from annotator_agreement.agreement.matching import Batch, compute_agreement_of
from annotator_agreement.agreement.objects import sample_contents
from annotator_agreement.agreement.roles import role_reports
from annotator_agreement.agreement.statistics import PersonComparison, SideBySide
from annotator_agreement.metrics import alternative_annotator_test

TEAM = (Habits("alice", miss=0.1), Habits("bob", miss=0.15, confuses=("car", "bus", 0.2)), Habits("carol", miss=0.05))
MODEL = Habits("yolo", miss=0.2, duplicates=0.1, confuses=("bus", "tram", 0.1))
SIDES = {"small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, np.inf)}


def _config(**options: object) -> AgreementConfig:
    return make_config([habits.name for habits in TEAM], models=["yolo"], resamples=0, **options)


def _run(n_samples: int = 60, seed: int = 4) -> tuple[Simulated, Batch]:
    """Overlapping boxes on some images, nothing on others, and not everybody everywhere."""
    simulated = simulate((*TEAM, MODEL), n_samples, np.random.default_rng(seed), jitter=0.12)
    batch = simulated.batch()
    return simulated, _among(batch, np.random.default_rng(seed).random(batch.assigned.shape) < 0.85)


def _among(batch: Batch, assigned: np.ndarray) -> Batch:
    """The batch where only these are assigned."""
    kept = batch.among(assigned[batch.objects.sample, batch.objects.annotator])
    return dataclasses.replace(kept, assigned=assigned)


def _pair(batch: Batch, a: int, b: int, config: AgreementConfig) -> dict[str, np.ndarray]:
    """Labels and matches of every sample in a run of two annotators alone, by class and size."""
    alone = compute_agreement_of(habits_of.of_annotators(batch, [a, b]), config)
    objects, pairs, n = alone.objects, alone.pairs, batch.n_samples
    right = pairs.same_class
    sample, category = objects.sample[pairs.i[right]], objects.category[pairs.i[right]]
    pixels = alone.area * 640 * 480
    found = {
        "n": np.bincount(objects.sample, minlength=n),
        "right": np.bincount(sample, minlength=n),
        "iou": np.bincount(sample, pairs.iou[right], n),
    }
    for code, name in enumerate(CLASSES[1:], 1):
        found[f"n {name}"] = np.bincount(objects.sample[objects.category == code], minlength=n)
        found[f"right {name}"] = np.bincount(sample[category == code], minlength=n)
    for name in SIDES:  # the size of a matched object is that of the first annotator's label
        low, high = SIDES[name]
        of_first = pixels.copy()
        of_first[pairs.j] = pixels[pairs.i]
        own = (of_first >= low) & (of_first < high)
        found[f"n {name}"] = np.bincount(objects.sample[own], minlength=n)
        found[f"right {name}"] = np.bincount(sample[own[pairs.i[right]]], minlength=n)
    return found


def _left_out(batch: Batch, config: AgreementConfig) -> list[tuple[int, int, dict, int, dict]]:
    """Every sample, annotator left out and another one, with what the model and the one left out have with that one."""
    n = batch.assigned.shape[1] - 1
    pairs = {(a, b): _pair(batch, a, b, config) for a in range(n + 1) for b in range(n + 1) if a != b}
    found = []
    for s in range(batch.n_samples):
        there = [k for k in range(n) if batch.assigned[s, k]]
        if batch.assigned[s, n] and len(there) >= 2:
            found += [(s, j, pairs[n, k], k, pairs[j, k]) for j in there for k in there if j != k]
    return found


def _f1(entries: list, side: int, suffix: str = "", above: str = "right") -> float:
    total = sum(entry[side]["n" + suffix][entry[0]] for entry in entries)
    return sum(2 * entry[side][above + suffix][entry[0]] for entry in entries) / total if total else np.nan


def _same(entry: SideBySide, expected: list, suffix: str = "") -> None:
    values = [_f1(expected, 2, suffix), _f1(expected, 4, suffix)]
    assert (entry.model, entry.annotators) == pytest.approx(values, abs=1e-12)
    assert entry.difference == pytest.approx(values[0] - values[1], abs=1e-12)


@pytest.fixture(scope="module")
def run() -> tuple[Simulated, Batch, PersonComparison, list]:
    simulated, batch = _run()
    config = _config()
    return simulated, batch, person_of(batch, context_of(simulated, config)), _left_out(batch, config)


def test_both_sides_classes_and_sizes_are_those_of_runs_of_two_alone(run: tuple) -> None:
    _, _, person, expected = run
    _same(person.total, expected)
    assert person.total.n_samples == len({entry[0] for entry in expected})
    assert person.total.model_pq == pytest.approx(_f1(expected, 2, above="iou"), abs=1e-12)
    assert person.total.annotators_pq == pytest.approx(_f1(expected, 4, above="iou"), abs=1e-12)
    for k, entry in enumerate(person.annotators):
        assert entry.name == TEAM[k].name
        _same(entry, [row for row in expected if row[1] == k])
    _, batch, person, expected = run
    assert {entry.name for entry in person.classes} == set(CLASSES[1:])
    assert [entry.name for entry in person.sizes] == list(SIDES)
    for entry in (*person.classes, *person.sizes):
        _same(entry, expected, f" {entry.name}")
    images = {entry[0] for entry in expected}
    own = (batch.objects.annotator == 3) & np.isin(batch.objects.sample, list(images))
    assert sum(entry.n_labels for entry in person.classes) == person.total.n_labels == own.sum()
    order = [(-entry.n_labels, entry.name) for entry in person.classes]
    assert order == sorted(order)


@pytest.mark.parametrize("empty", ["skip", "agree"])
def test_the_test_is_that_of_the_metrics_on_f1_by_image(empty: str) -> None:
    simulated, batch = _run(90, 5)
    # nobody drew anything on a few images, and the model alone did on others
    sample, annotator = batch.objects.sample, batch.objects.annotator
    batch = batch.among(~((sample < 6) | ((sample < 12) & (annotator < 3))))
    config = _config(empty=empty)
    expected, n_drawn = _left_out(batch, config), np.bincount(batch.objects.sample, minlength=90)
    person = person_of(batch, context_of(simulated, config))
    scores = np.full((2, batch.n_samples, 3), np.nan)
    for s, j in {entry[:2] for entry in expected if n_drawn[entry[0]] or empty == "agree"}:
        for side, of in zip((2, 4), scores, strict=True):
            of_pairs = [_f1([row], side) for row in expected if row[:2] == (s, j)]
            of[s, j] = np.mean([1.0 if np.isnan(value) else value for value in of_pairs])
    found = alternative_annotator_test(*scores, epsilon=0.1)
    for entry, n, advantage, p_value in zip(person.left_out, found.n, found.advantage, found.p_value, strict=True):
        assert entry.n == n >= 30
        assert (entry.advantage, entry.p_value) == (pytest.approx(advantage), pytest.approx(p_value, rel=1e-9))
    assert [entry.won for entry in person.left_out] == found.won.tolist()
    assert person.tests[0].winning_rate == pytest.approx(found.winning_rate)
    assert person.advantage_probability == pytest.approx(np.mean([entry.advantage for entry in person.left_out]))


def test_the_order_of_images_that_only_the_model_labels_differently_does_not_matter() -> None:
    rng, config = np.random.default_rng(6), dataclasses.replace(_config(), resamples=20)
    boxes = [(1, 0.1, 0.1, 0.3, 0.3), (2, 0.5, 0.5, 0.9, 0.9)]
    samples = [
        {**dict.fromkeys(range(3), boxes), 3: [(1 + int(rng.random() < 0.3), 0.1, 0.1, *(0.25 + 0.1 * rng.random(2)))]}
        for _ in range(40)
    ]
    context = context_of(simulate((*TEAM, MODEL), 1, rng), config)
    roles = [
        role_reports(with_model(batch_of([samples[k] for k in order], 4), config), context, sample_contents)[0]
        for order in (range(40), rng.permutation(40))
    ]
    assert roles[0].annotators[0].intervals["mean_iou"]
    assert_same(*map(dataclasses.asdict, roles[::-1]), relative=0.0, absolute=1e-11)


@pytest.mark.parametrize(("n_samples", "verdict"), [(100, "as_well"), (60, None)])
def test_a_model_without_error_is_as_good_as_annotators_without_any_if_images_are_many(n_samples, verdict) -> None:
    """So many images may still be different, as by scipy's interval of Wilson, with any value of either side."""
    rng, config = np.random.default_rng(3), dataclasses.replace(_config(), resamples=50)
    samples = [
        {r: [(1 + k % 2, 0.3 * k, 0.1, 0.3 * k + 0.2, 0.3 + 0.02 * rng.random()) for k in range(3)] for r in range(4)}
        for _ in range(n_samples)
    ]
    context = context_of(simulate((*TEAM, MODEL), 1, rng), config)
    (role,) = role_reports(with_model(batch_of(samples, 4), config), context, sample_contents)
    total, most = role.person.total, proportion_of_none(n_samples)
    assert (total.model, total.annotators, total.difference) == (1.0, 1.0, 0.0)
    ends = {name: (interval.low, interval.high) for name, interval in total.intervals.items()}
    assert ends["model"] == ends["annotators"] == pytest.approx((1.0 - most, 1.0))
    assert (ends["difference"], role.person.verdict) == (pytest.approx((-most, most)), verdict)
    for entry in role.annotators:  # all classes are right
        interval = entry.intervals["class_accuracy"]
        assert (entry.class_accuracy, interval.low, interval.high) == (1.0, pytest.approx(1.0 - most), 1.0)


def test_few_images_give_no_test_and_nobody_is_left_out_but_who_is_alone() -> None:
    simulated, batch = _run(29)
    few = person_of(batch, context_of(simulated, _config()))
    assert (few.tests, few.advantage_probability, [entry.p_value for entry in few.left_out]) == ([], None, [None] * 3)
    assert few.total.model is not None
    simulated, batch = _run(20)
    assigned = np.ones_like(batch.assigned)
    assigned[1:, 2] = False
    person = person_of(_among(batch, assigned), context_of(simulated, _config()))
    assert [entry.name for entry in person.left_out] == simulated.names[:3]
    simulated, batch = _run(20)
    assigned = np.zeros_like(batch.assigned)
    assigned[np.arange(20), np.arange(20) % 3] = assigned[:, 3] = True
    assert person_of(_among(batch, assigned), context_of(simulated, _config())) is None


def test_the_numbers_of_annotators_do_not_change_with_a_model() -> None:
    _, batch = _run(20)
    config = _config()
    people = habits_of.of_annotators(batch, [0, 1, 2])
    alone = compute_agreement_of(people, config)
    records = with_model(batch, config)
    again = next(records.tables(config))
    for a, b in combinations(range(3), 2):
        rows = (again.sample_pairs.a == a) & (again.sample_pairs.b == b)
        assert again.pair_score[rows] == pytest.approx(alone.pair_score[rows], nan_ok=True)

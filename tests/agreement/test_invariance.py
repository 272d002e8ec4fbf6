"""What must not change a report: batches, and the order or names of anything."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.agreement.agreement_oracle import CLASS_NAMES, batch_of, config_of, random_samples, report_of
from tests.chance import seeds

from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.objects.report import ObjectReport

N_SAMPLES = 14
OPTIONS = [
    {},
    {"missing": "ignore", "empty": "agree", "classes": "require"},
    {"undefined": "one", "empty": "agree", "classes": "ignore", "similarity": "dice"},
    {"method": "recursive"},
    {"method": "mutual_best", "missing": "ignore"},
]
each_option = pytest.mark.parametrize("options", OPTIONS, ids=str)
order_independent = pytest.mark.parametrize("options", OPTIONS[:3], ids=str)


@functools.cache
def _values(seed: int, options: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The report on the random samples as values, computed once."""
    return report_of(random_samples(seed, N_SAMPLES), config_of(3, **dict(options))).to_dict()


def _assert_usual(report: ObjectReport, seed: int, options: dict) -> None:
    """A report is the one on the random samples as they are."""
    assert_same_values(report.to_dict(), _values(seed, tuple(options.items())))


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _leaves(entry, f"{path}.{key}")
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _leaves(entry, f"{path}[{place}]")
    else:
        yield path, value


def _rename(value: Any, key: str, names: dict[str, str]) -> None:
    """Give the entries of a key, anywhere, other names."""
    if isinstance(value, dict):
        if isinstance(value.get(key), str):
            value[key] = names.get(value[key], value[key])
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            _rename(entry, key, names)


def _assert_same(report: ObjectReport, expected: ObjectReport) -> None:
    """Equal; floats to 1e-12."""
    assert_same_values(report.to_dict(), expected.to_dict())


def assert_same_values(values: dict[str, Any], expected: dict[str, Any]) -> None:
    """Equal; floats to 1e-12."""
    found, wanted = dict(_leaves(values)), dict(_leaves(expected))
    assert list(found) == list(wanted)
    for path, value in wanted.items():
        if isinstance(value, float):
            assert found[path] == pytest.approx(value, rel=0, abs=1e-12), path
        else:
            assert found[path] == value, path


@each_option
@pytest.mark.parametrize("batch_size", [1, 5])
def test_batches_of_any_size_give_the_same_report(options: dict, batch_size: int) -> None:
    for seed in seeds(2):
        samples = random_samples(seed, N_SAMPLES)
        config = config_of(3, **options)
        _assert_usual(report_of(samples, config, batch_size), seed, options)


def test_batches_of_identical_samples_give_the_same_spread() -> None:
    # the variance is 0, so rounding must not show in its root
    high = 0.4665288295306796
    sample: dict = {0: [(1, 0.1, 0.2, 0.4, high)], 1: [(1, 0.11756138092241464, 0.2, 0.4351227618448293, high)]}
    config = config_of(2)
    _assert_same(report_of([sample] * 100, config, batch_size=3), report_of([sample] * 100, config))


@each_option
def test_the_order_of_samples_does_not_matter(options: dict) -> None:
    for seed in seeds(2):
        samples = random_samples(seed, N_SAMPLES)
        config = config_of(3, **options)
        order = np.random.default_rng(seed).permutation(N_SAMPLES).tolist()
        permuted = report_of([samples[k] for k in order], config).to_dict()
        _rename(permuted, "id", {str(place): str(k) for place, k in enumerate(order)})
        _assert_usual(ObjectReport.from_dict(permuted), seed, options)


@each_option
def test_the_order_of_labels_does_not_matter(options: dict) -> None:
    for seed in seeds(2):
        samples = random_samples(seed, N_SAMPLES)
        rng = np.random.default_rng(seed)
        shuffled = [
            {r: [labels[k] for k in rng.permutation(len(labels))] for r, labels in sample.items()} for sample in samples
        ]
        config = config_of(3, **options)
        _assert_usual(report_of(shuffled, config), seed, options)


def _recoded(samples: list, rename: Callable[[int], int]) -> list:
    return [
        {r: [(rename(label[0]), *label[1:]) for label in labels] for r, labels in sample.items()} for sample in samples
    ]


#: another order by name, too
RECODED = {1: 6, 2: 1, 3: 4}


@each_option
def test_the_names_of_classes_do_not_matter(options: dict) -> None:
    names = {CLASS_NAMES[old]: CLASS_NAMES[new] for old, new in RECODED.items()}
    for seed in seeds(2):
        samples = random_samples(seed, N_SAMPLES)
        config = config_of(3, resamples=0, **options)  # resamples are drawn in an order of names
        renamed = report_of(_recoded(samples, RECODED.__getitem__), config).to_dict()
        expected = report_of(samples, config).to_dict()
        for key in ("a", "b", "class", "name"):
            _rename(expected, key, names)
        for merge in expected["merges"]:
            merge["classes"] = [names[name] for name in merge["classes"]]
        for annotator in expected["annotators"]:
            annotator["classes"] = {names[name]: n for name, n in annotator["classes"].items()}
        assert_same_values(_without_order(renamed), _without_order(expected))


def _without_order(value: Any) -> Any:
    """The entries of all lists and dictionaries in an order of their own; of a pair of classes too."""
    if isinstance(value, dict):
        entries = {key: _without_order(entry) for key, entry in sorted(value.items())}
        if set(entries) == {"a", "b", "n"}:
            entries["a"], entries["b"] = sorted((entries["a"], entries["b"]))
        return entries
    if isinstance(value, list):
        return sorted((_without_order(entry) for entry in value), key=lambda entry: repr(_rounded(entry)))
    return value


def _rounded(value: Any) -> Any:
    """Without what rounding adds."""
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry) for entry in value]
    return round(value, 9) if isinstance(value, float) else value


@order_independent
@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_the_order_of_annotators_does_not_matter(options: dict, order: tuple) -> None:
    config = config_of(3, resamples=0, **options)
    for seed in seeds(2):
        samples = random_samples(seed, N_SAMPLES)
        permuted = [{order[r]: labels for r, labels in sample.items()} for sample in samples]
        first, second = (compute_agreement_of(batch_of(s, 3), config) for s in (samples, permuted))
        for name in ("score", "alpha", "iou", "dice", "n_units", "n_disputed", "n_assigned", "alpha_reason"):
            assert_allclose(getattr(second, name), getattr(first, name), rtol=0, atol=1e-12, err_msg=name)
        _assert_pairs_permuted(report_of(samples, config), report_of(permuted, config), order)


def _assert_pairs_permuted(report: ObjectReport, permuted: ObjectReport, order: tuple) -> None:
    names = [entry.name for entry in report.annotators]
    moved = {(pair.a, pair.b): pair for pair in permuted.pairs}
    for pair in report.pairs:
        a, b = (names[order[names.index(name)]] for name in (pair.a, pair.b))
        swapped = (a, b) not in moved
        other = moved[(b, a) if swapped else (a, b)]
        assert (pair.n_a, pair.n_b) == ((other.n_b, other.n_a) if swapped else (other.n_a, other.n_b))
        directions = ("b_to_a", "a_to_b", "symmetric") if swapped else ("a_to_b", "b_to_a", "symmetric")
        for name, direction in zip(("a_to_b", "b_to_a", "symmetric"), directions, strict=True):
            assert pair.mean_max_iou[name].mean == pytest.approx(other.mean_max_iou[direction].mean, rel=0, abs=1e-12)
        for name in ("n_samples", "n_matched", "score", "alpha", "f1", "class_agreement", "mean_iou", "pq", "sq", "rq"):
            assert getattr(pair, name) == pytest.approx(getattr(other, name), rel=0, abs=1e-12), name
    for name, place in zip(names, order, strict=True):
        before = next(entry for entry in report.annotators if entry.name == name)
        after = permuted.annotators[place]
        assert (before.verdicts, before.n_missed, before.classes) == (after.verdicts, after.n_missed, after.classes)


def test_the_sequential_method_is_known_to_depend_on_the_order_of_annotators() -> None:
    chain = [(1, 0.0, 0.0, 0.4, 0.1), (1, 0.1, 0.0, 0.5, 0.1), (1, 0.2, 0.0, 0.6, 0.1)]
    config = config_of(3, method="recursive")
    n_units = {
        order: report_of([{r: [chain[k]] for r, k in enumerate(order)}], config).n_units
        for order in ((0, 1, 2), (0, 2, 1))
    }
    assert n_units == {(0, 1, 2): 1, (0, 2, 1): 2}

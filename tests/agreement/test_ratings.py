"""Scores, verdicts, intervals and the reports on ratings and on tags, against loops in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.agreement.families import KINDS, Sample, computed_tags
from tests.agreement.interval_oracle import proportion_of_none
from tests.agreement.rating_oracle import NAN, entropy_of, given, majority_of, mean, random_rows, report_of, score_of
from tests.chance import seeds

from annotator_agreement.agreement import AgreementInputError, make_config
from annotator_agreement.agreement.families import ComparedRun, build_report, compare_runs
from annotator_agreement.agreement.matching import verdict_names
from annotator_agreement.agreement.ratings import compute as rating_compute
from annotator_agreement.agreement.ratings import compute_ratings, mean_and_spread
from annotator_agreement.agreement.ratings import report as report_module
from annotator_agreement.agreement.tags import record_tags
from annotator_agreement.agreement.tags import report as tag_report
from annotator_agreement.metrics import cohen_kappa, krippendorff_alpha

NAMES = ("alice", "bob", "carol", "dave")
CLASSES = ["owl", "cat", "dog", "ant"]
NUMBERS = [0.5, 1.0, 2.5, 2.6, 4.0]
each_seed = pytest.mark.parametrize("seed", seeds(6))


def config_of(**options: Any) -> Any:
    return make_config(NAMES, **options)


def _table(rows: list, values: list | None = None) -> np.ndarray:
    return np.array([[NAN if v is None else values.index(v) + 1 if values else v for v in row] for row in rows])


@each_seed
def test_scores_majorities_and_entropies_are_those_of_loops_also_within_a_tolerance(seed: int) -> None:
    rows = random_rows(seed, CLASSES)
    found = compute_ratings(_table(rows, CLASSES))
    assert_allclose(found.score, [score_of(row, str.__eq__) for row in rows], rtol=0, atol=1e-15)
    majority = [None if np.isnan(code) else CLASSES[int(code) - 1] for code in found.majority]
    assert majority == [majority_of(row) for row in rows]
    rated = [k for k, row in enumerate(rows) if given(row)]
    assert_allclose(found.entropy[rated], [entropy_of(rows[k]) for k in rated], rtol=0, atol=1e-14)
    assert found.votes.tolist() == [[row.count(v) if v is not None else 0 for v in row] for row in rows]
    rows = random_rows(seed, NUMBERS)
    for tolerance in (0.1, 0.5, 1.5):
        found = compute_ratings(_table(rows), tolerance)

        def agree(a: float, b: float, most: float = tolerance) -> bool:
            return round(abs(a - b), 9) <= most  # 2.6 and 2.5 differ by 0.1

        assert_allclose(found.score, [score_of(row, agree) for row in rows], rtol=0, atol=1e-15)
        votes = [[sum(agree(v, other) for other in given(row)) if v is not None else 0 for v in row] for row in rows]
        assert found.votes.tolist() == votes


def test_a_difference_of_exactly_the_tolerance_agrees_and_missing_numbers_are_left_out_of_means() -> None:
    for a, b, tolerance, expected in (
        (0.4, 0.3, 0.1, 1.0),  # decimals
        (3e7 + 0.1, 3e7, 0.1, 1.0),  # decimals of large numbers
        (1.0, 1.0 + 1e-12, 0.0, 0.0),  # no tolerance
        (10**12, 10**12 + 1, 0.5, 0.0),  # large integers
        (0.0, 0.1000001, 0.1, 0.0),  # just beyond
        (-1.0, 1.0, 2.0, 1.0),  # signs
    ):
        assert compute_ratings(np.array([[a, b], [b, a]]), tolerance).score.tolist() == [expected, expected]
    means, spreads = mean_and_spread(np.array([[1.0, NAN, 3.0], [NAN, NAN, 5.0], [NAN, NAN, NAN]]))
    assert_allclose(means, [2.0, 5.0, NAN])
    assert_allclose(spreads, [1.0, 0.0, NAN])


def _verdicts(rows: list, position: int) -> Counter:
    return Counter(
        "agreed" if len(set(given(row))) == 1 else "class_conflict"
        for row in rows
        if row[position] is not None and len(given(row)) >= 2
    )


@each_seed
def test_the_report_on_ratings_counts_what_loops_count(seed: int) -> None:
    rows = random_rows(seed, CLASSES)
    report = report_of(rows, config_of(), batch_size=7)
    rated = [row for row in rows if len(given(row)) >= 2]
    scores = [score_of(row, str.__eq__) for row in rated]
    assert (report.n_samples, report.n_rated, report.n_units) == (len(rows), len(rated), len(rated))
    assert report.n_objects == sum(len(given(row)) for row in rated)
    assert report.n_disputed == sum(len(set(row) - {None}) > 1 for row in rated)
    assert report.score.mean == pytest.approx(mean(scores), abs=1e-12)
    assert report.alpha.percent_agreement == report.score.mean
    meetings = [a == b for row in rated for a, b in combinations(given(row), 2)]
    assert report.score.of_meetings == pytest.approx(mean(meetings), abs=1e-12)
    full = [len(set(given(row))) == 1 for row in rated]
    assert report.share_full_agreement == pytest.approx(mean(full), abs=1e-12)
    assert report.alpha.undefined == {"one_annotator": len(rows) - len(rated)}
    for position, entry in enumerate(report.annotators):
        own = [row for row in rows if row[position] is not None]
        assert (entry.name, entry.n_assigned, entry.n_not_assigned) == (NAMES[position], len(own), 40 - len(own))
        assert entry.classes == Counter(row[position] for row in own)
        assert Counter(entry.verdicts) == _verdicts(rows, position)
        others = [row[position] == value for row in own for k, value in enumerate(row)
                  if k != position and value is not None]  # fmt: skip
        assert entry.score == pytest.approx(mean(others), abs=1e-12)
    assert [(pair.a, pair.b) for pair in report.pairs] == list(combinations(NAMES, 2))
    for pair in report.pairs:
        a, b = NAMES.index(pair.a), NAMES.index(pair.b)
        both = [(row[a], row[b]) for row in rows if row[a] is not None and row[b] is not None]
        assert pair.n_samples == len(both)
        assert pair.score == pytest.approx(mean([first == second for first, second in both]), abs=1e-12)
        assert Counter({(entry["a"], entry["b"]): entry["n"] for entry in pair.confusion}) == Counter(both)
        assert pair.n_unlisted == 0
    table = _table(rows, CLASSES)
    for pair in report_of(rows, config_of(categories=CLASSES)).pairs:
        a, b = table[:, NAMES.index(pair.a)], table[:, NAMES.index(pair.b)]
        kinds = ("identity", "linear", "quadratic")
        expected = {kind: cohen_kappa(a, b, weights=kind, categories=range(1, 5)) for kind in kinds}
        assert pair.kappa == pytest.approx(expected, abs=1e-12)


def test_the_scale_of_whole_numbers_has_every_step_unless_they_are_too_far_apart() -> None:
    rows = [[1, 1, None, 2], [7, 7, 7, 2], [2, 2, 1, 1]]
    assert report_of(rows, config_of(), numbers=True).categories == list("1234567")
    assert report_of(rows, config_of(level="ordinal"), numbers=True).categories == list("127")
    assert report_of(rows, config_of(categories=[1, 2, 7, 9]), numbers=True).categories == list("1279")
    fractions = [[0.5, 1.0, None, 1.0], [2.0, 2.0, 2.0, 0.5]]
    assert report_of(fractions, config_of(), numbers=True).categories == ["0.5", "1", "2"]
    far, near = [[0, 250], [500, 500]], [[0, 0], [199, 199]]
    config = make_config(NAMES[:2])
    assert report_of(far, config, numbers=True).categories == []
    assert len(report_of(near, config, numbers=True).categories) == 200
    assert report_of(far, make_config(NAMES[:2], level="nominal"), numbers=True).categories == ["0", "250", "500"]
    report = report_of(random_rows(6, [1, 2, 3, 7]), config_of(), numbers=True)
    assert report.level == "interval"  # whose squared differences are quadratic weights
    assert report.coefficients["krippendorff_alpha"]["quadratic"] == pytest.approx(report.alpha.pooled, abs=1e-12)


#: coefficients of irrCAC 0.4.4, which takes the values of numbers as their distances, to 5 digits
FRACTIONS = [[0, 0, 0.5], [0.5, 10, 0.5], [10, 10, None], [0, 0.5, 0], [10, 0.5, 10], [None, 0, 0], [0.5, 0.5, 0.5],
             [10, 10, 10], [0, 0, None], [0, 10, None], [None, None, 0.5]]  # fmt: skip
OF_FRACTIONS = {
    "fleiss_kappa": {"linear": 0.46347, "quadratic": 0.46671, "ordinal": 0.48937},
    "conger_kappa": {"linear": 0.47533, "quadratic": 0.478, "ordinal": 0.48957},
    "brennan_prediger": {"linear": 0.475, "quadratic": 0.47874, "ordinal": 0.49},
    "gwet_ac2": {"linear": 0.47545, "quadratic": 0.47923, "ordinal": 0.4906},
}


def test_weights_of_numbers_go_by_their_values() -> None:
    report = report_of(FRACTIONS, make_config(NAMES[:3]), numbers=True)
    for name, expected in OF_FRACTIONS.items():
        found = {kind: value for kind, value in report.coefficients[name].items() if kind != "identity"}
        assert found == pytest.approx(expected, abs=5e-6)
    kappa = report.pairs[0].kappa
    assert (kappa["linear"], kappa["quadratic"]) == pytest.approx((0.31836, 0.32408), abs=5e-6)
    assert report.coefficients["krippendorff_alpha"]["quadratic"] == pytest.approx(report.alpha.pooled, abs=1e-12)
    ranked = report_of(FRACTIONS, make_config(NAMES[:3], level="ordinal"), numbers=True)
    whole = [[None if v is None else {0: 0, 0.5: 1, 10: 2}[v] for v in row] for row in FRACTIONS]
    steps = report_of(whole, make_config(NAMES[:3]), numbers=True)
    assert ranked.coefficients["fleiss_kappa"] == pytest.approx(steps.coefficients["fleiss_kappa"], abs=1e-12)


def test_many_different_numbers_have_no_categories() -> None:
    values = np.linspace(0, 1, 300).tolist()
    rows = [[value, value + 0.001, None, value] for value in values]
    report = report_of(rows, config_of(tolerance=0.01), numbers=True)
    assert (report.categories, report.coefficients, report.alpha.pooled) == ([], {}, pytest.approx(1.0, abs=1e-4))
    assert report.score.mean == 1.0
    for pair in report.pairs:
        assert (pair.kappa, pair.scott_pi, pair.confusion, pair.n_unlisted) == ({}, None, [], 0)
    assert report.pairs[0].mean_distance == pytest.approx(0.001, abs=1e-12)
    wide = [[0, 10**6, 5, 5], [7, 7, None, None]]
    assert report_of(wide, config_of(), numbers=True).categories == []


def test_long_confusion_matrices_and_lists_of_classes_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "MAX_CONFUSIONS_OF_PAIR", 2)
    monkeypatch.setattr(report_module, "MAX_CLASSES", 3)
    rows = [["a", "a"], ["a", "a"], ["b", "c"], ["b", "c"], ["b", "c"], ["d", "d"], ["c", "e"]]
    report = report_of(rows, make_config(NAMES[:2]))
    (pair,) = report.pairs
    assert (pair.confusion, pair.n_unlisted) == ([{"a": "b", "b": "c", "n": 3}, {"a": "a", "b": "a", "n": 2}], 2)
    assert report.annotators[0].classes == {"a": 2, "b": 3, "c": 1}
    monkeypatch.setattr(rating_compute, "MAX_CATEGORIES", 3)  # of more ordered classes there are no weights
    report = report_of(random_rows(7, CLASSES), config_of(categories=CLASSES))
    names = ("krippendorff_alpha", "fleiss_kappa", "conger_kappa", "brennan_prediger", "gwet_ac1")
    assert {name: list(values) for name, values in report.coefficients.items()} == {
        each: ["identity"] for each in names
    }
    assert report.alpha.pooled is not None


@pytest.mark.parametrize("n_annotators", [2, 3, 4, 7])
def test_the_other_class_of_an_annotator_is_against_most_of_the_others(n_annotators: int) -> None:
    for numbers, values in ((False, ["ant", "bee", "cat"]), (True, [1, 2, 3.5])):
        rng = np.random.default_rng(n_annotators)
        table = rng.choice(4, (80, n_annotators), p=[0.5, 0.2, 0.1, 0.2])
        rows = [[None if k == 3 else values[k] for k in row] for row in table.tolist()]
        config = make_config([f"w{k}" for k in range(n_annotators)], resamples=0, tolerance=1.0 if numbers else 0.0)
        report = report_of(rows, config, numbers=numbers)
        assert any(entry.n_other_class for entry in report.annotators)
        for r, entry in enumerate(report.annotators):
            said = []
            for row in rows:
                others = Counter(value for k, value in enumerate(row) if k != r and value is not None)
                if row[r] is not None and others:
                    most, n = others.most_common(1)[0]
                    said += [(row[r], most)] * (n >= min(2, n_annotators - 1) and n > others.total() / 2)
            other = Counter((a, b) for a, b in said if (abs(a - b) > 1.0 if numbers else a != b))
            assert (entry.n_other_class, entry.n_majority) == (other.total(), len(said))
            assert entry.other_class == pytest.approx(other.total() / len(said))
            found = {(each["a"], each["b"]): each["n"] for each in entry.other_classes}
            assert found == {(str(a), str(b)): n for (a, b), n in other.items()}


def test_labels_without_a_class_are_named_and_without_variation_coefficients_are_undefined() -> None:
    rows = [("cat", "cat"), ("(no label)", "cat"), ("(no label)", "(no label)")]
    (said,) = report_of(rows, make_config(["ann", "ben"], resamples=0)).warnings
    assert said == ("3 labels have no class (ann 2, ben 1), which was compared as a class of its own, '(no label)'")
    assert not report_of(rows[:1], make_config(["ann", "ben"], resamples=0)).warnings
    for n, more in ((5, ""), (6, ", …")):
        config = make_config([*"abcdefg"], resamples=0)
        (said,) = report_of([("(no label)",) * n + ("cat",) * (7 - n)], config).warnings
        assert f" have no class (a 1, b 1, c 1, d 1, e 1{more}), " in said
    report = report_of(UNIFORM, config_of())
    assert report.alpha.pooled is None
    assert {value for values in report.coefficients.values() for value in values.values()} == {None}
    assert {value for pair in report.pairs for value in (*pair.kappa.values(), pair.scott_pi, pair.alpha)} == {None}
    assert report.score.mean == 1.0
    listed = report_of(UNIFORM, config_of(categories=["cat", "dog"], level="nominal")).coefficients
    expected = {"brennan_prediger": 1.0, "gwet_ac1": 1.0, "fleiss_kappa": None}
    assert {name: listed[name] for name in expected} == {name: {"identity": value} for name, value in expected.items()}
    report = report_of(UNIFORM, config_of(undefined="one"))
    assert (report.alpha.pooled, report.coefficients["krippendorff_alpha"]) == (1.0, {"identity": 1.0})
    assert [pair.alpha for pair in report.pairs] == [1.0] * 4  # all but those of bob and carol, carol and dave
    assert report_of([[None, "cat", None, None]], config_of(undefined="one")).alpha.pooled is None


UNIFORM = [["cat", "cat", None, "cat"], ["cat", None, "cat", None], [None, None, "cat", None]]


def test_the_level_follows_from_the_ratings_unless_it_is_given_and_what_does_not_fit_them_is_refused() -> None:
    for options, numbers, level in (
        ({}, False, "nominal"),
        ({}, True, "interval"),
        ({"categories": NUMBERS}, True, "ordinal"),
        ({"categories": CLASSES}, False, "ordinal"),
        ({"categories": CLASSES, "level": "nominal"}, False, "nominal"),
        ({"level": "ratio"}, True, "ratio"),
    ):
        rows = random_rows(9, NUMBERS if numbers else CLASSES)
        assert report_of(rows, config_of(**options), numbers=numbers).level == level
    for options, numbers, match in (
        ({"level": "interval"}, False, "`level` must be nominal or ordinal for classes, got 'interval'"),
        ({"level": "ratio"}, False, "`level` must be nominal or ordinal for classes, got 'ratio'"),
        ({"level": "ordinal"}, False, "got 'ordinal'; list all classes in ascending order in `categories`"),
        ({"categories": ["cat", "ant"]}, False, "must list .* got a list without 'dog', 'owl'; listed are 'cat'"),
        ({"categories": [1, 2]}, True, "must list every .*, got a list without '0.5', '2.5', '2.6', '4'"),
    ):
        rows = random_rows(8, NUMBERS if numbers else CLASSES)
        with pytest.raises(AgreementInputError, match=match):
            report_of(rows, config_of(**options), numbers=numbers)


OF_NUMBERS = KINDS["numbers"]
#: numbers that have an interval where alpha has none
OF_SAMPLES = {"score.mean", "score.of_meetings", "share_full_agreement"}


def _of_table(table: np.ndarray) -> list[Sample]:
    return [dict(enumerate(row)) for row in table.tolist()]


def test_an_interval_does_not_depend_on_the_unit_of_numbers() -> None:
    samples = OF_NUMBERS.samples(7, 70)
    report = OF_NUMBERS.report(samples, resamples=300)
    for factor, shift in ((1e-6, 0.0), (1e9, 1e12), (-3.0, 0.0)):
        scaled = [{r: factor * value + shift for r, value in sample.items()} for sample in samples]
        other = OF_NUMBERS.report(scaled, resamples=300)
        assert other.alpha.pooled == pytest.approx(report.alpha.pooled, abs=1e-6)
        # the order of resampling is one of values, so that only the width is alike
        error = report.intervals["alpha.pooled"].error
        assert other.intervals["alpha.pooled"].error == pytest.approx(error, rel=0.35)


@pytest.mark.parametrize("undefined", ["none", "one"])
def test_ratings_without_variation_have_no_interval_of_alpha_and_a_binomial_one_of_shares(undefined: str) -> None:
    for kind in ("classes", "numbers"):
        intervals = KINDS[kind].report(_of_table(np.ones((60, 3))), undefined=undefined).intervals
        assert set(intervals) == OF_SAMPLES
        for interval in intervals.values():
            assert interval.low == pytest.approx(1 - proportion_of_none(60), abs=1e-12)
            assert (interval.high, interval.error, interval.n) == (1, 0, 60)


def test_the_alpha_of_very_many_different_ratios_has_no_interval() -> None:
    samples = _of_table(np.random.default_rng(0).gamma(2.0, size=(400, 3)))
    assert set(OF_NUMBERS.report(samples, level="ratio").intervals) == OF_SAMPLES
    context, runs = OF_NUMBERS.context(level="ratio"), []
    for each in (samples, [{**sample, 0: sample[1]} for sample in samples]):
        records = OF_NUMBERS.record(each, context.config)
        runs.append(ComparedRun(records, context, np.arange(400)))
    compared = compare_runs(*runs, lambda rows: [{} for _ in rows], None, resamples=20, seed=0).numbers["alpha.pooled"]
    alphas = [build_report(run.records, context).alpha.pooled for run in runs]
    assert (compared.a, compared.b, compared.interval) == (*alphas, None)
    assert compared.difference == pytest.approx(alphas[1] - alphas[0])
    assert "alpha.pooled" in OF_NUMBERS.report(samples, level="interval").intervals


OF_TAGS = KINDS["tags"]
TAGS = range(1, 1 + len(OF_TAGS.classes))


def _random(seed: int, n_samples: int = 30) -> list[Sample]:
    return OF_TAGS.samples(seed, n_samples)


def _sets(sample: Sample) -> list[set[int]]:
    return [set(sample[r]) for r in sorted(sample)]


def _jaccard(a: set, b: set) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def _verdict(tag: int, sample: Sample) -> str | None:
    sets = _sets(sample)
    votes = sum(tag in tags for tags in sets)
    if len(sets) < 2:
        return None
    return "agreed" if votes == len(sets) else "lone" if votes == 1 else "missed"


@each_seed
def test_the_report_on_tags_counts_what_loops_count(seed: int) -> None:
    samples = _random(seed)
    found = computed_tags(samples)
    expected = [mean([_jaccard(a, b) for a, b in combinations(_sets(sample), 2)]) for sample in samples]
    assert_allclose(found.score, expected, rtol=0, atol=1e-14)
    assert found.n_annotators.tolist() == [len(_sets(sample)) for sample in samples]
    assert record_tags(found).column("n_units").tolist() == [len(set().union(*_sets(sample))) for sample in samples]
    labels = [(k, tag) for k, sample in enumerate(samples) for r in sorted(sample) for tag in sample[r]]
    verdicts = verdict_names(found.verdict[found.of_label]).tolist()
    assert verdicts == [_verdict(tag, samples[k]) for k, tag in labels]
    assert found.votes[found.of_label].tolist() == [sum(tag in tags for tags in _sets(samples[k])) for k, tag in labels]
    disputed = [{tag for k, tag in labels if k == n and _verdict(tag, sample) in ("missed", "lone")}
                for n, sample in enumerate(samples)]  # fmt: skip
    assert record_tags(found).column("n_disputed").tolist() == [len(tags) for tags in disputed]
    report = OF_TAGS.report(samples, batch_size=7)
    rated = [sample for sample in samples if len(_sets(sample)) >= 2]
    assert (report.n_samples, report.n_rated) == (len(samples), len(rated))
    assert report.n_objects == sum(len(tags) for sample in rated for tags in _sets(sample))
    assert report.n_disputed == sum(len(set(map(frozenset, _sets(sample)))) > 1 for sample in rated)
    meetings = [_jaccard(a, b) for sample in rated for a, b in combinations(_sets(sample), 2)]
    assert report.score.of_meetings == pytest.approx(mean(meetings), abs=1e-12)
    full = [len(set(map(frozenset, _sets(sample)))) == 1 for sample in rated]
    assert report.share_full_agreement == pytest.approx(mean(full), abs=1e-12)
    equal = [mean([float(a == b) for a, b in combinations(_sets(sample), 2)]) for sample in rated]
    assert report.alpha.percent_agreement == pytest.approx(mean(equal), abs=1e-12)
    for pair in report.pairs:
        a, b = NAMES[:3].index(pair.a), NAMES[:3].index(pair.b)
        both = [(set(s[a]), set(s[b])) for s in samples if a in s and b in s]
        assert pair.n_samples == len(both)
        assert pair.score == pytest.approx(mean([_jaccard(*sets) for sets in both]), abs=1e-12)
        assert pair.same_tags == pytest.approx(mean([first == second for first, second in both]), abs=1e-12)
    for position, entry in enumerate(report.annotators):
        own = [(sample, set(sample[position])) for sample in samples if position in sample]
        assert (entry.n_assigned, entry.n_not_assigned) == (len(own), len(samples) - len(own))
        assert entry.n_gave_nothing == sum(not tags for _, tags in own)
        assert entry.classes == Counter(OF_TAGS.classes[tag - 1] for _, tags in own for tag in tags)
        assert entry.n_objects == sum(len(tags) for _, tags in own)
        verdicts = Counter(_verdict(tag, sample) for sample, tags in own for tag in tags)
        assert Counter(entry.verdicts) == Counter({name: n for name, n in verdicts.items() if name})
        missed = [tag for sample, tags in own for tag in TAGS
                  if tag not in tags and sum(tag in other for other in _sets(sample)) >= 2]  # fmt: skip
        assert entry.n_missed == len(missed)
        others = [_jaccard(tags, set(sample[k])) for sample, tags in own for k in sample if k != position]
        assert entry.score == pytest.approx(mean(others), abs=1e-12)
    found = {entry.tag: entry for entry in OF_TAGS.report(samples, batch_size=5).tags}
    rated = [sample for sample in samples if len(_sets(sample)) >= 2]
    for tag, name in enumerate(OF_TAGS.classes[:4], 1):  # nobody gave the last one
        on = [[tag in tags for tags in _sets(sample)] for sample in rated]
        there = [votes for votes in on if any(votes)]
        assert (found[name].n_samples, found[name].n_agreed) == (len(there), sum(map(all, there)))
        assert found[name].votes == sum(map(sum, there))
        assert found[name].share == pytest.approx(sum(map(sum, there)) / sum(map(len, there)), abs=1e-12)
        table = np.array([[float(tag in sample[r]) if r in sample else NAN for r in range(3)] for sample in rated])
        assert found[name].alpha == pytest.approx(krippendorff_alpha(table), abs=1e-12)
    frequencies = [entry.n_samples for entry in found.values()]
    assert frequencies == sorted(frequencies, reverse=True)


def test_no_tag_is_an_answer_and_without_variation_alpha_is_what_the_user_says() -> None:
    found = computed_tags([{0: [], 1: []}, {0: [], 1: [2]}, {0: []}])
    assert_allclose(found.score, [1.0, 0.0, NAN])
    assert found.n_annotators.tolist() == [2, 2, 1]
    alone = computed_tags([{}])
    assert (alone.n_annotators.tolist(), record_tags(alone).column("n_units").tolist()) == ([0], [0])
    samples: list[Sample] = [{0: [2], 1: [2]}, {0: [2], 2: [2]}]
    assert (OF_TAGS.report(samples).alpha.pooled, [tag.alpha for tag in OF_TAGS.report(samples).tags]) == (None, [None])
    report = OF_TAGS.report(samples, undefined="one")
    assert (report.alpha.pooled, report.tags[0].alpha) == (1.0, 1.0)
    assert OF_TAGS.report([{0: [2]}], undefined="one").alpha.pooled is None


@pytest.mark.parametrize("batch_size", [0, 1, 3])
def test_too_many_different_sets_are_not_compared(monkeypatch: pytest.MonkeyPatch, batch_size: int) -> None:
    samples = _random(5)
    different = {frozenset(tags) for sample in samples for tags in _sets(sample) if len(_sets(sample)) >= 2}
    monkeypatch.setattr(tag_report, "MAX_DIFFERENT_SETS", len(different))
    assert not OF_TAGS.report(samples, batch_size=batch_size).too_many_sets
    monkeypatch.setattr(tag_report, "MAX_DIFFERENT_SETS", len(different) - 1)
    report = OF_TAGS.report(samples, undefined="one", batch_size=batch_size)
    assert report.too_many_sets
    assert report.alpha.pooled is None
    assert report.tags
    report.print_report()


ALWAYS = {"score.mean", "score.of_meetings", "share_full_agreement", "alpha.percent_agreement"}


def test_sets_of_which_very_many_differ_and_no_tags_have_no_interval_of_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    report = OF_TAGS.report([dict.fromkeys(sample, ()) for sample in _random(4, 70)])
    # scores are no shares of things here, and never vary
    assert set(report.intervals) == ALWAYS - {"score.mean", "score.of_meetings"}
    for each in report.intervals.values():
        assert (each.low, each.high) == pytest.approx((1 - proportion_of_none(report.n_rated), 1), abs=1e-12)
    monkeypatch.setattr(tag_report, "MAX_RESAMPLED_SETS", 5)
    assert set(OF_TAGS.report(_random(3, 70)).intervals) == ALWAYS

"""Scores, verdicts and the report on tags, against loops over Python sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.agreement.interval_oracle import proportion_of_none
from tests.agreement.rating_oracle import NAN, mean
from tests.chance import seeds

from annotator_agreement.agreement import AgreementConfig, make_config
from annotator_agreement.agreement.matching import verdict_names
from annotator_agreement.agreement.statistics import ReportContext, RunFacts
from annotator_agreement.agreement.tags import TagAgreement, TagReport, build_tag_report, compute_tags, record_tags
from annotator_agreement.agreement.tags import report as numbers
from annotator_agreement.metrics import krippendorff_alpha

NAMES = ("alice", "bob", "carol", "dave")
TAGS = ["night", "rain", "crowd", "snow", "fog"]
#: the tags that every annotator gave to a sample, None where they were not assigned
Sample = Sequence[list[str] | None]
each_seed = pytest.mark.parametrize("seed", seeds(6))


def _computed(samples: Sequence[Sample]) -> TagAgreement:
    rows = [
        (k, position, TAGS.index(tag) + 1)
        for k, sample in enumerate(samples)
        for position, tags in enumerate(sample)
        for tag in tags or ()
    ]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return compute_tags(*columns, np.array([[tags is not None for tags in sample] for sample in samples]))


def _report(samples: Sequence[Sample], config: AgreementConfig, batch_size: int = 0) -> TagReport:
    size = batch_size or len(samples)
    total: Any = None
    for start in range(0, len(samples), size):
        agreement = _computed(samples[start : start + size])
        part = record_tags(agreement)
        total = part if total is None else total + part
    return build_tag_report(total, ReportContext(config, config.annotators, ["(missing)", *TAGS], ["tags"], RunFacts()))


def _config(**options: Any) -> AgreementConfig:
    return make_config(NAMES, **options)


def _random(seed: int, n_samples: int = 30) -> list[list[list[str] | None]]:
    """Tags of annotators who mostly agree; some not assigned, some sets empty, some tags given twice."""
    rng = np.random.default_rng(seed)
    samples = []
    for _ in range(n_samples):
        truth = rng.random(len(TAGS)) < 0.4
        sample: list[list[str] | None] = []
        for _ in NAMES:
            if rng.random() < 0.2:
                sample.append(None)
                continue
            seen = truth ^ (rng.random(len(TAGS)) < 0.15)
            given = [tag for tag, there in zip(TAGS, seen, strict=True) if there]
            sample.append(given + given[:1] * int(rng.random() < 0.2))
        samples.append(sample)
    return samples


def _sets(sample: Sample) -> list[set[str]]:
    return [set(tags) for tags in sample if tags is not None]


def _jaccard(a: set, b: set) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


def _verdict(tag: str, sample: Sample) -> str | None:
    sets = _sets(sample)
    votes = sum(tag in tags for tags in sets)
    if len(sets) < 2:
        return None
    return "agreed" if votes == len(sets) else "lone" if votes == 1 else "missed"


def _labels(samples: Sequence[Sample]) -> list[tuple[int, int, str]]:
    return [(k, position, tag) for k, sample in enumerate(samples) for position, tags in enumerate(sample)
            for tag in tags or ()]  # fmt: skip


@each_seed
def test_scores_votes_and_verdicts_are_those_of_loops(seed: int) -> None:
    samples = _random(seed)
    found = _computed(samples)
    expected = [mean([_jaccard(a, b) for a, b in combinations(_sets(sample), 2)]) for sample in samples]
    assert_allclose(found.score, expected, rtol=0, atol=1e-14)
    assert found.n_annotators.tolist() == [len(_sets(sample)) for sample in samples]
    assert record_tags(found).column("n_units").tolist() == [len(set().union(*_sets(sample))) for sample in samples]
    labels = _labels(samples)
    assert _verdicts_of(found) == [_verdict(tag, samples[k]) for k, _, tag in labels]
    assert found.votes[found.of_label].tolist() == [
        sum(tag in tags for tags in _sets(samples[k])) for k, _, tag in labels
    ]
    disputed = [{tag for k, _, tag in labels if k == n and _verdict(tag, sample) in ("missed", "lone")}
                for n, sample in enumerate(samples)]  # fmt: skip
    assert record_tags(found).column("n_disputed").tolist() == [len(tags) for tags in disputed]


def _verdicts_of(found: TagAgreement) -> list[str | None]:
    names: list[str | None] = verdict_names(found.verdict[found.of_label]).tolist()
    return names


@each_seed
def test_the_report_counts_what_loops_count(seed: int) -> None:
    samples = _random(seed)
    report = _report(samples, _config(), batch_size=7)
    rated = [sample for sample in samples if len(_sets(sample)) >= 2]
    assert (report.n_samples, report.n_rated) == (len(samples), len(rated))
    assert report.n_objects == sum(len(tags) for sample in rated for tags in _sets(sample))
    assert report.n_disputed == sum(len(set(map(frozenset, _sets(sample)))) > 1 for sample in rated)
    equal = [mean([float(a == b) for a, b in combinations(_sets(sample), 2)]) for sample in rated]
    assert report.alpha.percent_agreement == pytest.approx(mean(equal), abs=1e-12)
    for pair in report.pairs:
        a, b = NAMES.index(pair.a), NAMES.index(pair.b)
        both = [(set(s[a]), set(s[b])) for s in samples if s[a] is not None and s[b] is not None]
        assert pair.n_samples == len(both)
        assert pair.score == pytest.approx(mean([_jaccard(*sets) for sets in both]), abs=1e-12)
        assert pair.same_tags == pytest.approx(mean([first == second for first, second in both]), abs=1e-12)
    for position, entry in enumerate(report.annotators):
        own = [(sample, set(sample[position])) for sample in samples if sample[position] is not None]
        assert (entry.n_assigned, entry.n_not_assigned) == (len(own), len(samples) - len(own))
        assert entry.n_gave_nothing == sum(not tags for _, tags in own)
        assert entry.classes == Counter(tag for _, tags in own for tag in tags)
        assert entry.n_objects == sum(len(tags) for _, tags in own)
        verdicts = Counter(_verdict(tag, sample) for sample, tags in own for tag in tags)
        assert Counter(entry.verdicts) == Counter({name: n for name, n in verdicts.items() if name})
        missed = [tag for sample, tags in own for tag in TAGS
                  if tag not in tags and sum(tag in other for other in _sets(sample)) >= 2]  # fmt: skip
        assert entry.n_missed == len(missed)
        others = [_jaccard(tags, set(other)) for sample, tags in own for k, other in enumerate(sample)
                  if k != position and other is not None]  # fmt: skip
        assert entry.score == pytest.approx(mean(others), abs=1e-12)


@each_seed
def test_every_tag_is_counted_and_has_the_alpha_of_its_presence(seed: int) -> None:
    samples = _random(seed)
    found = {entry.tag: entry for entry in _report(samples, _config(), batch_size=5).tags}
    rated = [sample for sample in samples if len(_sets(sample)) >= 2]
    for tag in TAGS:
        on = [[tag in tags for tags in _sets(sample)] for sample in rated]
        there = [votes for votes in on if any(votes)]
        assert (found[tag].n_samples, found[tag].n_agreed) == (len(there), sum(map(all, there)))
        assert found[tag].votes == sum(map(sum, there))
        assert found[tag].share == pytest.approx(sum(map(sum, there)) / sum(map(len, there)), abs=1e-12)
        table = np.array([[NAN if tags is None else float(tag in tags) for tags in sample] for sample in rated])
        assert found[tag].alpha == pytest.approx(krippendorff_alpha(table), abs=1e-12)
    frequencies = [entry.n_samples for entry in found.values()]
    assert frequencies == sorted(frequencies, reverse=True)


def test_no_tag_is_an_answer_and_without_variation_alpha_is_what_the_user_says() -> None:
    found = _computed([[[], [], None, None], [[], ["rain"], None, None], [[], None, None, None]])
    assert_allclose(found.score, [1.0, 0.0, NAN])
    assert found.n_annotators.tolist() == [2, 2, 1]
    alone = _computed([[None] * 4])
    assert (alone.n_annotators.tolist(), record_tags(alone).column("n_units").tolist()) == ([0], [0])
    samples: list[Sample] = [[["rain"], ["rain"], None, None], [["rain"], None, ["rain"], ["rain"]]]
    assert _report(samples, _config()).alpha.pooled is None
    assert _report(samples, _config(undefined="one")).alpha.pooled == 1.0
    assert _report([[["rain"], None, None, None]], _config(undefined="one")).alpha.pooled is None


@pytest.mark.parametrize("batch_size", [0, 1, 3])
def test_too_many_different_sets_are_not_compared(monkeypatch: pytest.MonkeyPatch, batch_size: int) -> None:
    samples = _random(5)
    different = {frozenset(tags) for sample in samples for tags in _sets(sample) if len(_sets(sample)) >= 2}
    monkeypatch.setattr(numbers, "MAX_DIFFERENT_SETS", len(different))
    assert not _report(samples, _config(), batch_size).too_many_sets
    monkeypatch.setattr(numbers, "MAX_DIFFERENT_SETS", len(different) - 1)
    report = _report(samples, _config(undefined="one"), batch_size)
    assert report.too_many_sets
    assert report.alpha.pooled is None
    assert report.tags
    report.print_report()


OF_SAMPLES = {"score.mean", "share_full_agreement", "alpha.percent_agreement"}


def test_sets_of_which_very_many_differ_have_no_interval_of_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "MAX_RESAMPLED_SETS", 5)
    assert set(_report(_random(3, 70), _config()).intervals) == OF_SAMPLES


def test_no_tags_have_intervals_too() -> None:
    report = _report([[tags and [] for tags in sample] for sample in _random(4, 70)], _config())
    assert set(report.intervals) == OF_SAMPLES - {"score.mean"}  # it is no share of things, and never varies
    for each in report.intervals.values():
        assert (each.low, each.high) == pytest.approx((1 - proportion_of_none(report.n_rated), 1), abs=1e-12)

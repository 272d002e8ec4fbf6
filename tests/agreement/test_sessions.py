"""Sessions of one person in a report on objects."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agreement.agreement_oracle import (
    NAMES,
    Sample,
    alpha_of,
    batch_of,
    drawn,
    random_samples,
    report_of,
    units_of,
)
from tests.agreement.found import assigned_pairs, mean, same
from tests.chance import seeds

from annotator_agreement.agreement import AgreementConfig, make_config
from annotator_agreement.agreement.matching import compute_agreement_of

#: alice labelled twice, and so did carol
PERSONS = {"alice": "alice", "bob": "alice", "carol": "carol", "dave": "carol"}


def pair_rows(samples: list[Sample], config: AgreementConfig, a: int, b: int) -> list[list[float]]:
    """The two ratings of every unit that alpha of a pair counts."""
    units = units_of(samples, compute_agreement_of(batch_of(samples, 4), config))
    missing = 0.0 if config.missing == "category" else np.nan
    shared = {s for s, sample in enumerate(samples) if a in sample and b in sample}
    rows = [
        [unit.members[r][0] if r in unit.members else missing for r in (a, b)]
        for unit in units
        if unit.sample in shared and (a in unit.members or b in unit.members)
    ]
    if config.empty == "agree":
        rows += [[missing, missing] for s in shared if not drawn(samples[s])]
    return rows


@pytest.mark.parametrize("rules", [{}, {"missing": "ignore"}, {"empty": "agree", "undefined": "one"}], ids=str)
@pytest.mark.parametrize("seed", seeds(3))
def test_sessions_of_one_person_are_apart_from_different_persons(seed: int, rules: dict) -> None:
    samples = random_samples(seed, n_samples=40, n_annotators=4)
    config = make_config(NAMES, annotators=PERSONS, **rules)
    report = report_of(samples, config)
    sessions = report.sessions
    assert sessions is not None
    names = list(config.annotators)
    kinds: dict[bool, list] = {True: [], False: []}
    rows: dict[bool, list[list[float]]] = {True: [], False: []}
    for pair in report.pairs:
        a, b = names.index(pair.a), names.index(pair.b)
        intra = (a, b) in ((0, 1), (2, 3))
        assert pair.intra == intra
        kinds[intra].append(pair)
        rows[intra] += pair_rows(samples, config, a, b)
    assert (sessions.n_intra_pairs, sessions.n_inter_pairs) == (2, 4)
    for kind, name in ((True, "intra"), (False, "inter")):
        alpha = alpha_of(np.array(rows[kind]), config.undefined)
        same(getattr(sessions, f"{name}_alpha"), alpha)
        for number in ("score", "f1", "mean_iou"):
            same(getattr(sessions, f"{name}_{number}"), mean([getattr(pair, number) for pair in kinds[kind]]))
    assert [entry.person for entry in report.annotators] == ["alice", "alice", "carol", "carol"]
    assert [entry.name for entry in report.annotators] == [
        "alice (alice)", "alice (bob)", "carol (carol)", "carol (dave)"
    ]  # fmt: skip


def test_the_headline_numbers_are_those_of_all_annotators() -> None:
    samples = random_samples(0, n_samples=30, n_annotators=4)
    named = report_of(samples, make_config(NAMES, annotators=PERSONS))
    plain = report_of(samples, make_config(NAMES))
    assert plain.sessions is None
    assert {pair.intra for pair in plain.pairs} == {False}
    assert (named.alpha, named.score, named.existence) == (plain.alpha, plain.score, plain.existence)


def test_a_person_who_repeats_every_label_agrees_with_himself_and_not_with_others() -> None:
    samples: list[Sample] = [
        {0: [(1, 0.1, 0.1, 0.3, 0.3)], 1: [(1, 0.1, 0.1, 0.3, 0.3)], 2: [(2, 0.1, 0.1, 0.3, 0.3)]},
        {0: [(2, 0.5, 0.1, 0.8, 0.3)], 1: [(2, 0.5, 0.1, 0.8, 0.3)], 2: []},
    ]
    assert [len(assigned_pairs(sample)) for sample in samples] == [3, 3]
    report = report_of(samples, make_config(NAMES, annotators={"alice": "alice", "bob": "alice"}))
    assert report.sessions is not None
    assert (report.sessions.intra_alpha, report.sessions.intra_score, report.sessions.intra_f1) == (1.0, 1.0, 1.0)
    assert (report.sessions.n_intra_pairs, report.sessions.n_inter_pairs) == (1, 2)
    assert report.sessions.inter_score == 0.0
    assert [entry.person for entry in report.annotators] == ["alice", "alice", None, None]

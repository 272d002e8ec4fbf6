"""What disputed objects cost, who left out what, and why samples are disputed, by loops over units."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from tests.agreement.agreement_oracle import CLASS_NAMES, NAMES, batch_of, context_of, records_of
from tests.agreement.found import N_ANNOTATORS, Found, each_case, found

from annotator_agreement.agreement.disputes import (
    Disputes,
    SoughtUnits,
    costly_objects,
    disputed_by_class,
    disputes_of,
    left_out,
)
from annotator_agreement.agreement.families import FAMILIES
from annotator_agreement.agreement.objects import ObjectRecords
from annotator_agreement.charts.reports import object_reasons


def _records(case: Found) -> ObjectRecords:
    return records_of(batch_of(case.samples, N_ANNOTATORS), case.config)


@each_case
def test_a_sample_costs_what_its_pairs_of_annotators_miss_misname_and_draw_differently(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    expected = np.zeros(len(case.samples))
    for unit in case.rated_units:
        for a, b in combinations(case.samples[unit.sample], 2):
            one, other = unit.members.get(a), unit.members.get(b)
            if one and other:
                expected[unit.sample] += 2 * (1 - unit.iou(a, b) if one[0] == other[0] else 1)
            elif one or other:
                expected[unit.sample] += 1
    records = _records(case)
    np.testing.assert_allclose(FAMILIES[records.family].costs(records), expected, atol=1e-9)
    # and so the costs of all samples are what the pairs lack to a score of 1
    lack = sum((pair.n_a + pair.n_b) * (1.0 - pair.pq) for pair in case.report.pairs if pair.pq is not None)
    np.testing.assert_allclose(expected.sum(), lack)


@each_case
def test_who_left_out_what_is_counted_by_class(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    of_classes = left_out(_records(case), len(CLASS_NAMES), range(N_ANNOTATORS))
    missed, lone = np.zeros((2, len(CLASS_NAMES), N_ANNOTATORS), np.int64)
    for unit in case.rated_units:
        classes = {label[0] for label in unit.members.values()}
        if len(unit.members) == 1:
            ((annotator, label),) = unit.members.items()
            lone[label[0], annotator] += 1
            continue
        for annotator in set(case.samples[unit.sample]) - set(unit.members):
            missed[list(classes), annotator] += 1
    assert of_classes.missed.tolist() == missed.tolist()
    assert of_classes.lone.tolist() == lone.tolist()


@each_case
def test_objects_cost_what_their_pairs_of_annotators_lack_and_disputed_ones_are_counted_by_class(
    seed: int, rules: dict
) -> None:
    case = found(seed, rules)
    costs: Counter[tuple[int, int]] = Counter()
    objects, disputed = np.zeros((2, len(CLASS_NAMES)), np.int64)
    for unit in case.rated_units:
        pairs = [(unit.members.get(a), unit.members.get(b)) for a, b in combinations(case.samples[unit.sample], 2)]
        cost = sum(2 * (one[0] != other[0]) if one and other else bool(one or other) for one, other in pairs)
        costs[unit.sample, cost] += cost > 0
        classes = list({label[0] for label in unit.members.values()})
        objects[classes] += 1
        disputed[classes] += cost > 0
    costly = costly_objects(_records(case), SoughtUnits())
    assert dict(zip(zip(costly.row.tolist(), costly.cost.tolist(), strict=True), costly.n, strict=True)) == +costs
    assert costly.cost.tolist() == sorted(costly.cost, reverse=True)
    by_class = disputed_by_class(_records(case), len(CLASS_NAMES))
    assert [each.tolist() for each in by_class] == [objects.tolist(), disputed.tolist()]


@each_case
def test_the_disputes_of_a_sample_are_its_objects(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    for sample, disputes in enumerate(disputes_of(_records(case), context_of(case.config))):
        own = [unit for unit in case.rated_units if unit.sample == sample]
        lone = Counter(NAMES[next(iter(unit.members))] for unit in own if len(unit.members) == 1)
        left = {id(unit): set(case.samples[sample]) - set(unit.members) for unit in own if len(unit.members) > 1}
        assert disputes.lone == lone
        assert disputes.missed == Counter(NAMES[annotator] for who in left.values() for annotator in who)
        assert disputes.n_missed == sum(map(bool, left.values()))
        classes, other = Counter(), Counter()
        for unit in own:
            said = {NAMES[who]: CLASS_NAMES[label[0]] for who, label in unit.members.items()}
            most = [name for name in said.values() if list(said.values()).count(name) > len(said) / 2]
            other.update((who, name, most[0]) for who, name in said.items() if most and name != most[0])
            classes[tuple(sorted(set(said.values())))] += len(set(said.values())) > 1 and not most
        assert (disputes.classes, disputes.other_classes) == (+classes, other)


def test_reasons_name_annotators_and_classes_the_most_frequent_first() -> None:
    case = found(1, {})
    reasons = object_reasons(_records(case), context_of(case.config))
    assert max(len(reason) for reason in reasons) > 40
    for reason, disputes in zip(reasons, disputes_of(_records(case), context_of(case.config)), strict=True):
        assert bool(reason) == bool(disputes.n_disputed or disputes.drawn_iou is not None)
        parts = re.sub(r"\([^)]*\)", "", reason).removeprefix("drawn differently ").lstrip(", ").split(", ")
        counts = [int(part.split()[0]) for part in parts if part and not part.endswith(" more")]
        assert counts == sorted(counts, reverse=True)
        assert len(counts) <= 3


def test_who_is_behind_disputes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from annotator_agreement.charts.reports import families

    told = [
        Disputes(Counter(carol=7), Counter(bob=2), 2, Counter({("cat", "dog"): 3}), Counter(), 0, 12),
        Disputes(Counter(a=1, b=2, c=1), Counter(a=2, b=2), 3, Counter(), Counter(), 1, 7),
        Disputes(other_classes=Counter({("a", "dog", "cat"): 3, ("b", "dog", "cat"): 1, ("b", "cow", "cat"): 2})),
    ]
    monkeypatch.setattr(families, "disputes_of", lambda *_: told)
    case = found(0, {})
    assert object_reasons(_records(case), context_of(case.config)) == [
        "7 lone (carol), 3 called cat or dog, 2 missed (bob)",
        "4 lone (b 2, a 1, others), 3 missed (a 2, b 2), 1 with different attributes",
        "4 cat called dog (a 3, b 1), 2 cat called cow (b)",
    ]

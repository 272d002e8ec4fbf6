"""A crowd region over an object: its annotator counts as not assigned to the object; against loops over units."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from tests.agreement.agreement_oracle import CLASS_NAMES, NAMES, alpha_of, config_of, mean
from tests.agreement.found import share

from annotator_agreement.agreement.matching.batch import Batch
from annotator_agreement.agreement.matching.compute import compute_agreement_of
from annotator_agreement.agreement.matching.verdicts import NO_VERDICT, VERDICTS
from annotator_agreement.agreement.objects.build import build_object_report
from annotator_agreement.agreement.objects.records import record
from annotator_agreement.agreement.statistics.report import ReportContext, RunFacts
from annotator_agreement.metrics import Objects
from annotator_agreement.metrics.geometry.boxes import Boxes

N_ANNOTATORS = 4
NAN = float("nan")


def random_case(seed, n_samples=25):
    """Rows (sample, annotator, class, box, is a crowd region), sorted, and who was assigned."""
    rng = np.random.default_rng(seed)
    assigned = rng.random((n_samples, N_ANNOTATORS)) < 0.9
    rows = []
    for sample in range(n_samples):
        true = [
            (rng.integers(0, 40, 2), rng.integers(5, 12, 2), int(rng.integers(1, 4))) for _ in range(rng.integers(0, 6))
        ]
        for annotator in np.flatnonzero(assigned[sample]).tolist():
            for corner, size, kind in true:
                given = int(rng.integers(1, 4)) if rng.random() < 0.15 else kind
                if rng.random() < 0.65:
                    low = corner + rng.integers(-1, 2, 2)
                    rows.append((sample, annotator, given, *low, *(low + size), 0))
                elif rng.random() < 0.5:  # a region instead, which may cover its neighbours too
                    low = corner - rng.integers(0, 8, 2)
                    rows.append((sample, annotator, 1, *low, *(low + size + 8), 1))
    return np.array(rows, float).reshape(-1, 8), assigned


def batch_of(rows, assigned, crowd=True):
    objects = Objects(*rows[:, :3].astype(np.int64).T)
    return Batch(objects, Boxes(rows[:, 3:7]), assigned, rows[:, 7] > 0 if crowd else None)


def inside(box, region):
    """Intersection over the smaller area."""
    width = min(box[2], region[2]) - max(box[0], region[0])
    height = min(box[3], region[3]) - max(box[1], region[1])
    areas = [(b[2] - b[0]) * (b[3] - b[1]) for b in (box, region)]
    return max(width, 0) * max(height, 0) / min(areas)


def iou(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return shared / (sum(areas) - shared)


class Unit:
    """The members of one physical object by annotator, and who was asked about it."""

    def __init__(self, sample, members, rows, assigned, without=None):
        self.sample = sample
        self.members = members  # row by annotator
        self.kind = {who: int(rows[row, 2]) for who, row in members.items()}
        self.box = {who: rows[row, 3:7].tolist() for who, row in members.items()}
        regions = rows[(rows[:, 0] == sample) & (rows[:, 7] > 0)]
        self.asked = set()
        self.excused = set()
        for who in np.flatnonzero(assigned[sample]).tolist():
            covers = any(
                inside(box, region[3:7]) >= 0.5 for region in regions if region[1] == who for box in self.box.values()
            )
            if who != without:
                (self.excused if covers and who not in members else self.asked).add(who)


def units_of(rows, assigned, config, without=None):
    """The units of all objects except crowd regions; without units from which all other annotators are excused."""
    single = np.flatnonzero((rows[:, 7] == 0) & (rows[:, 1] != (-1 if without is None else without)))
    agreement = compute_agreement_of(batch_of(rows[single], assigned, crowd=False), config)
    found = {}
    for row, number in zip(single.tolist(), agreement.matching.unit.tolist(), strict=True):
        found.setdefault(number, {})[int(rows[row, 1])] = row
    return [Unit(int(rows[next(iter(of.values())), 0]), of, rows, assigned, without) for of in found.values()]


def counts(unit):
    return not unit.excused or len(unit.asked) >= 2


def table_of(units, missing=True):
    rows = []
    for unit in units:
        row = dict.fromkeys(unit.asked, 0.0 if missing else NAN) | {who: float(kind) for who, kind in unit.kind.items()}
        rows.append([row.get(who, NAN) for who in range(N_ANNOTATORS)])
    return np.array(rows, float).reshape(-1, N_ANNOTATORS)


def drawn_for(units, own, other):
    """The objects of an annotator that another one was asked about."""
    return [unit for unit in units if own in unit.members and other in unit.asked]


def pair_score(units, a, b):
    n = len(drawn_for(units, a, b)) + len(drawn_for(units, b, a))
    if not n:
        return 1.0 if units else NAN
    both = [unit for unit in units if {a, b} <= unit.members.keys()]
    return 2 * sum(iou(unit.box[a], unit.box[b]) for unit in both if unit.kind[a] == unit.kind[b]) / n


def verdict_of(unit):
    if len(set(unit.kind.values())) > 1:
        return "class_conflict"
    if set(unit.members) == unit.asked:
        return "agreed"
    return "missed" if len(unit.members) > 1 else "lone"


def defined(value):
    return None if value is None or math.isnan(value) else value


def same(found, expected):
    expected = defined(expected)
    assert (found is None) == (expected is None), (found, expected)
    if expected is not None:
        assert found == pytest.approx(expected, abs=1e-9)


class Case:
    """A random case, what the program finds, and its units by loops."""

    def __init__(self, seed, **options):
        self.rows, self.assigned = random_case(seed)
        self.config = config_of(N_ANNOTATORS, resamples=0, **options)
        self.agreement = compute_agreement_of(batch_of(self.rows, self.assigned), self.config)
        context = ReportContext(self.config, self.config.annotators, CLASS_NAMES, ["Detections"], RunFacts())
        self.report = build_object_report(record(self.agreement), context)
        every = units_of(self.rows, self.assigned, self.config)
        self.left_out = [unit for unit in every if not counts(unit)]
        self.units = [unit for unit in every if counts(unit)]
        self.rated = [unit for unit in self.units if self.assigned[unit.sample].sum() >= 2]
        self.samples = [sample for sample in range(len(self.assigned)) if self.assigned[sample].sum() >= 2]

    def on(self, sample):
        return [unit for unit in self.rated if unit.sample == sample]

    def shared(self, a, b):
        return [sample for sample in self.samples if self.assigned[sample, a] and self.assigned[sample, b]]


@pytest.fixture(scope="module", params=[0, 2, 3, 4])
def case(request):
    return Case(request.param)


def test_the_cases_have_what_they_are_about(case):
    assert case.left_out
    assert any(unit.excused and len(unit.members) >= 2 for unit in case.rated)
    assert any(unit.excused and len(unit.members) == 1 for unit in case.rated)
    assert any(len(unit.excused) >= 2 for unit in case.rated)


def test_objects_that_everybody_else_is_excused_from_are_crowd(case):
    counted = set(np.flatnonzero(case.agreement.counted).tolist())
    assert counted == {row for unit in case.units for row in unit.members.values()}
    n_crowd = np.zeros_like(case.assigned, int)
    for row in range(len(case.rows)):
        n_crowd[tuple(case.rows[row, :2].astype(int))] += row not in counted
    assert (case.agreement.n_crowd == n_crowd).all()
    assert [entry.n_crowd for entry in case.report.annotators] == n_crowd.sum(axis=0).tolist()


def test_units_have_the_number_of_those_asked_and_its_verdict(case):
    number = dict(
        zip(np.flatnonzero(case.agreement.counted).tolist(), case.agreement.matching.unit.tolist(), strict=True)
    )
    for unit in case.units:
        (found,) = {number[row] for row in unit.members.values()}
        assert case.agreement.units.assigned[found] == len(unit.asked)
        assert case.agreement.units.votes[found] == len(unit.members)
        code = case.agreement.units.verdict[found]
        assert (None if code == NO_VERDICT else VERDICTS[code]) == (verdict_of(unit) if unit in case.rated else None)
    votes = {}
    for unit in case.rated:
        key = (len(unit.asked), len(unit.members))
        votes[key] = votes.get(key, 0) + 1
    assert {(entry["assigned"], entry["votes"]): entry["units"] for entry in case.report.existence.votes} == votes


@pytest.mark.parametrize("options", [{}, {"missing": "ignore"}, {"undefined": "one", "empty": "agree"}], ids=str)
def test_alpha_and_scores(options):
    case = Case(7, **options)
    missing = case.config.missing == "category"
    empty = case.config.empty == "agree"
    table = table_of(case.rated, missing)
    of_empty = [
        [0.0 if case.assigned[s, r] else NAN for r in range(N_ANNOTATORS)] for s in case.samples if not case.on(s)
    ]
    if empty:
        table = np.vstack([table, np.array(of_empty).reshape(-1, N_ANNOTATORS)])
    same(case.report.alpha.pooled, alpha_of(table, case.config.undefined))
    scores = []
    for sample in case.samples:
        units = case.on(sample)
        pairs = [pair for pair in combinations(range(N_ANNOTATORS), 2) if case.assigned[sample, pair].all()]
        score = mean([pair_score(units, *pair) for pair in pairs])
        alpha = alpha_of(table_of(units, missing), case.config.undefined)
        if not units and empty:
            score = alpha = 1.0
        same(defined(case.agreement.score[sample]), score)
        same(defined(case.agreement.alpha[sample]), alpha)
        scores.append(score)
    same(case.report.score.mean, mean(scores))


def test_pairs(case):
    matched = drawn = 0
    for pair in case.report.pairs:
        a, b = NAMES.index(pair.a), NAMES.index(pair.b)
        both_asked = [unit for unit in case.rated if {a, b} <= unit.asked]
        n_a, n_b = len(drawn_for(both_asked, a, b)), len(drawn_for(both_asked, b, a))
        n = sum({a, b} <= unit.members.keys() for unit in both_asked)
        assert (pair.n_a, pair.n_b, pair.n_matched) == (n_a, n_b, n)
        same(pair.f1, share(2 * n, n_a + n_b))
        table = table_of([unit for unit in both_asked if a in unit.members or b in unit.members])
        same(pair.alpha, alpha_of(table[:, [a, b]], "none"))
        shared = case.shared(a, b)
        same(pair.score, mean([pair_score(case.on(sample), a, b) for sample in shared]))
        differences = [len(drawn_for(case.on(s), a, b)) - len(drawn_for(case.on(s), b, a)) for s in shared]
        same(pair.count_difference, mean(differences))
        best = []
        for sample in shared:
            own, others = drawn_for(case.on(sample), a, b), [u for u in case.on(sample) if b in u.members]
            if own:
                best.append(mean([max([iou(u.box[a], o.box[b]) for o in others], default=0.0) for u in own]))
        same(pair.mean_max_iou["a_to_b"].mean, mean(best))
        matched, drawn = matched + n, drawn + n_a + n_b
    same(case.report.existence.f1, share(2 * matched, drawn))


def test_annotators(case):
    full = alpha_of(table_of(case.rated), "none")
    for who, entry in enumerate(case.report.annotators):
        others = [(unit, len(unit.members) - (who in unit.members)) for unit in case.rated if who in unit.asked]
        could = [unit for unit, votes in others if votes >= 2]
        missed = [unit for unit in could if who not in unit.members]
        assert (entry.n_could_miss, entry.n_missed) == (len(could), len(missed))
        same(entry.miss_rate, share(len(missed), len(could)))
        enough = [(unit, votes) for unit, votes in others if len(unit.asked) >= 3]
        agreed = [unit for unit, votes in enough if 2 * votes >= len(unit.asked) - 1 and votes]
        own = [unit for unit, _ in enough if who in unit.members]
        assert (entry.consensus.n_units, entry.consensus.n_objects) == (len(agreed), len(own))
        same(entry.consensus.recall, share(sum(who in unit.members for unit in agreed), len(agreed)))
        table = table_of([unit for unit in case.rated if set(unit.members) - {who}])
        table[:, who] = NAN
        same(entry.vitality, full - alpha_of(table, "none"))


def test_classes_and_sizes(case):
    for entry in case.report.classes:
        code = CLASS_NAMES.index(entry.name)
        led = [u for u in case.rated if len(u.members) >= 2 and 2 * list(u.kind.values()).count(code) > len(u.members)]
        same(entry.miss_rate, share(sum(len(u.asked - u.members.keys()) for u in led), sum(len(u.asked) for u in led)))
    several = [unit for unit in case.rated if len(unit.members) >= 2]
    n_expected = [
        sum(len(unit.asked) for unit in several),
        sum(len(unit.asked - unit.members.keys()) for unit in several),
    ]
    assert sum(entry.n_units for entry in case.report.sizes) == len(case.rated)
    if len([entry for entry in case.report.sizes if entry.n_units]) == 1:
        (entry,) = [entry for entry in case.report.sizes if entry.n_units]
        same(entry.miss_rate, share(n_expected[1], n_expected[0]))


def test_presence_and_counts(case):
    drew = asked = 0
    for sample in case.samples:
        for who in np.flatnonzero(case.assigned[sample]).tolist():
            did = any(who in unit.members for unit in case.on(sample))
            drew += did
            asked += did or not any(who in unit.excused for unit in case.on(sample))
    same(case.report.existence.share_present, share(drew, asked))


def test_the_threshold_and_the_rules_of_the_run_are_those_of_the_report(case):
    (point,) = [point for point in case.report.thresholds if abs(point.threshold - 0.5) < 1e-9]
    same(point.alpha, case.report.alpha.pooled)
    same(point.score, case.report.score.mean)
    same(point.f1, case.report.existence.f1)
    config = case.report.config
    names = ("method", "classes", "missing", "empty", "undefined")
    (own,) = [rule for rule in case.report.rules if all(getattr(rule, name) == config[name] for name in names)]
    same(own.pooled, case.report.alpha.pooled)
    same(own.mean, case.report.alpha.mean)


def test_another_threshold_is_what_its_units_give(case):
    at = 0.7
    kept = np.zeros(len(case.rows), bool)
    kept[[row for unit in case.units for row in unit.members.values()]] = True
    rows = case.rows[kept | (case.rows[:, 7] > 0)]
    units = units_of(rows, case.assigned, config_of(N_ANNOTATORS, resamples=0, iou=at))
    units = [unit for unit in units if case.assigned[unit.sample].sum() >= 2]
    (point,) = [point for point in case.report.thresholds if abs(point.threshold - at) < 1e-9]
    same(point.alpha, alpha_of(table_of(units), "none"))
    n_matched = sum(len(unit.members) * (len(unit.members) - 1) // 2 for unit in units)
    pairs = list(combinations(range(N_ANNOTATORS), 2))
    n_drawn = sum(len(drawn_for(units, a, b)) + len(drawn_for(units, b, a)) for a, b in pairs)
    same(point.f1, share(2 * n_matched, n_drawn))
    scores = []
    for sample in case.samples:
        on = [unit for unit in units if unit.sample == sample]
        scores.append(mean([pair_score(on, a, b) for a, b in pairs if case.assigned[sample, [a, b]].all()]))
    same(point.score, mean(scores))

"""Existence, localisation, sizes, numbers of objects, full agreement and sessions in a report on objects, by loops."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.agreement import agreement_oracle as oracle
from tests.agreement.agreement_oracle import NAMES, Sample, config_of, found, mean, report_of, same, share
from tests.chance import seeds
from tests.dataset_io.same_values import assert_same

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import compute_agreement_of
from annotator_agreement.agreement.objects import ObjectReport
from annotator_agreement.metrics import brennan_prediger, fleiss_kappa, gwet_ac1, krippendorff_alpha, percent_agreement
from annotator_agreement.metrics.geometry import Boxes


def sample_f1(sample: Sample, units: list[oracle.Unit]) -> tuple[float, int]:
    """F1 over the pairs of annotators of a sample, nan without labels; and how many labels that is about."""
    n_labels = sum(len(sample[a]) + len(sample[b]) for a, b in oracle.assigned_pairs(sample))
    matched = sum(len(list(unit.pairs())) for unit in units)
    return share(2 * matched, n_labels), n_labels


@oracle.each_case
def test_existence_presence_full_agreement_and_the_worst_samples_are_those_of_loops(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    both = either = 0
    for unit in case.units:
        for a, b in oracle.assigned_pairs(case.samples[unit.sample]):
            both += a in unit.members and b in unit.members
            either += a in unit.members or b in unit.members
    same(case.report.existence.jaccard, both / either)
    iou = [unit.iou(a, b) for unit, a, b in case.label_pairs()]
    same(case.report.localisation.median_iou, oracle.median(iou))
    assert case.report.localisation.iou_histogram == [sum(k <= 20 * v < k + 1 for v in iou) for k in range(20)]
    table = np.array(
        [
            [float(bool(sample[r])) if r in sample else oracle.NAN for r in range(4)]
            for sample in (case.samples[s] for s in case.rated)
        ]
    )
    presence = case.report.existence.presence
    assert presence is not None
    assert presence.n_units == len(case.rated)
    same(presence.alpha, krippendorff_alpha(table))
    same(presence.percent_agreement, percent_agreement(table))
    same(presence.ac1, gwet_ac1(table, categories=[0, 1]))
    same(presence.brennan_prediger, brennan_prediger(table, categories=[0, 1]))
    same(presence.fleiss_kappa, fleiss_kappa(table))
    same(case.report.existence.share_present, float(np.nanmean(table)))
    verdicts: dict[int, list[str | None]] = {s: [] for s in case.rated}
    for unit in case.rated_units:
        verdicts[unit.sample].append(oracle.verdict_of(unit, case.samples[unit.sample]))
    same(case.report.share_full_agreement, float(np.mean([set(kinds) <= {"agreed"} for kinds in verdicts.values()])))
    own = [[unit for unit in case.units if unit.sample == s] for s in range(len(case.samples))]
    values = {s: sample_f1(sample, own[s]) for s, sample in enumerate(case.samples)}
    wrong = {s: (f1, -n) for s, (f1, n) in values.items() if f1 < 1}
    listed = case.report.existence.worst_samples
    assert [(entry["value"], -values[int(entry["id"])][1]) for entry in listed] == sorted(wrong.values())[:5]
    for entry in listed:
        same(entry["value"], values[int(entry["id"])][0])
    of_samples: dict[int, list[float]] = {}
    for unit, a, b in case.label_pairs():
        of_samples.setdefault(unit.sample, []).append(unit.iou(a, b))
    means = {s: mean(values) for s, values in of_samples.items() if mean(values) < 1 - 1e-9}
    listed = case.report.localisation.worst_samples
    assert [entry["value"] for entry in listed] == pytest.approx(sorted(means.values())[:5], abs=1e-12)
    for entry in listed:
        same(entry["value"], means[int(entry["id"])])


def test_presence_has_two_categories_and_an_iou_on_an_edge_is_in_the_upper_bin() -> None:
    samples: list = [{0: [(1, 0.1, 0.1, 0.4, 0.4)], 1: [(1, 0.1, 0.1, 0.4, 0.4)]} for _ in range(3)]
    presence = oracle.found_in(samples, 2).report.existence.presence
    assert presence is not None
    assert (presence.alpha, presence.fleiss_kappa) == (None, None)
    assert (presence.percent_agreement, presence.ac1, presence.brennan_prediger) == (1.0, 1.0, 1.0)
    # this IoU of 1/2 comes out as 0.4999999999999999
    half = [{0: [(1, 1 / 20, 1 / 11, 5 / 20, 4 / 11)], 1: [(1, 1 / 20, 1 / 11, 3 / 20, 4 / 11)]}]
    perfect = [{0: [(1, 0.1, 0.1, 0.3, 0.7)], 1: [(1, 0.1, 0.1, 0.3, 0.7)]}]
    histogram = oracle.found_in(half + perfect, 2).report.localisation.iou_histogram
    assert ([k for k, n in enumerate(histogram) if n], sum(histogram)) == ([10, 19], 2)


@pytest.mark.parametrize("n_images", [19, 20])
def test_coefficients_of_presence_have_an_interval_from_20_images_on(n_images: int) -> None:
    box = (1, 0.1, 0.1, 0.4, 0.4)
    samples: list = [{0: [box] * (k % 4 > 0), 1: [box] * (k % 5 > 0)} for k in range(n_images)]
    intervals = report_of(samples, config_of(2, resamples=100)).intervals
    assert ("existence.presence.alpha" in intervals) == ("existence.presence.ac1" in intervals) == (n_images == 20)
    assert "existence.f1" in intervals


#: Shrout and Fleiss, 1979, table 2: six targets and four judges
PUBLISHED = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
FIELDS = ("count_difference", "count_limit_low", "count_limit_high")


def _report(table: list[list[int]], **options: Any) -> ObjectReport:
    """The report on images on which annotators drew so many objects; -1 where they were not assigned."""
    boxes = [(1, 0.05 * k, 0.1, 0.05 * k + 0.04, 0.3) for k in range(12)]
    samples: list[Sample] = [{r: boxes[:n] for r, n in enumerate(row) if n >= 0} for row in table]
    return report_of(samples, config_of(len(table[0]), **options))


def _icc(table: np.ndarray) -> float:
    n, k = table.shape
    mean = table.mean()
    rows, columns = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True)
    msr, msc = k * ((rows - mean) ** 2).sum() / (n - 1), n * ((columns - mean) ** 2).sum() / (k - 1)
    mse = ((table - rows - columns + mean) ** 2).sum() / ((n - 1) * (k - 1))
    return float((msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n))


def test_icc_is_that_of_the_published_table_and_needs_images_of_all_and_variation() -> None:
    icc = _report(PUBLISHED).counts.icc
    assert icc == pytest.approx(0.2898, abs=5e-5)
    same(icc, _icc(np.array(PUBLISHED, float)))
    for table in (
        [[2, 3]], [[2, 2], [2, 2], [2, 2]], [[0, 0], [0, 0]], [[1, -1], [-1, 2]], [[1, 2, -1], [-1, 2, 3]],
    ):  # fmt: skip
        assert _report(table).counts.icc is None
    for table, expected in (([[2, 3], [4, -1]], [-1.0, None, None]), ([[2, 2], [3, 3]], [0.0, 0.0, 0.0])):
        (pair,) = _report(table).pairs
        assert [getattr(pair, name) for name in FIELDS] == expected


@oracle.each_case
def test_numbers_are_those_of_tables_of_counts(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    table = np.array([[len(sample[r]) for r in range(4)] for sample in case.samples if len(sample) == 4], float)
    same(case.report.counts.icc, _icc(table))
    pairs = {(pair.a, pair.b): pair for pair in case.report.pairs}
    for a, b in combinations(range(4), 2):
        difference = [len(sample[a]) - len(sample[b]) for sample in case.samples if a in sample and b in sample]
        mean, spread = np.mean(difference), np.std(difference, ddof=1)
        for name, expected in zip(FIELDS, (mean, mean - 1.96 * spread, mean + 1.96 * spread), strict=True):
            same(getattr(pairs[NAMES[a], NAMES[b]], name), float(expected))


SIZES = ("small", "medium", "large")


def area_of(unit: oracle.Unit, width: float = 1.0, height: float = 1.0) -> float:
    """Median area of the labels of a unit."""
    boxes = [label[1:] for label in unit.members.values()]
    return float(np.median([(x1 - x0) * width * (y1 - y0) * height for x0, y0, x1, y1 in boxes]))


def sized_report(samples, sizes_px, in_pixels=False, cuts=1) -> ObjectReport:
    """The report where image sizes are known, or the boxes are in pixels, from one or more batches."""
    batches = []
    for rows in np.array_split(np.arange(len(samples)), cuts):
        batch = oracle.batch_of([samples[k] for k in rows], 4)
        if sizes_px is not None:
            sizes = np.array(sizes_px)[rows]
            batch = dataclasses.replace(batch, size_px=sizes)
            if in_pixels:
                xyxy = batch.geometry.boxes_xyxy() * np.tile(sizes, 2)[batch.objects.sample]
                batch = dataclasses.replace(batch, geometry=Boxes(xyxy), size_px=None)
        batches.append(batch)
    return oracle.object_report(batches, config_of(4))


def check(case: oracle.Found, report: ObjectReport, size_of: dict[int, str]) -> None:
    """The numbers of every size; ``size_of`` units, by their number."""
    assert [entry.size for entry in report.sizes] == list(SIZES)
    for entry in report.sizes:
        own = [
            unit
            for number, unit in enumerate(case.units)
            if size_of[number] == entry.size and len(case.samples[unit.sample]) >= 2
        ]
        pairs = [unit.iou(a, b) for unit in own for a, b in unit.pairs()]
        assert (entry.n_units, entry.n_pairs) == (len(own), len(pairs))
        assert entry.n_lone == sum(len(unit.members) == 1 for unit in own)
        same(entry.mean_iou, mean(pairs))
        same(entry.median_iou, oracle.median(pairs))
        # whether every annotator who was asked drew what two others drew
        drew = [
            r in unit.members for unit in own for r in case.samples[unit.sample] if len(unit.members.keys() - {r}) >= 2
        ]
        same(entry.miss_rate, share(drew.count(False), len(drew)))
        n_labels = sum(
            (a in unit.members) + (b in unit.members)
            for unit in own
            for a, b in oracle.assigned_pairs(case.samples[unit.sample])
        )
        same(entry.f1, share(2 * len(pairs), n_labels))
    for r, annotator in enumerate(report.annotators):
        for size in SIZES:
            seen = [
                unit
                for number, unit in enumerate(case.units)
                if size_of[number] == size and r in case.samples[unit.sample] and len(unit.members.keys() - {r}) >= 2
            ]
            same(annotator.miss_rate_by_size[size], share(sum(r not in unit.members for unit in seen), len(seen)))


@oracle.each_case
def test_sizes_are_thirds_of_the_units_where_images_have_no_size(seed: int, rules: dict) -> None:
    case = found(seed, rules)
    rated = [area_of(unit) for unit in case.rated_units]
    low, high = np.quantile(rated, [1 / 3, 2 / 3])
    sizes = {k: SIZES[int(area_of(unit) >= low) + int(area_of(unit) >= high)] for k, unit in enumerate(case.units)}
    check(case, case.report, sizes)
    small, medium, large = case.report.sizes
    assert {entry.unit for entry in case.report.sizes} == {"share of the image"}
    assert (small.area_from, large.area_to) == (None, None)
    assert (small.area_to, medium.area_to) == pytest.approx((low, high), rel=1e-6)
    assert (medium.area_from, large.area_from) == (small.area_to, medium.area_to)
    assert sum(entry.n_units for entry in case.report.sizes) == case.report.n_units


@pytest.mark.parametrize("in_pixels", [False, True])
def test_sizes_are_those_of_coco_where_areas_in_pixels_are_known(in_pixels: bool) -> None:
    case = found(1, {})
    rng = np.random.default_rng(5)
    px = [(float(width), float(height)) for width, height in rng.integers(100, 700, (len(case.samples), 2))]
    report = sized_report(case.samples, px, in_pixels)
    areas = [area_of(unit, *px[unit.sample]) for unit in case.units]
    check(case, report, {k: SIZES[int(area >= 32**2) + int(area >= 96**2)] for k, area in enumerate(areas)})  # COCO's
    assert [(entry.area_from, entry.area_to) for entry in report.sizes] == [(None, 1024), (1024, 9216), (9216, None)]
    assert {entry.unit for entry in report.sizes} == {"px²"}
    assert all(entry.n_units for entry in report.sizes)


def test_sizes_need_those_of_all_images_and_32_by_32_pixels_are_medium() -> None:
    case = found(1, {})
    px = [(640.0, 480.0)] * len(case.samples)
    whole, in_parts = (sized_report(case.samples, px, cuts=cuts).to_dict() for cuts in (1, 7))
    assert_same(in_parts, whole, relative=0.0, absolute=1e-12)
    px[7] = (np.nan, np.nan)
    assert sized_report(case.samples, px).sizes == case.report.sizes
    box = (1, 100 / 640, 100 / 480, 132 / 640, 132 / 480)
    report = sized_report([{0: [box], 1: [box]}], [(640.0, 480.0)])
    assert [entry.n_units for entry in report.sizes] == [0, 1, 0]
    for samples in ([{0: [(1, 0.1, 0.1, 0.2, 0.2)]}], []):
        assert report_of(samples, config_of(2)).sizes == []


#: alice labelled twice, and so did carol
PERSONS = {"alice": "alice", "bob": "alice", "carol": "carol", "dave": "carol"}


@pytest.mark.parametrize("rules", [{}, {"missing": "ignore"}, {"empty": "agree", "undefined": "one"}], ids=str)
@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.few(2)
def test_sessions_of_one_person_are_apart_from_different_persons(seed: int, rules: dict) -> None:
    samples = oracle.random_samples(seed, n_samples=40, n_annotators=4)
    config = make_config(NAMES, annotators=PERSONS, **rules)
    report = report_of(samples, config)
    sessions = report.sessions
    assert sessions is not None
    names = list(config.annotators)
    kinds: dict[bool, list] = {True: [], False: []}
    units = oracle.units_of(samples, compute_agreement_of(oracle.batch_of(samples, 4), config))
    tables: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for pair in report.pairs:
        a, b = names.index(pair.a), names.index(pair.b)
        intra = (a, b) in ((0, 1), (2, 3))
        assert pair.intra == intra
        kinds[intra].append(pair)
        tables[intra].append(oracle.pair_table(samples, units, config, a, b))
    assert (sessions.n_intra_pairs, sessions.n_inter_pairs) == (2, 4)
    for kind, name in ((True, "intra"), (False, "inter")):
        same(getattr(sessions, f"{name}_alpha"), oracle.alpha_of(np.concatenate(tables[kind]), config.undefined))
        for number in ("score", "f1", "mean_iou"):
            same(getattr(sessions, f"{name}_{number}"), mean([getattr(pair, number) for pair in kinds[kind]]))
    plain = report_of(samples, make_config(NAMES, **rules))
    assert (plain.sessions, {pair.intra for pair in plain.pairs}) == (None, {False})
    assert (report.alpha, report.score, report.existence) == (plain.alpha, plain.score, plain.existence)
    assert [entry.person for entry in report.annotators] == ["alice", "alice", "carol", "carol"]
    assert [entry.name for entry in report.annotators] == [
        "alice (alice)", "alice (bob)", "carol (carol)", "carol (dave)"
    ]  # fmt: skip

"""All families: batches, the order or codes of anything, intervals, storage, and records cut down to some samples."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.agreement import families
from tests.agreement.families import CASES, KINDS, NAMES, Sample, each_case, each_case_and_method, each_kind
from tests.agreement.interval_oracle import check_intervals, interval_keys
from tests.chance import few
from tests.dataset_io import same_values

from annotator_agreement.agreement import AgreementReport, make_config
from annotator_agreement.agreement.families import FAMILIES, report_from_dict
from annotator_agreement.agreement.pixels import NUMBERS as PIXEL_NUMBERS
from annotator_agreement.agreement.statistics import Records
from annotator_agreement.charts.reports import report_markdown, report_text

N = 40


def assert_same(values: dict[str, Any], expected: dict[str, Any]) -> None:
    """Equal; floats to 1e-11."""
    same_values.assert_same(values, expected, relative=0.0, absolute=1e-11)


@each_case_and_method
@pytest.mark.parametrize("batch_size", few([7, 1]))
@pytest.mark.few(3)
def test_batches_of_any_size_give_the_same_report(kind: str, options: dict, batch_size: int) -> None:
    samples = KINDS[kind].samples(1, N)
    whole, batches = (KINDS[kind].report(samples, batch_size=size, **options) for size in (0, batch_size))
    assert_same(batches.to_dict(), whole.to_dict())


@each_case_and_method
def test_the_order_of_samples_and_the_numbers_of_videos_do_not_matter(kind: str, options: dict) -> None:
    samples, order = KINDS[kind].samples(2, N), np.random.default_rng(2).permutation(N)
    clusters = np.random.default_rng(0).integers(0, 60, N)
    moved = KINDS[kind].report([samples[k] for k in order], clusters=(100 - clusters)[order], **options).to_dict()
    places = {str(place): str(k) for place, k in enumerate(order.tolist())}
    expected = KINDS[kind].report(samples, clusters=clusters, **options).to_dict()
    assert_same(_with_ids(moved, places), expected)


@pytest.mark.parametrize("kind", ["objects", "masks"])
def test_the_order_of_samples_does_not_matter_where_nothing_matches(kind: str) -> None:
    """They differ in places, on which the alpha of images depends; others differ only in who drew what."""
    rng = np.random.default_rng(5)

    def drawn(r: int) -> Any:
        if kind == "objects":  # every annotator draws in a row of their own
            x, width = rng.random(2) / 2
            return [(1, x, 0.3 * r, x + 0.1 + 0.3 * width, 0.3 * r + 0.2)]
        mask = np.zeros((6, 40), np.int64)
        start = int(rng.integers(0, 24))
        mask[2 * r : 2 * r + 2, start : start + 12] = 1
        return mask

    samples = [{r: drawn(r) for r in range(3)} for _ in range(60)]
    samples += [{r: sample[(r + 1) % 3] for r in range(3)} for sample in samples]
    reports = [KINDS[kind].report([samples[k] for k in order]) for order in (range(120), rng.permutation(120))]
    expected, moved = (report.to_dict() for report in reports)
    assert expected["score"]["mean"] == 0.0
    assert "image_alpha.value" in expected["intervals"]
    assert_same(moved["intervals"], expected["intervals"])


def _with_ids(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: ids.get(entry, entry) if key == "id" else _with_ids(entry, ids) for key, entry in value.items()}
    return [_with_ids(entry, ids) for entry in value] if isinstance(value, list) else value


@each_case
@pytest.mark.few(3)
def test_the_order_of_annotators_does_not_matter(kind: str, options: dict) -> None:
    order = (2, 0, 1)
    samples = KINDS[kind].samples(3, N)
    permuted: list[Sample] = [{order.index(r): given for r, given in sample.items()} for sample in samples]
    report = KINDS[kind].report(samples, **options)
    moved = KINDS[kind].report(permuted, names=[NAMES[r] for r in order], **options)
    assert_same(_by_name(moved), _by_name(report))


def _by_name(report: AgreementReport) -> dict[str, Any]:
    """The entries of a report with annotators and pairs in the order of their names."""
    values = report.to_dict()
    del values["config"]
    values["annotators"].sort(key=lambda entry: entry["name"])
    for pair in values["pairs"]:
        if pair["a"] > pair["b"]:
            _turn(pair)
        if "confusion" in pair:
            pair["confusion"].sort(key=lambda entry: (-entry["n"], entry["a"], entry["b"]))
    values["pairs"].sort(key=lambda pair: (pair["a"], pair["b"]))
    return values


def _turn(pair: dict[str, Any]) -> None:
    """Swap the annotators of a pair."""
    for entry, names in (
        (pair, ("a", "b")),
        (pair, ("n_a", "n_b")),
        (pair.get("mean_max_iou", {}), ("a_to_b", "b_to_a")),
        (pair, ("count_limit_low", "count_limit_high")),
        (pair["intervals"], ("count_limit_low", "count_limit_high")),
        *((each, ("a", "b")) for each in pair.get("confusion", [])),
    ):
        if names[0] in entry:
            entry[names[0]], entry[names[1]] = entry[names[1]], entry[names[0]]
    for name in ("count_difference", "count_limit_low", "count_limit_high"):
        if pair.get(name) is not None:
            pair[name] = -pair[name]
        if name in pair["intervals"]:
            found = pair["intervals"][name]
            found["low"], found["high"] = -found["high"], -found["low"]


@each_case_and_method
@pytest.mark.few(3)
def test_the_order_of_labels_and_the_codes_of_classes_do_not_matter(kind: str, options: dict) -> None:
    samples, rng = KINDS[kind].samples(4, N), np.random.default_rng(4)
    classes = KINDS[kind].classes
    code = {k: k % 3 + 1 if k <= 3 else k for k in range(1, len(classes) + 1)}
    names = [name for _, name in sorted(zip(code.values(), classes, strict=True))]

    def changed(given: Any) -> Any:
        if isinstance(given, list):
            return [changed(given[k]) for k in rng.permutation(len(given))]
        return (code[given[0]], *given[1:]) if isinstance(given, tuple) else code[given] if classes else given

    moved = [{r: changed(given) for r, given in sample.items()} for sample in samples]
    report = KINDS[kind].report(moved, class_names=names, **options)
    assert_same(report.to_dict(), KINDS[kind].report(samples, **options).to_dict())


@each_case_and_method
def test_a_report_survives_json_and_is_shown_alike(kind: str, options: dict) -> None:
    report = KINDS[kind].report(KINDS[kind].samples(5, N), **options)
    again = report_from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False)))
    assert (again, report_text(again, full=True)) == (report, report_text(report, full=True))
    assert report_markdown(again) == report_markdown(report)


@each_case_and_method
@pytest.mark.parametrize("n", [0, 5])
def test_a_report_without_a_rated_sample_has_no_numbers(kind: str, options: dict, n: int) -> None:
    samples: list[Sample] = [{r: sample[r] for r in list(sample)[:1]} for sample in KINDS[kind].samples(6, n)]
    report = KINDS[kind].report(samples, **options)
    assert (report.n_samples, report.n_rated, report.n_units, report.n_objects) == (n, 0, 0, 0)
    assert (report.score.mean, report.alpha.pooled, report.alpha.mean, report.share_full_agreement) == (None,) * 4
    assert {name: k for name, k in report.alpha.undefined.items() if k} == ({"one_annotator": n} if n else {})
    assert (report.pairs, report.findings, list(interval_keys(report))) == ([], [], [])
    assert report_from_dict(json.loads(json.dumps(report.to_dict(), allow_nan=False))) == report
    numbers = {
        name: value for name, value in report.to_dict().items() if name not in ("config", "run", "worst_samples")
    }
    assert _floats(numbers) <= {"threshold", *(("mean", "std") if kind == "numbers" else ())}
    assert "Score" in report_text(report)
    assert "Score" in report_markdown(report)


def _floats(value: Any, name: str = "") -> set[str]:
    """Names of the entries that are floats."""
    if isinstance(value, dict):
        return set().union(*(_floats(entry, key) for key, entry in value.items()))
    if isinstance(value, list):
        return set().union(*(_floats(entry, name) for entry in value))
    return {name} if isinstance(value, float) else set()


@pytest.mark.parametrize("empty", ["skip", "agree"])
def test_the_mean_over_meetings_of_masks_is_that_of_all_scores_of_two_masks(empty: str) -> None:
    config, nothing = make_config(NAMES, empty=empty), np.zeros((4, 5), np.int64)
    left_empty: list[Sample] = [{0: nothing, 1: nothing, 2: nothing}, {0: nothing, 1: nothing, 2: nothing + 1}]
    samples = [*KINDS["masks"].samples(12, 15), *left_empty]
    scores = families.measured_masks(samples, config).pair_numbers[:, PIXEL_NUMBERS.index("score")]
    assert np.isnan(scores).any() == (empty == "skip")
    report = KINDS["masks"].report(samples, resamples=0, empty=empty)
    assert report.score.of_meetings == pytest.approx(np.nanmean(scores), abs=1e-12)


@each_kind
@pytest.mark.few(2)
def test_intervals_need_resamples_and_two_samples_and_follow_from_the_seed(kind: str) -> None:
    samples = KINDS[kind].samples(8, N)
    rated = [sample for sample in samples if len(sample) >= 2]
    assert not list(interval_keys(KINDS[kind].report(samples, resamples=0)))
    assert not list(interval_keys(KINDS[kind].report(rated[:1])))
    first, again, other = (KINDS[kind].report(samples, seed=seed).intervals["score.mean"] for seed in (1, 1, 2))
    assert first == again
    assert first.low != other.low


#: numbers with an interval: of the whole, of pairs, of annotators, of tags
N_INTERVALS = {"classes": 4 + 3 * 2 + 3 * 2, "numbers": 4 + 3 * 2 + 3 * 2, "tags": 5 + 3 * 2 + 3 + 4 * 2}


@pytest.mark.parametrize(
    ("kind", "options", "clustered"),
    few(
        [
            ("objects", {"attributes": ["age", "side"], "tolerance": 0.5}, True),
            ("classes", {}, False),
            ("tags", {}, False),
            *((*case, False) for case in CASES if case not in (("classes", {}), ("tags", {}))),
        ],
        3,
    ),
    ids=str,
)
@pytest.mark.few(1)
def test_intervals_are_those_of_reports_on_resampled_samples(kind: str, options: dict, clustered: bool) -> None:
    n = {"objects": 36, "masks": 24}.get(kind, 60)
    clusters = np.random.default_rng(0).integers(0, 66, n) if clustered else None
    context = KINDS[kind].context(clusters=clusters, **{**options, "resamples": 12})
    records = KINDS[kind].record(KINDS[kind].samples(11, n), context.config)
    family = FAMILIES[records.family]
    keys = check_intervals(records, context, family.build, family.contents)
    n_masks = 10 if "boundaries" in options else 7
    expected = {**N_INTERVALS, "masks": (n_masks + 5) + 3 * (n_masks + 2) + 5 * 4 + 3}
    assert len(keys) == expected[kind] if kind in expected else len(keys) > 50
    attributes = {tuple(key[0].split(".")[1:]) for key in keys if key[0].startswith("attributes.")}
    numbers = ("alpha", "percent_agreement")
    assert attributes == {(name, number) for name in options.get("attributes", ()) for number in numbers}


N_RECORDED = 24


def recorded(kind: str, samples: Sequence[Sample]) -> Records:
    """The records of samples."""
    return KINDS[kind].record(samples, make_config(NAMES, boundaries=True))


def assert_same_columns(found: Records, expected: Records) -> None:
    """Equal columns, whatever the parts that they come in."""
    assert (found.n_samples, set(found.parts[0])) == (expected.n_samples, set(expected.parts[0]))
    for name in expected.parts[0]:
        assert_array_equal(found.column(name), expected.column(name), err_msg=name)
    assert_array_equal(found.assigned, expected.assigned)


@each_kind
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.few(5)
def test_batches_add_up_and_a_selection_in_any_order_is_what_is_recorded_of_these_samples(kind: str, seed: int) -> None:
    samples = KINDS[kind].samples(seed, N_RECORDED)
    kept = np.random.default_rng(seed).random(N_RECORDED) < 0.4
    cuts = (0, 0, 1, 10, 10, N_RECORDED)  # some parts are empty
    first, *others = (recorded(kind, samples[start:end]) for start, end in itertools.pairwise(cuts))
    parts = sum(others, first)
    assert_same_columns(parts, recorded(kind, samples))
    expected = recorded(kind, [sample for sample, keep in zip(samples, kept, strict=True) if keep])
    assert_same_columns(parts.select(kept), expected)
    order = np.random.default_rng(2).permutation(N_RECORDED)[:15]
    assert_same_columns(parts.take(order), recorded(kind, [samples[k] for k in order.tolist()]))
    assert parts.select(~kept).n_samples == N_RECORDED - expected.n_samples
    assert parts.select(np.zeros(N_RECORDED, np.bool_)).n_samples == 0


def test_ordinary_samples_take_at_most_2_kilobytes() -> None:
    rng = np.random.default_rng(7)
    objects = [
        {r: [(k % 3 + 1, 9.0 * k, 0.0, 9.0 * k + 8, 5.0) for k in range(7)] for r in range(3)} for _ in range(20)
    ]
    ratings = [{r: int(rng.integers(1, 50)) for r in range(3)} for _ in range(50)]
    tags = [{r: sorted(rng.choice(np.arange(1, 51), 4, replace=False).tolist()) for r in range(3)} for _ in range(50)]
    true = np.kron(np.arange(20).reshape(4, 5), np.ones((256, 205), np.int64))[:, :1024]
    masks = [{0: true, 1: np.roll(true, 3, axis=0), 2: np.roll(true, -2, axis=1)} for _ in range(2)]
    for kind, samples, most in (
        ("objects", objects, 1_300), ("classes", ratings, 20), ("tags", tags, 50), ("masks", masks, 2_048),
    ):  # fmt: skip
        records = KINDS[kind].record(samples, make_config(NAMES))
        assert sum(records.column(name).nbytes for name in records.parts[0]) / records.n_samples < most

"""From the masks of a sample to the report on semantic masks, step by step, without a dataset."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest

from tests.agreement.families import KINDS, measured_masks
from tests.metrics.published import GOLDEN

from annotator_agreement.agreement import AgreementInputError, make_config, pixels
from annotator_agreement.agreement.pixels import MAX_CLASSES, NUMBERS, MaskValues, mask_values, means_defined
from annotator_agreement.agreement.pixels import report as numbers
from annotator_agreement.agreement.statistics import ReportContext, RunFacts
from annotator_agreement.charts.reports import report_text

PLAIN = MaskValues(0, (), {})
CONFIG = make_config(["alice", "bob", "carol"])
ANNOTATORS = ["alice", "bob", "carol"]


def test_background_and_names_are_what_options_and_mask_targets_say() -> None:
    # the option, mask targets of fields, and the value of the background
    for background, targets, expected in (
        ("auto", {}, 0),
        ("auto", {"a": {1: "cat"}}, 0),  # 0 without a name
        ("auto", {"a": {0: " Background ", 1: "cat"}}, 0),
        ("auto", {"a": {0: "void"}, "b": {0: "VOID"}}, 0),
        ("auto", {"a": {0: "cat", 1: "dog"}}, None),
        ("auto", {"a": {0: "cat", 7: "background"}}, 7),
        ("auto", {"a": {0: "cat", 7: "void"}}, None),  # which is certain only at 0
        ("auto", {"a": {0: "cat", 7: "bg", 8: "background"}}, None),
        ("auto", {"a": {"#000000": "road", "#0000ff": "background"}}, 255),
        ("auto", {"a": {"0": "road"}}, None),
        (3, {"a": {0: "background"}}, 3),
        ("#000102", {}, 0x102),
        (None, {"a": {0: "background"}}, None),
    ):
        assert mask_values(make_config(["a", "b"], background=background), targets).background == expected
    # mask targets, and the names that tell values apart
    for targets, expected in (
        ({"a": {3: "road", 7: "road ", 8: "cat"}}, {3: "road (3)", 7: "road (7)", 8: "cat"}),
        ({"a": {3: "road"}, "b": {7: "road"}}, {3: "road (3)", 7: "road (7)"}),
        ({"a": {"#0000ff": "road", "#00ff00": "road"}}, {255: "road (#0000ff)", 65280: "road (#00ff00)"}),
        ({"a": {0: "void", 255: "void"}}, {0: "void (0)", 255: "void (255)"}),
    ):
        meaning = mask_values(CONFIG, targets)
        assert (meaning.names, meaning.background) == (expected, 0)
    targets = {"alice": {1: "Cat"}, "bob": {1: "cat ", 2: "dog"}}
    meaning = mask_values(CONFIG, targets)
    assert (meaning, meaning.name(1, is_rgb=False)) == (mask_values(CONFIG, dict(reversed(targets.items()))), "Cat")
    assert meaning.name(2, is_rgb=False) == "dog"
    assert (meaning.name(9, is_rgb=False), meaning.name(9, is_rgb=True)) == ("9", "#000009")
    with pytest.raises(AgreementInputError, match="got for the value 1: 'cat' in 'alice', 'dog' in 'bob'"):
        mask_values(CONFIG, {"bob": {1: "dog"}, "alice": {1: "cat"}})


def _report(samples, config=CONFIG, meaning=PLAIN):
    details = {**meaning.to_dict(), "is_rgb": False}
    context = ReportContext(config, ANNOTATORS, (), ["Segmentation"], RunFacts(), details=details)
    return pixels.build_pixel_report(pixels.record_pixels(measured_masks(samples, config, meaning)), context)


def test_samples_have_the_alpha_of_another_program_equal_masks_agree_and_one_mask_has_no_numbers() -> None:
    samples = [sample for sample in KINDS["masks"].samples(51, 60) if len(sample) > 1]
    assert {len(sample) for sample in samples} == {2, 3}
    expected = [krippendorff.alpha([mask.ravel() for mask in sample.values()], level_of_measurement="nominal")
                for sample in samples]  # fmt: skip
    np.testing.assert_allclose(measured_masks(samples, CONFIG, PLAIN).alpha, expected, rtol=0, atol=1e-12)
    mask = np.kron([[0, 1], [2, 1]], np.ones((4, 5), np.int64))
    found = measured_masks([{0: mask, 2: mask.copy()}], make_config(["a", "b", "c"], boundaries=True))
    expected = dict.fromkeys(NUMBERS, 1.0) | {"hd95": 0.0}
    assert dict(zip(NUMBERS, found.pair_numbers[0].tolist(), strict=True)) == expected
    assert (found.pair.tolist(), found.n_disputed.tolist(), found.alpha.tolist()) == ([[0, 2]], [0], [1.0])
    agreement = measured_masks([{1: np.ones((3, 4), np.uint8)}, {}], CONFIG)
    for numbers_of in (agreement.numbers, agreement.alpha, agreement.mask_iou):
        assert np.isnan(numbers_of).all()
    assert agreement.n_annotators.tolist() == [1, 0]
    rows = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, np.nan]])
    np.testing.assert_array_equal(means_defined(rows), [2.0, np.nan, 2.0])
    np.testing.assert_array_equal(means_defined(np.empty((0, 2))), [np.nan, np.nan])


def test_an_image_that_everybody_left_empty_is_left_out_of_every_number_unless_it_counts_as_agreement():
    a, b, nothing = np.zeros((3, 10, 10), np.uint8)
    a[:4, :5], b[2:6, :5] = 1, 1
    drawn, empty = {0: a, 1: b}, {0: nothing, 1: nothing}
    alone, skipped = _report([drawn]).to_dict(), _report([drawn, empty]).to_dict()
    counted = _report([drawn, empty], config=make_config(ANNOTATORS, empty="agree"))
    # values of `krippendorff` 0.9.0 over the pixels of both masks
    for report in (alone, skipped):
        assert report["alpha"]["pooled"] == pytest.approx(0.378125, abs=1e-12)
    assert counted.alpha.pooled == pytest.approx(0.4458333333333333, abs=1e-12)
    assert counted.alpha.percent_agreement == pytest.approx(0.9)
    assert (alone.pop("share_full_agreement"), skipped.pop("share_full_agreement")) == (0.0, 0.5)
    assert (skipped["alpha"]["n_units"], counted.alpha.n_units) == (100, 200)
    for part in ("mean", "kappa", "score"):
        assert skipped[part] == alone[part]
    assert skipped["alpha"]["percent_agreement"] == alone["alpha"]["percent_agreement"] == 0.8
    for name in ("mean", "accuracy", "alpha", "kappa"):
        assert skipped["pairs"][0][name] == alone["pairs"][0][name]


def test_of_very_many_classes_the_most_common_are_listed_and_have_intervals(monkeypatch) -> None:
    mask = np.arange(2 * (MAX_CLASSES + 500)).reshape(2, -1) // 2
    report = _report([{0: mask, 1: mask}])
    assert (report.n_classes, len(report.classes)) == (MAX_CLASSES + 500, MAX_CLASSES)
    assert f"of {MAX_CLASSES + 500}" in report_text(report)
    monkeypatch.setattr(numbers, "MAX_CATEGORIES", 3)
    monkeypatch.setattr(numbers, "MAX_VALUES", 2)
    report = KINDS["masks"].report(KINDS["masks"].samples(3, 60))
    assert "score.mean" in report.intervals
    assert "alpha.pooled" not in report.intervals
    assert [bool(entry.intervals) for entry in report.classes] == [True, True, False, False, False]


def test_the_text_says_what_was_compared():
    for options, expected in (
        ({}, ["labels               Segmentation", "background           0", "undefined"]),
        ({"background": None}, ["none: every value is a class"]),
        ({"ignore_values": [255]}, ["255: pixels with such a value from any annotator are left out"]),
        ({"empty": "agree"}, ["drew nothing else count as agreement"]),
        ({"boundaries": True}, ["agree within 2 pixels; bands are 2 % of the image diagonal", "HD95", "surface Dice"]),
        ({"boundaries": True, "boundary_width": 3}, ["bands are 3 pixels wide"]),
        ({"disagreement_map": True}, ["agreement_map, in the database"]),
        ({"map_folder": "/some/where"}, ["agreement_map, in /some/where"]),
    ):
        config = make_config(ANNOTATORS, resamples=20, **options)
        text = report_text(
            _report(KINDS["masks"].samples(1, 3), config=config, meaning=mask_values(config, {})), full=True
        )
        for part in expected:
            assert part in text
        assert ("HD95" in text) == ("boundaries" in options)


def _two(a, b, meaning=PLAIN):
    """The summary of the only pair of masks, and the report."""
    masks = [np.array(mask, np.int64).reshape(-1, len(np.atleast_2d(mask)[0])) for mask in (a, b)]
    report = _report([dict(enumerate(masks))], config=make_config(ANNOTATORS, empty="agree"), meaning=meaning)
    return next(pair for pair in report.pairs if (pair.a, pair.b) == ("alice", "bob")), report


@pytest.mark.parametrize("case", GOLDEN["mask_classes"], ids=["all classes", "a class that neither has"])
def test_masks_of_the_source_documents_have_their_numbers(case):
    pair, report = _two(case["a"], case["b"])
    union = "_union_labels" if "iou_macro_union_labels" in case else ""
    expected = (case[f"iou_macro{union}"], case[f"dice_macro{union}"])
    assert (pair.mean.iou_with_background, pair.mean.dice_with_background) == pytest.approx(expected, rel=0, abs=1e-12)
    if "iou_per_class" in case:
        classes = sorted(report.classes, key=lambda entry: entry.value)
        assert [entry.value for entry in classes] == case["labels"]
        assert [entry.iou for entry in classes] == pytest.approx(case["iou_per_class"], rel=0, abs=1e-12)
        assert [entry.dice for entry in classes] == pytest.approx(case["dice_per_class"], rel=0, abs=1e-12)


def test_edge_cases_have_the_numbers_computed_by_hand():
    # two masks, IoU and Dice with the background, and without, accuracy, and kappa
    for a, b, with_background, without, accuracy, kappa in (
        ([0, 0, 0], [0, 0, 0], (1.0, 1.0), (None, None), 1.0, None),  # nothing but background
        ([2, 2, 2], [2, 2, 2], (1.0, 1.0), (1.0, 1.0), 1.0, None),  # nothing but one class
        ([0, 0, 0, 1], [0, 0, 0, 0], (3 / 8, 3 / 7), (0.0, 0.0), 3 / 4, 0.0),  # one left it empty
        ([1, 1], [2, 2], (0.0, 0.0), (0.0, 0.0), 0.0, 0.0),  # each another class
        ([0, 1, 5], [0, 1, 5], (1.0, 1.0), (1.0, 1.0), 1.0, 1.0),  # the same
        ([0, 1, 0, 1], [1, 0, 1, 0], (0.0, 0.0), (0.0, 0.0), 0.0, -1.0),  # swapped
        ([255, 255, 0], [0, 1, 255], (None, None), (None, None), None, None),  # all ignored
    ):
        for first, second in ((a, b), (b, a)):
            pair, _ = _two(first, second, MaskValues(0, (255,), {}))
            found = pair.mean
            assert (found.iou_with_background, found.dice_with_background) == pytest.approx(with_background, abs=1e-12)
            assert (found.iou, found.dice) == pytest.approx(without, abs=1e-12)
            assert (pair.accuracy, pair.kappa) == pytest.approx((accuracy, kappa), abs=1e-12)

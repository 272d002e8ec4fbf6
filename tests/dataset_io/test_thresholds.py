"""Other thresholds and rules, computed when asked for: against runs at these thresholds and under these rules."""

from __future__ import annotations

import io
import logging
from typing import Any

import fiftyone as fo
import numpy as np
import pandas as pd
import pytest

from tests.dataset_io.kinds import dataset_of
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused
from tests.dataset_io.rated import rated_dataset
from tests.datasets import frames_of

import annotator_agreement as aa
from annotator_agreement.charts.figures import plot_thresholds
from annotator_agreement.dataset_io import load, load_agreement
from annotator_agreement.dataset_io.results import thresholds
from annotator_agreement.dataset_io.run import read

RULES = ("method", "classes", "missing", "empty", "undefined")


def _dataset(make_dataset: Any, kind: str = "boxes") -> fo.Dataset:
    return dataset_of(make_dataset, kind, 14)[0]


def _compute(dataset: Any, **options: Any) -> Any:
    return aa.compute(dataset, ANNOTATORS, progress=False, **{"resamples": 0, **options})


def _same(found: Any, expected: float | None) -> None:
    assert found == pytest.approx(np.nan if expected is None else expected, rel=0, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("kind", ["boxes", "polygons", "keypoints"])
@pytest.mark.few(1)
def test_thresholds_and_rules_have_the_numbers_of_runs_with_them_also_on_a_part(make_dataset: Any, kind: str) -> None:
    dataset = _dataset(make_dataset, kind)
    run = _compute(dataset, iou=0.6)
    found, rules, suggested = run.thresholds().set_index("threshold"), run.rules(), run.threshold_from_data()
    assert len(found) == 18
    for threshold in (0.3, 0.75):
        other = _compute(dataset, iou=threshold, run_key="other", overwrite=True)
        assert found["n_units"][threshold] == other.n_units
        assert found["n_hard"][threshold] == other.report.n_hard_components
        for name, value in (("f1", other.existence.f1), ("score", other.score.mean), ("alpha", other.alpha.pooled)):
            _same(found[name][threshold], value)
    assert found["n_units"][0.3] < found["n_units"][0.75]
    own = rules[rules["no_labels"] == "not_assigned"]
    assert len(own) == 4 * 2 * 2 * 2
    for row in (0, 22):
        of_row = {name: own[name][row] for name in RULES}
        other = _compute(dataset, iou=0.6, run_key="other", overwrite=True, **of_row)
        _same(own["pooled"][row], other.alpha.pooled)
        _same(own["mean"][row], other.alpha.mean)
        assert own["n_defined"][row] == other.alpha.n_defined
    assert suggested.n_samples == run.report.n_rated
    auto = _compute(dataset, iou="auto", run_key="auto")
    assert auto.config["iou"] == (0.5 if suggested.threshold is None else round(suggested.threshold, 2))
    part = dataset.limit(8)
    of_part, alone = run.on(part), _compute(part, iou=0.6, run_key="alone")
    for table in ("thresholds", "rules"):
        pd.testing.assert_frame_equal(getattr(of_part, table)(), getattr(alone, table)(), rtol=0, atol=1e-12)
    assert of_part.threshold_from_data() == alone.threshold_from_data()


def test_frames_have_thresholds_and_labels_that_are_not_matched_none(make_videos: Any, make_dataset: Any) -> None:
    label, moved = ([("cat", (x, 0.2, 0.3, 0.4))] for x in (0.1, 0.13))  # IoU 9/11
    dataset = make_videos([{"alice": frames_of(*[label] * 3), "bob": frames_of(*[moved] * 3)}])
    run = aa.compute(dataset, ["frames.alice", "frames.bob"], resamples=0, progress=False)
    found = run.thresholds().set_index("threshold")["f1"]
    assert (found[0.8], found[0.85]) == (1.0, 0.0)
    assert run.threshold_from_data().n_samples == 3
    given = {"first": ["car", "bus", "car"], "second": ["car", "car", "bus"]}
    run = aa.compute(rated_dataset(make_dataset, given, "Classification"), list(given), resamples=0, progress=False)
    for method in (run.thresholds, run.rules, run.threshold_from_data):
        refused(r"need labels of objects, such as boxes, got Classification in", method)


@pytest.mark.parametrize("kind", ["boxes", "polygons"])
def test_boxes_are_those_of_the_run_and_shapes_are_read_again(make_dataset: Any, kind: str, caplog: Any) -> None:
    dataset = _dataset(make_dataset, kind)
    run = _compute(dataset)
    before = run.thresholds()
    for sample in dataset.limit(3).iter_samples(autosave=True):
        sample["alice"] = type(sample["bob"] or sample["alice"])()
    dataset.delete_samples(dataset.skip(12))
    after = run.thresholds()
    assert before.equals(after) == (kind == "boxes")
    text = io.StringIO()
    aa.load(dataset).print_report(full=True, file=text)
    noted = " ".join(text.getvalue().split())
    sentence = (
        f"{run.changed()} samples saved or deleted since this run: these are the numbers of the labels as they are now"
    )
    assert (sentence in noted, sentence in caplog.text) == (kind == "polygons",) * 2
    if kind == "polygons":
        again = _compute(dataset, run_key="again")
        assert after.equals(again.thresholds())


def test_a_report_asks_for_them_and_one_that_nobody_loaded_has_none(make_dataset: Any, tmp_path: Any) -> None:
    dataset = _dataset(make_dataset)
    run = _compute(dataset)
    report = run.report
    assert not {"thresholds", "rules", "data_threshold"} & report.to_dict().keys()
    for full in (False, True):
        text = io.StringIO()
        report.print_report(full=full, file=text)
        for part in ("Thresholds side by side", "Alpha of objects under other rules"):
            assert (part in text.getvalue()) == full
    assert len(report.to_dataframe("best_matches")) == 20
    (f1, *_) = report.plot_thresholds().data
    assert list(f1.y) == report.to_dataframe("thresholds")["f1"].tolist()
    message = "thresholds need a report that was loaded from a dataset"
    refused(message, plot_thresholds, type(report).from_dict(report.to_dict()))
    page = run.export(tmp_path / "report.html").read_text(encoding="utf-8")
    for part in ("Thresholds side by side", "Alpha of objects under other rules", "figure-thresholds"):
        assert part in page
    run.export(tmp_path, format="csv", overwrite=True)
    assert {"thresholds.csv", "rules.csv", "best_matches.csv"} <= {path.name for path in tmp_path.iterdir()}
    without = _compute(dataset, method="mutual_best", run_key="without")  # a method without a threshold has no others
    assert len(without.thresholds()) == 0
    assert set(without.rules()["method"]) == {"mutual_best", "optimal", "recursive"}
    refused("objects are matched without a threshold", without.plot_thresholds)


def test_shapes_that_can_no_longer_be_read_are_a_sentence(make_dataset: Any, tmp_path: Any) -> None:
    dataset = _dataset(make_dataset, "polygons")
    run = _compute(dataset)
    dataset.rename_sample_field("bob", "bobby")
    refused("got no `bob", run.thresholds)
    text = io.StringIO()
    aa.load(dataset).print_report(full=True, file=text)
    assert "got no `bob" in " ".join(text.getvalue().split())
    run.export(tmp_path / "report.zip")
    run.export(tmp_path / "report.html")


def _noisy_labels(n_samples: int, seed: int = 4) -> dict[str, list]:
    """Boxes that three annotators draw a fifth apart, wider than high; some are missed."""
    rng = np.random.default_rng(seed)
    annotators: dict[str, list] = {name: [] for name in ANNOTATORS}
    for _ in range(n_samples):
        n = int(rng.integers(1, 5))
        size = rng.uniform([0.1, 0.05], [0.3, 0.2], (n, 2))
        low = rng.uniform(0, 0.6, (n, 2))
        for labels in annotators.values():
            drawn = np.flatnonzero(rng.random(n) < 0.85)
            moved = low[drawn] + rng.normal(0, 0.1, (len(drawn), 2)) * size[drawn] + 0.05
            labels.append([("car", box) for box in np.hstack([moved, size[drawn]]).tolist()])
    return annotators


@pytest.fixture
def noisy(make_dataset):
    """60 samples of three annotators."""
    return make_dataset(_noisy_labels(60))


def test_the_run_uses_the_threshold_that_its_labels_suggest(noisy):
    report = compute_quickly(noisy, iou="auto")
    suggested = load(noisy).threshold_from_data()
    assert 0.1 < suggested.threshold < 0.6
    assert report.config["iou"] == round(suggested.threshold, 2) != 0.5
    assert suggested.n_samples == 60
    for options in (report.config, noisy.get_run_info("agreement").config.options):
        assert (options["iou"], options["iou_from_data"]) == (report.config["iou"], True)
    assert load_agreement(noisy) == report
    given = compute_quickly(noisy, iou=report.config["iou"], run_key="given")
    assert (given.alpha, given.n_units, given.config["iou_from_data"]) == (report.alpha, report.n_units, False)
    assert load(noisy, "given").threshold_from_data() == suggested


@pytest.mark.long
def test_a_view_decides_by_its_own_labels_and_order_and_batches_of_bounded_size_change_nothing(noisy, monkeypatch):
    together = compute_quickly(noisy, iou="auto").config["iou"]
    reverse = compute_quickly(noisy.sort_by("filepath", reverse=True), iou="auto", run_key="reverse")
    assert reverse.config["iou"] == together
    assert load(noisy).threshold_from_data() == load(noisy, "reverse").threshold_from_data()
    few = compute_quickly(noisy.limit(20), iou="auto", run_key="few")
    suggested = load(noisy, "few").threshold_from_data()
    assert (suggested.n_samples, few.config["iou"]) == (20, round(suggested.threshold, 2))
    sizes, of_batch = [], thresholds.without_crowd
    monkeypatch.setattr(thresholds, "without_crowd", lambda batch: (sizes.append(batch.n_samples), of_batch(batch))[1])
    for limit, value in (("BATCH_SAMPLES", 7), ("BATCH_LABELS", 14), ("BATCH_LABEL_PAIRS", 7), ("BATCH_PAIRS", 21)):
        with monkeypatch.context() as patch:
            patch.setattr(read, limit, value)
            sizes.clear()
            apart = compute_quickly(noisy, iou="auto", run_key="apart", overwrite=True)
        assert apart.config["iou"] == together
        assert max(sizes) <= 7
        assert len(sizes) > len(noisy) // 7


def test_labels_that_suggest_no_threshold_are_matched_at_one_half(make_dataset, caplog):
    dataset = make_dataset({name: [[("car", (0.1, 0.2, 0.3, 0.1))], []] for name in ANNOTATORS})
    with caplog.at_level(logging.WARNING):
        report = compute_quickly(dataset, iou="auto")
    suggested = load(dataset).threshold_from_data()
    assert (report.config["iou"], suggested.threshold, suggested.reason) == (0.5, None, "no_variation")
    assert "suggest no matching threshold (no_variation); 0.5 is used" in caplog.text

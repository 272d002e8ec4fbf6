"""A reference and models beside the annotators."""

from __future__ import annotations

import hashlib
import re
from io import StringIO
from pathlib import Path
from typing import Any

import fiftyone as fo
import numpy as np
import pandas as pd
import pytest
from fiftyone import ViewField as F
from scipy.optimize import linear_sum_assignment

from tests.dataset_io.kinds import ROLES, WITH_ROLES, dataset_of
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused
from tests.datasets import join_fields, random_annotators

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.dataset_io.record import Run

NAMES = ("alice", "bob", "carol", "gold", "yolo")


@pytest.fixture
def labelled(lend: Any) -> fo.Dataset:
    """Three annotators, a reference and a model, whose labels have a confidence."""
    return lend(_made)


def _made(make_dataset: Any) -> fo.Dataset:
    dataset, rng = make_dataset(random_annotators(40, NAMES, seed=5)), np.random.default_rng(7)
    drawn = dataset.values("yolo.detections.id")
    dataset.set_values("yolo.detections.confidence", [of and rng.random(len(of)).tolist() for of in drawn])
    return dataset


@pytest.fixture
def compared(lend: Any) -> fo.Dataset:
    """The same with a run that has a reference and a model."""
    return lend(_made_with_a_run)


def _made_with_a_run(make_dataset: Any) -> fo.Dataset:
    dataset = _made(make_dataset)
    compute_quickly(dataset, reference="gold", models=["yolo"])
    return dataset


@pytest.mark.parametrize("kind", WITH_ROLES)
@pytest.mark.few(1)
def test_numbers_fields_and_records_of_annotators_are_those_without_roles(make_dataset: Any, kind: str) -> None:
    dataset, fields, options = dataset_of(make_dataset, kind)
    alone = {name: value for name, value in options.items() if name not in (*ROLES, "confidence_threshold")}
    found, written, columns = [], [], []
    for given in (alone, options):
        report = dataset_io.compute_agreement(dataset, fields, overwrite=True, **given).to_dict()
        for name in ("reference", "models"):
            del report[name], report["config"][name]
        del report["run"]["seconds"], report["config"]["confidence_threshold"]
        run = Run(dataset, "agreement")
        records = run.records().records
        found.append(report)
        written.append({path: dataset.values(path) for path in run.config["fields_written"]})
        columns.append({name: records.column(name) for name in records.parts[0]})
    assert (found[1], {path: written[1][path] for path in written[0]}) == (found[0], written[0])
    assert not [path for path in set(written[1]) - set(written[0]) if not re.search("reference|^gold|^net", path)]
    for name, values in columns[0].items():
        if "uncounted" not in name:  # labels that make no unit, as those of roles
            np.testing.assert_array_equal(columns[1][name], values)


def test_numbers_are_those_of_assignments_and_shown_with_their_bias(labelled: fo.Dataset, tmp_path: Path) -> None:
    run = aa.compute(labelled, ANNOTATORS, reference="gold", classes="ignore")
    for entry in run.report.reference.annotators:
        n_matched = n_labels = n_reference = n_samples = n_right = 0
        total = 0.0
        for own, true in zip(labelled.values(entry.name), labelled.values("gold"), strict=True):
            if own is None or true is None:
                continue
            n_samples += 1
            n_labels += len(own.detections)
            n_reference += len(true.detections)
            iou = np.array([[_iou(a.bounding_box, b.bounding_box) for b in true.detections] for a in own.detections])
            iou = iou.reshape(len(own.detections), len(true.detections))
            value = np.where(iou >= 0.5 - 1e-9, iou - 0.5 + 1e-9, 0.0)
            for a, b in zip(*(each.tolist() for each in linear_sum_assignment(value, maximize=True)), strict=True):
                if value[a, b] > 0:
                    n_matched += 1
                    total += iou[a, b]
                    n_right += own.detections[a].label == true.detections[b].label
        assert (entry.n_samples, entry.n_labels, entry.n_reference) == (n_samples, n_labels, n_reference)
        assert (entry.n_matched, entry.n_right) == (n_matched, n_right)
        n = n_labels + n_reference
        for name, value in {
            "precision": n_matched / n_labels, "recall": n_matched / n_reference, "f1": 2 * n_matched / n,
            "mean_iou": total / n_matched, "class_accuracy": n_right / n_matched, "class_precision": n_right / n_labels,
            "class_recall": n_right / n_reference, "class_jaccard": n_right / (n - n_matched),
        }.items():  # fmt: skip
            assert getattr(entry, name) == pytest.approx(value), name
        assert entry.intervals["class_jaccard"].low < entry.class_jaccard < entry.intervals["class_jaccard"].high
        assert entry.n_right + entry.n_wrong_class + entry.n_loose + entry.n_extra == n_labels
        said = labelled.count_values(f"{entry.name}.detections.agreement_reference")
        counts = (entry.n_right, entry.n_wrong_class, entry.n_loose, entry.n_extra)
        assert tuple(said.get(name, 0) for name in ("right", "wrong_class", "loose", "extra")) == counts
        missed = labelled.count_values("gold.detections.agreement_missed_by")
        assert missed.get(entry.name, 0) == entry.n_missed
        assert sum(part.n_labels for part in entry.classes) == n_labels
        assert sum(part.n_reference for part in entry.sizes) == n_reference
    file = StringIO()
    run.print_report(full=True, file=file)
    rows = file.getvalue().split("Bias against the boxes of gold, in per cent")[1].splitlines()
    frame = run.to_dataframe("reference").set_index("annotator")
    for line, one in zip(rows[2:5], run.report.reference.annotators, strict=True):
        interval = one.intervals["bias.size"]
        shown = f"{one.bias['size']:+.1f} [{interval.low:.1f}, {interval.high:.1f}]".replace("-0.0", "0.0")
        assert line.split()[0] == one.name
        assert shown in line
        assert frame.loc[one.name, ["bias.size_low", "bias.size_high"]].tolist() == [interval.low, interval.high]
    assert "Bias against the boxes of gold" in run.export(tmp_path / "report.html").read_text()


def _iou(a: Any, b: Any) -> float:
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0.0) * max(height, 0.0)
    return float(shared / (a[2] * a[3] + b[2] * b[3] - shared))


@pytest.mark.long
def test_samples_have_the_f1_of_every_annotator(compared: fo.Dataset) -> None:
    run = aa.load(compared)
    table = run.samples().set_index("id")
    columns = [f"reference_f1.{name}" for name in ANNOTATORS]
    assert list(table.columns[-3:]) == columns
    for sample in compared:
        found = table.loc[sample.id, columns]
        for name in ANNOTATORS:
            if sample[name] is None or sample.gold is None:
                assert np.isnan(found[f"reference_f1.{name}"])
                continue
            own, true = sample[name].detections, sample.gold.detections
            n_matched = sum(label.agreement_reference in ("right", "wrong_class") for label in own)
            expected = 2 * n_matched / (len(own) + len(true)) if own or true else np.nan
            assert found[f"reference_f1.{name}"] == pytest.approx(expected, nan_ok=True)
        mean = np.nan if sample.agreement_reference_f1 is None else sample.agreement_reference_f1
        assert found.mean() == pytest.approx(mean, nan_ok=True)
        worst = [name for name, value in zip(ANNOTATORS, found, strict=True) if value == found.min() < 1]
        assert worst == (sample.agreement_reference_worst or [])
    some = compared.limit(7)
    np.testing.assert_array_equal(run.on(some).samples()[columns], table.loc[sorted(some.values("id")), columns])


@pytest.mark.long
def test_each_half_takes_the_threshold_that_is_best_on_the_other(labelled: fo.Dataset) -> None:
    options = {"models": "yolo", "overwrite": True}
    found = compute_quickly(labelled, confidence_threshold="best_f1", **options).models[0].thresholds
    for half in (0, 1):
        some = labelled.select([sample_id for sample_id in labelled.values("id") if _half(sample_id) == half])
        f1 = {}
        for least in (0.0, 0.4, found[1 - half]):
            rows = compute_quickly(some, confidence_threshold=least, **options).models[0].annotators
            f1[least] = 2 * sum(row.n_matched for row in rows) / sum(row.n_labels + row.n_reference for row in rows)
        assert f1[found[1 - half]] == max(f1.values())


def _half(sample_id: str) -> int:
    digest = hashlib.blake2b(bytes.fromhex(sample_id), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 1) % 2


@pytest.mark.long
def test_the_reference_can_be_a_value_of_the_attribute(labelled: fo.Dataset) -> None:
    join_fields(labelled, [*ANNOTATORS, "gold"], "labels")
    of_fields = compute_quickly(labelled, reference="gold", run_key="f")
    options = {"annotator_attribute": "annotator", "assigned_field": "labels_assigned"}
    of_values = compute_quickly(labelled, "labels", reference="gold", run_key="a", **options)
    assert (of_values.reference, [one.name for one in of_values.annotators]) == (of_fields.reference, ANNOTATORS)
    assert of_values.run.n_unknown == 0
    beside = compute_quickly(labelled, "labels", annotators=ANNOTATORS, reference="yolo", run_key="b", **options)
    assert beside.reference == compute_quickly(labelled, reference="yolo", run_key="g").reference


def test_roles_that_cannot_be_used(labelled: fo.Dataset) -> None:
    labelled.add_sample_field("ground", fo.EmbeddedDocumentField, embedded_doc_type=fo.Classification)
    labelled.add_sample_field("nothing", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    for options, message in (
        ({"reference": "alice"}, "`reference` must not be an annotator, got 'alice'"),
        ({"reference": "gold", "models": ["gold"]}, "`models` must not hold the `reference`, got 'gold' as both"),
        ({"models": ["yolo", "yolo"]}, "`models` must be different fields, got yolo more than once"),
        ({"reference": "golden"}, "`reference` must be a label field, got 'golden', which does not exist; did"),
        ({"reference": "truth"}, "does not exist; other fields with such labels are gold, yolo, nothing$"),
        ({"reference": "ground"}, r"`reference` must hold labels .*, got 'ground' with Classification"),
        ({"reference": "nothing"}, "`reference` must have labels on some of the samples, got 'nothing', which is null"),
        ({"models": "gold", "confidence_threshold": 0.5}, "`confidence_threshold` needs the `confidence`"),
        ({"confidence_threshold": 0.5}, "`confidence_threshold` has no effect without `models`"),
        ({"models": "yolo", "confidence_threshold": 2}, r"`confidence_threshold` must be in \[0, 1\], "),
        ({"reference": 3}, "`reference` must be the name of a field"),
        ({"models": 3}, "`models` must be names of fields with predictions, got 3"),
    ):
        refused(message, compute_quickly, labelled, **options)
    assert not labelled.list_runs()


def test_views_show_the_labels_behind_the_numbers(compared: fo.Dataset, tmp_path: Path) -> None:
    run = aa.load(compared)
    for one in run.report.reference.annotators:
        for said, n in (("extra", one.n_extra), ("loose", one.n_loose), ("wrong_class", one.n_wrong_class)):
            assert run.view(reference=said, annotators=one.name).count(f"{one.name}.detections") == n
        view = run.view(reference="missed", annotators=one.name)
        assert view.count("gold.detections") == one.n_missed
        assert not view.has_field("alice")
    both = run.view(reference=["extra", "loose"])
    n = sum(one.n_extra + one.n_loose for one in run.report.reference.annotators)
    assert sum(both.count(f"{name}.detections") for name in ANNOTATORS) == n
    of_model = "`verdict` must be one of right, wrong_class, loose, extra, missed, got"
    for asked, message in (
        ({"reference": "wrong"}, "`reference` must be one of right, wrong_class, wrong_attribute, loose"),
        ({"reference": ["missed", "extra"]}, "`reference` must be 'missed' alone"),
        ({"model": "gold"}, r"`model` must be a model of the run 'agreement' \(yolo\), got 'gold'"),
        ({"model": "yolo", "verdict": "lone"}, of_model),
        ({"model": "yolo", "classes": "cat"}, "`classes` must be None with `model`, got 'cat'"),
        ({"annotators": "yolo"}, "`annotators` must be annotators, got the model 'yolo'; use model='yolo'"),
    ):
        refused(message, run.view, **asked)
    without = aa.compute(compared, ["alice", "bob"], run_key="without", resamples=0)
    refused("`reference` must be None for a run without a reference", without.view, reference="extra")
    message = "needs a reference and labels that are no semantic masks, got none"
    refused(message, without.decisions.export_against, "bob", tmp_path / "list.csv", reference=True)


@pytest.mark.long
def test_views_show_the_labels_behind_the_numbers_of_a_model(labelled: fo.Dataset) -> None:
    names, options = ANNOTATORS, {"reference": "gold", "models": ["yolo"], "confidence_threshold": 0.2}
    run = aa.compute(labelled, names, **options, resamples=0)
    of_model, labels = run.report.models[0], run.labels()
    table = labels[labels.role == "model"].set_index("label_id")
    for one in of_model.annotators:
        for said, of_annotator, of_yolo in (
            ("right", one.n_right, one.n_right), ("wrong_class", one.n_wrong_class, one.n_wrong_class),
            ("loose", one.n_loose, one.n_loose), ("extra", 0, one.n_missed), ("missed", one.n_extra, 0),
            (None, 0, one.n_reference),
        ):  # fmt: skip
            view = run.view(model="yolo", annotators=one.name, verdict=said)
            assert (_n(view, one.name), _n(view, "yolo")) == (of_annotator, of_yolo)
            assert sum(_n(view, name) for name in (*names, "gold")) == of_annotator
    for said in ("right", "extra"):
        assert _ids(run.view(model="yolo", verdict=said)) == set(table.index[table.verdict == said])
    alone = [_ids(run.view(model="yolo", annotators=name, verdict="extra")) for name in names]
    everywhere = _ids(labelled.match(fo.ViewExpression.all([fo.ViewField(name).exists() for name in names])))
    assert everywhere & set.intersection(*alone) == everywhere & set(table.index[table.verdict == "extra"])


def _ids(view: fo.DatasetView) -> set[str]:
    return set(view.values("yolo.detections.id", unwind=True))


def _n(view: fo.DatasetView, name: str) -> int:
    return view.count(f"{name}.detections") if view.has_field(name) else 0


def test_tables_have_the_numbers_and_the_labels(labelled: fo.Dataset) -> None:
    report = dataset_io.compute_agreement(labelled, ANNOTATORS, reference="gold", models=["yolo"], resamples=50)
    frame = report.to_dataframe("reference").set_index("annotator")
    assert frame.f1.to_dict() == {one.name: one.f1 for one in report.reference.annotators}
    assert frame.f1_low["bob"] == report.reference.annotators[1].intervals["f1"].low
    classes = report.to_dataframe("reference_classes")
    assert classes.n_labels.sum() == frame.n_labels.sum()
    assert set(report.to_dataframe("models").model) == {"yolo"}
    labels = report.labels()
    for name, role in (("alice", "annotator"), ("gold", "reference"), ("yolo", "model")):
        assert (labels[labels.annotator == name].role == role).sum() == labelled.count(f"{name}.detections")
    said = labels[labels.annotator == "alice"].set_index("label_id").reference.dropna().to_dict()
    paths = ("alice.detections.id", "alice.detections.agreement_reference")
    of_labels = zip(*labelled.values([*paths], unwind=True), strict=True)
    assert said == {label_id: value for label_id, value in of_labels if value is not None}
    rows = labels[labels.annotator == "gold"].set_index("label_id")
    for sample in labelled.exists("gold"):
        for label in sample.gold.detections:
            row = rows.loc[label.id]
            assert (row.field, row.label) == ("gold", label.label)
            assert row.unit == (getattr(label, "agreement_id", None) or sample.id)


def _said(dataset: fo.Dataset, key: str) -> dict[str, str | None]:
    """What the reference says of every label, by its id, on images with decisions."""
    drawn = [held for name in ANNOTATORS for held in dataset.exists("agreement_gold").values(name)]
    labels = [label for held in drawn if held is not None for label in held.detections]
    return {label.id: getattr(label, f"{key}_reference", None) for label in labels}


@pytest.mark.long
def test_labels_that_nobody_decided_say_nothing_against_a_reference_of_decisions(labelled: fo.Dataset) -> None:
    run = aa.compute(labelled, ANNOTATORS, resamples=0)
    run.decisions.decide("consensus", verdict=["class_conflict", "missed", "lone"])
    run.on(labelled.limit(5)).decisions.decide("skip", verdict="agreed")
    against = aa.compute(labelled, ANNOTATORS, reference="agreement_gold", run_key="vs", resamples=0)
    entries = [entry for log in labelled.values("agreement_gold_decisions") for entry in log or ()]
    decided = {name.split()[-1] for entry in entries if entry["choice"] != "skip" for name in entry["labels"]}
    said = _said(labelled, "vs")
    left_out = [label_id for label_id, value in said.items() if value is None]
    report = against.report
    assert report.reference.n_undecided == len(left_out) > 20
    assert decided.isdisjoint(left_out)
    others = said.keys() - decided - {*left_out}
    assert {said[label_id] for label_id in others} <= {"right", "wrong_class"}
    by_rule = [entry for entry in entries if entry["by_rule"] and entry["choice"] != "skip"]
    assert report.reference.n_by_rule == len(by_rule) > 0
    out = StringIO()
    report.print_report(file=out)
    printed = " ".join(out.getvalue().split())
    assert f"left out: {len(left_out)} labels of objects that nobody decided" in printed
    assert f"a rule made {len(by_rule)} of its decisions" in printed
    run.decisions.decide("consensus", min_votes=2)
    against.update()
    fresh = aa.compute(labelled, ANNOTATORS, reference="agreement_gold", run_key="fresh", resamples=0).report
    assert aa.load(labelled, "vs").report.to_dict()["reference"] == fresh.to_dict()["reference"]
    assert fresh.reference.n_undecided < len(left_out)
    # the numbers are those of a dataset without these labels, and with the decisions as labels like others
    left_out = [label_id for label_id, value in _said(labelled, "vs").items() if value is None]
    labelled.delete_labels(ids=left_out, fields=ANNOTATORS)
    labelled.add_sample_field("truth", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    labelled.set_values("truth", [gold and gold.copy() for gold in labelled.values("agreement_gold")])
    expected = compute_quickly(labelled, reference="truth", run_key="other").reference
    for one, other in zip(fresh.reference.annotators, expected.annotators, strict=True):
        for name in ("name", "n_labels", "n_right", "n_extra", "n_missed", "f1"):
            assert getattr(one, name) == getattr(other, name)
    assert labelled.values("other_reference_f1") == labelled.values("vs_reference_f1")


def test_the_list_to_send_has_all_that_the_reference_says(compared: fo.Dataset, tmp_path: Path) -> None:
    labelled, run = compared, aa.load(compared)
    for name in ("alice", "carol"):
        own = next(each for each in run.reference.annotators if each.name == name)
        table = pd.read_csv(run.decisions.export_against(name, tmp_path / f"{name}.csv", reference=True))
        counts = table["remark"].value_counts().to_dict()
        expected = {"wrong class": own.n_wrong_class, "loose": own.n_loose, "extra": own.n_extra}
        assert {each: counts.get(each, 0) for each in expected} == expected
        missed = labelled.filter_labels("gold", F("agreement_missed_by").contains(name)).count("gold.detections")
        assert own.n_missed == missed == counts["missed"] + own.n_loose
        paths = [f"{name}.detections.{each}" for each in ("id", "agreement_reference")]
        said = dict(zip(*labelled.values(paths, unwind=True), strict=True))
        listed = table.dropna(subset="label_id")
        assert {row.label_id: row.remark.replace(" ", "_") for row in listed.itertuples()} == {
            key: value for key, value in said.items() if value not in (None, "right")
        }
        page = run.decisions.export_against(name, tmp_path / f"{name}.html", reference=True).read_text("utf-8")
        assert f"{name} against the reference gold" in page
        assert page.count("<tr>") == len(table) + 1
    view = labelled.limit(5)
    part = pd.read_csv(run.on(view).decisions.export_against(name, tmp_path / "part.csv", reference=True))
    assert part["sample_id"].tolist() == [each for each in table["sample_id"] if each in set(view.values("id"))]


def test_of_two_loose_labels_for_one_object_the_nearer_is_loose_and_the_other_extra(make_dataset: Any) -> None:
    drawn = [("car", [0.3 + 0.4 * 0.2, 0.4, 0.2, 0.2]), ("car", [0.3 - 0.6 * 0.2, 0.4, 0.2, 0.2])]  # IoU 3/7 and 1/4
    dataset = make_dataset({"alice": [drawn], "gold": [[("car", [0.3, 0.4, 0.2, 0.2])]]})
    report = aa.compute(dataset, ["alice"], reference="gold", progress=False).report
    assert [label.agreement_reference for label in dataset.first().alice.detections] == ["loose", "extra"]
    (alice,) = report.reference.annotators
    assert (alice.n_loose, alice.n_extra, alice.n_missed) == (1, 1, 1)


@pytest.mark.long
def test_predictions_below_the_threshold_are_left_out(labelled: fo.Dataset) -> None:
    (model,) = compute_quickly(labelled, models="yolo", confidence_threshold=0.4).models
    for sample in labelled.exists("yolo").iter_samples(autosave=True):  # the same without the option
        sure = [label.copy() for label in sample.yolo.detections if label.confidence >= 0.4]
        sample["sure"] = fo.Detections(detections=sure)
    (other,) = compute_quickly(labelled, models="sure", run_key="other").models
    assert model.thresholds == [0.4, 0.4]
    assert 0 < model.n_labels == other.n_labels < labelled.count("yolo.detections")
    assert model.annotators == other.annotators


@pytest.mark.long
def test_runs_are_compared_by_the_numbers_against_the_reference(labelled: fo.Dataset) -> None:
    first = compute_quickly(labelled, reference="gold", run_key="before")
    for sample in labelled:
        if sample.gold is not None and sample.bob is not None:
            sample.bob = fo.Detections(detections=[label.copy() for label in sample.gold.detections])
            sample.save()
    second = compute_quickly(labelled, reference="gold", run_key="after")
    comparison = dataset_io.compare_agreement(labelled, "before", "after")
    found = {part.names[0]: part.numbers for part in comparison.changes["reference"]}
    assert second.reference.annotators[1].f1 == found["bob"]["f1"].b == 1.0 > found["bob"]["f1"].a
    assert first.reference.annotators[1].f1 < 1.0
    assert found["bob"]["f1"].interval is not None
    assert found["alice"]["f1"].difference == 0.0

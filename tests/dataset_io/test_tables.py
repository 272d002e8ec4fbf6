"""The tables of labels and units of a run, against what stands in the dataset."""

from __future__ import annotations

import io
import itertools
import json
import re
import zipfile
from pathlib import Path

import fiftyone as fo
import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from tests.chance import few
from tests.dataset_io.kinds import dataset_of
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, run_on
from tests.dataset_io.said import said_dataset
from tests.datasets import random_videos, with_regions

import annotator_agreement as aa
from annotator_agreement import dataset_io
from annotator_agreement.dataset_io.record import Run
from annotator_agreement.dataset_io.run import work_list


@pytest.fixture
def boxes(lend):
    """Boxes of three annotators, with a run."""
    return lend(run_on(40))


def _stored_labels(dataset, fields, annotator_of):
    """What the run wrote on every label of a dataset."""
    names = ["sample_id", "unit", "annotator", "field", "label_id", "label", "verdict", "iou"]
    rows = [(sample.id, label.agreement_id, annotator_of(field, label), field, label.id, label.label, label.agreement,
             np.nan if label.agreement_iou is None else label.agreement_iou)
            for sample, field in itertools.product(dataset, fields) if sample[field] is not None
            for label in sample[field].detections]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


def _sorted(table):
    return table.sort_values(["sample_id", "label_id"], ignore_index=True)


def _same_labels(table, expected):
    names = list(expected.columns)
    pd.testing.assert_frame_equal(_sorted(table)[names], _sorted(expected), check_dtype=False, rtol=1e-12)


def _brute_force_units(dataset, labels, annotators):
    """The objects of a run by its labels, the oracle; a null list means that somebody was not asked."""
    asked = {sample.id: [name for name in annotators if sample[name] is not None] for sample in dataset}
    rows = []
    for (sample_id, unit), members in labels.groupby(["sample_id", "unit"], sort=True):
        drawn_by, of, votes = sorted(members["annotator"]), asked[sample_id], len(members)
        # 1 for every two of whom one drew it, 2 for every two who gave it different classes
        apart = sum(a != b for a, b in itertools.combinations(members["label"], 2))
        cost = float(votes * (len(of) - votes) + 2 * apart) if len(of) > 1 else 0.0
        missed_by = [name for name in of if name not in drawn_by]
        rows.append((sample_id, unit, sorted(members["label"]), drawn_by, missed_by, votes, len(of), cost))
    names = ["sample_id", "unit", "labels", "drawn_by", "missed_by", "votes", "assigned", "cost"]
    return pd.DataFrame(rows, columns=names)


def _same_units(table, expected):
    names = list(expected.columns)
    found = table.sort_values(["sample_id", "unit"], ignore_index=True)[names]
    found["labels"] = found["labels"].map(sorted)
    found["drawn_by"] = found["drawn_by"].map(sorted)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


@pytest.mark.long
def test_the_rows_are_what_the_run_wrote_on_labels(boxes):
    report = dataset_io.load_agreement(boxes)
    expected = _stored_labels(boxes, ANNOTATORS, lambda field, label: field)
    _same_labels(report.labels(), expected)
    _same_units(report.units(), _brute_force_units(boxes, expected, ANNOTATORS))
    rated = [table["verdict"].notna().sum() for table in (report.labels(), report.units())]
    assert rated == [report.n_objects, report.n_units]
    assert report.to_dataframe("units").equals(report.units())


@pytest.mark.long
def test_frames_have_their_number_in_the_rows_of_labels_and_rows_of_their_own_in_their_order(make_videos):
    dataset = make_videos(random_videos([6, 6]))
    compute_quickly(dataset, [f"frames.{name}" for name in ANNOTATORS])
    labels = dataset_io.load_agreement(dataset).labels()
    frames = [(sample.id, number, frame) for sample in dataset for number, frame in sample.frames.items()]
    expected = [(sample_id, number, label.id, label.agreement) for sample_id, number, frame in frames
                for name in ANNOTATORS if frame[name] is not None for label in frame[name].detections]  # fmt: skip
    found = zip(labels["sample_id"], labels["frame_number"], labels["label_id"], labels["verdict"], strict=True)
    assert sorted(found) == sorted(expected)
    assert len(expected) > 20
    table = dataset_io.agreement_samples(dataset)
    assert list(table.columns) == [*COLUMNS[:2], "frame_number", *COLUMNS[2:]]
    assert list(zip(table["id"], table["frame_number"], strict=True)) == sorted(frame[:2] for frame in frames)
    _same(table["score"], [frame.agreement_score for *_, frame in frames])


@pytest.mark.parametrize("kind", few(["tags", "labels", "numbers", "texts", "integers"], 3))
@pytest.mark.few(1)
def test_what_was_said_of_samples_stands_in_the_tables_and_keeps_its_ids_after_an_update(make_dataset, kind):
    dataset = said_dataset(make_dataset, kind)
    report, said = dataset_io.load_agreement(dataset), {}
    for sample, name in itertools.product(dataset, ANNOTATORS):
        value = sample[name]
        if value is None:
            continue
        named = [each.label for each in value.classifications] if kind == "tags" else [_plain(value)]
        for each in named:
            said.setdefault((sample.id, each if kind == "tags" else sample.id), []).append((name, each))
    asked = {sample.id: [name for name in ANNOTATORS if sample[name] is not None] for sample in dataset}
    units = report.units().set_index(["sample_id", "unit"])
    assert set(units.index) == set(said)
    for key, members in said.items():
        unit = units.loc[[key]].iloc[0]
        assert list(zip(unit["drawn_by"], unit["labels"], strict=True)) == members
        who = [name for name, _ in members]
        left = [name for name in asked[key[0]] if name not in who] if kind == "tags" else []
        assert (unit["missed_by"], unit["votes"]) == (left, len(who))
        if kind == "tags":
            assert unit["cost"] == len(who) * len(left)
    labels = report.labels()
    assert sorted(zip(labels["annotator"], labels["label"], strict=True)) == sorted(itertools.chain(*said.values()))
    assert set(labels["field"]) == set(ANNOTATORS)
    _same_ids(dataset, labels)
    if kind in ("tags", "labels"):  # fields in any order
        compute_quickly(dataset, ["carol", "alice", "bob"], overwrite=True)
        for sample, other in zip(dataset.limit(4), dataset.skip(4), strict=False):
            sample["bob"] = other["alice"].copy() if other["alice"] is not None else None
            sample.save()
        dataset.delete_samples(dataset.skip(20).values("id"))
        dataset_io.update_agreement(dataset, progress=False)
        _same_ids(dataset, dataset_io.load_agreement(dataset).labels())


def _plain(value):
    return getattr(value, "label", getattr(value, "value", value))


def _same_ids(dataset, labels, fields=ANNOTATORS):
    """Compare ids, fields and verdicts with what stands on the labels; plain values have no ids."""
    written = {label.id: (sample.id, name, getattr(label, "agreement", None))
               for sample, name in itertools.product(dataset, fields)
               for label in getattr(sample[name], "classifications", [sample[name]])
               if isinstance(label, fo.Label)}  # fmt: skip
    assert ("label_id" in labels) == bool(written)
    named = labels.astype(object).where(labels.notna(), None)
    columns = [named[name] for name in ("label_id", "sample_id", "field", "verdict") if written]
    assert {label_id: tuple(row) for label_id, *row in zip(*columns, strict=True)} == written
    assert not written or len(labels) == len(written)


@pytest.mark.long
def test_a_tag_that_somebody_gave_twice_counts_once(make_dataset):
    dataset = said_dataset(make_dataset, "tags")
    rng = np.random.default_rng(5)
    for sample, name in itertools.product(dataset, ANNOTATORS):
        given = sample[name].classifications if sample[name] is not None else []
        given += [fo.Classification(label=label.label) for label in given if rng.random() < 0.5]
        sample.save()
    report = compute_quickly(dataset, overwrite=True)
    labels = report.labels()
    _same_ids(dataset, labels)
    again = labels["unit"].isna()
    assert (report.n_objects, (again & labels["verdict"].isna()).sum()) == ((~again).sum(), again.sum())
    assert again.sum() > 5
    members = aa.load(dataset).decisions.decide("version", annotator="bob", all=True)
    assert (members.n_left_out, members.n_decided + members.n_without) == (0, len(report.units()))


@pytest.mark.parametrize("in_one_field", [False, True])
def test_crowd_regions_have_rows_without_a_unit(make_dataset, in_one_field):
    dataset, fields, options = with_regions(make_dataset, 4, in_one_field=in_one_field)
    report = compute_quickly(dataset, fields, **options)
    annotator_of = (lambda field, label: label.who) if in_one_field else (lambda field, label: field)
    labels, expected = report.labels(), _stored_labels(dataset, fields, annotator_of)
    _same_labels(labels, expected)
    crowd = labels[labels["verdict"] == "crowd"]
    assert len(crowd) == sum(entry.n_crowd for entry in report.annotators) > 10
    assert crowd[["unit", "iou", "area"]].isna().all(axis=None)
    shown = dataset_io.view_agreement(dataset, verdict="crowd").values(f"{fields[0]}.detections.id", unwind=True)
    assert sorted(shown) == sorted(crowd[crowd["field"] == fields[0]]["label_id"])
    view = dataset.limit(5)
    part = dataset_io.agreement_on(view, resamples=0).labels()
    pd.testing.assert_frame_equal(part, labels[labels["sample_id"].isin(view.values("id"))].reset_index(drop=True))


@pytest.mark.long
def test_classes_of_masks_are_units(make_dataset):
    dataset = said_dataset(make_dataset, "masks")
    first = dataset.first()
    for name in ANNOTATORS:  # an image on which all agree
        first[name] = fo.Segmentation(mask=np.eye(2, 3, dtype=np.uint8))
    first.save()
    report = compute_quickly(dataset, overwrite=True)
    labels, units = report.labels(), report.units()
    masks = {(sample.id, name): sample[name].mask for sample, name in itertools.product(dataset, ANNOTATORS)
             if sample[name] is not None}  # fmt: skip
    rated = {key for key, n in pd.Series([key for key, _ in masks]).value_counts().items() if n > 1}
    expected = {(key, name): int((mask == 1).sum()) for (key, name), mask in masks.items() if key in rated}
    areas = dict(zip(zip(labels["sample_id"], labels["annotator"], strict=True), labels["area"], strict=True))
    assert areas == {key: area for key, area in expected.items() if area}
    for row in labels.itertuples():
        assert row.label_id == dataset[row.sample_id][row.field].id
    n_disputed = units[units["verdict"] == "class_conflict"]["sample_id"].value_counts().to_dict()
    of_samples = zip(*dataset.values(["id", "agreement_n_disputed"]), strict=True)
    assert n_disputed == {key: n for key, n in of_samples if n}
    assert set(units["verdict"]) == {"agreed", "class_conflict"}
    assert len(units) == len({key for key, _ in areas})
    for row in units.itertuples():
        of_sample = {name: mask == 1 for (key, name), mask in masks.items() if key == row.sample_id}
        assert row.drawn_by == [name for name, mask in of_sample.items() if mask.any()]
        assert row.missed_by == [name for name, mask in of_sample.items() if not mask.any()]


def test_the_tables_are_exported(boxes, tmp_path):
    path, report = dataset_io.export_agreement(boxes, path=tmp_path / "run.zip"), dataset_io.load_agreement(boxes)
    with zipfile.ZipFile(path) as archive:
        for name, table in (("labels", report.labels()), ("units", report.units())):
            found = pd.read_csv(io.BytesIO(archive.read(f"{name}.csv")))
            assert (list(found.columns), len(found)) == (list(table.columns), len(table))
            if name == "units":
                assert found["missed_by"].map(json.loads).tolist() == table["missed_by"].tolist()
            stored = pytest.importorskip("pyarrow.parquet").read_table(io.BytesIO(archive.read(f"{name}.parquet")))
            assert len(stored) == len(table)


def test_the_snippets_of_the_guide_run(boxes):
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "tables.md").read_text(encoding="utf-8")
    known = {"aa": aa, "dataset": boxes}
    for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(code, known)
    assert len(boxes.select(known["missed"].query("missed")["sample_id"].unique())) > 0
    lone = known["labels"]["verdict"] == "lone"
    assert boxes.select_labels(ids=known["labels"][lone]["label_id"].tolist()).count("alice.detections") > 0


COLUMNS = ["id", "filepath", "score", "alpha", "n_annotators", "n_objects", "n_units", "n_disputed", "cost",
           "annotators"]  # fmt: skip


def _same(found, expected):
    np.testing.assert_allclose(found.to_numpy(np.float64), np.array(expected, np.float64), atol=1e-12)


@pytest.mark.long
def test_every_sample_has_a_row_with_what_was_written_on_it_also_of_a_view_and_of_deleted_ones(lend):
    dataset = lend(run_on())
    table = dataset_io.agreement_samples(dataset)
    assert list(table.columns) == COLUMNS
    ordered = dataset.sort_by("id")
    assert list(table["id"]) == ordered.values("id")
    assert list(table["filepath"]) == ordered.values("filepath")
    for name in ("score", "alpha", "n_annotators"):
        _same(table[name], ordered.values(f"agreement_{name}"))
    asked = [[name for name in ANNOTATORS if sample[name] is not None] for sample in ordered]
    assert list(table["annotators"]) == asked
    drawn = [ordered.values(f"{name}.detections.label") for name in ANNOTATORS]
    labels, rated = [sum(len(of[k] or []) for of in drawn) for k in range(len(table))], table["n_annotators"] > 1
    assert list(table["n_objects"][rated]) == list(itertools.compress(labels, rated))
    for name in ("n_units", "n_disputed", "cost"):
        assert list(table[name][rated]) == list(itertools.compress(ordered.values(f"agreement_{name}"), rated))
    report, view = dataset_io.load_agreement(dataset), dataset.skip(1).limit(3)
    assert_frame_equal(report.to_dataframe("samples"), table)
    assert_frame_equal(dataset_io.agreement_on(view).to_dataframe("samples"), dataset_io.agreement_samples(view))
    assert list(dataset_io.agreement_samples(view)["id"]) == sorted(view.values("id"))
    assert "samples" not in report.to_dict()
    gone = dataset.first().id
    dataset.delete_samples([gone])
    table = dataset_io.agreement_samples(dataset)
    assert len(table) == 5
    assert list(table["id"][table["filepath"].isna()]) == [gone]


BOX_LIST, OTHER = [0.1, 0.1, 0.2, 0.2], [0.6, 0.6, 0.2, 0.2]


def test_a_sample_with_many_disputed_objects_comes_before_one_with_a_lower_score(make_dataset):
    many = [("cat", [0.1 * k, 0.1, 0.05, 0.05]) for k in range(8)]
    dataset = make_dataset(
        {"a": [[("cat", BOX_LIST)], many, [("cat", BOX_LIST)]], "b": [[("cat", OTHER)], many[:4], [("cat", BOX_LIST)]]}
    )
    compute_quickly(dataset, ["a", "b"])
    loaded = Run(dataset, "agreement").records()
    found = work_list.work_list(loaded.records, loaded.index)
    ids = dataset.values("id")
    # the first has the score 0, but two objects; the last has nothing to fix
    assert [loaded.index.ids()[row] for row in found.row] == [ids[1], ids[0]]
    assert found.cost.tolist() == [4.0, 2.0]
    assert found.score[1] == 0.0 < found.score[0]
    np.testing.assert_allclose(found.share, [2 / 3, 1 / 3])
    assert (found.n_disputed.tolist(), found.n_units.tolist()) == ([4, 2], [8, 2])


@pytest.mark.long
def test_of_frames_the_videos_are_listed_with_their_most_costly_frame(make_videos):
    dataset = make_videos(random_videos([3] * 4, ["a", "b"]))
    compute_quickly(dataset, ["frames.a", "frames.b"])
    loaded = Run(dataset, "agreement").records()
    found = work_list.work_list(loaded.records, loaded.index)
    costs = {}
    of_frames = loaded.index.ids(), loaded.index.frame_numbers(), loaded.records.sample_values().n_disputed
    for video, frame, n in zip(*of_frames, strict=True):
        costs.setdefault(video, {})[int(frame)] = int(n)
    ids = [loaded.index.ids()[row] for row in found.row]
    assert len(set(ids)) == len(ids) <= 4
    assert found.n_disputed.tolist() == [sum(costs[video].values()) for video in ids]
    assert found.cost.tolist() == sorted(found.cost.tolist(), reverse=True)


@pytest.mark.parametrize("kind", few(["boxes", "classes", "tags", "masks"]))
def test_sidebar_table_of_samples_and_report_sort_by_the_same_cost(kind, make_dataset):
    dataset, fields, options = dataset_of(make_dataset, kind)
    run = aa.compute(dataset, fields, progress=False, **options)
    table = run.samples().set_index("id")["cost"]
    of_field = dict(zip(*dataset.values(["id", "agreement_cost"]), strict=True))
    assert {key: value or 0.0 for key, value in of_field.items()} == table.to_dict()
    listed = [entry["id"] for entry in run.look_first]
    costs = [of_field[key] for key in listed]
    assert costs == sorted((cost for cost in of_field.values() if cost), reverse=True)[: len(costs)]
    assert len(costs) == min(10, sum(bool(cost) for cost in of_field.values())) > 1

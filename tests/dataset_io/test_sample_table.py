"""The table of samples contains the values that were written on the samples."""

from __future__ import annotations

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from tests.datasets import frames_of

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import agreement_on, agreement_samples, compute_agreement, load_agreement

ANNOTATORS = ["alice", "bob", "carol"]
COLUMNS = ["id", "filepath", "score", "alpha", "n_annotators", "n_objects", "n_units", "n_disputed"]
COLUMNS += ["cost", "annotators"]
BOX = ("cat", (0.1, 0.1, 0.4, 0.2))


def _same(found, expected):
    np.testing.assert_allclose(found.to_numpy(np.float64), np.array(expected, np.float64), atol=1e-12)


def test_every_sample_has_a_row_with_what_was_written_on_it(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    table = agreement_samples(dataset)
    assert list(table.columns) == COLUMNS
    ordered = dataset.sort_by("id")
    assert list(table["id"]) == ordered.values("id")
    assert list(table["filepath"]) == ordered.values("filepath")
    for name in ("score", "alpha", "n_annotators"):
        _same(table[name], ordered.values(f"agreement_{name}"))
    asked = [[name for name in ANNOTATORS if sample[name] is not None] for sample in ordered]
    assert list(table["annotators"]) == asked
    drawn = [ordered.values(f"{name}.detections.label") for name in ANNOTATORS]
    rated = table["n_annotators"] > 1
    labels = [sum(len(of[k] or []) for of in drawn) for k in range(len(table))]
    assert list(table["n_objects"][rated]) == [n for n, is_rated in zip(labels, rated, strict=True) if is_rated]
    for name in ("n_units", "n_disputed", "cost"):
        written = [
            value for value, is_rated in zip(ordered.values(f"agreement_{name}"), rated, strict=True) if is_rated
        ]
        assert list(table[name][rated]) == written


def test_frames_have_a_row_each_in_their_order(make_videos):
    dataset = make_videos(
        [
            {"alice": frames_of([BOX], [BOX]), "bob": frames_of([BOX], [])},
            {"alice": frames_of([BOX]), "bob": frames_of([BOX])},
        ]
    )
    compute_agreement(dataset, ["frames.alice", "frames.bob"])
    table = agreement_samples(dataset)
    assert list(table.columns) == [*COLUMNS[:2], "frame_number", *COLUMNS[2:]]
    first, second = dataset.sort_by("id").values("id")
    assert list(zip(table["id"], table["frame_number"], strict=True)) == [(first, 1), (first, 2), (second, 1)]
    assert list(table["score"]) == [1.0, 0.0, 1.0]


def test_a_sample_that_was_deleted_keeps_its_row_without_a_file(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    gone = dataset.first().id
    dataset.delete_samples([gone])
    table = agreement_samples(dataset)
    assert len(table) == 5
    assert list(table["id"][table["filepath"].isna()]) == [gone]


def test_a_run_that_is_not_there_is_refused(make_dataset):
    with pytest.raises(AgreementInputError, match="`run_key` must be an agreement run"):
        agreement_samples(make_dataset(), "other")


def test_of_a_view_only_its_samples_have_rows(make_dataset):
    dataset = make_dataset()
    compute_agreement(dataset, ANNOTATORS)
    view = dataset.skip(1).limit(3)
    assert list(agreement_samples(view)["id"]) == sorted(view.values("id"))


def test_a_report_gives_the_table_of_its_samples(make_dataset):
    dataset = make_dataset()
    report = compute_agreement(dataset, ANNOTATORS)
    wanted = agreement_samples(dataset)
    assert_frame_equal(report.to_dataframe("samples"), wanted)
    assert_frame_equal(load_agreement(dataset).to_dataframe("samples"), wanted)
    view = dataset[:1]
    assert_frame_equal(agreement_on(view).to_dataframe("samples"), agreement_samples(view))
    assert len(agreement_samples(view)) == 1
    assert "samples" not in report.to_dict()


def test_the_summary_of_a_report_with_samples_has_numbers_only(make_dataset):
    report = compute_agreement(make_dataset(), ANNOTATORS)
    summary = report.to_dataframe("summary")
    assert report.samples is not None
    assert summary["value"].dtype == np.float64
    assert not any(name.startswith("samples") for name in summary["number"])

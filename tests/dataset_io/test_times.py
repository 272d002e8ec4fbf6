"""How long annotators took: from seconds for an image, seconds for a label, or the time at which labels were made."""

from __future__ import annotations

import datetime as dt
import io
import json
import zipfile

import fiftyone as fo
import numpy as np
import pytest
from scipy import stats

from tests.dataset_io.annotation_samples import by, dataset_of, label_studio_task, ls_box
from tests.datasets import random_annotators

from annotator_agreement import AgreementInputError, compute, files, load

ANNOTATORS = ["alice", "bob"]


def with_attribute(make_dataset, value, *, declare=True):
    """A dataset whose labels have an attribute; ``value`` gives it from annotator, image and number of the label."""
    dataset = make_dataset(random_annotators(40, ANNOTATORS))
    for k, sample in enumerate(dataset):
        for name in ANNOTATORS:
            for n, label in enumerate(sample[name].detections if sample[name] else ()):
                label.set_attribute_value(*value(name, k, n))
        sample.save()
    if declare:
        dataset.add_dynamic_sample_fields()
    compute(dataset, ANNOTATORS, resamples=0, sensitivity=False)
    return dataset


def counts(dataset, name):
    return [len(each.detections) for each in dataset.values(name) if each is not None and each.detections]


def test_label_studio_keeps_the_seconds_of_an_image(delete_imports, tmp_path):
    names = [f"{k}.jpg" for k in range(12)]
    tasks = [
        label_studio_task(
            name,
            by("alice", ls_box(10, 10, 20, 20), ls_box(50, 50, 20, 20), lead_time=10.0 + k),
            by("bob", ls_box(10, 10, 20, 20), lead_time=30.0),
        )
        for k, name in enumerate(names)
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    dataset = dataset_of(names)
    files.load(dataset, tmp_path / "tasks.json")
    run = compute(dataset, ["alice", "bob"], resamples=0, sensitivity=False)
    found = run.times().set_index("annotator")
    assert found.loc["alice", ["n_images", "n_labels", "seconds_image", "seconds_label"]].tolist() == [
        12,
        24,
        15.5,
        7.75,
    ]
    assert found.loc["bob", ["n_images", "seconds_image", "seconds_label"]].tolist() == [12, 30, 30]
    assert found.loc["bob", "score"] == run.report.annotators[1].score
    half = run.on(dataset.limit(6)).times().set_index("annotator")
    assert half.loc["alice", "seconds_image"] == 12.5
    assert np.isnan(half.loc["alice", "low"])


def test_the_interval_of_a_median_is_that_of_order_statistics(make_dataset):
    rng = np.random.default_rng(2)
    seconds = rng.exponential(20, (2, 40))
    dataset = with_attribute(make_dataset, lambda name, k, n: ("lead_time", float(seconds[ANNOTATORS.index(name), k])))
    found = load(dataset).times().set_index("annotator")
    for row, name in enumerate(ANNOTATORS):
        drew = [k for k, each in enumerate(dataset.values(name)) if each is not None and each.detections]
        values = np.sort(seconds[row, drew])
        assert found.loc[name, "seconds_image"] == pytest.approx(np.median(values))
        # the tightest pair of order statistics that contains the median with 95 %, by its binomial distribution
        n = len(values)
        k = max(k for k in range(1, n // 2) if 1 - 2 * stats.binom.cdf(k - 1, n, 0.5) >= 0.95)
        assert (found.loc[name, "low"], found.loc[name, "high"]) == (values[k - 1], values[n - k])


def test_seconds_for_every_label(make_dataset):
    dataset = with_attribute(make_dataset, lambda name, k, n: ("effort", 2.0 + n))
    found = load(dataset).times("effort").set_index("annotator")
    for name in ANNOTATORS:
        per_image = [[2.0 + n for n in range(count)] for count in counts(dataset, name)]
        assert found.loc[name, "seconds_image"] == np.median([sum(each) for each in per_image])
        assert found.loc[name, "seconds_label"] == np.median(np.concatenate(per_image))
    assert load(dataset).times().empty


def test_times_at_which_labels_were_made(make_dataset):
    start = dt.datetime(2026, 3, 1, 12)
    dataset = with_attribute(
        make_dataset, lambda name, k, n: ("created_at", start + dt.timedelta(hours=k, seconds=n * (n + 1) * 5))
    )
    found = load(dataset).times().set_index("annotator")
    several = [count for count in counts(dataset, "alice") if count > 1]
    assert found.loc["alice", "n_images"] == len(several)
    assert found.loc["alice", "seconds_image"] == np.median([(count - 1) * count * 5 for count in several])
    gaps = [10.0 * n for count in several for n in range(1, count)]
    assert found.loc["alice", "seconds_label"] == np.median(gaps)


def test_nothing_where_labels_do_not_say(make_dataset):
    dataset = make_dataset(random_annotators(5, ANNOTATORS))
    run = compute(dataset, ANNOTATORS, resamples=0, sensitivity=False)
    assert run.times().empty
    with pytest.raises(
        AgreementInputError,
        match="`attribute` must be an attribute of the labels of the run, or a field of samples, got 'pace'",
    ):
        run.times("pace")
    with pytest.raises(AgreementInputError, match="`per` must be"):
        load(with_attribute(make_dataset, lambda name, k, n: ("lead_time", 1.0))).times(per="day")


def test_times_are_in_the_full_report_its_page_and_its_tables(make_dataset, tmp_path):
    made = with_attribute(make_dataset, lambda name, k, n: ("lead_time", 10.0 if name == "alice" else 20.5))
    run, said = load(made), io.StringIO()
    run.print_report(file=said)
    assert "How long they took" not in said.getvalue()
    run.print_report(full=True, file=said)
    rows = said.getvalue().partition("How long they took")[2].splitlines()
    alice = next(row for row in rows if "alice" in row).split()
    assert alice[1:4] == ["10.0", "[10,", "10]"]
    assert "How long they took" in run.export(tmp_path / "page.html").read_text(encoding="utf-8")
    frame = run.report.to_dataframe("times")
    assert frame.equals(run.times())
    with zipfile.ZipFile(run.export(tmp_path / "tables.zip")) as archive:
        assert "times.csv" in archive.namelist()
    half = run.on(made.limit(20))
    assert half.report.to_dataframe("times").equals(half.times())


def test_seconds_in_a_field_of_samples(make_dataset):
    dataset = make_dataset(random_annotators(20, ANNOTATORS))
    dataset.set_values("effort", [float(k) for k in range(20)])
    dataset.set_values("by_person", [{"alice": 3.0, "bob": 5.0 + k} for k in range(20)])
    dataset.set_values("lead_time", [7.0] * 20)
    run = compute(dataset, ANNOTATORS, resamples=0, sensitivity=False)
    lists = {name: dataset.values(name) for name in ANNOTATORS}
    asked = {name: [k for k, each in enumerate(lists[name]) if each is not None] for name in ANNOTATORS}
    found = run.times("effort").set_index("annotator")
    for name in ANNOTATORS:
        assert any(lists[name][k].detections == [] for k in asked[name])  # drew nothing, which took time, too
        assert found.loc[name, ["n_images", "seconds_image"]].tolist() == [len(asked[name]), np.median(asked[name])]
        assert found.loc[name, "n_labels"] == sum(counts(dataset, name))
        of_each = [
            k / len(each.detections) for k, each in enumerate(lists[name]) if each is not None for _ in each.detections
        ]
        assert found.loc[name, "seconds_label"] == np.median(of_each)
    by_person = run.times("by_person").set_index("annotator")
    assert by_person["n_images"].tolist() == [20, 20]  # who is named there took the time
    assert by_person["seconds_image"].tolist() == [3.0, 5.0 + 9.5]
    assert set(run.times()["seconds_image"]) == {7.0}
    of_each = run.times("effort", per="label").set_index("annotator")
    assert of_each.loc["alice", "n_images"] == len(counts(dataset, "alice"))
    half = run.on(dataset.limit(10)).times("effort").set_index("annotator")
    assert half.loc["bob", "seconds_image"] == np.median([k for k in asked["bob"] if k < 10])


def test_seconds_in_a_field_of_samples_are_of_those_who_were_asked_where_labels_name_the_annotator(make_dataset):
    dataset = make_dataset({})
    box = {"label": "a", "bounding_box": [0, 0, 0.5, 0.5]}
    drew, asked = [["r1", 2.0], [2.0], [], ["r1"]], [["r1", "2"], ["r1", "2"], ["2"], ["r1"]]
    for k in range(4):
        labels = [fo.Detection(rater=name, **box) for name in drew[k]]
        dataset.add_sample(
            fo.Sample(f"/{k}.jpg", labels=fo.Detections(detections=labels), asked=asked[k], effort=k + 1.0)
        )
    options = {"annotator_attribute": "rater", "assigned_field": "asked", "resamples": 0}
    found = compute(dataset, "labels", **options).times("effort").set_index("annotator")
    assert found.loc["r1", ["n_images", "seconds_image", "n_labels"]].tolist() == [3, 2.0, 2]
    assert found.loc["2", ["n_images", "seconds_image", "n_labels"]].tolist() == [3, 2.0, 2]
    persons = {"r1": "Ann", "2": "Ben"}
    found = compute(dataset, "labels", annotators=persons, run_key="named", **options).times("effort")
    assert found[["annotator", "n_images"]].to_numpy().tolist() == [["Ann", 3], ["Ben", 3]]


@pytest.mark.parametrize(
    ("name", "value"),
    [("lead_time", 10.0), ("created_at", dt.datetime(2026, 3, 1)), ("effort", 3)],
    ids=["lead_time", "created_at", "effort"],
)
def test_attributes_that_are_not_declared_are_found_in_the_labels(make_dataset, name, value):
    dataset = with_attribute(make_dataset, lambda annotator, k, n: (name, value), declare=False)
    run = load(dataset)
    assert not dataset.has_field(f"alice.detections.{name}")
    by_name, found = run.times(name), run.times()
    assert by_name["annotator"].tolist() == ANNOTATORS
    assert found.empty if name == "effort" else found.equals(by_name)
    dataset.add_dynamic_sample_fields()
    assert run.times(name).equals(by_name)
    assert run.times().equals(found)


def test_an_attribute_that_only_the_last_image_has_is_found_by_its_name(make_dataset):
    dataset = make_dataset(random_annotators(150, ANNOTATORS))
    run = compute(dataset, ANNOTATORS, resamples=0, sensitivity=False)
    last = dataset.exists("bob.detections.0").last()
    for label in last.bob.detections:
        label["effort"] = label["lead_time"] = 4.0
    last.save()
    assert run.times("effort")[["annotator", "n_images"]].to_numpy().tolist() == [["bob", 1]]
    assert run.times("lead_time")["seconds_image"].tolist() == [4.0]
    assert run.times().empty
    for name in ("", "$effort", "effort.", "a..b", "_id", "no\0"):
        with pytest.raises(AgreementInputError, match="`attribute` must be an attribute of the labels"):
            run.times(name)

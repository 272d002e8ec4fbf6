"""The main numbers by parts of the data: the same as the report on a view of each part, and its samples."""

from __future__ import annotations

import datetime as dt
import io
import math

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F
from hypothesis import given
from hypothesis import strategies as st

from tests.chance import examples, few
from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused, run_on
from tests.dataset_io.said import said_dataset
from tests.datasets import random_annotators, random_videos

from annotator_agreement import compute, load, trend
from annotator_agreement.charts.reports import comparison_text
from annotator_agreement.dataset_io.results import open_parts

N = 40


def describe(dataset, seed=7):
    """Fields of samples of every type, some of them empty."""
    rng = np.random.default_rng(seed)
    n = len(dataset)
    some = lambda values: [None if rng.random() < 0.15 else value for value in values]  # noqa: E731
    start = dt.datetime(2026, 1, 20, 23, 30)
    dataset.set_values("camera", some(rng.choice(["left", "right", "roof"], n).tolist()))
    dataset.set_values("night", some(rng.integers(0, 2, n).astype(bool).tolist()))
    dataset.set_values("brightness", some([*rng.normal(0, 2, n - 1).tolist(), float("nan")]))
    dataset.set_values("people", some(rng.integers(0, 4, n).tolist()))
    dataset.set_values("taken", some([start + dt.timedelta(days=int(day)) for day in rng.integers(0, 50, n)]))
    dataset.set_values("delivered", some([dt.date(2026, 1, 1) + dt.timedelta(days=k % 3) for k in range(n)]))
    dataset.set_values("weather", some([fo.Classification(label=str(rng.choice(["sun", "rain"]))) for _ in range(n)]))
    tags = ["easy", "hard", "new"]
    dataset.set_values("tags", [rng.choice(tags, rng.integers(0, 3), False).tolist() for _ in range(n)])


@pytest.fixture(scope="module")
def dataset(make_module_dataset):
    made = make_module_dataset(random_annotators(N))
    describe(made)
    rng = np.random.default_rng(5)
    for name in ANNOTATORS:
        n_drawn = [of and len(of) for of in made.values(f"{name}.detections.id")]
        for attribute, draw in (("occluded", lambda n: rng.random(n) < 0.1), ("confidence", rng.random)):
            made.set_values(f"{name}.detections.{attribute}", [n and draw(n).tolist() for n in n_drawn])
    made.add_dynamic_sample_fields()
    compute(made, ANNOTATORS, resamples=50)
    return made


def same(a, b):
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12))


def assert_as_reports(run, parts):
    """Every part has the numbers, intervals and counts of the report on its view; the rest those on the others."""
    assert parts.parts
    for part in parts.parts:
        view = parts.view(part.name)
        report = run.on(view).report
        assert (part.n_samples, part.n_rated) == (report.n_samples, report.n_rated)
        assert set(part.numbers) >= {"score.mean", "alpha.pooled", "share_full_agreement"}
        rest = run.on(run.dataset.exclude(view.values("id")), resamples=0).report if len(parts.parts) > 1 else None
        for number in (each for each in report.main_numbers if each.key in part.numbers):
            found, expected = part.numbers[number.key], report.intervals.get(number.key)
            assert same(found.value, number.value(report)), (part.name, number.key)
            assert (found.interval is None) == (expected is None), (part.name, number.key)
            if expected is not None:
                assert (found.interval.low, found.interval.high) == pytest.approx(
                    (expected.low, expected.high), abs=1e-12
                )
                assert found.interval.n == expected.n
            if found.rest is not None:
                assert math.isclose(found.rest, number.value(rest), abs_tol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("field", few(["camera", "brightness", "taken", "weather", "tags", "label", "confidence"], 1))
def test_parts_have_the_numbers_of_the_report_on_their_samples(dataset, field):
    assert_as_reports(load(dataset), load(dataset).by(field))


@pytest.mark.long
@pytest.mark.parametrize("kind", few(["labels", "numbers", "tags", "masks", "frames"], 4))
def test_every_label_type(make_dataset, make_videos, kind):
    dataset = make_videos(random_videos([4] * 12)) if kind == "frames" else said_dataset(make_dataset, kind, n=24)
    describe(dataset)
    run = compute(dataset, [f"frames.{name}" if kind == "frames" else name for name in ANNOTATORS], resamples=50,
                  overwrite=True)  # fmt: skip
    parts = run.by("camera")
    assert (parts.what == "frames") == (kind == "frames")
    assert_as_reports(run, parts)


def test_a_part_holds_the_samples_that_a_user_would_filter(dataset):
    run = load(dataset)
    of_labels, months, quarters = (run.by(field) for field in ("occluded", "taken", "brightness"))
    drawn = dataset.values(["id", *(f"{name}.detections.occluded" for name in ANNOTATORS)])
    hidden = {sample_id for sample_id, *of in zip(*drawn, strict=True) if any(map(any, filter(None, of)))}
    for view, expected in (
        (run.by("camera").view("left"), dataset.match(F("camera") == "left").values("id")),
        (run.by("tags").view("hard"), dataset.match_tags("hard").values("id")),
        (of_labels.view("True"), hidden),
    ):
        assert set(view.values("id")) == set(expected)
    assert {part.n_samples for part in of_labels.parts if part.name == "True"} == {len(hidden)}
    assert [part.name for part in months.parts] == ["2026-01", "2026-02", "2026-03", "(none)"]
    taken = [each for each in dataset.values("taken") if each is not None and each.month == 2]
    assert months.parts[1].n_samples == len(taken)
    values = np.array([each for each in dataset.values("brightness") if each is not None and each == each])
    sizes = [part.n_samples for part in quarters.parts[:-1]]
    assert (len(sizes), sum(sizes)) == (4, len(values))
    assert max(sizes) - min(sizes) <= 1


def test_views_and_views_of_a_part_of_the_run(dataset):
    run = load(dataset)
    dataset.save_view("first", dataset.limit(25), overwrite=True)
    parts = run.by(views=["first", dataset.skip(20)])
    assert [(part.name, part.n_samples) for part in parts.parts] == [("first", 25), ("view 2", N - 20)]
    assert_as_reports(run, parts)
    half = dataset.limit(30)
    of_half = run.on(half).by("camera")
    for part in of_half.parts[:-1]:
        report = run.on(half.match(F("camera") == part.name), resamples=0).report
        assert same(part.numbers["score.mean"].value, report.score.mean)
    assert set(of_half.view("left").values("id")) == set(half.match(F("camera") == "left").values("id"))


@pytest.mark.long
def test_hundreds_of_values_are_fifty_parts_and_the_others(make_dataset):
    box = [("cat", (0.1, 0.1, 0.2, 0.4))]
    dataset = make_dataset({"alice": [box] * 80, "bob": [box, []] * 40})
    dataset.set_values("place", [f"p{k // 2}" if k < 20 else f"p{k}" for k in range(80)])
    run = compute(dataset, ["alice", "bob"], resamples=0)
    parts = run.by("place")
    assert (len(parts.parts), parts.n_merged, [part.name for part in parts.parts[:2]]) == (51, 20, ["p0", "p1"])
    assert parts.parts[-1].name == "(others)"
    report = run.on(parts.view("(others)"), resamples=0).report
    assert report.n_samples == parts.parts[-1].n_samples == 20
    assert parts.parts[-1].numbers["score.mean"].value == report.score.mean
    assert "20 values that fewer images have" in parts.to_markdown()


VALUES = {
    "texts": st.sampled_from(["left", "right", "", " ", "(none)", "(others)", "$x"]) | st.text(max_size=3),
    "numbers": st.floats(allow_nan=True, allow_infinity=True) | st.integers(-(2**63), 2**63 - 1) | st.sampled_from(
        [0.0, -0.0, 0.1, 1e308, -1e308, 5e-324, 2**53, 2**53 + 1]),
    "dates": st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)) | st.datetimes(
        dt.datetime(1969, 12, 1), dt.datetime(1970, 1, 31)),
    "switches": st.booleans(),
}  # fmt: skip
NO_VALUES = [b"x", {"a": 1}]  # which no field of the type holds
VALUES["anything"] = st.one_of(*VALUES.values(), st.sampled_from([True, 1, "1", 1.0, False, 0, *NO_VALUES]))
MANY = st.sampled_from(list(VALUES)).flatmap(
    lambda kind: st.lists(st.none() | VALUES[kind] | st.lists(VALUES[kind], max_size=3), min_size=16, max_size=16)
)


@pytest.fixture(scope="module")
def mixed(make_module_dataset):
    made = make_module_dataset(random_annotators(16))
    made.add_sample_field("value", fo.StringField)
    compute_quickly(made)
    return made


@examples(25)
@given(MANY)
def test_a_part_is_counted_and_viewed_by_one_rule(mixed, values):
    """Whatever the database holds: the view of a part has the samples that are counted, and every sample is in one."""
    collection = mixed._sample_collection
    for sample_id, value in zip(mixed.values("_id"), values, strict=True):
        stored = [each for each in value if each == each] if isinstance(value, list) else value
        collection.update_one({"_id": sample_id}, {"$set": {"value": stored}})
    parts = load(mixed).by("value")
    seen = set()
    for part in parts.parts:
        ids = parts.view(part.name).values("id")
        assert len(ids) == len(set(ids)) == part.n_samples > 0, part.name
        seen |= set(ids)
    assert (seen, len({part.name for part in parts.parts})) == (set(mixed.values("id")), len(parts.parts))
    no_values = [None, *NO_VALUES]
    n = sum(all(each in no_values or each != each for each in (value if isinstance(value, list) else [value]))
            for value in values)  # fmt: skip
    assert {part.n_samples for part in parts.parts if part.name == "(none)"} == ({n} if n else set())


@pytest.mark.long
def test_the_panel_begins_with_a_field_that_divides_the_images(lend):
    made = lend(run_on(12))
    opened = open_parts(made, "agreement")
    assert (list(opened.offered()), opened.first_offered) == (["tags", "created_at"], "tags")
    made.set_values("site", ["north"] * 12)
    made.set_values("camera", ["left", "right", None] * 4)
    opened = open_parts(made, "agreement")
    assert opened.first_offered == "camera"
    assert list(opened.offered()) == ["tags", "created_at", "site", "camera"]


def test_the_sentence_the_page_the_figure_and_the_table_speak_of_the_same_numbers(make_dataset, dataset, tmp_path):
    """Labels of one part have classes by chance, so that it stands out by them, and not by where objects are."""
    labels = random_annotators(40)
    made = make_dataset({"alice": labels["alice"], "bob": labels["alice"]})
    for k, sample in enumerate(made):
        sample["camera"] = "left" if k % 2 else "right"
        for place, label in enumerate(sample["bob"].detections if k % 2 and sample["bob"] else ()):
            label.label = f"other {place}"
        sample.save()
    parts = compute(made, ["alice", "bob"], resamples=50).by("camera")
    first = parts.findings[0][1]
    assert first.key not in ("existence.f1", "localisation.mean_iou")
    name = first.name("IoU")
    sentence, table = parts.to_markdown().split("|", 1)
    assert f": {name} " in sentence
    header = [title.strip() for title in table.split("|")[:7]]
    assert f"{name[0].upper()}{name[1:]}" in header
    assert parts.plot().layout.title.text.lower().startswith(f"{name} by camera: ".lower())
    assert ": " not in parts.plot("existence.f1").layout.title.text
    run = load(dataset)
    parts = run.by("camera")
    said, score = io.StringIO(), next(part for part in parts.parts if part.name == "left").numbers["score.mean"]
    parts.print_report(said)
    assert f"{score.value:.3f} [{score.interval.low:.3f}" in said.getvalue()
    page = run.export(tmp_path / "page.html", by=["camera", "tags"]).read_text(encoding="utf-8")
    for shown in (parts.to_markdown(), parts._repr_html_(), page):
        assert f"{score.value:.3f}" in shown
    table, figure = parts.to_dataframe(), parts.plot("score.mean").data[0]
    assert table[(table.part == "left") & (table.number == "score.mean")]["value"].tolist() == [score.value]
    assert dict(zip(figure.customdata, figure.x, strict=True))["left"] == score.value


def test_parts_without_numbers_are_named_and_have_no_row(make_dataset):
    made = make_dataset(random_annotators(12))
    made.set_values("camera", ["left"] * 10 + ["lonely"] * 2)
    for name in ("bob", "carol"):
        made.set_values(name, [*made.values(name)[:10], None, None])
    parts = compute(made, ANNOTATORS, resamples=0).by("camera")
    assert {part.name: part.n_rated for part in parts.parts}["lonely"] == 0
    text = parts.to_markdown()
    assert "| lonely" not in text
    assert "Parts without images of two annotators have no numbers: lonely." in text


def test_a_trend_has_the_numbers_of_the_runs_in_their_order(dataset):
    second = compute(dataset, ANNOTATORS, run_key="second", iou=0.7, resamples=50)
    first = load(dataset)
    found = trend([second, first])
    assert [part.name for part in found.parts] == ["second", "agreement"]
    table = found.to_dataframe().set_index(["part", "number"])
    for run in (first, second):
        row = table.loc[(run.key, "existence.f1")]
        interval = run.report.intervals["existence.f1"]
        assert (row["value"], row["low"], row["high"]) == (run.report.existence.f1, interval.low, interval.high)
    assert list(found.plot("existence.f1").data[0].x) == ["second", "agreement"]
    assert [part.name for part in trend([first, second], ["May", "June"]).parts] == ["May", "June"]
    for arguments, message in (
        (([first],), "`runs` must be two runs or more, got 1"),
        (("agreement",), "`runs` must be a list of runs"),
        (([first, second], ["May"]), "`names` must be as many as `runs`, 2, got 1"),
        (([first, second], ["May", "May"]), "`names` must be different, got 'May' more than once"),
    ):
        refused(message, trend, *arguments)
    refused("The parts must be of one run to have a view", found.view, "second")
    second.delete()
    for name in ANNOTATORS:
        points = [fo.Keypoints(keypoints=[fo.Keypoint(label="cat", points=[[0, 0], [1, 1]])]) for _ in range(N)]
        dataset.set_values(f"{name}_points", points)
    dataset.set_values("metadata", [fo.ImageMetadata(width=200, height=100)] * N)
    of_points = compute(dataset, [f"{name}_points" for name in ANNOTATORS], run_key="of_points", resamples=0)
    refused("must be on labels of one kind, got objects compared by OKS and objects", trend, [of_points, first])
    assert "mean similarity" in comparison_text(of_points.compare(first))
    of_points.delete()


def test_values_of_labels_are_those_that_the_view_of_the_run_shows(make_dataset):
    made = make_dataset(random_annotators(20))
    view, renamed = made, made
    for name in ANNOTATORS:
        view = view.filter_labels(name, F("label") == "dog", only_matches=False)
        renamed = renamed.map_labels(name, {"dog": "animal", "cat": "animal"})
    for key, of_run, name in (("dogs", view, "dog"), ("renamed", renamed, "animal")):
        compute(of_run, ANNOTATORS, run_key=key, resamples=0)
        found = load(made, key).by("label")
        assert {part.name for part in found.parts} - {"(none)", *(["owl"] if key == "renamed" else [])} == {name}
    with_dogs = {id_ for each in ANNOTATORS for id_ in view.match(F(f"{each}.detections").length() > 0).values("id")}
    assert set(load(made, "dogs").by("label").view("dog").values("id")) == with_dogs


def test_text_page_table_and_figure_show_the_same_parts(dataset, tmp_path):
    run = load(dataset)
    parts, said = run.by("camera"), io.StringIO()
    parts.print_report(said)
    score = next(part for part in parts.parts if part.name == "left").numbers["score.mean"]
    assert "by camera" in said.getvalue()
    assert f"{score.value:.3f} [{score.interval.low:.3f}" in said.getvalue()
    page = run.export(tmp_path / "page.html", by=["camera", "taken", "camera"]).read_text(encoding="utf-8")
    assert "by taken" in page
    for shown in (parts.to_markdown(), parts._repr_html_(), page):
        assert f"{score.value:.3f}" in shown
    table = parts.to_dataframe()
    assert table[(table.part == "left") & (table.number == "score.mean")]["value"].tolist() == [score.value]
    figure = parts.plot("score.mean")
    assert dict(zip(figure.data[0].customdata, figure.data[0].x, strict=True))["left"] == score.value
    assert parts.to_dict()["parts"][0]["numbers"].keys() == parts.parts[0].numbers.keys()


REFUSED = [
    ({}, "`field` or `views` must be given, and one of them alone"),
    ({"field": "camera", "views": ["x"]}, "one of them alone"),
    ({"field": "cammera"}, "got 'cammera'; did you mean 'camera'"),
    ({"field": ["camera"]}, "`field` must be a text, got"),
    ({"field": "metadata"}, "must hold texts, switches, numbers, dates or classes"),
    ({"views": ["nothing"]}, "`views` must be saved views, got 'nothing'"),
    ({"views": [5]}, "must be a FiftyOne dataset or view, got int"),
    *(({"field": field}, "the numbers would choose the parts")
      for field in ("agreement_score", "agreement", "alice.detections.agreement_votes")),
]  # fmt: skip


def test_what_divides_nothing_is_refused(dataset, make_dataset, tmp_path):
    run, other = load(dataset), make_dataset(random_annotators(3))
    message = f"`views` must be views of '{dataset.name}', got one of '{other.name}'"
    for arguments, match in [*REFUSED, ({"views": [dataset.limit(3), other.limit(1)]}, message)]:
        refused(match, run.by, **arguments)
    refused(r"There is no part 'lefd' by camera.*left", run.by("camera").view, "lefd")
    for wrong in (F("camera"), 5):  # an expression of FiftyOne has entries without end
        refused(r"`by` must be (a )?text", run.export, tmp_path / "page.html", by=wrong)

"""Which annotators were assigned: meanings of null label lists, the field with those assigned, and messages."""

from __future__ import annotations

import json

import fiftyone.operators as foo
import pytest
from fiftyone.operators.executor import ExecutionContext, Executor

from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.dataset_io.rated import rated_dataset
from tests.datasets import frames_of

from annotator_agreement.charts.page import report_page
from annotator_agreement.charts.reports import computation_markdown, report_markdown, report_text
from annotator_agreement.dataset_io import load_agreement, view_agreement

BOX = (0.1, 0.1, 0.2, 0.4)
OTHER = (0.5, 0.6, 0.3, 0.2)
CAT, DOG = ("cat", BOX), ("dog", OTHER)
#: alice has no list of the last three, bob none of the third
SPARSE = {"alice": [[CAT], [CAT, DOG], [CAT], [], None, None, None],
          "bob": [[CAT], [CAT], None, [DOG], [CAT], [DOG], [CAT, DOG]]}  # fmt: skip


def filled(annotators, names=("alice", "bob")):
    """The same labels with empty lists for null."""
    return {name: [list(labels or []) if name in names else labels for labels in of] for name, of in annotators.items()}


def main_numbers(report):
    alpha = {"alpha": report.alpha.pooled, "mean_alpha": report.alpha.mean, "n_alpha": report.alpha.n_defined}
    return {"n_rated": report.n_rated, "score": report.score.mean, "f1": report.existence.f1, **alpha}


def other_numbers(report):
    return {name: getattr(report.other_reading, name) for name in main_numbers(report)}


def surfaces(report):
    """Every form of a report as text."""
    page = report_page(report)
    return {"text": " ".join(report_text(report).split()), "markdown": report_markdown(report),
            "panel": computation_markdown(report), "page": page[page.index("<body") :]}  # fmt: skip


def test_both_readings_are_what_runs_on_explicit_lists_find(make_dataset):
    as_null, explicit, pair = make_dataset(SPARSE), make_dataset(filled(SPARSE)), ["alice", "bob"]
    for options in ({}, {"missing": "ignore"}, {"empty": "agree", "undefined": "one"}):
        options["overwrite"] = True
        not_assigned = compute_quickly(as_null, pair, run_key="a", **options)
        drew_nothing = compute_quickly(as_null, pair, run_key="b", no_labels="drew_nothing", **options)
        expected = compute_quickly(explicit, pair, **options)
        assert main_numbers(drew_nothing) == pytest.approx(main_numbers(expected), nan_ok=True)
        assert other_numbers(not_assigned) == pytest.approx(main_numbers(expected))
        assert other_numbers(drew_nothing) == pytest.approx(main_numbers(not_assigned))
        assert expected.other_reading is None
        other = not_assigned.other_reading
        assert (other.no_labels, other.n_samples, other.annotators) == ("drew_nothing", 4, pair)
        assert drew_nothing.other_reading.no_labels == "not_assigned"


@pytest.mark.long
def test_lists_of_every_annotator_are_counted_and_the_rules_have_a_row_of_the_other_reading(make_dataset):
    report = compute_quickly(make_dataset(SPARSE), ["alice", "bob"])
    counts = [(entry.name, entry.n_labels, entry.n_empty, entry.n_null) for entry in report.run.lists]
    assert counts == [("alice", 3, 1, 3), ("bob", 6, 0, 1)]
    assert type(report).from_dict(json.loads(json.dumps(report.to_dict()))) == report
    rules = report.to_dataframe("rules")
    assert set(rules["no_labels"][:-1]) == {"not_assigned"}
    other, expected = rules.iloc[-1], report.other_reading
    assert (other["no_labels"], other["pooled"], other["mean"]) == ("drew_nothing", expected.alpha, expected.mean_alpha)
    text = report_text(report, full=True)
    assert "drew_nothing" in text[text.index("Alpha of objects under other rules") :]


@pytest.mark.long
def test_a_report_begins_with_the_warning_on_every_surface(make_dataset):
    dataset = make_dataset(SPARSE)
    report = compute_quickly(dataset, ["alice", "bob"])
    here, there = report, report.other_reading
    warning = (
        f"F1 would be {there.f1:.3f}, not {here.existence.f1:.3f}, and alpha of objects {there.alpha:.3f}, not "
        f"{here.alpha.pooled:.3f}, if the 4 images without a list of alice or bob mean that they drew nothing: set "
        "“A null label list” (no_labels='drew_nothing')"
    )
    assert load_agreement(dataset).warnings == report.to_dict()["warnings"] == [warning]
    for name, text in surfaces(report).items():
        shown = text.replace("\\_", "_").replace("&#39;", "'")
        assert f"Warning: {warning}." in shown, name
        assert shown.index(warning) < shown.index("images rated" if "images rated" in shown else "rated by two"), name


@pytest.mark.long
def test_a_mapping_is_by_annotator_or_field(make_dataset):
    dataset = make_dataset(SPARSE)
    expected = compute_quickly(make_dataset(filled(SPARSE, ["alice"])), ["alice", "bob"])
    for no_labels in ({"Alice": "drew_nothing"}, {"alice": "drew_nothing", "bob": "not_assigned"}):
        options = {"annotators": {"alice": "Alice"}, "no_labels": no_labels, "overwrite": True}
        report = compute_quickly(dataset, ["alice", "bob"], **options)
        assert main_numbers(report) == pytest.approx(main_numbers(expected))
    other = compute_quickly(make_dataset(filled(SPARSE, ["bob"])), ["alice", "bob"])
    assert other_numbers(report) == pytest.approx(main_numbers(other))
    assert report.other_reading.no_labels == {"Alice": "not_assigned", "bob": "drew_nothing"}
    said = "a list of Alice or bob are read the other way: set “A null label list” (no_labels={'Alice': 'not_assigned'"
    assert said in report.warnings[0]
    assert "alice: drew nothing" in report_text(report)


@pytest.mark.long
def test_the_field_with_the_assigned_annotators_tells_by_names_or_fields(make_dataset):
    dataset = make_dataset(SPARSE)
    both = ["alice", "bob"]
    dataset.set_values("asked", [["Alice", "bob"], both, ["alice"], ["Alice", "bob"], both, ["bob", "x"], None])
    by_field = compute_quickly(dataset, ["alice", "bob"], annotators={"alice": "Alice"}, assigned_field="asked")
    lists = {name: list(labels) for name, labels in SPARSE.items()}
    lists["alice"][4] = []
    explicit = compute_quickly(make_dataset(lists), ["alice", "bob"])
    assert main_numbers(by_field) == pytest.approx(main_numbers(explicit))
    assert (dataset.values("agreement_n_annotators"), by_field.run.coverage) == ([2, 2, 1, 2, 2, 1, 1], "given")
    assert by_field.run.n_added_assignments == 1  # bob drew on the last one
    assert by_field.other_reading is None


def test_with_one_field_for_all_a_null_list_is_one_of_everybody(make_dataset):
    dataset = make_dataset({"labels": [[CAT, CAT], [DOG], [], None]})
    dataset.set_values("labels.detections.rater", [["r1", "r2"], ["r1"], [], None], dynamic=True)
    options = {"annotator_attribute": "rater", "empty": "agree"}
    report = compute_quickly(dataset, "labels", run_key="a", **options)
    everybody = compute_quickly(dataset, "labels", run_key="b", no_labels="drew_nothing", **options)
    assert (report.n_rated, everybody.n_rated) == (3, 4)
    assert other_numbers(report) == pytest.approx(main_numbers(everybody))
    lists = [(entry.name, entry.n_labels, entry.n_empty, entry.n_null) for entry in report.run.lists]
    assert lists == [("r1", 2, 1, 1), ("r2", 1, 2, 1)]


@pytest.mark.long
def test_tags_are_read_both_ways(make_dataset):
    given = {"a": [["x"], ["x", "y"], None, ["y"], []], "b": [["x"], ["y"], ["x"], None, []]}
    given |= {f"{name}_explicit": [tags or [] for tags in of] for name, of in given.items()}
    dataset = rated_dataset(make_dataset, given, "Classifications")
    report = compute_quickly(dataset, ["a", "b"], run_key="null")
    expected = compute_quickly(dataset, ["a_explicit", "b_explicit"], run_key="explicit")
    nothing = compute_quickly(dataset, ["a", "b"], run_key="nothing", no_labels="drew_nothing")
    for other in (report.other_reading.alpha, nothing.alpha.pooled):
        assert other == pytest.approx(expected.alpha.pooled)
    assert report.other_reading.score == pytest.approx(expected.score.mean)
    assert nothing.other_reading.alpha == pytest.approx(report.alpha.pooled)
    assert report.other_reading.f1 is None
    assert "set “A null label list” (no_labels='drew_nothing')" in report.warnings[0]


UNSAYABLE = [
    ({"no_labels": "nothing"}, "`no_labels` must be 'not_assigned' or 'drew_nothing', or map annotators to these"),
    ({"no_labels": {"alice": None}}, "`no_labels` must be .* got {'alice': None}"),
    ({"no_labels": {"eve": "drew_nothing"}}, "`no_labels` must map annotators, or their fields, got 'eve'; known"),
    ({"no_labels": "drew_nothing", "assigned_field": "asked"}, "no effect with `assigned_field`, which says who"),
    ({"assigned_field": "others"}, r"`assigned_field` must list annotators or their fields \(alice, bob\), got"),
    ({"assigned_field": "nowhere"}, "`assigned_field` must be a sample field .*, which does not exist"),
]


def test_what_cannot_be_said_of_null_lists_is_refused(make_dataset):
    dataset = make_dataset(SPARSE)
    dataset.set_values("asked", [["alice"]] * 7)
    dataset.set_values("others", [["eve"]] * 7)
    for options, message in UNSAYABLE:
        refused(message, compute_quickly, dataset, ["alice", "bob"], **options)
    assert dataset.list_runs() == []


def test_types_with_one_label_an_image_take_null_for_not_assigned(make_dataset):
    given = {"a": ["x", "x", None], "b": ["x", "y", "x"], "c": ["x", None, None], "d": [None, "x", None]}
    dataset = rated_dataset(make_dataset, given, "Classification")
    dataset.set_values("asked", [["a", "b"]] * 3)
    for name, value in (("no_labels", "drew_nothing"), ("assigned_field", "asked")):
        message = f"`{name}` concerns objects that are matched, tags, but 'a' holds Classification; leave it out"
        refused(message, compute_quickly, dataset, ["a", "b"], **{name: value})
    report = compute_quickly(dataset, ["a", "b"])
    assert [(entry.n_labels, entry.n_empty, entry.n_null) for entry in report.run.lists] == [(2, 0, 1), (3, 0, 0)]
    assert (report.n_rated, report.other_reading, report.warnings) == (2, None, [])
    message = "Nothing was compared: no two annotators were assigned to the same one of the images (c 1, d 1)"
    assert compute_quickly(dataset, ["c", "d"], run_key="nothing").warnings == [message]


@pytest.mark.long
def test_views_know_who_was_assigned(make_dataset):
    labels = {"alice": [None, [], [DOG]], "bob": [[CAT], [CAT], [DOG]], "carol": [[CAT], [CAT], [DOG]]}
    dataset = make_dataset(labels)
    dataset.set_values("asked", [["bob", "carol"], ["alice", "bob", "carol"], ["bob"]])
    fields = ["alice", "bob", "carol"]
    missed = {"not_assigned": ({}, [1]), "by_alice": ({"no_labels": {"alice": "drew_nothing"}}, [0, 1]),
              "by_bob": ({"no_labels": {"bob": "drew_nothing"}}, [1]),
              "asked": ({"assigned_field": "asked"}, [1])}  # fmt: skip
    for run_key, (options, expected) in missed.items():
        compute_quickly(dataset, fields, run_key=run_key, **options)
        view = view_agreement(dataset, run_key, missed_by="alice")
        assert [int(path.split("/")[-1][0]) for path in view.values("filepath")] == expected, run_key
    dataset.set_values("asked", [["bob", "carol", "alice"]] * 3)
    compute_quickly(dataset, fields, run_key="asked", assigned_field="asked", overwrite=True)
    assert len(view_agreement(dataset, "asked", missed_by="alice")) == 2


def test_on_frames_null_may_mean_drew_nothing_too(make_videos):
    first = {"alice": frames_of([CAT], None), "bob": frames_of([CAT], [DOG])}
    dataset = make_videos([first, {"alice": frames_of(None, None), "bob": frames_of([CAT], None)}])
    fields = ["frames.alice", "frames.bob"]
    by_video = compute_quickly(dataset, fields, run_key="a")
    all_frames = compute_quickly(dataset, fields, run_key="b", no_labels="drew_nothing")
    assert (by_video.n_rated, all_frames.n_rated, all_frames.run.coverage) == (2, 4, "drew_nothing")
    assert other_numbers(by_video) == pytest.approx(main_numbers(all_frames))
    assert other_numbers(all_frames) == pytest.approx(main_numbers(by_video))
    dataset.set_values("asked", [["alice", "bob"], ["frames.alice"]])
    by_field = compute_quickly(dataset, fields, run_key="c", assigned_field="asked")
    assert (by_field.n_rated, by_field.run.n_added_assignments) == (3, 1)


NOTHING = {
    "nobody was assigned to any of the 2 images": ([None, None], [None, None]),
    "no two annotators were assigned to the same one of the images (alice 1, bob 1)": ([[CAT], None], [None, [CAT]]),
    "nobody drew anything that counts on the 1 image that two or more annotators were assigned to":
        ([[], []], [[], None]),
}  # fmt: skip


@pytest.mark.long
def test_where_nothing_is_compared_every_output_begins_with_why(make_dataset):
    operator = foo.get_operator("@annotator/agreement/compute_agreement")
    for reason, (alice, bob) in NOTHING.items():
        dataset = make_dataset({"alice": alice, "bob": bob})
        asked = {"dataset_name": dataset.name, "params": {"fields": ["alice", "bob"], "run_key": "agreement"}}
        summary = operator.execute(ExecutionContext(asked, executor=Executor(), operator_uri=operator.uri))["summary"]
        report = load_agreement(dataset)
        sentence = f"Nothing was compared: {reason}"
        assert report.to_dict()["warnings"][0] == sentence
        for name, text in {**surfaces(report), "dialog": summary}.items():
            assert sentence in text, name
            assert text.index(sentence) < text.index("rated by two or more"), name

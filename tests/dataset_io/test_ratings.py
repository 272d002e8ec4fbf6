"""Runs on classes and numbers, in label fields and plain fields: written fields and report."""

from __future__ import annotations

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.agreement.rating_oracle import given, majority_of, random_rows, score_of
from tests.chance import few
from tests.dataset_io.quick_runs import compute_quickly, refused, refused_run
from tests.dataset_io.rated import by_annotator, rated_dataset

from annotator_agreement.dataset_io.labels import comparable_fields

NAMES = ["alice", "bob", "carol"]
EXAMPLE = {"alice": ["cat", "cat", "dog", "owl", None, None], "bob": ["cat", "dog", "dog", None, "cat", None],
           "carol": ["cat", "owl", "cat", None, "dog", None]}  # fmt: skip
NUMBERS = {"alice": [1.0, 2.0, 3.0, 4.0, None, None], "bob": [1.0, 2.5, 5.0, None, 3.0, None]}
CLASS_FIELDS = {"score", "cost", "majority", "entropy", "disputed", "n_annotators"}
#: values of every type of field, for what must work with all
VALUES = {"Classification": ["cat", "dog", "owl"], "FloatField": [0.25, 0.5, 3.0], "StringField": ["cat", "dog", "owl"],
          "BooleanField": [True, False], "Regression": [0.5, 1.5, 2.0], "IntField": [1, 2, 3, 4]}  # fmt: skip


def _random(make_dataset, kind, seed=0, n_samples=25):
    rows = random_rows(seed, VALUES[kind], n_samples, len(NAMES))
    return rows, rated_dataset(make_dataset, by_annotator(rows, NAMES), kind)


def test_values_of_an_example_of_classes(make_dataset):
    dataset = rated_dataset(make_dataset, EXAMPLE, "Classification")
    report = compute_quickly(dataset, NAMES)
    assert dataset.values("agreement_score") == pytest.approx([1.0, 0.0, 1 / 3, None, 0.0, None])
    assert dataset.values("agreement_majority") == ["cat", None, "dog", None, None, None]
    assert dataset.values("agreement_entropy") == pytest.approx(
        [0.0, np.log2(3), 2 / 3 * np.log2(1.5) + np.log2(3) / 3, None, 1.0, None]
    )
    assert dataset.values("agreement_disputed") == [False, True, True, None, True, None]
    assert dataset.values("agreement_n_annotators") == [3, 3, 3, 1, 2, 0]
    conflict = "class_conflict"
    assert dataset.values("alice.agreement") == ["agreed", conflict, conflict, None, None, None]
    assert dataset.values("carol.agreement") == ["agreed", conflict, conflict, None, conflict, None]
    assert dataset.values("alice.agreement_votes") == [3, 1, 2, 1, None, None]
    assert dataset.values("carol.agreement_votes") == [3, 1, 1, None, 1, None]
    assert dataset.values("bob.agreement_of") == [3, 3, 3, None, 2, None]
    assert (report.family, report.level, report.label_types) == ("ratings", "nominal", ["Classification"])
    assert (report.n_samples, report.n_rated, report.n_disputed, report.n_objects) == (6, 4, 3, 11)


@pytest.mark.parametrize("kind", few(VALUES, 2))
def test_all_kinds_of_fields_give_what_loops_give_in_documented_fields(make_dataset, kind):
    rows, dataset = _random(make_dataset, kind)
    before = set(dataset.get_field_schema(flat=True))
    compute_quickly(dataset, NAMES)
    schema = dataset.get_field_schema(flat=True)
    added, is_number = set(schema) - before, kind in ("Regression", "IntField", "FloatField")
    numbers = {"mean", "std"} if is_number else set()
    labels = {f"{name}.agreement{suffix}" for name in NAMES for suffix in ("", "_votes", "_of", "_differs_from")}
    assert added == {f"agreement_{name}" for name in CLASS_FIELDS | numbers} | (
        labels if kind in ("Classification", "Regression") else {"agreement_differing_pairs"}
    )
    for path in added:
        assert schema[path].info == {"annotator_agreement": "agreement"}
        assert schema[path].description
    rated = [row if len(given(row)) >= 2 else None for row in rows]
    scores = [row and score_of(row, lambda a, b: a == b) for row in rated]
    assert dataset.values("agreement_score") == pytest.approx(scores, abs=1e-12)
    majorities = [row and majority_of(row) for row in rated]
    shown = [None if value is None else f"{value:g}" if is_number else str(value) for value in majorities]
    assert dataset.values("agreement_majority") == shown
    for name, moment in (("mean", np.mean), ("std", np.std)) if is_number else ():
        moments = [row and moment(given(row)) for row in rated]
        assert dataset.values(f"agreement_{name}") == pytest.approx(moments, abs=1e-12)


@pytest.mark.long
def test_fields_of_one_comparable_kind_can_be_mixed(make_dataset):
    numbers = {"alice": [1, 2, 3, None], "bob": [1.0, 2.5, 3.0, 4.0], "carol": [1, 2, 4, 4]}
    kinds = {"alice": "IntField", "bob": "FloatField", "carol": "Regression"}
    dataset = rated_dataset(make_dataset, numbers, kinds)
    report = compute_quickly(dataset, NAMES, tolerance=0.5)
    assert dataset.values("agreement_score") == pytest.approx([1.0, 1.0, 1 / 3, 1.0])
    assert dataset.values("carol.agreement_votes") == [3, 3, 1, 2]
    assert report.pairs[0].mean_distance == pytest.approx(0.5 / 3)
    assert report.label_types == ["integers", "numbers", "Regression"]
    classes = {"alice": ["a", "b"], "bob": ["a", "c"]}
    dataset = rated_dataset(make_dataset, classes, {"alice": "StringField", "bob": "Classification"})
    compute_quickly(dataset, ["alice", "bob"])
    assert dataset.values("agreement_score") == [1.0, 0.0]


@pytest.mark.long
def test_ratings_are_those_that_a_view_shows(make_dataset):
    dataset = rated_dataset(make_dataset, EXAMPLE, "Classification")
    compute_quickly(dataset.filter_labels("carol", F("label") == "cat", only_matches=False), NAMES)
    assert dataset.values("agreement_n_annotators") == [3, 2, 3, 1, 1, 0]
    assert dataset.values("carol.agreement") == ["agreed", None, "class_conflict", None, None, None]
    compute_quickly(dataset.map_labels("alice", {"cat": "dog"}), ["alice", "bob"], overwrite=True)
    assert dataset.values("agreement_score") == [0.0, 1.0, 1.0, None, None, None]
    dataset = rated_dataset(make_dataset, NUMBERS, "FloatField")
    report = compute_quickly(dataset.set_field("alice", F("alice") + 0.5), ["alice", "bob"])
    assert (dataset.values("agreement_score"), report.run.n_changed) == ([0.0, 1.0, 0.0, None, None, None], 0)


EDITED = {"Classification": fo.Classification(label="new"), "FloatField": 77.0}


@pytest.mark.parametrize("kind", few(EDITED))
@pytest.mark.parametrize("on_view", [False, True])
def test_a_rating_that_is_edited_before_writing_is_read_again(make_dataset, before_each_write, kind, on_view):
    dataset = rated_dataset(make_dataset, {name: [VALUES[kind][1]] * 4 for name in NAMES}, kind)
    edited = []

    def edit_once(batch):
        if not edited:
            edited.append(dataset.first())
            edited[0].reload()
            edited[0]["alice"] = EDITED[kind]
            edited[0].save()

    before_each_write(edit_once)
    report = compute_quickly(dataset.match(F("filepath") != "") if on_view else dataset, NAMES)
    assert dataset.values("agreement_score") == pytest.approx([1 / 3, 1.0, 1.0, 1.0])
    assert (report.n_disputed, report.run.n_changed) == (1, 0)


NOT_LISTED = "must list every class .* "
UNFIT = [
    ("Classification", {"categories": ["cat", "owl"]}, NOT_LISTED + "without 'dog'; listed are 'cat',"),
    ("BooleanField", {"categories": [False]}, NOT_LISTED + "got a list without 'True'"),
    ("IntField", {"categories": [1, 2]}, NOT_LISTED + "got a list without '3', '4'"),
    ("Classification", {"level": "interval"}, "`level` must be nominal or ordinal for classes, got 'interval'"),
    ("StringField", {"level": "ordinal"}, "got 'ordinal'; list all classes in ascending order in `categories`"),
    ("Classification", {"annotator_attribute": "rater", "fields": "alice"},
     r"must be a field with a list of labels, got 'alice' \(Classification\); give every annotator a field"),
]  # fmt: skip


def test_options_and_fields_that_do_not_fit_are_refused(make_dataset):
    for kind, options, message in UNFIT:
        refused_run(message, _random(make_dataset, kind)[1], **{"fields": NAMES, **options})
    kinds = {"alice": "StringField", "bob": "IntField"}
    dataset = rated_dataset(make_dataset, {"alice": ["1", "2"], "bob": [1, 2]}, kinds)
    refused_run(r"compared with each other, got alice \(text\), bob \(integers\)", dataset, ["alice", "bob"])
    dataset = rated_dataset(make_dataset, {"alice": [1.0, -2.0], "bob": [1.0, 2.0]}, "FloatField")
    message = f"at least 0 at the level 'ratio', got 1 below, on samples {dataset.last().id}; use the level 'int"
    refused_run(message, dataset, ["alice", "bob"], level="ratio")
    assert compute_quickly(dataset, ["alice", "bob"]).level == "interval"


#: by type of the fields: path, the number of the others, and values that are left out
UNUSABLE = {
    "Regression": ("bob.value", 2, [None, float("nan"), "many", True, -1e200]),  # too large to be squared
    "FloatField": ("bob", 2, [float("inf"), float("nan"), 1e308]),
    "IntField": ("bob", 2**53, ["many", 2**53 + 1, -(2**53) - 1]),  # too large to be told apart
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_numbers_that_cannot_be_compared_are_refused_or_left_out(make_dataset, kind):
    path, others, values = UNUSABLE[kind]
    n = len(values)
    dataset = rated_dataset(make_dataset, {name: [1, *[others] * n, 2] for name in NAMES}, kind)
    for sample_id, value in zip(dataset.values("_id")[1:-1], values, strict=True):
        dataset._sample_collection.update_one({"_id": sample_id}, {"$set": {path: value}})
    message = rf"finite numbers \(integers up to 2\*\*53.*\), got {n} that are not, on samples .*; correct"
    refused_run(message, dataset, NAMES)
    assert compute_quickly(dataset, NAMES, invalid="skip").run.n_invalid == n
    assert dataset.values("agreement_n_annotators") == [3, *[2] * n, 3]
    assert dataset.values("agreement_score") == [1.0] * (n + 2)
    assert dataset.values("agreement_std") == [0.0] * (n + 2)
    for document in list(dataset._sample_collection.find({}).sort("_id"))[1:-1]:
        assert "agreement" not in (document["bob"] if isinstance(document["bob"], dict) else {})


def test_the_largest_numbers_that_are_compared_have_finite_results(make_dataset):
    dataset = rated_dataset(make_dataset, {"alice": [1e100, 2.0], "bob": [-1e100, 2.0]}, "FloatField")
    report = compute_quickly(dataset, ["alice", "bob"])
    assert report.alpha.pooled == pytest.approx(-0.5, abs=1e-12)
    assert dataset.values("agreement_std") == [pytest.approx(1e100), 0.0]
    integers = rated_dataset(make_dataset, {"alice": [2**53, 5], "bob": [2**53 - 1, 5]}, "IntField")
    compute_quickly(integers, ["alice", "bob"])
    assert integers.values("agreement_score") == [0.0, 1.0]


def test_fields_that_a_run_wrote_and_fiftyones_own_are_neither_offered_nor_compared(make_dataset):
    _, dataset = _random(make_dataset, "FloatField")
    field = dataset.get_field("alice")
    field.read_only = True  # which one with labels must not be
    field.save()
    compute_quickly(dataset, NAMES)
    assert list(comparable_fields(dataset)) == NAMES
    message = "got 'agreement_mean', which the run 'agreement' wrote"
    refused(message, compute_quickly, dataset, ["alice", "agreement_mean"], run_key="other")
    refused("got 'filepath' with StringField", compute_quickly, dataset, ["filepath", "alice"], run_key="other")


def test_ratings_and_tags_of_frames_are_compared_frame_by_frame(make_videos):
    def classes(*labels):
        return [label and fo.Classification(label=label) for label in labels]

    def tags(*given):
        return [of and fo.Classifications(classifications=[fo.Classification(label=of)]) for of in given]

    videos = [{"alice": classes("cat", "cat", "dog"), "bob": classes("cat", "dog", None),
               "a": tags("rain", "rain", None), "b": tags("rain", None, None)},
              {"alice": classes("owl", None), "bob": classes("owl", "owl"), "a": [None] * 2,
               "b": [None] * 2}]  # fmt: skip
    dataset = make_videos(videos)
    report = compute_quickly(dataset, ["frames.alice", "frames.bob"])
    assert dataset.values("frames.agreement_score") == [[1.0, 0.0, None], [1.0, None]]
    assert dataset.values("frames.alice.agreement") == [["agreed", "class_conflict", None], ["agreed", None]]
    assert dataset.values("frames.agreement_majority") == [["cat", None, None], ["owl", None]]
    assert dataset.values("agreement_score") == [0.5, 1.0]
    assert (report.n_samples, report.n_rated, report.run.coverage) == (5, 3, "fields")
    report = compute_quickly(dataset, ["frames.a", "frames.b"], run_key="given")
    # who tagged any frame of a video was assigned to all on which anybody has a list
    assert dataset.values("frames.given_score") == [[1.0, 0.0, None], [None, None]]
    assert dataset.values("frames.a.classifications.given")[0] == [["agreed"], ["lone"], None]
    assert dataset.values("frames.given_majority")[0] == [["rain"], [], None]
    assert dataset.values("given_score") == [0.5, None]
    assert (report.n_samples, report.n_rated, report.run.coverage) == (5, 2, "videos")


#: full agreement; a missed and a lone tag, given twice; nobody any; one not assigned; only one assigned
EXAMPLE_TAGS = {"alice": [["rain", "night"], ["rain", "snow", "snow"], [], ["rain"], ["rain"]],
                "bob": [["night", "rain"], ["rain"], [], [], None],
                "carol": [["rain", "night"], ["crowd"], [], None, None]}  # fmt: skip


def test_values_of_an_example(make_dataset):
    dataset = rated_dataset(make_dataset, EXAMPLE_TAGS, "Classifications")
    report = compute_quickly(dataset, NAMES)
    assert dataset.values("agreement_score") == pytest.approx([1.0, (0.5 + 0 + 0) / 3, 1.0, 0.0, None])
    assert dataset.values("agreement_majority") == [["night", "rain"], ["rain"], [], [], None]
    assert dataset.values("agreement_disputed") == [False, True, False, True, None]
    assert dataset.values("agreement_n_annotators") == [3, 3, 3, 2, 1]
    assert dataset.values("alice.classifications.agreement") == [
        ["agreed", "agreed"], ["missed", "lone", None], [], ["lone"], [None]
    ]  # fmt: skip
    assert dataset.values("alice.classifications.agreement_votes") == [[3, 3], [2, 1, None], [], [1], [1]]
    assert dataset.values("alice.classifications.agreement_of") == [[3, 3], [3, 3, None], [], [2], [1]]
    assert dataset.values("carol.classifications.agreement") == [["agreed", "agreed"], ["lone"], [], None, None]
    assert (report.family, report.set_distance, report.label_types) == ("tags", "masi", ["Classifications"])
    assert (report.n_samples, report.n_rated, report.n_objects, report.n_disputed) == (5, 4, 11, 2)
    coverage = {entry.name: (entry.n_assigned, entry.n_gave_nothing, entry.n_objects, entry.n_missed)
                for entry in report.annotators}  # fmt: skip
    assert coverage == {"alice": (5, 1, 6, 0), "bob": (4, 2, 3, 0), "carol": (3, 1, 3, 1)}
    rain = next(entry for entry in report.tags if entry.tag == "rain")
    assert (rain.n_samples, rain.n_agreed, rain.votes, rain.share) == (3, 1, 6, 6 / 8)
    worst = [(entry["score"], entry["n_disputed"], entry["n_units"]) for entry in report.worst_samples]
    assert worst == [(0.0, 1, 1), (pytest.approx(1 / 6), 3, 3)]


@pytest.mark.long
def test_a_tag_without_a_name_and_a_list_that_was_emptied_are_read_as_such(make_dataset):
    dataset = rated_dataset(make_dataset, EXAMPLE_TAGS, "Classifications")
    sample = dataset.first()
    sample.alice.classifications = []
    sample.bob.classifications[0].label = None
    sample.save()
    report = compute_quickly(dataset, NAMES)
    assert "(no label)" in [entry.tag for entry in report.tags]
    assert (dataset.values("agreement_n_annotators")[0], dataset.values("agreement_majority")[0]) == (3, ["rain"])


PAIR = ["alice", "bob"]
ALIASES = {"Cat ": "cat", "kitten": "cat"}


CAT_AND_DOG = {"alice": ["Cat ", "dog", "kitten", "cat"], "bob": ["cat", "dog", "Cat ", "dog"]}
TAGS = {"alice": [["Cat ", "dog"], ["cat", "kitten"]], "bob": [["dog", "cat"], ["Cat "]]}


@pytest.mark.long
def test_ratings_and_tags_of_aliases_are_one_class(make_dataset):
    for field, labels, scores, majority in (
        ("Classification", CAT_AND_DOG, [1.0, 1.0, 1.0, 0.0], ["cat", "dog", "cat", None]),
        ("StringField", CAT_AND_DOG, [1.0, 1.0, 1.0, 0.0], ["cat", "dog", "cat", None]),
        ("Classifications", TAGS, [1.0, 1.0], [["cat", "dog"], ["cat"]]),
    ):
        dataset = rated_dataset(make_dataset, labels, field)
        compute_quickly(dataset, PAIR, aliases=ALIASES)
        assert (dataset.values("agreement_score"), dataset.values("agreement_majority")) == (scores, majority), field


def test_categories_are_those_that_aliases_stand_for_and_numbers_have_none(make_dataset):
    dataset = rated_dataset(make_dataset, {"alice": ["low", "High"], "bob": ["Low", "high"]}, "Classification")
    options = {"categories": ["low", "high"], "level": "ordinal"}
    report = compute_quickly(dataset, PAIR, aliases={"Low": "low", "High": "high"}, **options)
    assert report.alpha.pooled == 1.0
    message = "must list every class that occurs, got a list without 'High'"
    refused(message, compute_quickly, dataset, PAIR, run_key="other", aliases={"Low": "low"}, **options)
    dataset = rated_dataset(make_dataset, {"alice": [1, 2], "bob": [2, 2]}, "IntField")
    message = "`aliases` concerns objects that are matched, classes of whole images, tags, but 'alice' holds integers"
    refused(message, compute_quickly, dataset, PAIR, aliases={"1": "2"}, categories=[1, 2])
    assert compute_quickly(dataset, PAIR, aliases={}, categories=[1, 2]).score.mean == 0.5

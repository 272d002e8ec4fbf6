"""Two runs compared on the samples that both have, from what they stored."""

from __future__ import annotations

import functools
import io
import json

import bson
import fiftyone as fo
import numpy as np
import pytest

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.dataset_io.rated import by_annotator, rated_dataset
from tests.dataset_io.unit_oracle import current_decisions
from tests.datasets import frames_of, random_annotators

from annotator_agreement import names
from annotator_agreement.agreement.families import AgreementComparison
from annotator_agreement.charts.reports import comparison_markdown, comparison_text
from annotator_agreement.dataset_io import (
    agreement_on,
    apply_decisions,
    compare_agreement,
    decide,
    undo_applied,
    update_agreement,
)

NAMES = ["alice", "bob", "carol"]


def _of_boxes(make_dataset):
    return make_dataset(random_annotators(30))


def _of_masks(make_dataset):
    return masked_dataset(make_dataset, random_masks(28))


def _rated(kind, n, draw):
    """Make a dataset on which everybody gives most images a value."""

    def make(make_dataset):
        rng = np.random.default_rng(5)
        rows = [[None if rng.random() < 0.2 else draw(rng) for _ in NAMES] for _ in range(n)]
        return rated_dataset(make_dataset, by_annotator(rows, NAMES), kind)

    return make


TAGS = ["night", "rain", "snow", "crowd"]
#: a dataset of every label type, options of a run, and other options
CASES = {
    "boxes": (_of_boxes, {}, {"iou": 0.8}),
    "classes": (_rated("Classification", 30, lambda rng: str(rng.choice(["a", "b", "c"]))), {"level": "nominal"},
                {"categories": ["a", "b", "c"]}),
    "numbers": (_rated("FloatField", 40, lambda rng: float(rng.integers(9)) / 2), {}, {"tolerance": 0.5}),
    "tags": (_rated("Classifications", 40, lambda rng: [tag for tag in TAGS if rng.random() < 0.4]), {},
             {"set_distance": "jaccard"}),
    "masks": (_of_masks, {}, {"background": None}),
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(make_module_dataset):
    """A dataset of a case with the runs one, same and two, of which the last has other options; see the cases."""
    made = {}

    def runs(case):
        if case not in made:
            make, options, changed = CASES[case]
            dataset, *_ = made[case] = make(make_module_dataset), options, changed
            for key, of_run in (("one", options), ("same", options), ("two", changed)):
                compute_quickly(dataset, NAMES, run_key=key, **of_run)
        return made[case]

    return runs


@pytest.fixture
def boxes(runs):
    return runs("boxes")[0]


each_case = pytest.mark.parametrize("case", CASES)


def _changes(comparison):
    found = {("numbers", name): change for name, change in comparison.numbers.items()}
    for table, parts in comparison.changes.items():
        for part in parts:
            found |= {(table, *part.names, name): change for name, change in part.numbers.items()}
    return found


@pytest.mark.long
@each_case
def test_a_run_does_not_differ_from_itself_and_swapping_two_runs_negates_their_differences(case, runs):
    dataset, *_ = runs(case)
    comparison = compare_agreement(dataset, "one", "same", resamples=20)
    changes = _changes(comparison)
    assert {("numbers", "score.mean"), ("numbers", "alpha.pooled")} <= set(changes)
    assert comparison.options == []
    for change in changes.values():
        assert (change.a, change.interval) == (change.b, None)
        assert change.a is None or change.difference == 0.0
    assert (comparison.samples.n_better, comparison.samples.n_worse) == (0, 0)
    forward, backward = (compare_agreement(dataset, *keys, resamples=20) for keys in (("one", "two"), ("two", "one")))
    changes, swapped = _changes(forward), _changes(backward)
    assert set(changes) == set(swapped)
    for key, change in changes.items():
        other = swapped[key]
        assert (change.a, change.b) == (other.b, other.a)
        assert (change.difference is None) == (other.difference is None)
        if change.difference is not None:
            assert change.difference == -other.difference
        assert (change.interval is None) == (other.interval is None)
        if change.interval is not None:
            ends = [-change.interval.high, -change.interval.low, change.interval.error]
            assert ends == pytest.approx([other.interval.low, other.interval.high, other.interval.error], abs=1e-12)
    assert (forward.samples.better, forward.samples.worse) == tuple(
        [{**entry, "a": entry["b"], "b": entry["a"], "difference": -entry["difference"]} for entry in listed]
        for listed in (backward.samples.worse, backward.samples.better)
    )
    assert any(change.difference for change in changes.values())


@pytest.mark.long
@each_case
def test_the_numbers_are_those_of_the_reports_on_the_samples_of_both(case, runs):
    dataset, options, changed = runs(case)
    compute_quickly(dataset.limit(25), NAMES, run_key="first", **options)
    compute_quickly(dataset.skip(4), NAMES, run_key="last", **changed)
    comparison = compare_agreement(dataset, "first", "last", resamples=0)
    shared = dataset.skip(4).limit(21)
    rated = [n >= 2 for n in shared.values("first_n_annotators")]
    ids = [sample_id for sample_id, is_rated in zip(shared.values("id"), rated, strict=True) if is_rated]
    one, two = (agreement_on(dataset.select(ids), key) for key in ("first", "last"))
    assert (comparison.n_samples, comparison.n_only_a, comparison.n_only_b) == (len(ids), 4, len(dataset) - 25)
    assert comparison.n_unrated == 21 - len(ids)
    for path, change in comparison.numbers.items():
        found = [functools.reduce(dict.__getitem__, path.split("."), each.to_dict()) for each in (one, two)]
        assert [change.a, change.b] == pytest.approx(found, abs=1e-9), path
        if change.difference is not None:
            assert change.difference == pytest.approx(found[1] - found[0], abs=1e-9)
        assert change.interval is None
    pairs = {(entry.a, entry.b): entry for entry in two.pairs}
    for part in comparison.changes["pairs"]:
        for name in ("score", "alpha"):
            if name in part.numbers:
                expected = getattr(pairs[tuple(part.names)], name)
                assert part.numbers[name].b == pytest.approx(expected, abs=1e-9)
    shown = {entry["option"] for entry in comparison.options}
    assert set(changed) <= shown
    assert "run_key" not in shown


@pytest.mark.long
def test_samples_are_listed_by_how_much_they_changed(boxes):
    compute_quickly(boxes, NAMES, run_key="places", iou=0.85, classes="ignore")
    comparison = compare_agreement(boxes, "one", "places", resamples=0)
    ids, paths, before, after = boxes.values(["id", "filepath", "one_score", "places_score"])
    changes = {
        (sample_id, path): b - a for sample_id, path, a, b in zip(ids, paths, before, after, strict=True)
        if a is not None and b is not None
    }  # fmt: skip
    worse = sorted((change, sample_id, path) for (sample_id, path), change in changes.items() if change < -1e-9)
    better = sorted((-change, sample_id, path) for (sample_id, path), change in changes.items() if change > 1e-9)
    found = comparison.samples
    assert (found.n_worse, found.n_better) == (len(worse), len(better))
    assert found.n_equal == len(changes) - len(worse) - len(better)
    assert found.n_worse > 10
    for listed, expected in ((found.worse, worse), (found.better, better)):
        assert [(entry["id"], entry["filepath"]) for entry in listed] == [(i, path) for _, i, path in expected[:10]]
    assert [entry["difference"] for entry in found.worse] == pytest.approx([change for change, *_ in worse[:10]])


@pytest.mark.long
def test_of_videos_whole_videos_are_resampled(make_videos):
    rows = [random_annotators(2 + k % 3, seed=k) for k in range(12)]
    dataset = make_videos([{name: frames_of(*of_video[name]) for name in NAMES} for of_video in rows])
    fields = [f"frames.{name}" for name in NAMES]
    compute_quickly(dataset, fields, run_key="one")
    compute_quickly(dataset, fields, run_key="two", iou=0.85)
    comparison = compare_agreement(dataset, "one", "two", resamples=20)
    assert comparison.n_clusters == 12
    assert comparison.n_samples > 20
    assert comparison.numbers["score.mean"].interval.n == 12
    assert {"frame_number", "id"} <= set(comparison.samples.worse[0])
    assert "of 12 videos or groups" in comparison_text(comparison)
    assert "frame_number" in comparison.to_dataframe("samples").columns


@pytest.mark.long
def test_a_view_limits_the_samples_that_are_compared(boxes):
    view = boxes.match_tags("none", bool=False).skip(10)
    comparison, report = compare_agreement(view, "one", "two", resamples=0), agreement_on(view, "two")
    assert comparison.numbers["score.mean"].b == pytest.approx(report.score.mean, abs=1e-12)
    assert comparison.n_samples == report.n_rated


def test_annotators_and_options_that_differ_are_listed(boxes):
    compute_quickly(boxes, ["alice", "bob"], run_key="alice_bob")
    compute_quickly(boxes, ["carol", "bob"], run_key="carol_bob", resamples=10, missing="ignore")
    comparison = compare_agreement(boxes, "alice_bob", "carol_bob", resamples=0)
    assert (comparison.annotators_only_a, comparison.annotators_only_b) == (["alice"], ["carol"])
    assert comparison.changes.get("pairs") is None
    assert [part.names for part in comparison.changes["annotators"]] == [["bob"]]
    assert {"option": "missing", "a": "category", "b": "ignore"} in comparison.options
    assert "resamples" not in {entry["option"] for entry in comparison.options}, "it does not change the numbers"
    assert "only in alice_bob" in comparison_text(comparison)


@pytest.mark.parametrize("on_frames", [False, True])
@pytest.mark.long
def test_labels_set_by_decisions_are_counted_and_the_numbers_without_them_given(make_dataset, make_videos, on_frames):
    labels = random_annotators(18, seed=8)
    videos = [{name: frames_of(*labels[name][k : k + 3]) for name in NAMES} for k in range(6)]
    dataset = make_videos(videos) if on_frames else make_dataset(labels)
    fields = [f"frames.{name}" for name in NAMES] if on_frames else NAMES
    compute_quickly(dataset, fields, run_key="first")
    compute_quickly(dataset, fields)
    assert compare_agreement(dataset, "first", "agreement", resamples=0).decided is None
    part = dataset.limit(len(dataset) // 2)
    decide(part, min_votes=2)
    made = apply_decisions(part, changes=["class", "geometry", "add"])
    assert compare_agreement(dataset, "first", "agreement", resamples=0).decided is None  # neither has seen them
    update_agreement(dataset)
    for comparison in (compare_agreement(dataset, *keys, resamples=20) for keys in ((), ("first", "agreement"))):
        decided = comparison.decided
        collection = dataset._frame_collection if on_frames else dataset._sample_collection
        touched, n_labels = set(), 0
        for document in collection.find():
            steps = [part for each in current_decisions(document) for part in each.get("applied", ())]
            n_labels += sum(len(step["changes"]) for step in steps)
            touched |= {document["_id"]} if steps else set()
        assert (decided.n_labels, decided.n_samples, decided.is_incomplete) == (n_labels, len(touched), False)
        assert n_labels > sum(each.n_added for each in made.annotators) > 0
        assert AgreementComparison.from_dict(json.loads(json.dumps(comparison.to_dict()))) == comparison
        text = comparison_text(comparison)
        said = f"{n_labels} labels on {len(touched)} {'frames' if on_frames else 'samples'} were set by decisions"
        for shown in (text, comparison_markdown(comparison), comparison._repr_html_()):
            assert said in " ".join(shown.split())
        assert f"({decided.n_left} left): F1 stays the same" in " ".join(text.split())
        assert len(text.splitlines()) <= 60
        frame = comparison.to_dataframe("without_decided").set_index("number")
        assert frame.loc["score.mean", "a"] == decided.numbers["score.mean"].a
    if not on_frames:
        others = dataset.select([str(each) for each in {bson.ObjectId(k) for k in dataset.values("id")} - touched])
        expected = compare_agreement(others, "first", "agreement", resamples=20)
        found, wanted = ({name: [change.a, change.b] for name, change in each.numbers.items()}
                         for each in (decided, expected))  # fmt: skip
        assert found == {name: pytest.approx(ends, abs=1e-12) for name, ends in wanted.items()}
        assert (decided.n_left, expected.decided) == (expected.n_samples, None)
        assert comparison.numbers["score.mean"].difference > 0.01
    undo_applied(dataset)
    forgotten = compare_agreement(dataset, "first", "agreement", resamples=0)
    assert (forgotten.decided.n_labels, forgotten.decided.is_incomplete) == (0, True)
    assert "were taken back or deleted since" in " ".join(comparison_text(forgotten).split())
    compute_quickly(dataset, fields, overwrite=True)
    assert compare_agreement(dataset, "first", "agreement", resamples=0).decided is None


@pytest.mark.long
def test_intervals_do_not_depend_on_the_order_of_samples(make_dataset):
    labels, found = random_annotators(14, seed=8), []
    for order in (range(14), range(13, -1, -1)):
        dataset = make_dataset({name: [of_one[k] for k in order] for name, of_one in labels.items()})
        for key, iou in (("low", 0.3), ("high", 0.8)):
            compute_quickly(dataset, NAMES, run_key=key, iou=iou)
        numbers = compare_agreement(dataset, "low", "high", resamples=60).numbers
        intervals = {name: each.interval for name, each in numbers.items()}
        found.append({name: each and [each.low, each.high] for name, each in intervals.items()})
    assert sum(each is not None for each in found[0].values()) > 5
    assert found[1] == {name: ends and pytest.approx(ends, abs=1e-12) for name, ends in found[0].items()}


@pytest.mark.long
def test_runs_that_cannot_be_compared_are_refused(make_dataset, make_videos):
    rng = np.random.default_rng(5)
    dataset = _rated("Classification", 10, lambda rng: str(rng.choice(["a", "b"])))(make_dataset)
    for name in NAMES:
        dataset.set_values(f"number_{name}", [float(rng.integers(3)) for _ in range(10)])
    compute_quickly(dataset, NAMES, run_key="classes")
    compute_quickly(dataset, [f"number_{name}" for name in NAMES], run_key="numbers")
    compute_quickly(dataset.limit(5), NAMES, run_key="first")
    compute_quickly(dataset.skip(5), NAMES, run_key="last")
    for keys, options, message in (
        (("classes", "numbers"), {}, "must be on labels of one kind, got ratings and numbers"),
        (("first", "last"), {}, "must have samples in common, got 5 and 5 samples, none in both"),
        (("first", "missing"), {}, "`run_key` must be an agreement run"),
        (("first", "classes"), {"resamples": -1}, "`resamples` must be"),
        (("first", "classes"), {"resamples": 0.5}, "`resamples` must be"),
        (("first", "classes"), {"seed": "x"}, "`seed` must be"),
    ):
        refused(message, compare_agreement, dataset, *keys, **options)
    videos = make_videos([{name: frames_of([]) for name in NAMES}])
    compute_quickly(videos, [f"frames.{name}" for name in NAMES], run_key="frames")
    for name in ("alice", "bob"):
        videos.set_values(name, [fo.Detections()])
    compute_quickly(videos, ["alice", "bob"], run_key="videos")
    refused("one kind, got objects on frames and objects", compare_agreement, videos, "frames", "videos")


def test_runs_without_a_sample_that_two_rated_in_both_have_no_numbers(make_dataset):
    box = [("cat", (0.1, 0.1, 0.2, 0.2))]
    dataset = make_dataset({"alice": [box, box], "bob": [box, None], "carol": [None, box]})
    compute_quickly(dataset, ["alice", "bob"], run_key="one")
    compute_quickly(dataset, ["alice", "carol"], run_key="two")
    comparison = compare_agreement(dataset, "one", "two")
    assert (comparison.n_samples, comparison.n_unrated) == (0, 2)
    assert not any(change.difference is not None for change in _changes(comparison).values())
    assert "Nothing can be compared" in comparison_text(comparison)


def test_runs_of_different_versions_of_the_formulas_warn_when_they_are_compared(make_dataset, monkeypatch):
    dataset = make_dataset()
    compute_quickly(dataset, NAMES, run_key="older")
    monkeypatch.setattr(names, "FORMULAS_VERSION", names.FORMULAS_VERSION + 1)
    newer = compute_quickly(dataset, NAMES, run_key="newer")
    assert newer.run.versions["formulas"] == str(names.FORMULAS_VERSION)
    expected = f"'older' was computed with version {names.FORMULAS_VERSION - 1} of the formulas, 'newer' with"
    for keys in (("older", "newer"), ("newer", "older")):
        comparison = compare_agreement(dataset, *keys, resamples=0)
        printed = io.StringIO()
        comparison.print_report(printed)
        assert expected in " ".join(printed.getvalue().split())
    compute_quickly(dataset, NAMES, run_key="newest")
    assert compare_agreement(dataset, "newer", "newest", resamples=0).formulas is None


def test_a_comparison_survives_json_and_is_shown_in_tables(boxes):
    comparison = compare_agreement(boxes, "one", "two", resamples=50)
    assert AgreementComparison.from_dict(json.loads(json.dumps(comparison.to_dict()))) == comparison
    row, change = comparison.to_dataframe().set_index("number").loc["score.mean"], comparison.numbers["score.mean"]
    assert [row["a"], row["difference"], row["low"]] == [change.a, change.difference, change.interval.low]
    assert set(comparison.to_dataframe("pairs")["name"]) == {"alice – bob", "alice – carol", "bob – carol"}
    refused(r"`table` must be one of numbers, pairs", comparison.to_dataframe, "nothing")
    begins = f"<AgreementComparison from 'one' to 'two': {comparison.n_samples} shared samples; "
    assert repr(comparison).startswith(begins)
    shown, markdown = comparison._repr_html_(), comparison_markdown(comparison)
    assert "compared with &#39;one&#39;" in shown
    assert f"<td>{change.difference:+.3f}" in shown.replace(' class="numeric"', "")
    assert "alice – bob" not in shown  # the beginning alone
    assert "| Score " in markdown
    assert "Threshold (iou): 0.5 → 0.8" in markdown

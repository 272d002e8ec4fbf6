"""Views behind the numbers of a report on objects: the labels they show, one by one, and how many these are."""

from __future__ import annotations

import functools
import os
from collections import Counter
from dataclasses import dataclass

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.chance import few
from tests.dataset_io.quick_runs import compute_quickly
from tests.datasets import boxes_dataset, detections, frames_of, join_fields, random_annotators, stored, videos_dataset

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import view_agreement

NAMES = ["alice", "bob", "carol"]
VERDICTS = ["agreed", "class_conflict", "missed", "lone", "split", "duplicate"]


def _labels(seed=51, n_samples=24):
    """Random boxes; some are drawn twice, some in two parts."""
    annotators = random_annotators(n_samples, seed=seed)
    rng = np.random.default_rng(seed)
    for name in NAMES:
        for labels in annotators[name]:
            for label, (x, y, width, height) in list(labels or []):
                if rng.random() < 0.1:
                    labels.append((label, (x, y, width * 0.99, height)))
                elif rng.random() < 0.1:
                    labels.remove((label, [x, y, width, height]))
                    labels += [(label, (x, y, width * 0.6, height)), (label, (x + width * 0.6, y, width * 0.4, height))]
    return annotators


def _in_fields(name):
    dataset = boxes_dataset(name, _labels())
    return dataset, compute_quickly(dataset, NAMES), {"fields": NAMES}


def _in_an_attribute(name, *, assigned_field="raters"):
    annotators, numbers = _labels(7), dict(enumerate(NAMES, 10))
    dataset = boxes_dataset(name, {})
    for k in range(len(annotators["alice"])):
        both = [fo.Detection(label=label, bounding_box=list(box), rater=number)
                for number, rater in numbers.items() for label, box in annotators[rater][k] or []]  # fmt: skip
        raters = [number for number, rater in numbers.items() if annotators[rater][k] is not None]
        raters = raters[: 2 if k % 5 == 0 else 3]  # some label although they are not listed
        sample = fo.Sample(f"/images/{k}.jpg", labels=fo.Detections(detections=both), raters=raters)
        dataset.add_sample(sample, dynamic=True)
    report = compute_quickly(dataset, "labels", annotator_attribute="rater", assigned_field=assigned_field)
    return dataset, report, {"fields": ["labels"], "attribute": "rater", "assigned_field": assigned_field}


def _in_an_attribute_of_everybody(name):
    return _in_an_attribute(name, assigned_field=None)


def _on_frames(name):
    videos = []
    for seed in range(6):
        annotators = _labels(seed, 6)
        absent = NAMES[seed] if seed < 3 else None
        videos.append({name: frames_of(*annotators[name]) for name in NAMES if name != absent})
    dataset = videos_dataset(name, videos, (200, 100))
    fields = [f"frames.{name}" for name in NAMES]
    return dataset, compute_quickly(dataset, fields), {"fields": fields}


CASES = [_in_fields, _in_an_attribute, _in_an_attribute_of_everybody, _on_frames]


@pytest.fixture(scope="module", params=few(CASES, 2), ids=lambda case: case.__name__.strip("_"))
def case(request, private_fiftyone):
    """A dataset that no test changes, the report on it, its labels, and where they are."""
    dataset, report, where = request.param(f"test-views-{os.getpid()}")
    table = table_of(dataset, **where)
    if "attribute" in where and where["assigned_field"] is None:
        documents = {sample.id for sample in dataset}
        table.assigned.update((document, name) for document in documents for name in ("10", "11", "12"))
    if where["fields"][0].startswith("frames."):
        # whoever has a label list on any frame of a video is assigned to all its frames on which anybody has one
        documents = {document for document, _ in table.assigned}
        videos = {(document.split("-")[0], name) for document, name in table.assigned}
        table.assigned.update(
            (document, name) for document in documents for video, name in videos if document.split("-")[0] == video
        )
    yield dataset, report, table, where
    dataset.delete()


def _shown(view, where):
    there = [field for field in where["fields"] if view.get_field(field) is not None]
    return table_of(view, **{**where, "fields": there})


def _samples(table):
    return {label.document.split("-")[0] for label in table.labels}


def _annotators(report):
    return {annotator.name: annotator for annotator in report.annotators}


@pytest.mark.long
def test_verdicts_and_annotators_show_their_labels_and_as_many_as_the_report_counts(case):
    dataset, report, table, where = case
    for verdict in VERDICTS:
        view = view_agreement(dataset, verdict=verdict)
        shown = _shown(view, where)
        assert keys(shown) == table.where(lambda label, _, verdict=verdict: label.verdict == verdict) != set()
        assert set(view.values("id")) == _samples(shown)
        for name, annotator in _annotators(report).items():
            assert sum(label.annotator == name for label in shown.labels) == annotator.verdicts[verdict]
    shown = _shown(view_agreement(dataset, verdict=["lone", "missed"]), where)
    assert keys(shown) == table.where(lambda label, _: label.verdict in ("lone", "missed"))
    for name, annotator in _annotators(report).items():
        view = view_agreement(dataset, annotators=name)
        shown = _shown(view, where)
        assert keys(shown) == table.where(lambda label, _, name=name: label.annotator == name and label.votes)
        assert len(shown.labels) == annotator.n_objects
        assert set(view.values("id")) == _samples(shown)


@pytest.mark.few(1)
def test_two_annotators_are_shown_where_they_disagree(case):
    dataset, report, table, where = case
    for pair in report.pairs:
        view = view_agreement(dataset, annotators=[pair.a, pair.b])
        shown = _shown(view, where)

        def disagree(label, unit, names=(pair.a, pair.b)):
            both = all((label.document, name) in table.assigned for name in names)
            other = [member for member in unit if member.annotator in names and member.annotator != label.annotator]
            agree = any(member.label == label.label for member in other)
            return label.annotator in names and both and bool(label.votes) and not agree

        assert keys(shown) == table.where(disagree)
        n_same_class = pair.n_matched and round(pair.n_matched * pair.class_agreement)
        assert len(shown.labels) == pair.n_a + pair.n_b - 2 * n_same_class > 0
        assert set(view.values("id")) == _samples(shown)


def _iou(a, b):
    """IoU of two boxes (x, y, width, height)."""
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def _pair_scores(table, a, b):
    """Mean panoptic quality of two annotators over the documents of every sample, by sample."""
    scores = {}
    for document in {document for document, _ in table.assigned}:
        labels = [label for label in table.labels if label.document == document and label.votes]
        if not labels or not {(document, a), (document, b)} <= table.assigned:
            continue
        matched = [
            _iou(label.box, other.box)
            for label in labels
            for other in labels
            if (label.annotator, other.annotator) == (a, b) and (label.unit, label.label) == (other.unit, other.label)
        ]
        n = sum(label.annotator in (a, b) for label in labels)
        scores.setdefault(document.split("-")[0], []).append(2 * sum(matched) / n if n else 1.0)
    return {sample: float(np.mean(values)) for sample, values in scores.items()}


def test_a_pair_is_shown_with_its_lowest_score_first(case):
    dataset, report, table, _ = case
    a, b = report.pairs[0].a, report.pairs[0].b
    scores = _pair_scores(table, a, b)
    ids = view_agreement(dataset, annotators=[a, b]).values("id")
    found = [scores[sample_id] for sample_id in ids]
    assert len(set(np.round(found, 6))) > 3
    assert found == pytest.approx(sorted(found), abs=1e-9)
    assert view_agreement(dataset, annotators=[b, a]).values("id") == ids


def test_what_an_annotator_missed_is_as_many_units_as_the_report_counts(case):
    dataset, report, table, where = case
    for name, annotator in _annotators(report).items():
        shown = _shown(view_agreement(dataset, missed_by=name), where)

        def missed(label, unit, name=name):
            drawn = any(member.annotator == name for member in unit)
            return len(unit) >= 2 and not drawn and (label.document, name) in table.assigned

        assert keys(shown) == table.where(missed)
        assert len({(label.document, label.unit) for label in shown.labels}) == annotator.n_missed
    assert sum(annotator.n_missed for annotator in report.annotators) > 5


def _n_rated_units(table, shown):
    """Units that are shown, of documents with at least two assigned annotators."""
    n_assigned = Counter(document for document, _ in table.assigned)
    return len({(label.document, label.unit) for label in shown.labels if n_assigned[label.document] >= 2})


def test_classes_show_whole_units_and_votes_units_of_so_many(case):
    dataset, report, table, where = case
    for classes in ("cat", ["dog"], ["owl", "cat"]):
        chosen = [classes] if isinstance(classes, str) else classes
        shown = _shown(view_agreement(dataset, classes=classes), where)
        assert keys(shown) == table.where(lambda _, unit, chosen=chosen: any(each.label in chosen for each in unit))
        if len(chosen) == 1:
            (summary,) = [entry for entry in report.classes if entry.name == chosen[0]]
            assert _n_rated_units(table, shown) == summary.n_units > 0
    for votes, chosen in ((1, {1}), (2, {2}), ((2, 3), {2, 3}), ((None, 2), {1, 2}), ((3, None), {3})):
        shown = _shown(view_agreement(dataset, votes=votes), where)
        assert keys(shown) == table.where(lambda label, _, chosen=chosen: label.votes in chosen)
        counts = [entry["units"] for entry in report.existence.votes if entry["votes"] in chosen]
        assert _n_rated_units(table, shown) == sum(counts)


def _conflicts(table, first, second, a=None, b=None):
    """Labels of two classes in one unit, and the number of such pairs; on request only those of some annotators."""
    found, n = set(), 0
    for label in table.labels:
        for other in table.unit_of(label):
            said = (label.label, other.label) == (first, second)
            if said and a in (None, label.annotator) and b in (None, other.annotator):
                found |= {label.key, other.key}
                n += 1
    return found, n


@pytest.mark.parametrize("confusion", [("cat", "dog"), ("owl", "cat")])
@pytest.mark.few(3)
def test_a_confusion_shows_its_labels_and_as_many_as_the_report_counts(case, confusion):
    dataset, report, table, where = case
    counts = {(entry["a"], entry["b"]): entry["n"] for entry in report.class_given_match.confusion}
    of_pairs = [([pair.a, pair.b], (pair.a, pair.b), pair.confusion) for pair in report.pairs]
    of_annotators = [([name], (name,), each.class_conflicts) for name, each in _annotators(report).items()]
    shown = _shown(view_agreement(dataset, confusion=confusion), where)
    expected, n = _conflicts(table, *confusion)
    assert keys(shown) == expected
    assert n == counts[tuple(sorted(confusion))] > 0
    for asked, names, entries in of_pairs + of_annotators:
        shown = _shown(view_agreement(dataset, annotators=asked, confusion=confusion), where)
        expected, n = _conflicts(table, *confusion, *names)
        assert keys(shown) == {key for key in expected if key[1] in names}
        assert n == {(entry["a"], entry["b"]): entry["n"] for entry in entries}.get(confusion, 0)


@pytest.mark.few(1)
def test_scores_limit_samples_and_sort_them(case):
    dataset, _, table, where = case
    scores = dict(zip(*dataset.values(["id", "agreement_score"]), strict=True))
    inner = sorted(score for score in scores.values() if score is not None)
    low, high = inner[1], inner[-2]
    for limits in ({"min_score": low}, {"max_score": high}, {"min_score": low, "max_score": high}):
        view = view_agreement(dataset, **limits)
        least, most = limits.get("min_score", 0), limits.get("max_score", 1)
        expected = {sample for sample, score in scores.items() if score is not None and least <= score <= most}
        found = view.values("agreement_score")
        assert (set(view.values("id")), found) == (expected, sorted(found))
        n_labels = sum(label.document.split("-")[0] in expected for label in table.labels)
        assert len(_shown(view, where).labels) == n_labels


def test_everything_that_is_asked_for_is_combined(case):
    dataset, report, table, where = case
    a, b = report.pairs[-1].a, report.pairs[-1].b
    scores = dict(zip(*dataset.values(["id", "agreement_score"]), strict=True))
    asked = {"verdict": "missed", "missed_by": b, "classes": ["cat", "owl"], "votes": 2, "max_score": 0.8}
    view = view_agreement(dataset, annotators=[a, b], **asked)
    shown = _shown(view, where)

    def expected(label, unit):
        return (
            label.annotator == a
            and label.verdict == "missed"
            and all((label.document, name) in table.assigned for name in (a, b))
            and not any(member.annotator == b for member in unit)
            and any(member.label in ("cat", "owl") for member in unit)
            and label.votes == 2
            and (scores[label.document.split("-")[0]] or 1) <= 0.8
        )

    assert keys(shown) == table.where(expected)
    assert view.values("agreement_score") == sorted(view.values("agreement_score"))
    assert len(shown.labels) > 0


def test_fields_of_annotators_who_are_not_asked_for_are_left_out(case):
    dataset, report, _, where = case
    schema = {**dataset.get_field_schema(), **(dataset.get_frame_field_schema() or {})}
    for asked, gone in (
        ({"verdict": "lone"}, set()),
        ({"annotators": report.pairs[0].a}, {"bob", "carol"}),
        ({"annotators": [report.pairs[0].a, report.pairs[0].b]}, {"carol"}),
        ({"missed_by": report.pairs[0].a}, {"alice"}),
        ({"max_score": 0.5}, set()),
    ):
        view = view_agreement(dataset, **asked)
        left = {**view.get_field_schema(), **(view.get_frame_field_schema() or {})}
        assert set(schema) - set(left) == (set() if "attribute" in where else gone)


def test_views_can_be_serialised_saved_and_narrowed(case):
    dataset, report, table, where = case
    view = view_agreement(dataset, annotators=[report.pairs[0].a, report.pairs[0].b], classes="cat", max_score=0.9)
    again = fo.DatasetView._build(dataset, view._serialize())
    dataset.save_view("kept", view, overwrite=True)
    dataset.reload()
    for other in (again, dataset.load_saved_view("kept")):
        assert keys(_shown(other, where)) == keys(_shown(view, where))
        assert other.values("id") == view.values("id")
    some = dataset.values("id")[::2]
    narrowed = view_agreement(dataset.select(some), verdict=["missed", "lone"])

    def expected(label, _):
        return label.verdict in ("missed", "lone") and label.document.split("-")[0] in some

    assert keys(_shown(narrowed, where)) == table.where(expected)


@pytest.mark.long
def test_a_question_changes_nothing_and_none_shows_all_samples_of_the_run_with_an_index_too(make_dataset):
    dataset = make_dataset(_labels())
    compute_quickly(dataset.limit(18), NAMES)
    before = stored(dataset)
    assert view_agreement(dataset).values("id") == dataset.limit(18).values("id")
    assert view_agreement(dataset).count("alice.detections") == dataset.limit(18).count("alice.detections")
    for asked in ({"annotators": ["alice", "bob"]}, {"missed_by": "carol", "max_score": 0.7}, {"classes": "cat"}):
        list(view_agreement(dataset, **asked).iter_samples())
    assert stored(dataset) == before
    view = view_agreement(dataset.filter_labels("alice", F("label") == "cat"), verdict="lone", annotators="alice")
    table = table_of(dataset, NAMES)
    expected = table.where(lambda label, _: (label.annotator, label.label, label.verdict) == ("alice", "cat", "lone"))
    assert keys(table_of(view, ["alice"])) == expected != set()
    # an index changes the order of the stages, but not the view
    asked, where = {"verdict": ["lone", "missed"], "max_score": 0.9}, {"fields": NAMES}
    without = view_agreement(dataset, **asked)
    dataset.create_index("agreement_score")
    indexed = view_agreement(dataset, **asked)
    assert indexed._stages[1] != without._stages[1]
    assert indexed.values("agreement_score") == without.values("agreement_score")
    assert keys(_shown(indexed, where)) == keys(_shown(without, where))


def test_aliases_are_the_classes_that_they_stand_for_and_labels_without_one_have_a_name(make_dataset):
    drawn = {"alice": ["cat", "kitty", "dog", None], "bob": ["kitty", "dog", "dog", "cat"]}
    dataset = make_dataset({name: [[(label, (0.1, 0.1, 0.2, 0.4))] for label in of] for name, of in drawn.items()})
    compute_quickly(dataset, ["alice", "bob"], aliases={"kitty": "cat"})
    ids = dataset.values("id")
    for asked, shown in (
        ({"annotators": ["alice", "bob"]}, [1, 3]),
        ({"classes": "cat"}, [0, 1, 3]),
        ({"confusion": ["dog", "cat"]}, [1]),
        ({"confusion": ["(no label)", "cat"]}, [3]),
    ):
        assert sorted(view_agreement(dataset, **asked).values("id")) == [ids[k] for k in shown]
    with pytest.raises(AgreementInputError, match=r"got 'kitty'; did you mean 'cat'[?]; classes are cat, dog"):
        view_agreement(dataset, classes="kitty")
    # a view that gives classes other names does the same; names that differ between fields cannot be asked for
    view = dataset
    for name in ("alice", "bob"):
        view = view.map_labels(name, {"kitty": "puss"}).map_labels(name, {"puss": "pet", "cat": "pet"})
    compute_quickly(view, ["alice", "bob"], run_key="mapped", aliases={"pet": "animal"})
    assert sorted(view_agreement(dataset, "mapped", classes="animal").values("id")) == [*ids[:2], ids[3]]
    assert view_agreement(dataset, "mapped", confusion=["dog", "animal"]).values("id") == ids[1:2]
    with pytest.raises(AgreementInputError, match=r"got 'cat'; did you mean 'animal'[?]; classes are animal, dog"):
        view_agreement(dataset, "mapped", classes="cat")
    compute_quickly(dataset.map_labels("bob", {"kitty": "cat"}), ["alice", "bob"], run_key="of_bob")
    with pytest.raises(AgreementInputError, match="classes are cat, dog, kitty"):
        view_agreement(dataset, "of_bob", classes="pet")


@pytest.mark.long
def test_an_annotator_without_a_name_can_be_asked_for(make_dataset):
    dataset = make_dataset()
    join_fields(dataset, NAMES, "all")
    names = [of and ["" if name == "bob" else name for name in of] for of in dataset.values("all.detections.annotator")]
    dataset.set_values("all.detections.annotator", names)
    compute_quickly(dataset, "all", annotator_attribute="annotator")
    shown = view_agreement(dataset, annotators="").values("all.detections.annotator", unwind=True)
    assert set(shown) == {""}


@pytest.mark.long
def test_a_partner_with_another_verdict_is_a_partner_all_the_same(make_dataset):
    whole, left, right, most = (0.1, 0.1, 0.6, 0.4), (0.1, 0.1, 0.4, 0.4), (0.5, 0.1, 0.2, 0.4), (0.1, 0.1, 0.42, 0.4)
    drawn = {"alice": [whole], "bob": [left, right], "carol": [most], "dave": []}
    annotators = {name: [[("cat", box) for box in boxes]] for name, boxes in drawn.items()}
    dataset = make_dataset(annotators)
    compute_quickly(dataset, list(annotators))
    table = table_of(dataset, annotators)
    assert [label.verdict for label in table.labels] == ["split", "split", "split", "missed"]
    assert sorted(map(len, table.units.values())) == [1, 3]
    assert len(view_agreement(dataset, verdict="missed", annotators=["alice", "carol"])) == 0
    shown = table_of(view_agreement(dataset, verdict="missed", annotators=["carol", "dave"]), ["carol", "dave"])
    assert [label.annotator for label in shown.labels] == ["carol"]


@pytest.mark.long
def test_the_labels_that_a_run_made_are_left_out_where_labels_are_chosen(make_dataset):
    dataset = make_dataset(_labels())
    compute_quickly(dataset, NAMES)
    dataset.add_sample_field("agreement_units", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    field = dataset.get_field("agreement_units")
    field.info = {"annotator_agreement": "agreement"}
    field.save()
    assert view_agreement(dataset, verdict="lone").get_field("agreement_units") is None
    assert view_agreement(dataset, max_score=0.5).get_field("agreement_units") is not None


@pytest.mark.long
def test_a_view_of_groups_shows_the_samples_of_all_slices(make_dataset):
    annotators = _labels(3, 12)
    dataset, groups = make_dataset({}), [fo.Group() for _ in range(6)]
    dataset.add_group_field("group", default="left")
    for k in range(12):
        labels = {name: detections(annotators[name][k]) for name in NAMES}
        side = groups[k // 2].element(("left", "right")[k % 2])
        dataset.add_sample(fo.Sample(f"/images/{k}.jpg", group=side, **labels))
    report = compute_quickly(dataset, NAMES)
    for name in NAMES:
        shown = table_of(view_agreement(dataset, missed_by=name), [other for other in NAMES if other != name])
        assert len({(label.document, label.unit) for label in shown.labels}) == _annotators(report)[name].n_missed
    assert sum(annotator.n_missed for annotator in report.annotators) > 3
    assert len(view_agreement(dataset, max_score=1.0)) == report.score.n


@pytest.mark.long
def test_whether_a_view_has_samples_is_asked_without_sorting_them(make_dataset):
    from annotator_agreement.dataset_io.database import pipeline_of
    from annotator_agreement.dataset_io.views import agreement_view

    dataset = make_dataset(_labels(n_samples=4))
    compute_quickly(dataset, NAMES)
    worst = view_agreement(dataset, max_score=1.0).select_fields("alice")
    # a sorting that decides which samples are shown stays
    for view, is_sorted in ((worst, False), (worst.limit(2), True)):
        unsorted = agreement_view._unsorted(view)
        found = [any("$sort" in stage for stage in pipeline_of(each)) for each in (view, unsorted)]
        assert found == [True, is_sorted]
    assert agreement_view.shows_any(worst)
    assert not agreement_view.shows_any(worst.match(F("agreement_score") > 2))


# ---- the labels that a view shows, and the expected labels found one by one ----


@dataclass(frozen=True)
class Shown:
    """A label of a document, and what a run wrote on it."""

    document: str
    annotator: str
    id: str
    label: str | None
    unit: str | None
    verdict: str | None
    votes: int | None
    box: tuple[float, ...]

    @property
    def key(self):
        """What tells the label from all others."""
        return self.document, self.annotator, self.id


@dataclass(frozen=True)
class Table:
    """All labels of a dataset, and who was assigned to which documents."""

    labels: list[Shown]
    assigned: set[tuple[str, str]]

    @functools.cached_property
    def units(self):
        """The labels by document and unit."""
        units: dict[tuple[str, str | None], list[Shown]] = {}
        for label in self.labels:
            units.setdefault((label.document, label.unit), []).append(label)
        return units

    def unit_of(self, label):
        """The members of a label's unit."""
        return [] if label.unit is None else self.units[label.document, label.unit]

    def where(self, condition):
        """Keys of the labels that fulfil a condition on them and the members of their unit."""
        return {label.key for label in self.labels if condition(label, self.unit_of(label))}


#: what is read of labels, in the order of ``Shown``
READ = ("id", "label", "agreement_id", "agreement", "agreement_votes", "bounding_box")


def table_of(samples, fields, *, attribute=None, assigned_field=None):
    """The labels of a dataset or view; on frames, documents are frames.

    Args:
        samples: dataset or view
        fields: the label fields
        attribute: attribute that names the annotator
        assigned_field: field that lists the annotators
    """
    labels, assigned, read = [], set(), (*READ, *([attribute] if attribute else ()))
    on_frames = any(field.startswith("frames.") for field in fields)
    paths = [f"{field}.detections.{name}" for field in fields for name in read]
    more = ["frames.frame_number"] if on_frames else [assigned_field] if assigned_field else []
    for sample_id, *values in zip(*samples.values(["id", *more, *paths]), strict=True):
        if not on_frames:
            values = [[value] for value in values]  # a sample is one document
        others = values[: len(more)] or [[None]]
        for k, other in enumerate(others[0]):
            document = f"{sample_id}-{other}" if on_frames else sample_id
            assigned |= {(document, str(name)) for name in (other or () if assigned_field else ())}
            for n, field in enumerate(fields):
                lists = [value[k] for value in values[len(more) + n * len(read) :][: len(read)]]
                if lists[0] is None:
                    continue
                own = field.removeprefix("frames.")
                found = [Shown(document, own if attribute is None else str(entries[-1]), *entries[: len(READ)])
                         for entries in zip(*lists, strict=True)]  # fmt: skip
                labels += found
                assigned |= {(document, own)} if attribute is None else {(document, each.annotator) for each in found}
    return Table(labels, assigned)


def keys(table):
    """Keys of all labels of a table."""
    return {label.key for label in table.labels}

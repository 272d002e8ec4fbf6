"""Views behind the numbers of a report on objects: the labels they show, one by one, and how many these are."""

from __future__ import annotations

import functools
import os
from collections import Counter, namedtuple

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.chance import few
from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.datasets import (
    boxes_dataset,
    detections,
    frames_of,
    grouped_dataset,
    join_fields,
    random_annotators,
    stored,
    videos_dataset,
)

from annotator_agreement.dataset_io import view_agreement
from annotator_agreement.dataset_io.database import pipeline_of
from annotator_agreement.dataset_io.views import agreement_view

NAMES = ["alice", "bob", "carol"]


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


def _on_frames(name):
    videos = []
    for seed in range(6):
        annotators = _labels(seed, 6)
        absent = NAMES[seed] if seed < 3 else None
        videos.append({name: frames_of(*annotators[name]) for name in NAMES if name != absent})
    dataset = videos_dataset(name, videos, (200, 100))
    fields = [f"frames.{name}" for name in NAMES]
    return dataset, compute_quickly(dataset, fields), {"fields": fields}


CASES = {"in_fields": _in_fields, "in_an_attribute": _in_an_attribute,
         "in_an_attribute_of_everybody": functools.partial(_in_an_attribute, assigned_field=None),
         "on_frames": _on_frames}  # fmt: skip


@pytest.fixture(scope="module", params=few(CASES, 2))
def case(request, private_fiftyone):
    """A dataset that no test changes, the report on it, its labels, and where they are."""
    dataset, report, where = CASES[request.param](f"test-views-{os.getpid()}")
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


def _iou(a, b):
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def test_every_question_shows_the_labels_of_its_answer_and_as_many_as_the_report_counts(case):
    dataset, report, table, where = case
    n_assigned = Counter(document for document, _ in table.assigned)

    def shows(condition, **asked):
        view = view_agreement(dataset, **asked)
        shown = _shown(view, where)
        assert keys(shown) == table.where(condition), asked
        assert set(view.values("id")) == {label.document.split("-")[0] for label in shown.labels}, asked
        return shown.labels

    def n_units(labels, of_at_least=0):
        return len({(each.document, each.unit) for each in labels if n_assigned[each.document] >= of_at_least})

    for verdict in ("agreed", "class_conflict", "missed", "lone", "split", "duplicate"):
        labels = shows(lambda label, _, verdict=verdict: label.verdict == verdict, verdict=verdict)
        of_annotators = Counter(label.annotator for label in labels)
        assert [of_annotators[each.name] for each in report.annotators] == [
            each.verdicts[verdict] for each in report.annotators]  # fmt: skip
        assert labels
    shows(lambda label, _: label.verdict in ("lone", "missed"), verdict=["lone", "missed"])
    for each in report.annotators:
        own = shows(lambda label, _, name=each.name: label.annotator == name and label.votes, annotators=each.name)
        assert len(own) == each.n_objects

        def missed(label, unit, name=each.name):
            is_drawn = any(member.annotator == name for member in unit)
            return len(unit) >= 2 and not is_drawn and (label.document, name) in table.assigned

        assert n_units(shows(missed, missed_by=each.name)) == each.n_missed
    assert sum(each.n_missed for each in report.annotators) > 5
    for pair in report.pairs:

        def disagree(label, unit, names=(pair.a, pair.b)):
            both = all((label.document, name) in table.assigned for name in names)
            other = [member for member in unit if member.annotator in names and member.annotator != label.annotator]
            is_same = any(member.label == label.label for member in other)
            return label.annotator in names and both and bool(label.votes) and not is_same

        n_same_class = pair.n_matched and round(pair.n_matched * pair.class_agreement)
        assert len(shows(disagree, annotators=[pair.a, pair.b])) == pair.n_a + pair.n_b - 2 * n_same_class > 0
    of_classes = {each.name: each.n_units for each in report.classes}
    for classes in ("cat", ["dog"], ["owl", "cat"]):
        chosen = [classes] if isinstance(classes, str) else classes
        labels = shows(lambda _, unit, chosen=chosen: any(each.label in chosen for each in unit), classes=classes)
        assert len(chosen) > 1 or n_units(labels, 2) == of_classes[chosen[0]] > 0
    for votes, chosen in ((1, {1}), (2, {2}), ((2, 3), {2, 3}), ((None, 2), {1, 2}), ((3, None), {3})):
        labels = shows(lambda label, _, chosen=chosen: label.votes in chosen, votes=votes)
        assert n_units(labels, 2) == sum(
            entry["units"] for entry in report.existence.votes if entry["votes"] in chosen)  # fmt: skip


def test_a_pair_is_shown_with_its_lowest_score_first(case):
    dataset, report, table, _ = case
    a, b = report.pairs[0].a, report.pairs[0].b
    scores = {}  # panoptic quality of the two on the documents of every sample
    for document in {document for document, _ in table.assigned}:
        labels = [label for label in table.labels if label.document == document and label.votes]
        if not labels or not {(document, a), (document, b)} <= table.assigned:
            continue
        matched = [_iou(one.box, other.box) for one in labels for other in labels
                   if (one.annotator, other.annotator) == (a, b)
                   and (one.unit, one.label) == (other.unit, other.label)]  # fmt: skip
        n = sum(label.annotator in (a, b) for label in labels)
        scores.setdefault(document.split("-")[0], []).append(2 * sum(matched) / n if n else 1.0)
    ids = view_agreement(dataset, annotators=[a, b]).values("id")
    found = [np.mean(scores[sample_id]) for sample_id in ids]
    assert len(set(np.round(found, 6))) > 3
    assert found == pytest.approx(sorted(found), abs=1e-9)
    assert view_agreement(dataset, annotators=[b, a]).values("id") == ids


@pytest.mark.parametrize("confusion", [("cat", "dog"), ("owl", "cat")])
@pytest.mark.few(3)
def test_a_confusion_shows_its_labels_and_as_many_as_the_report_counts(case, confusion):
    dataset, report, table, where = case
    counts = {(entry["a"], entry["b"]): entry["n"] for entry in report.class_given_match.confusion}
    total = [{"a": confusion[0], "b": confusion[1], "n": counts[tuple(sorted(confusion))]}]
    assert total[0]["n"] > 0
    of_pairs = [([pair.a, pair.b], (pair.a, pair.b), pair.confusion) for pair in report.pairs]
    of_annotators = [([each.name], (each.name, None), each.class_conflicts) for each in report.annotators]
    for asked, (a, b), entries in [(None, (None, None), total), *of_pairs, *of_annotators]:
        expected, n = set(), 0
        for label in table.labels:
            for other in table.unit_of(label):
                said = (label.label, other.label) == confusion
                if said and a in (None, label.annotator) and b in (None, other.annotator):
                    expected |= {each[:3] for each in (label, other) if asked is None or each.annotator in asked}
                    n += 1
        assert keys(_shown(view_agreement(dataset, annotators=asked, confusion=confusion), where)) == expected
        assert n == {(entry["a"], entry["b"]): entry["n"] for entry in entries}.get(confusion, 0)


@pytest.mark.few(1)
def test_scores_limit_samples_and_sort_them(case):
    dataset, _, table, where = case
    scores = dict(zip(*dataset.values(["id", "agreement_score"]), strict=True))
    inner = sorted(score for score in scores.values() if score is not None)
    for least, most in ((inner[1], None), (None, inner[-2]), (inner[1], inner[-2])):
        view = view_agreement(dataset, min_score=least, max_score=most)
        expected = {each for each in scores if scores[each] is not None and (least or 0) <= scores[each] <= (most or 1)}
        found = view.values("agreement_score")
        assert (set(view.values("id")), found) == (expected, sorted(found))
        n_labels = sum(label.document.split("-")[0] in expected for label in table.labels)
        assert len(_shown(view, where).labels) == n_labels


def test_everything_that_is_asked_for_is_combined_and_can_be_serialised_saved_and_narrowed(case):
    dataset, report, table, where = case
    a, b = report.pairs[-1].a, report.pairs[-1].b
    scores = dict(zip(*dataset.values(["id", "agreement_score"]), strict=True))
    asked = {"verdict": "missed", "missed_by": b, "classes": ["cat", "owl"], "votes": 2, "max_score": 0.8}
    view = view_agreement(dataset, annotators=[a, b], **asked)

    def expected(label, unit):
        return (
            (label.annotator, label.verdict, label.votes) == (a, "missed", 2)
            and all((label.document, name) in table.assigned for name in (a, b))
            and not any(member.annotator == b for member in unit)
            and any(member.label in ("cat", "owl") for member in unit)
            and (scores[label.document.split("-")[0]] or 1) <= 0.8
        )

    dataset.save_view("kept", view, overwrite=True)
    dataset.reload()
    for each in (view, fo.DatasetView._build(dataset, view._serialize()), dataset.load_saved_view("kept")):
        assert keys(_shown(each, where)) == table.where(expected) != set()
        assert each.values("id") == view.values("id")
    assert view.values("agreement_score") == sorted(view.values("agreement_score"))
    some = dataset.values("id")[::2]
    narrowed = view_agreement(dataset.select(some), verdict=["missed", "lone"])
    assert keys(_shown(narrowed, where)) == table.where(
        lambda label, _: label.verdict in ("missed", "lone") and label.document.split("-")[0] in some)  # fmt: skip
    schema = {*dataset.get_field_schema(), *(dataset.get_frame_field_schema() or ())}
    for asked, gone in (  # fields of annotators who are not asked for
        ({"verdict": "lone"}, set()),
        ({"annotators": report.pairs[0].a}, {"bob", "carol"}),
        ({"annotators": [report.pairs[0].a, report.pairs[0].b]}, {"carol"}),
        ({"missed_by": report.pairs[0].a}, {"alice"}),
        ({"max_score": 0.5}, set()),
    ):
        view = view_agreement(dataset, **asked)
        left = {*view.get_field_schema(), *(view.get_frame_field_schema() or ())}
        assert schema - left == (set() if "attribute" in where else gone)


@pytest.mark.long
def test_a_question_changes_nothing_and_none_shows_all_samples_of_the_run_with_an_index_too(make_dataset):
    dataset = make_dataset(_labels())
    compute_quickly(dataset.limit(18), NAMES)
    dataset.add_sample_field("agreement_units", fo.EmbeddedDocumentField, embedded_doc_type=fo.Detections)
    field = dataset.get_field("agreement_units")
    field.info = {"annotator_agreement": "agreement"}  # made by the run: left out where labels are chosen
    field.save()
    before = stored(dataset)
    assert view_agreement(dataset).values("id") == dataset.limit(18).values("id")
    assert view_agreement(dataset).count("alice.detections") == dataset.limit(18).count("alice.detections")
    for asked in ({"annotators": ["alice", "bob"]}, {"missed_by": "carol", "max_score": 0.7}, {"classes": "cat"}):
        assert view_agreement(dataset, **asked).get_field("agreement_units") is None
        list(view_agreement(dataset, **asked).iter_samples())
    worst = view_agreement(dataset, max_score=1.0)
    assert worst.get_field("agreement_units") is not None
    # whether there are samples is asked without sorting them, unless that decides which are shown
    for view, is_sorted in ((worst, False), (worst.limit(2), True)):
        assert any("$sort" in stage for stage in pipeline_of(agreement_view._unsorted(view))) == is_sorted
    assert agreement_view.shows_any(worst)
    assert not agreement_view.shows_any(worst.match(F("agreement_score") > 2))
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
    refused("got 'kitty'; did you mean 'cat'[?]; classes are cat, dog", view_agreement, dataset, classes="kitty")
    # a view that gives classes other names does the same; names that differ between fields cannot be asked for
    view = dataset
    for name in ("alice", "bob"):
        view = view.map_labels(name, {"kitty": "puss"}).map_labels(name, {"puss": "pet", "cat": "pet"})
    compute_quickly(view, ["alice", "bob"], run_key="mapped", aliases={"pet": "animal"})
    assert sorted(view_agreement(dataset, "mapped", classes="animal").values("id")) == [*ids[:2], ids[3]]
    assert view_agreement(dataset, "mapped", confusion=["dog", "animal"]).values("id") == ids[1:2]
    message = "got 'cat'; did you mean 'animal'[?]; classes are animal, dog"
    refused(message, view_agreement, dataset, "mapped", classes="cat")
    compute_quickly(dataset.map_labels("bob", {"kitty": "cat"}), ["alice", "bob"], run_key="of_bob")
    refused("classes are cat, dog, kitty", view_agreement, dataset, "of_bob", classes="pet")


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
def test_a_view_of_groups_shows_the_samples_of_all_slices(make_dataset):
    annotators = _labels(3, 12)
    samples = [fo.Sample(f"/images/{k}.jpg", **{name: detections(annotators[name][k]) for name in NAMES})
               for k in range(12)]  # fmt: skip
    dataset = grouped_dataset(make_dataset, {"left": samples[::2], "right": samples[1::2]})
    report = compute_quickly(dataset, NAMES)
    for annotator in report.annotators:
        others = [name for name in NAMES if name != annotator.name]
        shown = table_of(view_agreement(dataset, missed_by=annotator.name), others)
        assert len({(label.document, label.unit) for label in shown.labels}) == annotator.n_missed
    assert sum(annotator.n_missed for annotator in report.annotators) > 3
    assert len(view_agreement(dataset, max_score=1.0)) == report.score.n


# ---- the labels that a view shows, and the expected labels found one by one ----


#: a label of a document, and what a run wrote on it; the first three tell it from all others
Shown = namedtuple("Shown", "document annotator id label unit verdict votes box")


class Table:
    """All labels of a dataset, and who was assigned to which documents."""

    def __init__(self, labels, assigned):
        self.labels, self.assigned, self.units = labels, assigned, {}
        for label in labels:
            self.units.setdefault((label.document, label.unit), []).append(label)

    def unit_of(self, label):
        return [] if label.unit is None else self.units[label.document, label.unit]

    def where(self, condition):
        return {label[:3] for label in self.labels if condition(label, self.unit_of(label))}


#: what is read of labels, in the order of ``Shown``
READ = ("id", "label", "agreement_id", "agreement", "agreement_votes", "bounding_box")


def table_of(samples, fields, *, attribute=None, assigned_field=None):
    """The labels of a dataset or view, of fields or by an attribute; on frames, documents are frames."""
    labels, assigned, on_frames = [], set(), any(field.startswith("frames.") for field in fields)
    for sample in samples:
        for document in sample.frames.values() if on_frames else [sample]:
            document_id = f"{sample.id}-{document.frame_number}" if on_frames else sample.id
            asked = (document[assigned_field] or ()) if assigned_field else ()
            assigned |= {(document_id, str(name)) for name in asked}
            for own in (field.removeprefix("frames.") for field in fields):
                if document.has_field(own) and document[own] is not None:
                    found = [Shown(document_id, own if attribute is None else str(label[attribute]),
                                   *(getattr(label, name, None) for name in READ))
                             for label in document[own].detections]  # fmt: skip
                    labels += found
                    assigned |= {(document_id, name) for name in ([own] if attribute is None else
                                                                  [label.annotator for label in found])}  # fmt: skip
    return Table(labels, assigned)


def keys(table):
    return {label[:3] for label in table.labels}

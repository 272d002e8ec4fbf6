"""Decisions on tags, and on the class, number or mask of samples: against loops; and the attributes that they copy."""

from __future__ import annotations

import statistics
from collections import Counter

import fiftyone as fo
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, compute_quickly, refused
from tests.dataset_io.said import said_dataset
from tests.dataset_io.unit_oracle import documents_of
from tests.datasets import stored

from annotator_agreement import dataset_io


def _said(document):
    """What annotators said of a sample, by name."""
    found = {name: document[name] for name in ANNOTATORS if document.get(name) is not None}
    return {name: value.get("label", value.get("value")) if isinstance(value, dict) else value
            for name, value in found.items()}  # fmt: skip


def _assert_counts(report, expected, *names):
    found = {(each.name, name): getattr(each, name) for each in report.annotators for name in names}
    assert found == {(each, name): expected[each, name] for each in ANNOTATORS for name in names}


def _majority(values):
    """The value that more than half gave, None without, and the most votes."""
    votes = Counter(values).most_common()
    return (votes[0][0] if 2 * votes[0][1] > len(values) else None), votes[0][1]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["labels", "texts"])
def test_a_rule_takes_the_majority_of_classes_and_is_undone(make_dataset, kind):
    dataset = said_dataset(make_dataset, kind)
    before = stored(dataset)
    preview = dataset_io.decide(dataset, min_votes=2, preview=True)
    assert stored(dataset) == before
    made = dataset_io.decide(dataset, min_votes=2, by="mia")
    said = {str(document["_id"]): list(_said(document).values()) for document in documents_of(dataset)}
    most = {sample_id: _majority(values) for sample_id, values in said.items() if values}
    expected = {sample_id: value for sample_id, (value, votes) in most.items() if votes >= 2}  # of three
    assert made.n_decided == preview.n_decided == len(expected) > 8
    assert isinstance(dataset.get_field("agreement_gold"), fo.EmbeddedDocumentField)
    found = {sample.id: sample.agreement_gold.label for sample in dataset if sample.agreement_gold is not None}
    assert found == expected
    assert {each.unit for each in dataset_io.list_decisions(dataset)} == set(expected)
    assert dataset_io.undo_decisions(dataset) == len(expected)
    dataset_io.delete_decisions(dataset)
    assert stored(dataset) == before


@pytest.mark.parametrize("kind", ["numbers", "integers"])
def test_the_consensus_of_numbers_is_the_median_and_right_is_who_is_within_the_tolerance(make_dataset, kind):
    dataset = said_dataset(make_dataset, kind, tolerance=1, resamples=50)
    made = dataset_io.decide(dataset, min_votes=2, objects=dataset.values("id"))
    right = {sample.id: sample.agreement_gold for sample in dataset}
    found, n = Counter(), 0
    for document in documents_of(dataset):
        said = _said(document)
        votes = max((sum(abs(a - b) <= 1 for b in said.values()) for a in said.values()), default=0)
        gold = right[str(document["_id"])]
        if votes < 2:
            assert gold is None
            continue
        n += 1
        assert gold.value == statistics.median(said.values())
        for name, value in said.items():
            found[name, "n_right" if abs(value - gold.value) <= 1 else "n_wrong_class"] += 1
    assert made.n_decided == n > 8
    report = dataset_io.report_decisions(dataset)
    _assert_counts(report, found, "n_right", "n_wrong_class")
    assert (report.unit, report.n_decided, report.n_consensus_right) == ("image", n, n)
    assert all(each.intervals["class_errors"].low <= each.class_errors for each in report.annotators
               if each.class_errors)  # fmt: skip


def test_every_annotator_of_classes_is_compared_with_the_decisions(make_dataset, capsys):
    dataset = said_dataset(make_dataset, "labels")
    dataset_io.decide(dataset.limit(9), choice="version", annotator="bob", objects=dataset.values("id"))
    dataset_io.decide(dataset.skip(9), choice="none", objects=dataset.values("id"))
    gold = {sample.id: sample.agreement_gold and sample.agreement_gold.label for sample in dataset}
    decided = {each.sample_id for each in dataset_io.list_decisions(dataset)}
    found, of_majority, against = Counter(), Counter(), set()
    for document in documents_of(dataset):
        said, sample_id = _said(document), str(document["_id"])
        if sample_id not in decided:
            continue
        right, leading = gold[sample_id], _majority(said.values())[0]
        of_majority[None if leading is None else leading == right] += 1
        for name, value in said.items():
            found[name, "n_right" if value == right else "n_wrong_class" if right else "n_too_many"] += 1
        against |= {sample_id} if said.get("carol", right) != right else set()
    report = dataset_io.report_decisions(dataset, resamples=0)
    _assert_counts(report, found, "n_right", "n_wrong_class", "n_too_many")
    found_majority = {True: report.n_consensus_right, False: report.n_consensus_wrong, None: report.n_no_majority}
    assert found_majority == {answer: of_majority[answer] for answer in (True, False, None)}
    assert all(found_majority.values())
    view = dataset_io.decided_against(dataset, "carol")
    assert set(view.values("id")) == against
    assert view.count("carol") == len(against)
    dataset_io.load_agreement(dataset).print_report()
    assert f"{report.n_disputed_decided} of {report.n_disputed} disputed images were decided" in capsys.readouterr().out


def test_tags_are_decided_one_by_one(make_dataset):
    dataset = said_dataset(make_dataset, "tags")
    tags = [f"{sample_id} {tag}" for sample_id in dataset.values("id") for tag in ("sun", "rain", "snow")]
    made = dataset_io.decide(dataset, min_votes=2, objects=tags)
    none = dataset_io.decide(dataset, choice="none", verdict="lone", objects=tags)
    found, right = Counter(), {}
    for document in documents_of(dataset):
        given = {name: {tag["label"] for tag in document[name]["classifications"]} for name in ANNOTATORS
                 if document.get(name) is not None}  # fmt: skip
        votes = Counter(tag for tags in given.values() for tag in tags)
        own = right[str(document["_id"])] = {tag for tag, n in votes.items() if n >= 2}
        decided = own if len(given) < 2 else {*votes}
        for name, tags in given.items():
            found[name, "n_right"] += len(tags & own)
            found[name, "n_missed"] += len(own - tags)
            found[name, "n_too_many"] += len(tags & decided - own)
    for sample in dataset:
        tags = [] if sample.agreement_gold is None else sample.agreement_gold.classifications
        assert {tag.label for tag in tags} == right[sample.id]
    _assert_counts(dataset_io.report_decisions(dataset, resamples=0), found, "n_right", "n_missed", "n_too_many")
    assert made.n_decided > 5 < none.n_decided
    view = dataset_io.decided_against(dataset, "bob")
    assert view.count("bob.classifications") == found["bob", "n_too_many"]
    assert view.count("agreement_gold.classifications") == found["bob", "n_missed"]
    sample_id, tag = next((key, next(iter(tags))) for key, tags in right.items() if tags)
    assert dataset_io.decide(dataset, choice="none", objects=f"{sample_id} {tag}", overwrite=True).n_decided == 1


def test_the_mask_of_one_annotator_is_right(make_dataset):
    dataset = said_dataset(make_dataset, "masks")
    made = dataset_io.decide(dataset, choice="version", annotator="carol", objects=dataset.values("id"))
    same = Counter()
    for sample in dataset:
        if sample.carol is None:
            assert sample.agreement_gold is None
            continue
        assert (sample.agreement_gold.mask == sample.carol.mask).all()
        for name in ANNOTATORS:
            same[name] += sample[name] is not None and bool((sample[name].mask == sample.carol.mask).all())
    assert made.n_decided == same["carol"] > 15
    report = dataset_io.report_decisions(dataset, resamples=0)
    assert {each.name: each.n_right for each in report.annotators} == same
    assert report.n_consensus_right is report.n_consensus_wrong is report.n_no_majority is None
    assert report.share_consensus_right is None
    assert not any(each.changed or each.edited for each in dataset_io.list_decisions(dataset))
    sample = dataset.match(fo.ViewField("carol") != None).first()  # noqa: E711
    sample.carol.mask = 1 - sample.carol.mask
    sample.save()
    assert sum(each.changed for each in dataset_io.list_decisions(dataset)) == 1


def test_a_class_set_by_hand_is_recorded_and_comes_back_when_undone(make_dataset):
    dataset = said_dataset(make_dataset, "labels")
    one, two, three = dataset.match(fo.ViewField("agreement_disputed") == True).limit(3)  # noqa: E712
    annotator = "bob" if one.bob and two.bob else "alice"
    dataset_io.decide(dataset, choice="version", annotator=annotator, objects=[one.id, two.id])
    for sample_id, label in ((one.id, "emu"), (two.id, None), (three.id, "emu")):
        sample = dataset[sample_id]
        sample["agreement_gold"] = None if label is None else fo.Classification(label=label)
        sample.save()
    made = dataset_io.record_own_labels(dataset, by="noa")
    assert made.n_decided == 3
    found = {each.sample_id: each for each in dataset_io.list_decisions(dataset)}
    assert [found[sample.id].choice for sample in (one, two, three)] == ["own", "none", "own"]
    assert [dataset[sample.id].agreement_gold.basis for sample in (one, three)] == ["own", "own"]
    assert dataset_io.undo_decisions(dataset, made.step) == 3
    assert {each.choice for each in dataset_io.list_decisions(dataset)} == {"version"}


def test_classes_of_frames_are_decided(make_videos):
    classes = {name: [fo.Classification(label=each) for each in given] for name, given in
               (("alice", "aab"), ("bob", "aba"), ("carol", "abb"))}  # fmt: skip
    videos = make_videos([classes])
    compute_quickly(videos, [f"frames.{name}" for name in ANNOTATORS])
    frames = [frame.id for frame in videos.first().frames.values()]
    assert dataset_io.decide(videos, verdict="class_conflict", objects=frames).field == "frames.agreement_gold"
    gold = [frame.agreement_gold and frame.agreement_gold.label for frame in videos.first().frames.values()]
    assert gold == [None, "b", "b"]
    assert {each.frame_number for each in dataset_io.list_decisions(videos)} == {2, 3}
    report = dataset_io.report_decisions(videos, resamples=0)
    assert {each.name: each.n_right for each in report.annotators} == {"alice": 1, "bob": 1, "carol": 2}


UNFIT = {
    "labels": [({"min_iou": 0.5}, "`min_iou` must not be given for Classification"),
               ({"choice": "own", "label": fo.Classification(), "objects": "x"}, "`label` must have a class"),
               ({"objects": "x"}, "`objects` must be match ids of the run")],
    "integers": [({"classes": "3"}, "`classes` must not be given for integers")],
    "tags": [({"one_class": True}, "`one_class` must not be given for Classifications")],
    "masks": [({}, '`choice` must be "version", "own", "none" or "skip" for Segmentation'),
              ({"choice": "own", "label": fo.Segmentation(), "objects": "x"}, "must have a mask")],
    "numbers": [({"choice": "own", "label": fo.Regression(), "objects": "x"}, "must have a finite number")],
}  # fmt: skip


def test_what_means_nothing_is_refused(make_dataset):
    for kind, cases in UNFIT.items():
        dataset = said_dataset(make_dataset, kind, 2)
        for options, message in cases:
            refused(message, dataset_io.decide, dataset, **options)


# ---- attributes are copied only so that FiftyOne can read the samples afterwards, whatever types fields declare ----


def _box(label, **attributes):
    return fo.Detection(label=label, bounding_box=[0.1, 0.1, 0.2, 0.2], **attributes)


@pytest.fixture
def computed(make_dataset):
    """Make a dataset with a run in which two annotators give their labels some attributes."""

    def make(first, second, *, dynamic=True, **options):
        dataset = make_dataset({})
        for k in range(2):
            drawn = {"ann": _box("cat", **first), "bob": _box("dog", **second)}
            labels = {name: fo.Detections(detections=[label]) for name, label in drawn.items()}
            dataset.add_sample(fo.Sample(f"/images/{k}.jpg", **labels), dynamic=dynamic)
        compute_quickly(dataset, ["ann", "bob"], **options)
        return dataset

    return make


def _read(dataset, field, name="q"):
    """The values of an attribute, as FiftyOne reads the samples from the database."""
    dataset.reload()
    found = (sample[field] for sample in dataset.view())
    return [label.get_attribute_value(name, None) for held in found if held is not None for label in held.detections]


PAIRS = [(True, "no"), (1, "high"), (True, 3), ([1, 2], "x"), (1, 2.5), ("a", "b")]


@pytest.mark.long
def test_a_copied_label_keeps_its_attributes_and_samples_stay_readable_whatever_the_types(computed):
    ann, bob = ({f"q{k}": values[side] for k, values in enumerate(PAIRS)} for side in (0, 1))
    dataset = computed(ann, bob)
    for annotator, given in (("ann", ann), ("bob", bob)):
        dataset_io.decide(dataset, choice="version", annotator=annotator, all=True, overwrite=True)
        assert [_read(dataset, "agreement_gold", name) for name in given] == [[value] * 2 for value in given.values()]
    dataset_io.undo_decisions(dataset)
    assert _read(dataset, "agreement_gold", "q0") == [PAIRS[0][0]] * 2


@pytest.mark.long
def test_an_attribute_that_was_declared_when_only_one_had_it_is_no_longer_declared(computed):
    dataset = computed({"q": True}, {})
    dataset_io.decide(dataset, choice="version", annotator="ann", all=True)
    assert isinstance(dataset.get_field("agreement_gold.detections.q"), fo.BooleanField)
    for sample in dataset:
        sample["bob"].detections[0]["q"] = "partly"
        sample.save()
    dataset.add_sample_field("bob.detections.q", fo.StringField)
    dataset_io.decide(dataset, choice="version", annotator="bob", all=True, overwrite=True)
    assert dataset.get_field("agreement_gold.detections.q") is None
    assert _read(dataset, "agreement_gold") == ["partly"] * 2


@pytest.mark.long
def test_a_value_that_is_declared_nowhere_is_left_out_where_it_could_not_be_read(computed):
    dataset = computed({"q": True}, {"q": "no"}, dynamic=False)
    dataset.add_sample_field("ann.detections.q", fo.BooleanField)
    dataset_io.decide(dataset, choice="version", annotator="bob", all=True)
    assert _read(dataset, "agreement_gold") == [None] * 2
    assert _read(dataset, "bob") == ["no"] * 2


def test_a_label_of_ones_own_with_a_value_of_another_type_is_refused_before_anything_is_written(computed):
    dataset = computed({"q": 1}, {"q": 2})
    unit = dataset.first()["ann"].detections[0].agreement_id
    message, own = r"got q = 'text', where IntField is declared", {"choice": "own", "objects": unit}
    refused(message, dataset_io.decide, dataset, label=_box("x", q="text"), **own)
    assert dataset.get_field("agreement_gold") is None
    dataset_io.decide(dataset, label=_box("x", q=7), **own)
    assert _read(dataset, "agreement_gold") == [7]


def test_applying_does_not_give_a_label_a_value_that_its_field_cannot_hold(computed):
    dataset = computed({"q": 3}, {"q": "high"}, attributes=["q"])
    dataset_io.decide(dataset, choice="version", annotator="bob", all=True)
    applied = dataset_io.apply_decisions(dataset, changes=["class", "attributes"])
    assert applied.n_unfit == 2
    dataset_io.delete_decisions(dataset)
    assert (_read(dataset, "ann"), _read(dataset, "bob")) == ([3] * 2, ["high"] * 2)
    assert dataset.values("ann.detections.label") == [["dog"]] * 2

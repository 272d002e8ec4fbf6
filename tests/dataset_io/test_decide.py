"""Decisions on objects: against loops over the documents of the database."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import fiftyone as fo
import numpy as np
import pandas as pd
import pytest

from tests.dataset_io.quick_runs import ANNOTATORS, LISTS, compute_quickly, refused, run_on
from tests.dataset_io.unit_oracle import current_decisions, documents_of, facts_of, median_box, units_of
from tests.datasets import stored, user_values

from annotator_agreement.dataset_io import (
    apply_decisions,
    changed_since,
    decide,
    delete_agreement,
    delete_decisions,
    list_decisions,
    load_agreement,
    record_own_labels,
    report_decisions,
    undo_applied,
    undo_decisions,
)

GOLD = ["agreement_gold"]


def gold_of(dataset):
    """The labels in the field of decisions as stored, by unit; and the decisions by unit."""
    labels, decisions = {}, {}
    for document in documents_of(dataset):
        for label in (document.get("agreement_gold") or {}).get("detections", []):
            labels[label["unit"]] = label
        for decision in current_decisions(document):
            assert decision["unit"] not in decisions
            decisions[decision["unit"]] = decision
    return labels, decisions


def all_units(dataset):
    """Members of every object by its id, and the number of assigned annotators."""
    found = {}
    for document in documents_of(dataset):
        n_assigned = sum(document.get(name) is not None for name in ANNOTATORS)
        found |= {unit_id: (members, n_assigned) for unit_id, members in units_of(document, LISTS).items()}
    return found


@pytest.fixture
def dataset(lend):
    return lend(run_on())


def one(dataset, verdict):
    units = all_units(dataset).items()
    return next(unit for unit, (members, _) in units if {each["agreement"] for each in members.values()} == {verdict})


@pytest.fixture
def many(lend):
    return lend(run_on(16, seed=4))


def states(dataset):
    return [decision.changed for decision in list_decisions(dataset)]


@pytest.mark.long
def test_a_version_is_a_copy_of_the_annotators_label_without_what_the_run_wrote(dataset):
    sample = dataset.skip(1).first()
    sample["bob"].detections[0]["occluded"] = True
    sample["bob"].detections[0].tags = ["needs_review"]
    sample.save()
    dataset.add_dynamic_sample_fields()
    unit = one(dataset, "class_conflict")
    before = user_values(dataset, GOLD)
    made = decide(dataset, choice="version", annotator="bob", objects=unit, by="mia", remark="it barks")
    assert (made.n_decided, made.n_before, made.n_without, made.n_left_out, made.n_changed) == (1, 0, 0, 0, 0)
    assert user_values(dataset, GOLD) == before
    sample = dataset[sample.id]
    (label,), (original,) = sample["agreement_gold"].detections, sample["bob"].detections[:1]
    assert (label.label, label.bounding_box, label.occluded, label.tags) == ("dog", [0.1, 0.2, 0.4, 0.25], True, [])
    assert (label.decided_by, label.basis, label.decision, label.remark) == ("mia", "bob", "version", "it barks")
    assert (label.basis_id, label.unit, label.id == original.id) == (original.id, unit, False)
    assert not label.has_field("agreement")
    assert not label.has_field("agreement_votes")
    assert isinstance(dataset.get_field("agreement_gold.detections.occluded"), fo.BooleanField)
    (decision,) = list_decisions(dataset)
    assert (decision.sample_id, decision.annotator, decision.step) == (sample.id, "bob", made.step)
    assert (decision.changed, decision.edited, decision.decided_at) == (False, False, label.decided_at)


def test_a_rule_decides_what_a_loop_over_the_labels_finds_and_is_undone_as_a_whole(many):
    dataset = many
    rule = {"min_votes": 2, "one_class": True, "min_iou": 0.8}
    before, unchanged = stored(dataset), changed_since(dataset)
    preview = decide(dataset, **rule, preview=True)
    assert stored(dataset) == before
    first = decide(dataset, choice="none", verdict="lone")
    made = decide(dataset, **rule, by="mia")
    one_by_one = decide(dataset, choice="skip", objects=one(dataset, "missed"), overwrite=True).step
    assert {each.by_rule for each in list_decisions(dataset)} == {True, False}
    undo_decisions(dataset, one_by_one)
    assert {each.by_rule for each in list_decisions(dataset)} == {True}
    expected = {}
    for unit_id, (members, n_assigned) in all_units(dataset).items():
        facts = facts_of(members, n_assigned)
        if facts["votes"] >= 2 and len(set(facts["classes"])) == 1 and facts["mean_iou"] >= 0.8:
            expected[unit_id] = members
    labels, decisions = gold_of(dataset)
    assert set(labels) == set(expected)
    assert made.n_decided == preview.n_decided == len(expected) > 4
    assert preview.step is None
    for unit_id, members in expected.items():
        assert labels[unit_id]["bounding_box"] == pytest.approx(median_box(members))
        ids = sorted(f"{name} {label['_id']}" for name, label in members.items())
        assert decisions[unit_id]["labels"] == ids
    assert first.n_decided == len(decisions) - len(expected) > 4
    assert changed_since(dataset) == unchanged == 0
    undone = [undo_decisions(dataset, made.step), undo_decisions(dataset), undo_decisions(dataset)]
    assert undone == [made.n_decided, first.n_decided, 0]
    delete_decisions(dataset)
    assert stored(dataset) == before
    assert changed_since(dataset) == 0


@pytest.mark.long
def test_decisions_outlive_runs_and_tell_when_labels_were_changed(dataset):
    conflict, missed = one(dataset, "class_conflict"), one(dataset, "missed")
    decide(dataset, choice="version", annotator="bob", objects=conflict)
    decide(dataset, choice="none", objects=missed)
    delete_agreement(dataset)
    compute_quickly(dataset, run_key="later")
    assert states(dataset) == [False, False]
    again = decide(dataset, "later", choice="none", verdict=["class_conflict", "missed"])
    assert (again.n_decided, again.n_before) == (0, 2)
    sample = dataset.skip(1).first()
    sample["alice"].detections[0].label = "cow"
    sample.save()
    assert states(dataset) == [True, False]
    assert decide(dataset, "later", choice="none", verdict="class_conflict").n_before == 1  # a rule leaves it
    assert decide(dataset, "later", choice="none", objects=conflict).n_decided == 1
    assert states(dataset) == [False, False]
    sample["alice"].detections = sample["alice"].detections[1:]
    sample.save()
    assert states(dataset) == [False, True]


def as_stored(dataset):
    return [{name: each[name] for name in each if name != "last_modified_at"} for each in documents_of(dataset)]


@pytest.mark.long
def test_deciding_again_replaces_and_every_step_is_undone_exactly(dataset):
    conflict = one(dataset, "class_conflict")
    versions = {name: {"choice": "version", "annotator": name} for name in ("alice", "bob")}
    steps, held = [(versions["bob"], "mia"), ({"choice": "none"}, "noa"), ({"choice": "skip"}, "mia")], []
    for options, who in (*steps, (versions["alice"], "mia"), *steps):
        held.append(as_stored(dataset))
        assert decide(dataset, **options, objects=conflict, overwrite=True, by=who).n_decided == 1
        if options["choice"] == "none":
            labels, decisions = gold_of(dataset)
            assert (labels, decisions[conflict]["choice"]) == ({}, "none")
            assert dataset.skip(1).first()["agreement_gold"].detections == []  # somebody looked, there is nothing
    decide(dataset, choice="none", objects=conflict, overwrite=True, by="noa")
    assert decide(dataset, **versions["bob"], objects=conflict).n_before == 1
    assert undo_decisions(dataset, by="mia") == 0  # a later one is of somebody else
    assert undo_decisions(dataset, by="noa") == 1
    for before in reversed(held):
        assert undo_decisions(dataset) == 1
        assert as_stored(dataset) == before
    assert undo_decisions(dataset) == 0
    assert list_decisions(dataset) == []


@pytest.mark.long
def test_a_decision_that_replaces_two_gives_back_both_with_what_they_replaced(make_dataset):
    place, other = (0.1, 0.1, 0.4, 0.4), (0.1, 0.1, 0.4, 0.16)  # IoU 0.4
    dataset = make_dataset({"alice": [[("cat", place)]], "bob": [[("dog", other)]], "carol": [[]]})
    compute_quickly(dataset)
    for unit in all_units(dataset):
        for choice in ("skip", "none", "skip"):
            decide(dataset, choice=choice, objects=unit, overwrite=True)
    compute_quickly(dataset, run_key="joined", iou=0.3)
    (unit,) = {label.joined_id for label in (*dataset.first().alice.detections, *dataset.first().bob.detections)}
    held = []
    for annotator in ("alice", "bob", "alice"):
        held.append(as_stored(dataset))
        options = {"annotator": annotator, "objects": unit, "overwrite": True}
        assert decide(dataset, "joined", "version", **options).n_decided == 1
    for before in reversed(held):
        assert undo_decisions(dataset) == 1
        assert as_stored(dataset) == before
    assert len(list_decisions(dataset)) == 2
    assert [undo_decisions(dataset) for _ in range(7)] == [1] * 6 + [0]


def test_only_the_samples_of_a_view_are_decided_and_listed(many):
    view = many.limit(5)
    n_skipped = decide(view, choice="skip", all=True).n_decided
    n = decide(view, min_votes=2).n_decided  # what was skipped is decided later
    assert n == decide(many, min_votes=2).n_before > 0
    assert decide(view, choice="skip", min_votes=2).n_decided == 0
    assert len(list_decisions(view)) == n_skipped < len(list_decisions(many))
    chosen = [entry for entry in all_units(many).values() if "owl" in {each["label"] for each in entry[0].values()}]
    made = decide(many, classes="owl", annotators=["alice", "bob"], overwrite=True, preview=True)
    n_of_two = sum(bool({"alice", "bob"} & set(members)) for members, _ in chosen)
    assert made.n_decided + made.n_no_majority == n_of_two > 3


#: the label of the k-th annotator, of every type
LABELS = {
    "Detection": lambda k: fo.Detection(label="cat", bounding_box=[0.1, 0.1, 0.5, 0.5], mask=np.ones((4, 6), bool)),
    "Polyline": lambda k: fo.Polyline(label="cat", points=[[(0.1 + k / 99, 0.1), (0.6 + k / 99, 0.1), (0.6, 0.7)]],
                                      closed=True, filled=True),
    "Keypoint": lambda k: fo.Keypoint(label="cat", points=[(0.1 + k / 99, 0.1), (0.6, 0.7), (0.3, 0.9)]),
    "TemporalDetection": lambda k: fo.TemporalDetection(label="cat", support=[3, 40 + k]),
}  # fmt: skip


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.few(2)
def test_every_type_of_objects_can_be_decided(make_dataset, make_videos, kind):
    is_video, of = kind == "TemporalDetection", getattr(fo, f"{kind}s")
    dataset = make_videos([{"alice": []}, {"alice": []}]) if is_video else make_dataset({"unused": [None, None]})
    for sample in dataset.iter_samples(autosave=True):
        for k, name in enumerate(ANNOTATORS):
            sample[name] = of(**{of._LABEL_LIST_FIELD: [LABELS[kind](k)]})
        sample.metadata = sample.metadata if is_video else fo.ImageMetadata(width=100, height=80)
    compute_quickly(dataset)
    first, second = dataset.select(dataset.first().id), dataset.skip(1)
    assert decide(first, all=True).n_decided == 1
    assert decide(second, choice="version", annotator="bob", all=True).n_decided == 1
    copied, original = (dataset.last()[name][of._LABEL_LIST_FIELD][0] for name in ("agreement_gold", "bob"))
    attributes = [name for name in ("bounding_box", "points", "support") if copied.has_field(name)]
    assert [copied[name] for name in attributes] == [original[name] for name in attributes]
    if kind == "Detection":
        assert (copied.mask == original.mask).all()
    assert [(each.changed, each.edited) for each in list_decisions(dataset)] == [(False, False)] * 2


def test_what_was_drawn_edited_and_deleted_by_hand_is_recorded_as_own_labels(dataset):
    conflict, missed = one(dataset, "class_conflict"), one(dataset, "missed")
    decide(dataset, choice="version", annotator="bob", objects=conflict, by="noa")
    decide(dataset, verdict="agreed", by="noa")
    assert record_own_labels(dataset, by="mia").n_decided == 0
    first, second = (dataset[sample_id] for sample_id in dataset.limit(2).values("id"))
    second["agreement_gold"].detections[0].label = "owl"
    box = next(label for label in second["alice"].detections if label.agreement_id == missed).bounding_box
    drawn = [fo.Detection(label="cow", bounding_box=box), fo.Detection(label="hen", bounding_box=[0.9, 0, 0.1, 0.1])]
    second["agreement_gold"].detections += drawn
    second.save()
    n_before, gone = len(first["agreement_gold"].detections), first["agreement_gold"].detections[0].unit
    first["agreement_gold"].detections = first["agreement_gold"].detections[1:]
    first.save()
    assert {each.unit for each in list_decisions(dataset) if each.edited} == {conflict, gone}
    made = record_own_labels(dataset, by="mia")
    assert (made.n_decided, made.n_changed) == (4, 0)
    found = {each.unit: each for each in list_decisions(dataset) if each.decided_by == "mia"}
    assert (found[conflict].choice, found[missed].choice) == ("own", "own")
    assert Counter(each.choice for each in found.values()) == {"own": 3, "none": 1}
    assert not any(each.by_rule for each in found.values())
    assert found[drawn[1].id].labels == (f"agreement_gold {drawn[1].id}",)
    labels, _ = gold_of(dataset)
    assert (labels[conflict]["label"], labels[conflict]["basis"]) == ("owl", "own")
    assert (labels[missed]["label"], labels[missed]["decided_by"]) == ("cow", "mia")
    assert len(labels) == n_before + 2
    assert not any(each.edited or each.changed for each in list_decisions(dataset))
    assert record_own_labels(dataset, by="mia").n_decided == 0
    assert decide(dataset, objects=missed).n_before == 1
    assert undo_decisions(dataset, made.step) == 4
    assert Counter(each.choice for each in list_decisions(dataset)) == {"version": 1, "consensus": n_before}


CANNOT = [
    ({"choice": "best"}, "`choice` must be one of version, consensus, own, none, skip"),
    ({"choice": "version"}, "`annotator` must be given with the choice \"version\""),
    ({"annotator": "bob"}, "and only then, got 'bob' with 'consensus'"),
    ({"choice": "version", "annotator": "bop"}, "did you mean 'bob'"),
    ({"choice": "own"}, "`label` must be given with the choice \"own\""),
    ({"choice": "own", "label": fo.Polyline()}, "`label` must be a Detection, got Polyline"),
    ({"choice": "own", "label": fo.Detection(), "verdict": "lone"}, "must be for one object"),
    ({"choice": "own", "label": fo.Detection(label="a"), "objects": "x"}, "must have a usable geometry"),
    ({"objects": "0" * 24}, "`objects` must be match ids of the run"),
    ({"verdict": "alone"}, "`verdict` must be one of agreed"),
    ({"min_iou": 2}, r"`min_iou` must be None or in \[0, 1\], got 2"),
    ({"gold": "alice"}, "`alice` must be free, but it is a field of the dataset"),
    ({"gold": "agreement_units"}, "belongs to the run 'agreement'"),
    *(({"gold": name}, f"`gold` must be free, but '{name}' is a name of FiftyOne's own; choose another name")
      for name in ("to_dict", "save", "frames")),
    ({"gold": "a b"}, "`gold` must be a name of letters"),
    ({"gold": "g" * 101}, "`gold` must be a name of letters, digits and underscores, at most 100, got 'ggg"),
    ({"min_votes": 2, "all": True}, "`all` must not be given together with conditions; leave one of them out"),
    ({"all": 1}, "`all` must be True or False, got 1"),
    ({"choice": pd.NA}, "`choice` must be one of version, consensus, own, none, skip, got <NA>"),
    ({"choice": pd.DataFrame({"score": [1]})}, "`choice` must be one of version, consensus"),
    ({"run_key": "nothing"}, "must be an agreement run"),
]  # fmt: skip


def test_what_cannot_be_decided_is_refused_before_anything_is_written(dataset):
    before = stored(dataset)
    for options, message in sorted(CANNOT, key=lambda case: "objects" in case[0]):
        if "objects" not in options:
            assert stored(dataset) == before, options
        refused(message, decide, dataset, **options)


def test_without_a_condition_nothing_is_decided_unless_all_are_meant(dataset):
    before, preview = stored(dataset), decide(dataset, preview=True)
    says = f"must have a condition, .* got none: it would decide {preview.n_decided} objects; say all=True to mean that"
    for samples in (dataset, dataset.limit(len(dataset))):
        refused(says, decide, samples)
    assert stored(dataset) == before
    assert decide(dataset, all=True).n_decided == preview.n_decided > 1


def test_without_decisions_there_is_nothing_to_list_and_decisions_are_no_annotator(dataset):
    assert list_decisions(dataset) == []
    message = r"`gold` must be a field of decisions .* there is none: run.decis"
    refused(message, delete_decisions, dataset, gold="truth")
    decide(dataset, gold="truth", all=True)
    before = stored(dataset)
    refused("got 'agreement_gold'; there are truth", undo_decisions, dataset)
    message = "got 'truth', which holds what was decided, mostly copies"
    refused(message, compute_quickly, dataset, ["alice", "truth"], run_key="other")
    assert stored(dataset) == before


GOLD_LOG, HALF = "agreement_gold_decisions", "agreement_gold"
RENAMED = [
    (lambda dataset: dataset.delete_sample_field(GOLD_LOG),
     r"got 'agreement_gold' alone: 'agreement_gold_decisions' was deleted; bring .* back, or delete what is "
     r"left with run\.decisions\.delete\(gold='agreement_gold'\)"),
    (lambda dataset: dataset.delete_sample_field(HALF),
     "got 'agreement_gold_decisions' alone: 'agreement_gold' was deleted; bring"),
    (lambda dataset: dataset.rename_sample_field(HALF, "truth"),
     "'agreement_gold' was deleted, or renamed to 'truth'; rename 'truth' to 'agreement_gold', or delete what"),
    (lambda dataset: dataset.rename_sample_field(GOLD_LOG, "who"),
     "was deleted, or renamed to 'who'; rename 'who' to 'agreement_gold_decisions', or delete what is left"),
]  # fmt: skip


@pytest.mark.parametrize(("what_happened", "message"), RENAMED)
@pytest.mark.few(1)
def test_half_of_a_field_of_decisions_is_named_and_can_be_deleted(dataset, capsys, what_happened, message):
    before = stored(dataset)
    decide(dataset, all=True)
    what_happened(dataset)
    calls = (list_decisions, undo_decisions, undo_applied, apply_decisions, record_own_labels, report_decisions)
    for call in (*calls, lambda dataset: decide(dataset, all=True)):
        refused(message, call, dataset)
    load_agreement(dataset).print_report()
    assert "What was decided" not in capsys.readouterr().out
    delete_decisions(dataset)
    for name in {"truth", "who"} & set(dataset.get_field_schema()):
        dataset.delete_sample_field(name)  # what was renamed is the user's
    assert stored(dataset) == before
    assert decide(dataset, all=True).n_decided > 1


@pytest.mark.long
def test_the_field_is_deleted_while_somebody_decides(dataset, before_each_write):
    decide(dataset, verdict="agreed")
    before = stored(dataset)
    before_each_write(lambda writes: delete_decisions(fo.load_dataset(dataset.name)))
    refused("was deleted meanwhile; nothing was decided", decide, dataset, verdict="missed")
    assert stored(dataset)["samples"] != before["samples"]
    assert not {"agreement_gold", "agreement_gold_decisions"} & {*chain(*user_values(dataset, []))}

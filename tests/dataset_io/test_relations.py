"""Labels that name who missed their object and who named it otherwise, and views that say the same as the report."""

from __future__ import annotations

from collections import Counter

import fiftyone as fo
import numpy as np
import pytest
from fiftyone import ViewField as F

from tests.chance import few
from tests.dataset_io.quick_runs import ANNOTATORS as TRIO
from tests.dataset_io.quick_runs import compute_quickly, run_on
from tests.datasets import stored, with_regions

from annotator_agreement import AgreementInputError
from annotator_agreement.agreement.matching import MOST_NAMED
from annotator_agreement.dataset_io import delete_agreement, rename_agreement, update_agreement, view_agreement


def _named(dataset, field, relation, key="agreement"):
    """The names on every label of a field, by its id; without labels that name nobody."""
    found = {}
    for held in dataset.values(field):
        for label in held[held._LABEL_LIST_FIELD] if held is not None else ():
            if label.has_field(f"{key}_{relation}") and label[f"{key}_{relation}"]:
                found[label.id] = label[f"{key}_{relation}"]
    return found


@pytest.mark.long
@pytest.mark.parametrize("seed", few(range(2)))
def test_with_crowd_regions_views_have_the_labels_that_the_report_counts(make_dataset, seed):
    dataset, *_ = with_regions(make_dataset, seed, in_one_field=False, n_samples=40)
    report = compute_quickly(dataset, TRIO)
    labels, units = report.labels(), report.units()
    n_crowd = sum(entry.n_crowd for entry in report.annotators)
    assert n_crowd > 10
    of_unit = dict(zip(zip(units.sample_id, units.unit, strict=True), units.missed_by, strict=True))
    votes = dict(zip(zip(units.sample_id, units.unit, strict=True), units.votes, strict=True))
    for entry in report.annotators:
        missed = {key for key, names in of_unit.items() if entry.name in names and votes[key] >= 2}
        assert len(missed) == entry.n_missed
        others = [name for name in TRIO if name != entry.name]
        view = view_agreement(dataset, missed_by=entry.name)
        shown = {label.id for sample in view for name in others for label in sample[name].detections}
        rows = labels[[key in missed for key in zip(labels.sample_id, labels.unit, strict=True)]]
        assert shown == set(rows.label_id)
    for pair in report.pairs:
        both = [pair.a, pair.b]
        view = view_agreement(dataset, annotators=both)
        shown = {label.id for sample in view for name in both for label in sample[name].detections}
        expected = set()
        for (sample_id, unit), members in labels.groupby(["sample_id", "unit"]):
            said = {name: of.label.iloc[0] for name, of in members.groupby("annotator")}
            left_out = [name for name in both if name in of_unit[sample_id, unit]]
            differ = {said[name] for name in both if name in said}
            if (left_out and differ) or len(differ) == 2:
                expected |= set(members[members.annotator.isin(both)].label_id)
        assert shown == expected


@pytest.mark.long
def test_a_view_of_the_panel_can_be_written_by_hand(lend):
    dataset = lend(run_on(30))
    for name, other in (("alice", "bob"), ("carol", "alice")):
        said = F("agreement_missed_by").contains(other) | F("agreement_differs_from").contains(other)
        ours = view_agreement(dataset, annotators=[name, other])
        shown = {label.id for sample in ours for label in sample[name].detections}
        assert set(dataset.filter_labels(name, said).values(f"{name}.detections.id", unwind=True)) == shown
        assert shown
    missed = F("agreement_missed_by").contains("bob")
    hers, counted = (dataset.filter_labels("alice", each) for each in (missed, missed & (F("agreement_votes") >= 2)))
    dataset.save_view("missed", hers)
    assert len(dataset.load_saved_view("missed")) == len(hers)
    # the report counts only objects that two others drew
    ours, by_hand, all_of_hers = (
        set(view.values("alice.detections.id", unwind=True))
        for view in (view_agreement(dataset, missed_by="bob"), counted, hers)
    )
    assert ours - {None} == by_hand < all_of_hers


@pytest.mark.long
def test_an_update_takes_away_the_names_of_who_drew_it_meanwhile(make_dataset):
    box, other = [0.1, 0.1, 0.2, 0.2], [0.6, 0.6, 0.2, 0.2]
    alone = [("cat", box)]  # on the second image, where nobody is compared; on the third all agree
    dataset = make_dataset(
        {"alice": [[("cat", box), ("cat", other)], alone, alone], "bob": [[("dog", box)], None, alone],
         "carol": [[("cat", other)], None, alone]}
    )  # fmt: skip
    compute_quickly(dataset)
    first, second = dataset.first().alice.detections
    assert (first.agreement_missed_by, first.agreement_differs_from) == (["carol"], ["bob"])
    assert _named(dataset, "alice", "missed_by") == {first.id: ["carol"], second.id: ["bob"]}
    assert _named(dataset, "alice", "differs_from") == {first.id: ["bob"]}
    sample = dataset.first()
    sample.bob.detections[0].label = "cat"
    sample.carol.detections.append(fo.Detection(label="cat", bounding_box=box))
    sample.save()
    update_agreement(dataset)
    assert list(_named(dataset, "alice", "missed_by").values()) == [["bob"]]
    assert not _named(dataset, "alice", "differs_from")
    whole = stored(dataset)
    compute_quickly(dataset, TRIO, overwrite=True)
    assert _named(dataset, "alice", "missed_by") == {second.id: ["bob"]}
    rename_agreement(dataset, "agreement", "other")
    assert _named(dataset, "alice", "missed_by", key="other") == {second.id: ["bob"]}
    delete_agreement(dataset, "other")
    assert "missed_by" not in str(stored(dataset))
    assert "missed_by" in str(whole)


@pytest.mark.long
def test_tags_name_who_did_not_give_them_and_classes_who_gave_another(make_dataset):
    def tags(*names):
        return fo.Classifications(classifications=[fo.Classification(label=name) for name in names])

    dataset = make_dataset({})
    samples = [
        {"alice": tags("cat", "dog"), "bob": tags("cat"), "carol": tags("cat", "dog")},
        {"alice": tags("cat"), "bob": tags("cow"), "carol": None},
    ]
    for k, fields in enumerate(samples):
        classes = {f"{name}_class": fo.Classification(label=label) for name, label in zip(TRIO, "xyx", strict=True)}
        dataset.add_sample(fo.Sample(filepath=f"/images/{k}.jpg", **fields, **classes), dynamic=True)
    compute_quickly(dataset)
    assert list(_named(dataset, "alice", "missed_by").values()) == [["bob"], ["bob"]]
    assert list(_named(dataset, "bob", "missed_by").values()) == [["alice"]]
    compute_quickly(dataset, [f"{name}_class" for name in TRIO], run_key="classes")
    of_bob = dataset.values("bob_class.classes_differs_from")
    assert of_bob == [["alice_class", "carol_class"]] * 2
    assert dataset.values("alice_class.classes_differs_from") == [["bob_class"]] * 2


def test_samples_name_the_pairs_who_gave_other_values_in_plain_fields(make_dataset):
    dataset = make_dataset({})
    for k, given in enumerate((("x", "y", "y"), ("x", "x", "x"), (None, "y", "x"))):
        values = dict(zip(TRIO, given, strict=True))
        numbers = {f"{name}_count": None if value is None else 2.5 + 0.2 * "xy".index(value)
                   for name, value in values.items()}  # fmt: skip
        dataset.add_sample(fo.Sample(filepath=f"/images/{k}.jpg", **values, **numbers), dynamic=True)
    compute_quickly(dataset)
    assert dataset.values("agreement_differing_pairs") == [["alice, bob", "alice, carol"], None, ["bob, carol"]]
    by_hand = dataset.match(F("agreement_differing_pairs").contains("alice, bob"))
    assert by_hand.values("id") == view_agreement(dataset, annotators=["bob", "alice"]).values("id")
    compute_quickly(dataset, [f"{name}_count" for name in TRIO], run_key="counts", tolerance=0.1)
    assert [len(pairs or ()) for pairs in dataset.values("counts_differing_pairs")] == [2, 0, 1]
    sample = dataset.first()
    sample["alice"] = "y"
    sample.save()
    update_agreement(dataset)
    assert dataset.values("agreement_differing_pairs") == [None, None, ["bob, carol"]]
    delete_agreement(dataset)
    assert "agreement_differing_pairs" not in str(stored(dataset))


@pytest.mark.parametrize("n", few([MOST_NAMED + 1, MOST_NAMED]))
def test_of_more_annotators_than_are_named_the_views_are_the_same(make_dataset, n):
    """Labels of one field, as of a crowd; an image with few annotators names them in any case."""
    boxes, rng = [[0.1, 0.1, 0.2, 0.2], [0.6, 0.6, 0.2, 0.2]], np.random.default_rng(5)
    dataset, expected = make_dataset({}), {}
    for k, workers in enumerate((n, 3)):
        drawn = [
            (f"w{w}", b, "cat" if rng.random() < 0.8 else "dog")
            for w in range(workers)
            for b in (0, 1)
            if b == w % 2 or (k == 0 and rng.random() < 0.7)
        ]
        labels = [fo.Detection(label=label, bounding_box=boxes[b], rater=name) for name, b, label in drawn]
        expected |= {label.id: (k, *of) for label, of in zip(labels, drawn, strict=True)}
        held = {"labels": fo.Detections(detections=labels), "raters": [f"w{w}" for w in range(workers)]}
        dataset.add_sample(fo.Sample(filepath=f"/images/{k}.jpg", **held), dynamic=True)
    compute_quickly(dataset, "labels", annotator_attribute="rater", assigned_field="raters")
    named = _named(dataset, "labels", "missed_by")
    assert {expected[label_id][0] for label_id in named} == ({0, 1} if n <= MOST_NAMED else {1})
    said = {(k, b, name): label for k, name, b, label in expected.values()}
    ids = view_agreement(dataset, annotators=["w0", "w1"]).values("labels.detections.id", unwind=True)
    pair = {
        label_id
        for label_id, (k, name, b, label) in expected.items()
        if name in ("w0", "w1") and said.get((k, b, "w1" if name == "w0" else "w0")) != label
    }
    assert set(ids) == pair
    assert pair
    votes = Counter((k, b) for k, b, _ in said)
    missed = {i for i, (k, _, b, _) in expected.items() if votes[k, b] >= 2 and (k, b, "w2") not in said}
    assert set(view_agreement(dataset, missed_by="w2").values("labels.detections.id", unwind=True)) == missed


def test_tags_of_more_annotators_than_are_named_have_no_view_of_a_pair(make_dataset):
    dataset = make_dataset({})
    tags = [fo.Classification(label=f"tag{w % 3}", rater=f"w{w}") for w in range(MOST_NAMED + 1)]
    dataset.add_sample(fo.Sample("/images/0.jpg", labels=fo.Classifications(classifications=tags)), dynamic=True)
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    assert not _named(dataset, "labels", "missed_by")
    with pytest.raises(AgreementInputError, match=f"at most {MOST_NAMED} annotators"):
        view_agreement(dataset, missed_by="w2")

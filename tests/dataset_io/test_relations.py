"""Labels that name who missed their object and who named it otherwise, and views that say the same as the report."""

from __future__ import annotations

import fiftyone as fo
import pytest
from fiftyone import ViewField as F

from tests.dataset_io.quick_runs import ANNOTATORS as TRIO
from tests.dataset_io.quick_runs import compute_quickly, refused
from tests.datasets import stored

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

    dataset, both = make_dataset({}), tags("cat", "dog")
    samples = [{"alice": both, "bob": tags("cat"), "carol": both.copy()},
               {"alice": tags("cat"), "bob": tags("cow"), "carol": None}]  # fmt: skip
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
    counts = [f"{name}_count" for name in TRIO]
    compute_quickly(dataset, counts, run_key="counts", tolerance=0.1)
    assert [len(pairs or ()) for pairs in dataset.values("counts_differing_pairs")] == [2, 0, 1]
    for verdict, n in (("class_conflict", 2), ("agreed", 1)):
        assert len(view_agreement(dataset, "counts", verdict=verdict)) == n
    assert len(view_agreement(dataset, "counts", annotators=counts[:2])) == 1
    assert len(view_agreement(dataset, "counts", classes="2.7")) == 2
    sample = dataset.first()
    sample["alice"] = "y"
    sample.save()
    update_agreement(dataset)
    assert dataset.values("agreement_differing_pairs") == [None, None, ["bob, carol"]]
    delete_agreement(dataset)
    assert "agreement_differing_pairs" not in str(stored(dataset))


def test_tags_of_more_annotators_than_are_named_have_no_view_of_a_pair(make_dataset):
    dataset = make_dataset({})
    tags = [fo.Classification(label=f"tag{w % 3}", rater=f"w{w}") for w in range(MOST_NAMED + 1)]
    dataset.add_sample(fo.Sample("/images/0.jpg", labels=fo.Classifications(classifications=tags)), dynamic=True)
    compute_quickly(dataset, "labels", annotator_attribute="rater")
    assert not _named(dataset, "labels", "missed_by")
    refused(f"at most {MOST_NAMED} annotators", view_agreement, dataset, missed_by="w2")

"""The option ``aliases``: class names that are read as other class names."""

from __future__ import annotations

import pytest

from tests.dataset_io.rated import rated_dataset
from tests.dataset_io.shaped import box, shapes_dataset
from tests.datasets import user_values

from annotator_agreement import AgreementInputError
from annotator_agreement.dataset_io import compute_agreement, load_agreement

PAIR = ["alice", "bob"]
ALIASES = {"Cat ": "cat", "kitten": "cat"}


def test_labels_of_aliases_are_of_one_class_and_stay_as_they_are(make_dataset):
    places = [(2, 2, 8, 6), (12, 2, 8, 6), (22, 2, 8, 6)]
    dataset = shapes_dataset(
        make_dataset,
        {
            "alice": [box(*place, label=label) for place, label in zip(places, ["Cat ", "dog", "cat"], strict=True)],
            "bob": [box(*place, label=label) for place, label in zip(places, ["cat", "dog", "kitten"], strict=True)],
        },
    )
    before = user_values(dataset, ["agreement"])
    report = compute_agreement(dataset, PAIR, aliases=ALIASES)
    assert [label.agreement for label in dataset.first().alice.detections] == ["agreed"] * 3
    assert report.alpha.pooled == 1.0
    assert [entry.classes for entry in report.annotators] == [{"cat": 2, "dog": 1}] * 2
    assert user_values(dataset, ["agreement"]) == before
    assert load_agreement(dataset).config["aliases"] == ALIASES


def test_the_same_names_conflict_without_aliases(make_dataset):
    dataset = shapes_dataset(
        make_dataset, {"alice": [box(2, 2, 8, 6, label="Cat ")], "bob": [box(2, 2, 8, 6, label="cat")]}
    )
    compute_agreement(dataset, PAIR)
    assert dataset.first().alice.detections[0].agreement == "class_conflict"


@pytest.mark.parametrize("field", ["Classification", "StringField"])
def test_ratings_of_aliases_are_one_class(make_dataset, field):
    given = {"alice": ["Cat ", "dog", "kitten", "cat"], "bob": ["cat", "dog", "Cat ", "dog"]}
    dataset = rated_dataset(make_dataset, given, field)
    compute_agreement(dataset, PAIR, aliases=ALIASES)
    assert dataset.values("agreement_score") == [1.0, 1.0, 1.0, 0.0]
    assert dataset.values("agreement_majority") == ["cat", "dog", "cat", None]


def test_categories_are_those_that_aliases_stand_for(make_dataset):
    dataset = rated_dataset(make_dataset, {"alice": ["low", "High"], "bob": ["Low", "high"]}, "Classification")
    options = {"categories": ["low", "high"], "level": "ordinal"}
    report = compute_agreement(dataset, PAIR, aliases={"Low": "low", "High": "high"}, **options)
    assert report.alpha.pooled == 1.0
    with pytest.raises(AgreementInputError, match="must list every class that occurs, got none of 'High'"):
        compute_agreement(dataset, PAIR, run_key="other", aliases={"Low": "low"}, **options)


def test_numbers_have_no_aliases(make_dataset):
    dataset = rated_dataset(make_dataset, {"alice": [1, 2], "bob": [2, 2]}, "IntField")
    refused = "`aliases` concerns objects that are matched, classes of whole images, tags, but 'alice' holds integers"
    with pytest.raises(AgreementInputError, match=refused):
        compute_agreement(dataset, PAIR, aliases={"1": "2"}, categories=[1, 2])
    assert compute_agreement(dataset, PAIR, aliases={}, categories=[1, 2]).score.mean == 0.5


def test_a_tag_and_its_alias_are_one_tag(make_dataset):
    given = {"alice": [["Cat ", "dog"], ["cat", "kitten"]], "bob": [["dog", "cat"], ["Cat "]]}
    dataset = rated_dataset(make_dataset, given, "Classifications")
    compute_agreement(dataset, PAIR, aliases=ALIASES)
    assert dataset.values("agreement_score") == [1.0, 1.0]
    assert dataset.values("agreement_majority") == [["cat", "dog"], ["cat"]]

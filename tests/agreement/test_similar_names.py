"""Finding class names that probably mean the same class."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.chance import seeds

from annotator_agreement.agreement.objects.classes import similar_spellings


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        ([], []),
        (["car", "bus"], []),
        (["car", "Car ", "bus"], [["Car ", "car"]]),
        (["traffic light", "traffic_light", "Traffic-Light", "traffic  light"],
         [["Traffic-Light", "traffic  light", "traffic light", "traffic_light"]]),
        (["trafficlight", "traffic light"], [["traffic light", "trafficlight"]]),
        (["bicycle", "bycicle"], []),  # two letters
        (["bicycle", "bicicle"], [["bicicle", "bicycle"]]),
        (["person", "persons", "Persom"], [["Persom", "person", "persons"]]),
        (["cat", "car", "cart", "cars"], []),  # short
        (["trains", "train", "trai"], [["train", "trains"]]),  # one of four letters
        (["class_01", "class_02", "class_11", "class_1"], []),
        (["class 1 2", "class 12"], []),
        (["STRASSE", "straße"], [["STRASSE", "straße"]]),
        (["_", " "], [[" ", "_"]]),
        (["aabbb", "aabb", "abbbb"], [["aabbb", "abbbb"]]),
    ],
)  # fmt: skip
def test_names_are_similar_up_to_case_separators_and_one_letter(names: list[str], groups: list[list[str]]) -> None:
    for order in (names, names[::-1]):
        assert similar_spellings(order) == groups


def _one_edit(a: str, b: str) -> bool:
    """Whether one letter makes the one the other, by trying all letters in all places."""
    letters = "abcd"
    edits = {a[:k] + a[k + 1 :] for k in range(len(a))}
    edits |= {a[:k] + letter + a[k:] for k in range(len(a) + 1) for letter in letters}
    edits |= {a[:k] + letter + a[k + 1 :] for k in range(len(a)) for letter in letters}
    return b in edits


@pytest.mark.parametrize("seed", seeds(10))
def test_groups_are_those_of_trying_every_edit(seed: int) -> None:
    rng = random.Random(seed)
    names = sorted({"".join(rng.choices("abcd", k=rng.choice([4, 5, 6]))) for _ in range(60)})
    group = {name: {name} for name in names}
    for a, b in itertools.combinations(names, 2):
        if min(len(a), len(b)) >= 5 and _one_edit(a, b) and group[a] is not group[b]:
            group[a] |= group[b]
            for name in group[a]:
                group[name] = group[a]
    expected = sorted({tuple(sorted(own)) for own in group.values() if len(own) > 1})
    assert [tuple(own) for own in similar_spellings(names)] == expected

"""Units and their consensus by loops over the documents of the database, one label after the other."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

#: what is said of a unit, beside its mean IoU
FACTS = ("label", "tie", "verdict", "votes", "of", "annotators", "classes")
#: verdicts that a member may have of its own, before that of its unit
_OWN = ("split", "duplicate")


def units_of(
    document: Mapping[str, Any], lists: Mapping[str, str], key: str = "agreement"
) -> dict[str, dict[str, dict[str, Any]]]:
    """The labels of every unit of a document, by match id and annotator.

    Args:
        document: a sample, or frame, as the database has it
        lists: name of the label list in the field of every annotator
        key: key of the run
    """
    units: dict[str, dict[str, dict[str, Any]]] = {}
    for name in sorted(lists):
        for label in (document.get(name) or {}).get(lists[name]) or []:
            if label.get(f"{key}_id") is not None:
                units.setdefault(label[f"{key}_id"], {})[name] = label
    return units


def current_decisions(document: Mapping[str, Any], gold: str = "agreement_gold") -> list[dict[str, Any]]:
    """The decisions of a document whose place no other one took."""
    return [each for each in document.get(f"{gold}_decisions") or [] if "replaced_by" not in each]


def facts_of(members: Mapping[str, dict[str, Any]], n_assigned: int, key: str = "agreement") -> dict[str, Any]:
    """Expected attributes of the label of a unit, from its members."""
    classes = [label["label"] for label in members.values()]
    most = Counter(classes).most_common()
    leading = [name for name, n in most if n == most[0][1]]
    verdicts = {label[key] for label in members.values()}
    own = [verdict for verdict in _OWN if verdict in verdicts]
    assert own or len(verdicts) == 1
    known = [label[f"{key}_iou"] for label in members.values() if label[f"{key}_iou"] is not None]
    return {
        "label": leading[0] if len(leading) == 1 else " / ".join(sorted(name or "no class" for name in leading)),
        "tie": len(leading) > 1,
        "verdict": own[-1] if own else verdicts.pop(),
        "votes": len(members),
        "of": n_assigned,
        "mean_iou": statistics.fmean(known) if known else None,
        "annotators": list(members),
        "classes": classes,
    }


def median_box(members: Mapping[str, dict[str, Any]]) -> list[float]:
    """The box whose edges are the medians of the members' edges."""
    boxes = [label["bounding_box"] for label in members.values()]
    x_min, y_min = (statistics.median(box[k] for box in boxes) for k in (0, 1))
    x_max, y_max = (statistics.median(box[k] + box[k + 2] for box in boxes) for k in (0, 1))
    return [x_min, y_min, x_max - x_min, y_max - y_min]


def nearest(members: Mapping[str, dict[str, Any]], key: str = "agreement") -> dict[str, Any]:
    """The member with the highest mean IoU; among those within 1e-9 of it, the first by name."""
    known = {name: -1.0 if label[f"{key}_iou"] is None else label[f"{key}_iou"] for name, label in members.items()}
    return next(members[name] for name in sorted(members) if known[name] >= max(known.values()) - 1e-9)


def documents_of(dataset: Any) -> Iterator[dict[str, Any]]:
    """The samples of a dataset as the database has them."""
    yield from dataset._sample_collection.find({}).sort("_id")


def units_in(
    document: Mapping[str, Any], path: str = "agreement_units", list_name: str = "detections"
) -> dict[str, dict[str, Any]]:
    """The labels that a document has for units, by match id."""
    return {unit["unit"]: unit for unit in (document.get(path) or {}).get(list_name) or []}


def assert_facts(unit: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """The label of a unit has the attributes expected from its members."""
    assert {name: unit[name] for name in FACTS} == {name: expected[name] for name in FACTS}
    assert unit["mean_iou"] == pytest.approx(expected["mean_iou"], abs=1e-12)

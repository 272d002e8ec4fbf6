"""Expected counts in the App, counted label by label from the documents in the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

ANNOTATORS = ("alice", "bob", "carol")


@dataclass(frozen=True, slots=True)
class Unit:
    """An object: the label of every annotator who drew it, and the annotators assigned to its sample."""

    sample_id: str
    unit_id: str
    members: dict[str, dict[str, Any]]
    assigned: frozenset[str]

    @property
    def classes(self) -> set[str]:
        """The classes that it was given."""
        return {label["label"] for label in self.members.values()}

    @property
    def verdicts(self) -> set[str]:
        """What its labels were judged as."""
        return {label["agreement"] for label in self.members.values()}

    @property
    def is_tie(self) -> bool:
        """Whether several classes were given most often."""
        counts = sorted(Counter(label["label"] for label in self.members.values()).values())
        return counts[-2:-1] == counts[-1:]

    def missed_by(self, annotator: str) -> bool:
        """Whether others agree that it is there, and this annotator did not draw it."""
        return annotator in self.assigned and annotator not in self.members and len(self.members) > 1

    def disputed_between(self, a: str, b: str) -> bool:
        """Whether one of two annotators who were both asked has it and the other has not, or calls it otherwise."""
        if not {a, b} <= self.assigned or not {a, b} & set(self.members):
            return False
        return not {a, b} <= set(self.members) or self.members[a]["label"] != self.members[b]["label"]


def documents(dataset: Any) -> list[dict[str, Any]]:
    """The samples as they are in the database."""
    from fiftyone.core.odm import get_db_conn

    return list(get_db_conn()[dataset._sample_collection_name].find())


def scores(dataset: Any) -> list[float]:
    """The scores of the samples that have one."""
    found = [document.get("agreement_score") for document in documents(dataset)]
    return [score for score in found if score is not None]


def units(dataset: Any) -> Iterator[Unit]:
    """All objects; a label that was not compared with any is an object of its own."""
    for document in documents(dataset):
        lists = {name: (document.get(name) or {}).get("detections") for name in ANNOTATORS}
        assigned = frozenset(name for name, labels in lists.items() if labels is not None)
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for name in assigned:
            for label in lists[name]:
                found.setdefault(label.get("agreement_id") or str(label["_id"]), {})[name] = label
        for unit_id, members in found.items():
            yield Unit(str(document["_id"]), unit_id, members, assigned)


def rated_units(dataset: Any) -> Iterator[Unit]:
    """The objects of the samples that two or more annotators were asked to label."""
    return (unit for unit in units(dataset) if len(unit.assigned) > 1)


def n_samples_with(dataset: Any, condition: Callable[[Unit], bool]) -> int:
    """Number of samples with an object that fulfils a condition."""
    return len({unit.sample_id for unit in rated_units(dataset) if condition(unit)})

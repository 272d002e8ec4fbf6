"""Copies of the demo dataset, and what the App must show of them: counted label by label, or from a report alone."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

ANNOTATORS = ("alice", "bob", "carol")


@dataclass(frozen=True, slots=True)
class Unit:
    """An object: its sample, the label of every annotator who drew it, and the annotators assigned to the sample."""

    sample_id: str
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

    def missed_by(self, annotator: str) -> bool:
        """Whether others agree that it is there, and this annotator did not draw it."""
        return annotator in self.assigned and annotator not in self.members and len(self.members) > 1


def documents(dataset: Any) -> list[dict[str, Any]]:
    """The samples as they are in the database."""
    from fiftyone.core.odm import get_db_conn

    return list(get_db_conn()[dataset._sample_collection_name].find())


def scores(dataset: Any) -> list[float]:
    """The scores of the samples that have one."""
    found = [document.get("agreement_score") for document in documents(dataset)]
    return [score for score in found if score is not None]


def rated_units(dataset: Any) -> Iterator[Unit]:
    """The objects of the samples that two or more were asked to label; a label that met none is one of its own."""
    for document in documents(dataset):
        lists = {name: (document.get(name) or {}).get("detections") for name in ANNOTATORS}
        assigned = frozenset(name for name, labels in lists.items() if labels is not None)
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for name in assigned if len(assigned) > 1 else ():
            for label in lists[name]:
                found.setdefault(label.get("agreement_id") or str(label["_id"]), {})[name] = label
        yield from (Unit(str(document["_id"]), members, assigned) for members in found.values())


def n_samples_with(dataset: Any, condition: Callable[[Unit], bool]) -> int:
    """Number of samples with an object that fulfils a condition."""
    return len({unit.sample_id for unit in rated_units(dataset) if condition(unit)})


def verdicts(report: Any) -> Counter[str]:
    """How many labels were judged as what."""
    return sum((Counter(entry.verdicts) for entry in report.annotators), Counter())


def votes(report: Any) -> dict[str, int]:
    """By how many of how many annotators objects were drawn."""
    return {
        f"{entry['votes']} of {entry['assigned']}": entry["units"]
        for entry in report.existence.votes
        if entry["assigned"] > 1 and entry["votes"] > 0
    }


def histogram(scores: Iterable[float]) -> list[int]:
    """How many scores lie in every twentieth from 0 to 1; what rounding alone moves off an edge counts as on it."""
    counts = [0] * 20
    for score in scores:
        counts[min(19, int(round(score, 9) * 20 + 1e-9))] += 1
    return counts


_numbers = itertools.count()


def copy_of_the_demo(demo_address: str, *label_types: str) -> Iterator[Any]:
    """A copy without a run, with the boxes and the labels of some more types; deleted in the end.

    Pages with the labels of all types take half as long again.
    """
    import fiftyone as fo

    from tools.demo.dataset import LABEL_TYPES

    demo = fo.load_dataset(demo_address.rsplit("/", 1)[1])
    dataset = demo.clone(f"{demo.name}-{next(_numbers)}", persistent=True)
    others = [entry["fields"] for name, entry in LABEL_TYPES.items() if name not in ("boxes", *label_types)]
    dataset.delete_sample_fields(list(itertools.chain(*others)))
    yield dataset
    if fo.dataset_exists(dataset.name):
        fo.delete_dataset(dataset.name)


def computed(dataset: Any) -> Any:
    """The report of a run on the boxes of a dataset, as another process would read it."""
    from annotator_agreement.dataset_io import compute_agreement, load_agreement

    compute_agreement(dataset, list(ANNOTATORS), progress=False)
    return load_agreement(dataset)


def address_of(dataset: Any, demo_address: str) -> str:
    """Where the App shows a dataset."""
    return f"{demo_address.rsplit('/', 1)[0]}/{dataset.name}"

"""The labels that a view shows, and the expected labels found one by one."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import fiftyone as fo


@dataclass(frozen=True)
class Shown:
    """A label of a document, and what a run wrote on it."""

    document: str
    annotator: str
    id: str
    label: str | None
    unit: str | None
    verdict: str | None
    votes: int | None
    box: tuple[float, ...]

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells the label from all others."""
        return self.document, self.annotator, self.id


@dataclass(frozen=True)
class Table:
    """All labels of a dataset, and who was assigned to which documents."""

    labels: list[Shown]
    assigned: set[tuple[str, str]]

    @functools.cached_property
    def units(self) -> dict[tuple[str, str | None], list[Shown]]:
        """The labels by document and unit."""
        units: dict[tuple[str, str | None], list[Shown]] = {}
        for label in self.labels:
            units.setdefault((label.document, label.unit), []).append(label)
        return units

    def unit_of(self, label: Shown) -> list[Shown]:
        """The members of a label's unit."""
        return [] if label.unit is None else self.units[label.document, label.unit]

    def where(self, condition: Callable[[Shown, list[Shown]], bool]) -> set[tuple[str, str, str]]:
        """Keys of the labels that fulfil a condition on them and the members of their unit."""
        return {label.key for label in self.labels if condition(label, self.unit_of(label))}

    def verdicts(self, annotator: str) -> Counter[str]:
        """The verdicts of an annotator's labels."""
        return Counter(label.verdict for label in self.labels if label.annotator == annotator and label.verdict)


def table_of(
    samples: fo.core.collections.SampleCollection,
    fields: Iterable[str],
    *,
    key: str = "agreement",
    attribute: str | None = None,
    assigned_field: str | None = None,
    unit: str | None = None,
) -> Table:
    """The labels of a dataset or view; on frames, documents are frames.

    Args:
        samples: dataset or view
        fields: the label fields
        key: what the run's fields begin with
        attribute: attribute that names the annotator
        assigned_field: field that lists the annotators
        unit: attribute that tells the unit, ``<key>_id`` by default
    """
    labels: list[Shown] = []
    assigned: set[tuple[str, str]] = set()
    for sample in samples.iter_samples():
        documents: list[tuple[str, Any]] = [(sample.id, sample)]
        if any(field.startswith("frames.") for field in fields):
            documents = [(f"{sample.id}-{number}", frame) for number, frame in sample.frames.items()]
        for document_id, document in documents:
            for field in fields:
                name = field.removeprefix("frames.")
                try:
                    held = document[name]
                except (AttributeError, KeyError):
                    continue
                if held is None:
                    continue
                if attribute is None:
                    assigned.add((document_id, name))
                for label in getattr(held, held._LABEL_LIST_FIELD):
                    annotator = name if attribute is None else str(label[attribute])
                    labels.append(
                        Shown(
                            document_id,
                            annotator,
                            label.id,
                            label.label,
                            _get(label, unit or f"{key}_id"),
                            _get(label, key),
                            _get(label, f"{key}_votes"),
                            tuple(_get(label, "bounding_box") or ()),
                        )
                    )
                    if attribute is not None:
                        assigned.add((document_id, annotator))
            if assigned_field is not None:
                assigned |= {(document_id, str(name)) for name in sample[assigned_field] or []}
    return Table(labels, assigned)


def _get(label: fo.Label, name: str) -> Any:
    return label[name] if label.has_field(name) else None


def keys(table: Table) -> set[tuple[str, str, str]]:
    """Keys of all labels of a table."""
    return {label.key for label in table.labels}

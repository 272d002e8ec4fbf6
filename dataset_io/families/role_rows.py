"""The part of a query result that holds the labels of a reference or model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..labels.source import Role, Source
from ..labels.stored import StoredSample

#: parts of a query result that all readers of a sample need
_OF_SAMPLES = ("size", "assigned", "video", "_sample_id", "frame_number")


class RoleRows:
    """Query results on the samples of a run, as those of a source with one role alone.

    Args:
        source: the labels of the annotators
        role: the role
        number: its number
        projection: what is read of its labels
    """

    def __init__(self, source: Source, role: Role, number: int, projection: dict[str, Any]) -> None:
        self.role, self.number = role, number
        self._field = source.number_read(role)
        self.path = source.paths_read[self._field]
        self._projection = {name: value for name, value in projection.items() if name not in _OF_SAMPLES}

    def projection(self) -> dict[str, Any]:
        """Projection of a document, with names of its own."""
        return {f"role{self.number}_{name}": value for name, value in self._projection.items()}

    def rows(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The query results as those of a source with the role alone."""
        place, prefix = f"id{self._field}", f"role{self.number}_"
        found = []
        for row in rows:
            own = {name: row[prefix + name] for name in self._projection}
            own |= {name: row[name] for name in _OF_SAMPLES if name in row}
            if "labelled" in row:
                own["labelled"] = row["labelled"][self._field : self._field + 1]
            found.append({**own, "id0": row[place]})
        return found

    def samples(self, samples: Sequence[StoredSample]) -> list[StoredSample]:
        """The samples with the labels of the role alone."""
        return [dataclasses.replace(sample, label_ids=(sample.label_ids[self._field],)) for sample in samples]

    @property
    def least_confidence(self) -> float | None:
        """Least confidence of the labels that are compared, if there is one for all images."""
        return self.role.thresholds[0] if self.role.thresholds else None

    def details(self) -> dict[str, Any]:
        """What the context of a report holds of the role."""
        role = self.role
        return {
            "name": role.name,
            "is_model": role.is_model,
            "of_attribute": role.of_attribute,
            "thresholds": list(role.thresholds),
        }

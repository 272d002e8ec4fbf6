"""What annotators drew in a dataset, in the form that files have: the way back from the label documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from bson import ObjectId

from ...agreement.settings.errors import AgreementInputError
from ..families.protocol import LabelsRead
from ..labels.assignment import NOT_NAMED, annotators_of, assigned_annotators
from ..labels.kinds import LabelKind
from ..labels.paths import attributes_of_runs
from ..labels.source import Source
from ..labels.stored import StoredSample
from ..record.run_labels import RunLabels
from ..run.read import Reader
from ..run.work_through import Progress, work_through
from .annotation_set import OF_RUN, AnnotationSet, DrawnLabel, ImageKey, Page, StoredImage, as_number, stored_size
from .label_documents import Document, drawn_label


class AnnotationReader:
    """Reads the labels of a source into an :class:`AnnotationSet`, as a label reader of :class:`~..run.read.Reader`.

    Attributes:
        source: the labels
        found: who looked at what, and what they drew, by path of the image; coordinates are shares of the image
        images: the images by path
        paths: path of the image of every sample
    """

    def __init__(self, source: Source, run: RunLabels | None) -> None:
        self.source = source
        self.found = AnnotationSet("a dataset", {name: {} for name in source.annotators})
        self.images: dict[str, StoredImage] = {}
        self.paths: dict[ObjectId, str] = {}
        self._run_key = None if run is None else run.field_key
        self._written = attributes_of_runs(source.dataset)
        known = [] if run is None else [f"{run.field_key}{suffix}" for suffix in ("_score", "_alpha", "_n_disputed")]
        self._numbers = [name for name in known if source.dataset.has_sample_field(name)]

    def read_all(self, progress: Progress) -> None:
        """Read all samples."""
        reader = Reader(self)
        n_changed = work_through(
            reader, lambda rows, _: reader.columns(rows).changed, lambda changed: changed, progress
        )
        if n_changed:
            self.found.left_out.add("samples that were edited or deleted meanwhile", n_changed)

    def projection(self) -> dict[str, Any]:
        """The whole labels, with the image."""
        wanted: dict[str, Any] = {f"labels{k}": f"${path}" for k, path in enumerate(self.source.label_paths)}
        wanted |= {"path": "$filepath", "size": ["$metadata.width", "$metadata.height"]}
        wanted |= dict.fromkeys(self._numbers, True)
        if self.source.config.assigned_field is not None:
            wanted["assigned"] = f"${self.source.config.assigned_field}"
        return wanted

    def load(self, row: dict[str, Any]) -> int:
        """Number of labels."""
        return sum(len(row[f"id{field}"] or ()) for field in range(len(self.source.kinds)))

    def read(self, rows: list[dict[str, Any]], samples: list[StoredSample]) -> LabelsRead[None]:
        """Add the labels of query results."""
        n_rows = len(rows)
        rows, samples = self._with_files(rows, samples)
        drawn: dict[tuple[int, int], list[DrawnLabel]] = {}
        attribute = self.source.config.annotator_attribute or ""
        for row in rows:
            self._add_image(row)
        for field, kind in enumerate(self.source.kinds):
            for k, row in enumerate(rows):
                labels = self._labels(field, row)
                said = [label.get(attribute) for label in labels] if attribute else []
                owners = annotators_of(self.source, field, len(labels), lambda _, said=said: said)  # type: ignore[misc]
                for label, owner in zip(labels, owners.tolist(), strict=True):
                    if owner == NOT_NAMED:
                        self.found.left_out.add("labels that name no annotator", row["path"])
                    elif owner >= 0:
                        made = self._drawn(kind, label, row)
                        drawn.setdefault((k, owner), []).extend([made] if made is not None else [])
        of_labels = np.array(list(drawn), np.int64).reshape(-1, 2)
        if self.source.kinds[0].list_name is None:
            assigned = np.zeros((len(rows), len(self.source.annotators)), np.bool_)
            assigned[of_labels[:, 0], of_labels[:, 1]] = True
        else:
            assigned = assigned_annotators(self.source, rows, samples, (of_labels[:, 0], of_labels[:, 1])).assigned
        for k, owner in np.argwhere(assigned).tolist():
            image = self.images[rows[k]["path"]]
            page = Page(drawn.get((k, owner), []), (1.0, 1.0), image.size_px)
            self.found.pages[self.source.annotators[owner]][ImageKey(image.path)] = page
        return LabelsRead.of(None, n_rows)

    def _with_files(
        self, rows: list[dict[str, Any]], samples: list[StoredSample]
    ) -> tuple[list[dict[str, Any]], list[StoredSample]]:
        """The query results on samples that have a file, by which other programs know them."""
        kept = [(row, sample) for row, sample in zip(rows, samples, strict=True) if isinstance(row.get("path"), str)]
        for row in rows:
            if not isinstance(row.get("path"), str):
                self.found.left_out.add("samples without the path of a file", row["_id"])
        return [row for row, _ in kept], [sample for _, sample in kept]

    def _labels(self, field: int, row: Document) -> list[Any]:
        """The labels in a field of a sample, without what are no labels."""
        kind = self.source.kinds[field]
        held = row.get(f"labels{field}") if row[f"id{field}"] is not None else None
        found = (held or []) if kind.list_name else [] if held is None else [held]
        labels = [label for label in found if isinstance(label, dict) or not kind.is_label]
        for _ in range(len(found) - len(labels)):
            self.found.left_out.add("entries of label lists that are no labels", row["path"])
        return labels

    def _add_image(self, row: Document) -> None:
        path = row["path"]
        if path in self.images:
            raise AgreementInputError(f"Samples must have files of their own to be exported, got {path!r} twice")
        size = stored_size(*row["size"])
        numbers = {name: row[name] for name in self._numbers if as_number(row.get(name)) is not None}
        self.paths[row["_id"]] = path
        self.images[path] = StoredImage(path, path, size, numbers)

    def _drawn(self, kind: LabelKind, label: Any, row: Document) -> DrawnLabel | None:
        """A label as files have it; None if it cannot be used."""
        document = label if kind.is_label else {"value" if kind.is_number else "label": label}
        kept = {name: value for name, value in document.items() if name not in self._written
                and name != self.source.config.annotator_attribute}  # fmt: skip
        said = [document.get(f"{self._run_key}_id"), document.get(self._run_key)] if self._run_key else []
        of_run = {name: str(value) for name, value in zip(OF_RUN, said, strict=False) if value is not None}
        try:
            return drawn_label(kind, kept, self.images[row["path"]].size_px, of_run)
        except (ValueError, TypeError) as error:
            self.found.left_out.add(f"labels that cannot be used ({error})", row["path"])
            return None


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """A name for every path: its file name, with as many of its folders (after ``/``) as make all names different."""
    parts = [PurePosixPath(path.replace("\\", "/")).parts for path in paths]
    n = 1
    while len({entry[-n:] for entry in parts}) < len(parts) and n < max(map(len, parts)):
        n += 1
    return {path: str(PurePosixPath(*entry[-n:])) for path, entry in zip(paths, parts, strict=True)}

"""Summaries of imports and exports: images seen and labels drawn by each annotator, and what was left out."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO, cast

from ...agreement.settings.arguments import print_to
from ...charts.text.sections import Column, Note, Section, as_markdown, as_text, table
from ...charts.text.words import counted


@dataclass(frozen=True, slots=True)
class AnnotatorInFile:
    """Counts of one annotator (or a model, or the ground truth) in the files."""

    name: str
    fields: tuple[str, ...]  #: the fields of the labels
    n_images: int  #: images (frames) that they looked at
    n_empty: int  #: of these, those on which they drew nothing
    n_labels: dict[str, int]  #: labels by label type or question
    n_unread: int = 0  #: images on which some of their labels cannot be read

    @classmethod
    def of(cls, name: str, fields: Iterable[str], pages: Iterable[tuple[Sequence[str], bool]]) -> AnnotatorInFile:
        """Counts of one annotator.

        Args:
            name: of the annotator
            fields: the fields of the labels
            pages: for every image, the label type or question of each label, and whether some cannot be read
        """
        found = list(pages)
        n_labels = Counter(kind for kinds, _ in found for kind in kinds)
        n_empty, n_unread = sum(not kinds and not unread for kinds, unread in found), sum(unread for _, unread in found)
        return cls(name, tuple(fields), len(found), n_empty, dict(sorted(n_labels.items())), n_unread)


@dataclass(frozen=True, slots=True)
class FieldChange:
    """Effect of an import on the labels that a field had before; images are frames where the field is one of frames.

    Labels that somebody saved while the import wrote are not among them: the summary's ``left_out`` says which stay.
    """

    field: str
    n_images: int  #: images that get labels of the file
    n_labels: int  #: labels of the file
    n_images_replaced: int = 0  #: of these images, those that had labels (or an empty list) of the same annotator
    n_labels_replaced: int = 0  #: labels that the labels of the file replace
    n_images_removed: int = 0  #: images from which labels are removed that the file does not replace
    n_labels_removed: int = 0  #: labels that are removed there
    n_images_kept: int = 0  #: images on which labels are kept
    n_labels_kept: int = 0  #: labels that are kept there


class _Summary:
    """Base class of summaries, as text, HTML, Markdown and JSON values."""

    __slots__ = ()
    calls: tuple[str, ...]
    format: str
    annotators: tuple[AnnotatorInFile, ...]
    n_images: int

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return dataclasses.asdict(cast(Any, self))

    def __str__(self) -> str:
        return "\n".join([as_text(self._sections()), *(["", *self.calls] if self.calls else [])])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._extent()}; print_report() says more>"

    def _repr_html_(self) -> str:
        from ...charts.page import sections_html  # imports Plotly, which an import does not need

        return sections_html(self._sections(), code="\n".join(self.calls))

    def to_markdown(self) -> str:
        """The summary as Markdown, for the App."""
        calls = "\n".join(self.calls)
        return as_markdown(self._sections()) + (f"\n\n```python\n{calls}\n```" if calls else "")

    def print_report(self, file: TextIO | None = None) -> None:
        """Print the summary."""
        print_to(file, str(self))

    def _extent(self) -> str:
        return f"{self.format}: {counted(len(self.annotators), 'annotator')}, {counted(self.n_images, 'image')}"

    def _sections(self) -> list[Section]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True, repr=False)
class ImportSummary(_Summary):
    """Summary of an import, done or previewed."""

    dataset: str  #: name of the dataset
    format: str  #: name of the format
    annotators: tuple[AnnotatorInFile, ...]
    separate: tuple[AnnotatorInFile, ...]  #: ground truth and predictions, which are no annotators
    n_images: int  #: images (frames) of the file that have a sample
    n_new: int  #: of these, new samples
    assigned_field: str | None  #: sample field with the assigned annotators
    left_out: tuple[str, ...]  #: what was left out and why, how often, and the first examples
    notes: tuple[str, ...]
    calls: tuple[str, ...]  #: calls of ``compute`` for the imported fields
    changes: tuple[FieldChange, ...] = ()  #: effects on the labels that the fields had before
    is_written: bool = False  #: False: nothing was written yet

    @property
    def lost(self) -> str:
        """A sentence on the labels that are replaced or removed; empty if none are."""
        if not any(change.n_images_replaced or change.n_images_removed for change in self.changes):
            return ""
        replaced = sum(change.n_labels_replaced for change in self.changes)
        removed = sum(change.n_labels_removed for change in self.changes)
        verb = "were" if self.is_written else "will be"
        others = f" and {counted(removed, 'other label')} {verb} removed" if removed else ""
        return f"{counted(replaced, 'label')} on images of the file {verb} replaced{others}; this cannot be undone"

    def _sections(self) -> list[Section]:
        what = self._extent() + (f", {self.n_new:,} of them new samples" if self.n_new else "")
        done = "Imported into" if self.is_written else "To be imported into"
        sections = [Section(f"{done} {self.dataset!r}", [what, *_tables(self.annotators)])]
        if self.separate:
            sections.append(Section("Not among the annotators", _tables(self.separate)))
        before = [change for change in self.changes if change.n_images_replaced + change.n_images_removed
                  + change.n_images_kept]  # fmt: skip
        if before:
            lost = [Note(self.lost, is_warning=True)] if self.lost else []
            sections.append(Section("Labels that the fields had before", [*lost, table(_BEFORE, before)]))
        return sections + _lists({"Left out": self.left_out, "Notes": self.notes})


@dataclass(frozen=True, slots=True, repr=False)
class ExportSummary(_Summary):
    """Summary of an export."""

    path: str  #: the file
    format: str  #: name of the format
    annotators: tuple[AnnotatorInFile, ...]
    separate: tuple[AnnotatorInFile, ...]  #: the consensus, which is no annotator
    n_images: int  #: images in the file
    left_out: tuple[str, ...]  #: what the file does not have and why, how often, and the first examples
    changed: tuple[str, ...]  #: what is not the same when the file is imported again
    calls: tuple[str, ...]  #: the call of ``files.load`` that reads the file

    def _sections(self) -> list[Section]:
        sections = [Section(f"Exported to {self.path!r}", [self._extent(), *_tables(self.annotators)])]
        if self.separate:
            sections.append(Section("Predictions", _tables(self.separate)))
        return sections + _lists({"Left out": self.left_out, "Not the same when imported again": self.changed})


def _on_images(change: FieldChange, kind: str) -> str:
    n_labels, n_images = getattr(change, f"n_labels_{kind}"), getattr(change, f"n_images_{kind}")
    return f"{counted(n_labels, 'label')} on {counted(n_images, 'image')}" if n_images else "none"


_BEFORE = [Column("field", "field"), *(Column(kind, functools.partial(_on_images, kind=kind))
                                       for kind in ("kept", "replaced", "removed"))]  # fmt: skip


def _lists(lines: Mapping[str, Sequence[str]]) -> list[Section]:
    return [Section(title, [f"- {line}" for line in found]) for title, found in lines.items() if found]


def _tables(entries: Sequence[AnnotatorInFile]) -> list[Any]:
    unread = [Column("not all read", "n_unread")] if any(entry.n_unread for entry in entries) else []
    columns = [
        Column("name", "name"),
        Column("field", lambda entry: ", ".join(entry.fields)),
        Column("images", "n_images"),
        Column("nothing drawn", "n_empty"),
        *unread,
        Column("labels", lambda entry: ", ".join(f"{n} {kind}" for kind, n in entry.n_labels.items()) or "none"),
    ]
    return [table(columns, entries)] if entries else []

"""Export of the decisions against an annotator, as a file to send to them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import takes_arrays, writing_to
from ...agreement.settings.errors import AgreementInputError
from ...charts.page.errors_page import ListedError, errors_page, errors_table
from ...charts.text.words import file_name
from ..decide.against import Against, errors_of
from ..decide.annotator_labels import stored_labels
from ..decide.decide import ObjectsToDecide, open_decided
from ..decide.next_object import files_of
from .export import csv_of
from .file_writing import checked_file, write_file
from .picture import picture_of

#: entries of a page that have a picture, which takes about 20 kB each
_MOST_PICTURES = 300
#: colours of what an annotator drew, and of what is right
_COLOURS = {"theirs": names.ANNOTATOR_COLORS["orange"], "right": names.ANNOTATOR_COLORS["green"]}


@takes_arrays
def export_decided_against(
    samples: SampleCollection,
    annotator: str,
    run_key: str = names.DEFAULT_RUN_KEY,
    path: str | os.PathLike[str] = "decided_against.html",
    *,
    gold: str = names.DEFAULT_GOLD_FIELD,
    overwrite: bool = False,
) -> Path:
    """Export the decisions against an annotator to a file, to send to them.

    Every entry has the image, what they said, what is right, who decided, when, and why; on a page the first 300 also
    have a picture of the object.

    Args:
        samples: the dataset, or a view of its samples
        annotator: name of the annotator in the run
        run_key: key of the run
        path: output file: a page if it ends in ``.html``, a table if it ends in ``.csv``
        gold: the field of decisions
        overwrite: whether an existing file may be replaced

    Returns:
        the absolute path of the file

    Raises:
        AgreementInputError: as :func:`report_decisions`; if this is no annotator of the run, or the file exists or
            cannot be written
    """
    path = checked_file(path, overwrite=overwrite)
    ending = path.suffix.lower()
    if ending not in (".html", ".csv"):
        raise AgreementInputError(f"`path` must end in .html or .csv, got {str(path)!r}")
    opened = open_decided(samples, run_key, gold)
    found = errors_of(opened, annotator)
    listed = sorted(_listed(opened, found, with_pictures=ending == ".html"), key=lambda each: each.order)
    with writing_to("path", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending == ".csv":
            write_file(path, csv_of(errors_table(listed)))
        else:
            write_file(path, errors_page(annotator, opened.labels.dataset.name, opened.units.unit, listed).encode())
    return path


def _listed(opened: ObjectsToDecide, found: Sequence[Against], *, with_pictures: bool) -> Iterator[ListedError]:
    """The entries of the list, with pictures of the first ones."""
    documents = sorted({each.document_id for each in found})
    files = files_of(opened, documents)
    pictured = {id(each) for each in found[: _MOST_PICTURES if with_pictures else 0]}
    shown = [each.document_id for each in found if id(each) in pictured]
    stored = stored_labels(opened.gold.collection, shown, opened.fields)
    for each in found:
        sample_id, frame, filepath = files[each.document_id]
        picture = None
        if id(each) in pictured and filepath is not None and frame is None:
            theirs, _ = stored[each.document_id].get(str(each.key), (None, None))
            drawn = {"theirs": theirs, "right": each.gold}
            picture = picture_of(filepath, {who: label for who, label in drawn.items() if label is not None}, _COLOURS)
        decision = each.decision
        yield ListedError(
            image=file_name(filepath) or "",
            sample_id=str(sample_id),
            frame=frame,
            given=each.given,
            right=each.right,
            decided_by=decision["decided_by"],
            decided_at=decision["decided_at"],
            remark=decision["remark"],
            label_id=None if each.label_id is None else str(each.label_id),
            picture=picture,
        )

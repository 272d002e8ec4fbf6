"""Edit the adjudicated label of an object in FiftyOne's App: put it there, keep it, or remove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import fiftyone as fo
import fiftyone.core.labels as fol
import fiftyone.core.media as fom
from bson import ObjectId
from fiftyone.core.view import DatasetView

from ...agreement.settings.errors import AgreementInputError
from ..app.label_schemas import start_editing
from ..database.fiftyone_private import reload_samples
from ..record.run_labels import RunLabels
from .decidable import Rule
from .decide import NewDecision, ObjectsToDecide, open_to_decide
from .decisions import Gold
from .next_object import ShownObject, objects_of, shown_object
from .stored_decisions import Choice, Stored

#: types of labels on images that the App can edit
_EDITABLE = (fol.Classification, fol.Classifications, fol.Detections, fol.Polylines)
#: those that it shows one by one, with the form open
_AS_PATCHES = (fol.Detections, fol.Polylines)


@dataclass(frozen=True, slots=True)
class LabelToEdit:
    """The label in the field of decisions that somebody edits."""

    sample_id: str
    fields: list[str]  #: fields that the App should show
    view: DatasetView  #: the patch of the label, or its sample where the App shows no patches of such labels
    shown_id: str  #: id of the patch, or sample
    step: str | None  #: what put the label there for the form alone; None if it was decided before


def can_edit(opened: ObjectsToDecide) -> bool:
    """True if the App can edit labels of this type, on images."""
    return opened.stored in _EDITABLE and opened.labels.dataset.media_type == fom.IMAGE


def edit_object(
    labels: RunLabels,
    gold: str,
    document_id: str,
    unit_id: str,
    *,
    by: str,
    class_names: Sequence[str],
    again: bool = False,
) -> LabelToEdit | None:
    """Make the adjudicated label of an object ready for the App; else the consensus, or the best version.

    Nothing is decided until somebody edits the label. :func:`close_unedited` takes away one that nobody edited.

    Args:
        labels: the labels of the run
        gold: the field of decisions
        document_id: id of the sample
        unit_id: match id of the object
        by: name of who decides
        class_names: classes to choose from
        again: whether an object that was decided not to be there is there after all

    Returns:
        the label; None if the object is gone, or somebody decided meanwhile that there is none

    Raises:
        AgreementInputError: if the App cannot edit labels of this type
    """
    opened = open_to_decide(labels, gold, among=())
    if not can_edit(opened):
        raise AgreementInputError(f"FiftyOne's App cannot edit {labels.title} of this dataset; edit them from Python")
    shown = shown_object(labels, gold, document_id, unit_id)
    if shown is None:
        return None
    label, step = _label_of(labels, gold, document_id, unit_id), None
    if label is None:
        step = _open_label(opened, shown, by=by, again=again)
        label = _label_of(labels, gold, document_id, unit_id)
    if label is None:
        return None
    classes = [name for name in (*class_names, label.get("label")) if isinstance(name, str)]
    start_editing(labels.dataset, gold, labels.config.fields, classes)
    label_id = str(label["_id"])
    view, fields = labels.dataset.select(shown.sample_id), labels.config.fields
    if opened.stored not in _AS_PATCHES:
        return LabelToEdit(shown.sample_id, [gold, *fields], view, shown.sample_id, step)
    # alone: beside others the App would not offer it
    return LabelToEdit(shown.sample_id, [gold], view.to_patches(gold).select(label_id), label_id, step)


def close_unedited(dataset: fo.Dataset, gold: str, step: str) -> None:
    """Take away a label that :func:`edit_object` put there, unless somebody edited it."""
    Gold.open(dataset, gold).undo(step, unedited=True)
    reload_samples(dataset)


def _label_of(labels: RunLabels, gold: str, document_id: str, unit_id: str) -> Stored | None:
    """The label in the field of decisions for an object, which is kept as it was written; None without one."""
    opened, objects = objects_of(labels, gold, [ObjectId(document_id)])
    unit = objects.members.unit_ids.index(unit_id)
    label = objects.gold_label(unit) if objects.found[unit] else None
    if label is not None:
        opened.gold.keep_as_written(ObjectId(document_id), objects.found[unit][0], label)
    return label


def _open_label(opened: ObjectsToDecide, shown: ShownObject, *, by: str, again: bool) -> str | None:
    """Put the consensus, or the version that overlaps the others most, there to be edited; returns the step."""
    best = max(shown.versions, key=lambda each: -1.0 if each.iou is None else each.iou)
    starts: list[tuple[Choice, str | None]] = [("consensus", None)] if opened.units.has_consensus else []
    among = open_to_decide(opened.labels, opened.gold.name, among=(ObjectId(shown.sample_id),))
    for choice, annotator in (*starts, ("version", best.annotator)):
        new = NewDecision(choice, annotator, None, by, None, str(ObjectId()), again, opens=True)
        done = among.decide(Rule(objects=frozenset([shown.unit])), new)
        if done.step is not None:
            return done.step
    return None

"""The label of an object that somebody edits in FiftyOne's App."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import fiftyone.core.labels as fol
import fiftyone.core.media as fom
from bson import ObjectId
from fiftyone.core.view import DatasetView

from ...agreement.errors import AgreementInputError
from ..record.run_labels import RunLabels
from .decide import ObjectsToDecide, decide, open_to_decide
from .label_schemas import start_editing
from .next_object import ShownObject, objects_of, shown_object
from .stored_decisions import Stored

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


def can_edit(opened: ObjectsToDecide) -> bool:
    """Whether the App can edit labels of this type, on images."""
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
    """Make ready for the App what is decided to be right of an object: the consensus, else the best version, at first.

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
    label = _label_of(labels, gold, document_id, unit_id)
    if label is None:
        _decide_on_start(opened, shown, by=by, again=again)
        label = _label_of(labels, gold, document_id, unit_id)
    if label is None:
        return None
    classes = [name for name in (*class_names, label.get("label")) if isinstance(name, str)]
    start_editing(labels.dataset, gold, labels.config.fields, classes)
    label_id = str(label["_id"])
    view, fields = labels.dataset.select(shown.sample_id), labels.config.fields
    if opened.stored not in _AS_PATCHES:
        return LabelToEdit(shown.sample_id, [gold, *fields], view, shown.sample_id)
    # alone: beside others the App would not offer it
    return LabelToEdit(shown.sample_id, [gold], view.to_patches(gold).select(label_id), label_id)


def _label_of(labels: RunLabels, gold: str, document_id: str, unit_id: str) -> Stored | None:
    """The label in the field of decisions for an object, which is kept as it was written; None without one."""
    opened, objects = objects_of(labels, gold, [ObjectId(document_id)])
    unit = objects.members.unit_ids.index(unit_id)
    label = objects.gold_label(unit) if objects.found[unit] else None
    if label is not None:
        opened.gold.keep_as_written(ObjectId(document_id), objects.found[unit][0], label)
    return label


def _decide_on_start(opened: ObjectsToDecide, shown: ShownObject, *, by: str, again: bool) -> None:
    """Decide that the consensus is right; without one the version that overlaps the others most."""
    best = max(shown.versions, key=lambda each: -1.0 if each.iou is None else each.iou)
    starts: list[Stored] = [{"choice": "consensus"}] if opened.units.has_consensus else []
    sample = opened.labels.dataset.select(shown.sample_id)
    same: Stored = {"objects": shown.unit, "by": by, "gold": opened.gold.name, "overwrite": again, "progress": False}
    for start in (*starts, {"choice": "version", "annotator": best.annotator}):
        if decide(sample, opened.labels.run_key, **start, **same).n_decided:
            return

"""One label for every unit of a run: the consensus of its members, with verdict and votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.objects.verdicts import VERDICTS
from ...metrics.consensus import NO_CLASS, vote_classes
from ..labels.checks import check_sizes
from ..record.run import dataset_of
from ..record.run_labels import RunLabels, open_run_labels
from ..run.batches import Progress
from .consensus_geometry import ConsensusMaker, PixelVote, Shapes, consensus_maker
from .derived_fields import DerivedField, DerivedLabels, check_can_derive, derive_labels
from .unit_members import UnitFamily, UnitMembers


def add_units(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    shapes: Shapes = "medoid",
    overwrite: bool = False,
    progress: Progress = None,
) -> DerivedLabels:
    """Write one label for every unit of a run into ``<key>_units``, on frames into ``frames.<key>_units``.

    The extent is that of the consensus: of boxes every edge is the median; of masks and polylines it is that of the
    member with the highest mean IoU to the others (equal ones: the first by annotator name); every keypoint that at
    least half of the members labelled is their median, and so are first and last frames (halves rounded down). Where
    boxes are compared with polylines it is the median of the boxes around them.

    The class is the one that most members gave, a label without a class counting as one of its own. Where several
    classes lead, the label has none, and ``tie`` is true. Its attributes are ``unit`` (the match id), ``verdict``
    (where some members have one of their own, ``split``, that), ``votes``, ``of``, ``mean_iou``, and ``annotators``
    with what each called it in ``classes``.

    Verdict, votes and IoU are what the run found; class and extent come from the current labels. Objects whose labels
    were deleted, added or made unusable since the run are left out and counted.

    Args:
        dataset: the dataset, or a view of it; the units of all samples of the run are written
        run_key: key of the run
        shapes: ``"medoid"``, or ``"vote"``: detections with the pixels that at least half of the members have, of
            masks, and of polygons, whose pixels are those with the centre inside
        overwrite: replace objects that were written before
        progress: as of :func:`compute_agreement`

    Returns:
        how many labels were written, and what was left out

    Raises:
        AgreementInputError: if there is no such completed run on objects, or the field is not free
    """
    labels = open_run_labels(dataset_of(dataset), run_key)
    check_can_derive(labels, names.UNITS_SUFFIX, "add_units", overwrite=overwrite)
    family, maker = open_units(labels, shapes)

    def documents(members: UnitMembers) -> tuple[list[dict[str, Any] | None], list[bool]]:
        made = unit_documents(members, maker, family, labels.annotators)
        verdicts = [VERDICTS[code] if code >= 0 else None for code in members.verdict.tolist()]
        for document, verdict in zip(made, verdicts, strict=True):
            if document is not None:
                document["verdict"] = verdict
        return made, [True] * members.n_units

    made = DerivedField(
        names.UNITS_SUFFIX,
        maker.stored,
        "What the annotators drew as one physical object: one label for each",
        names.UNIT_ATTRIBUTES,
        documents,
        {"shapes": shapes},
    )
    return derive_labels(labels, family, made, progress)


def open_units(labels: RunLabels, shapes: Shapes) -> tuple[UnitFamily, ConsensusMaker]:
    """The reader of the units of a run, and the maker of their consensus geometry.

    Raises:
        AgreementInputError: if ``shapes`` does not suit the labels, or needs sizes of images that are not known
    """
    family = UnitFamily(labels.source(), labels.field_key)
    maker = consensus_maker(family.source, shapes)
    if isinstance(maker, PixelVote):
        check_sizes(family.source)
    return family, maker


def unit_documents(
    members: UnitMembers, maker: ConsensusMaker, family: UnitFamily, annotators: Sequence[str]
) -> list[dict[str, Any] | None]:
    """The label of every unit as it is stored; None where the extent of a member cannot be used (any more)."""
    votes = vote_classes(members.unit, members.category, members.n_units)
    class_names = family.codes.names()
    nameless = {NO_CLASS, family.codes.get(None)}
    labels = [None if code in nameless else name for code, name in enumerate(class_names)]
    who = [annotators[k] for k in members.annotator.tolist()]
    said = [class_names[code] for code in members.category.tolist()]
    end = np.searchsorted(members.unit, np.arange(members.n_units + 1)).tolist()
    rows = zip(
        maker.extents(members),
        members.unit_ids,
        votes.category.tolist(),
        votes.tie.tolist(),
        members.votes.tolist(),
        members.assigned.tolist(),
        members.mean_iou.tolist(),
        end[:-1],
        end[1:],
        strict=True,
    )
    name = maker.label.__name__
    return [
        None
        if extent is None
        else {
            "_id": ObjectId(),
            "_cls": name,
            "tags": [],
            "label": labels[category],
            **extent,
            "unit": unit_id,
            "votes": n_votes,
            "of": n_assigned,
            "mean_iou": iou if iou == iou else None,  # nan is not equal to itself
            "annotators": who[first:last],
            "classes": said[first:last],
            "tie": tie,
        }
        for extent, unit_id, category, tie, n_votes, n_assigned, iou, first, last in rows
    ]

"""One label for every object of a run, with verdict and votes: for all, or where enough annotators agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, get_args

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.matching.verdicts import VERDICTS
from ...agreement.settings.arguments import is_real, one_of, takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ...metrics.consensus.consensus import NO_CLASS, consensus_score, quorum_votes, vote_classes
from ..labels.checks import check_sizes
from ..record.run import dataset_of
from ..record.run_labels import RunLabels, open_run_labels
from ..run.work_through import Progress
from .consensus_geometry import ConsensusMaker, PixelVote, Shapes, consensus_maker
from .derived_fields import DerivedField, DerivedLabels, Outcome, check_can_derive, derive_labels
from .unit_members import UnitMembers, UnitReader


@takes_arrays
def add_units(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    shapes: Shapes = "medoid",
    overwrite: bool = False,
    progress: Progress = None,
) -> DerivedLabels:
    """Write one label for every object of a run into ``<key>_units``, on frames into ``frames.<key>_units``.

    The geometry is a consensus. Boxes: the median of every edge. Masks and polylines: the medoid, the member with the
    highest mean IoU to the others (ties: the first by annotator name). Keypoints: the median of every point that at
    least half of the members labelled. Temporal detections: the median of first and last frames, rounded down. Boxes
    with polylines: the median of their bounding boxes.

    The class is the majority class; "no class" counts as a class. If several classes tie, the label names them all
    (``"car / van"``), and ``tie`` is true. The other attributes are ``unit`` (the match id), ``verdict`` (``split`` if
    any member has it), ``votes``, ``of``, ``mean_iou``, ``annotators``, and the class that each of them gave in
    ``classes``.

    Verdict, votes and IoU are as written by the run; class and geometry come from the current labels. Objects whose
    labels were deleted, added or made unusable since the run are left out and counted.

    Args:
        dataset: the dataset, or a view of it; the objects of all samples of the run are written
        run_key: key of the run
        shapes: consensus of masks and polygons: ``"medoid"``, or ``"vote"``: detections with the pixels that are in at
            least half of the members (for polygons, pixels with their centre inside)
        overwrite: replace objects that were written before
        progress: as in ``compute``

    Returns:
        number of labels written, and numbers left out

    Raises:
        AgreementInputError: if there is no such completed run on objects, or the field is not free
    """
    labels = open_run_labels(dataset_of(dataset), run_key)
    check_can_derive(labels, names.UNITS_SUFFIX, "run.objects.write", overwrite=overwrite)
    reader, maker = open_units(labels, shapes)

    def documents(members: UnitMembers) -> tuple[list[dict[str, Any] | None], list[Outcome]]:
        made = unit_documents(members, maker, reader, labels.annotators)
        verdicts = [VERDICTS[code] if code >= 0 else None for code in members.verdict.tolist()]
        for document, verdict in zip(made, verdicts, strict=True):
            if document is not None:
                document["verdict"] = verdict
        return made, ["n_labels"] * members.n_units

    made = DerivedField(
        names.UNITS_SUFFIX,
        maker.stored,
        "What the annotators drew as one physical object: one label for each",
        names.UNIT_ATTRIBUTES,
        documents,
        {"shapes": shapes},
    )
    return derive_labels(labels, reader, made, progress)


def open_units(labels: RunLabels, shapes: Shapes) -> tuple[UnitReader, ConsensusMaker]:
    """The reader of the units of a run, and the maker of their consensus geometry.

    Raises:
        AgreementInputError: if ``shapes`` does not suit the labels, or needs image sizes that are unknown
    """
    reader = UnitReader(labels.source(), labels.field_key)
    maker = consensus_maker(reader.source, shapes)
    if isinstance(maker, PixelVote):
        check_sizes(reader.source)
    return reader, maker


def unit_documents(
    members: UnitMembers, maker: ConsensusMaker, reader: UnitReader, annotators: Sequence[str]
) -> list[dict[str, Any] | None]:
    """The label of every unit as stored; None if the geometry of a member is unusable (now)."""
    votes = vote_classes(members.unit, members.category, members.n_units)
    class_names = reader.codes.names()
    nameless = {NO_CLASS, reader.codes.get(None)}
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
    documents: list[dict[str, Any] | None] = []
    for extent, unit_id, category, tie, n_votes, n_assigned, iou, first, last in rows:
        if extent is None:
            documents.append(None)
            continue
        label = labels[category]
        if tie:  # all classes with the most votes, as one label: ``car / van``
            given = Counter("no class" if name is None else str(name) for name in said[first:last])
            label = " / ".join(sorted(name for name, n in given.items() if n == max(given.values())))
        document = {"_id": ObjectId(), "_cls": maker.label.__name__, "tags": [], "label": label, **extent}
        document |= {"unit": unit_id, "votes": n_votes, "of": n_assigned}
        document |= {"mean_iou": iou if iou == iou else None}  # nan is not equal to itself
        documents.append({**document, "annotators": who[first:last], "classes": said[first:last], "tie": tie})
    return documents


#: what becomes of units on whose class the votes are equal
Ties = Literal["leave_out", "keep"]


@takes_arrays
def resolve_units(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    quorum: float | Literal["majority"] = "majority",
    ties: Ties = "leave_out",
    shapes: Shapes = "medoid",
    overwrite: bool = False,
    progress: Progress = None,
) -> DerivedLabels:
    """Write the consensus of the annotators into ``<key>_consensus``, on frames into ``frames.<key>_consensus``.

    An object gets a label if enough of the assigned annotators drew it. Geometry and class follow
    ``run.objects.write``: class by vote, boxes by median, shapes by medoid or by votes on every pixel. ``confidence``
    is the share of the assigned annotators who drew the object times their mean IoU (for keypoints once for every
    point); None with a single vote. A sample without an object with enough votes gets an empty list.

    FiftyOne's exporters (COCO, YOLO, VOC, CVAT …) can export the field unchanged.

    The annotators' own labels do not change. Deleting the run deletes the consensus; to keep it, clone the field:
    ``dataset.clone_sample_field("agreement_consensus", "ground_truth")``.

    Args:
        dataset: the dataset, or a view of it; the consensus of all samples of the run is written
        run_key: key of the run
        quorum: ``"majority"``: more than half of the assigned annotators (2 of 2, 2 of 3, 3 of 4); or their least
            share, in (0, 1], rounded up: half of 2 is 1, half of 3 is 2
        ties: objects for which several classes have the most votes: ``"leave_out"`` counts them and writes no label;
            ``"keep"`` writes a label with all leading classes (``"car / van"``) and ``tie`` true
        shapes: ``"medoid"`` or ``"vote"``; see ``run.objects.write``
        overwrite: replace an existing consensus
        progress: as in ``compute``

    Returns:
        number of labels written, and numbers left out

    Raises:
        AgreementInputError: if there is no such completed run on objects, the field is not free, or an option is not
            usable
    """
    labels = open_run_labels(dataset_of(dataset), run_key)
    check_can_derive(labels, names.CONSENSUS_SUFFIX, "run.objects.consensus", overwrite=overwrite)
    if quorum != "majority":
        if not is_real(quorum) or not 0 < quorum <= 1:
            raise AgreementInputError(
                f'`quorum` must be "majority" or a share of the annotators in (0, 1], got {quorum!r}'
            )
        quorum = float(quorum)
    one_of("ties", ties, get_args(Ties))
    family, maker = open_units(labels, shapes)

    def documents(members: UnitMembers) -> tuple[list[dict[str, Any] | None], list[Outcome]]:
        return consensus_documents(members, maker, family, labels.annotators, quorum=quorum, ties=ties)

    share = "more than half" if quorum == "majority" else f"at least {quorum:g}"
    made = DerivedField(
        names.CONSENSUS_SUFFIX,
        maker.stored,
        f"Consensus of the annotators: objects with the votes of {share} of those assigned",
        names.CONSENSUS_ATTRIBUTES,
        documents,
        {"quorum": quorum, "ties": ties, "shapes": shapes},
    )
    return derive_labels(labels, family, made, progress)


def consensus_documents(
    members: UnitMembers,
    maker: ConsensusMaker,
    reader: UnitReader,
    annotators: Sequence[str],
    *,
    quorum: float | Literal["majority"] = "majority",
    ties: Ties = "leave_out",
) -> tuple[list[dict[str, Any] | None], list[Outcome]]:
    """The consensus label of every unit as stored (None if its members are unusable now), and what becomes of it."""
    made = unit_documents(members, maker, reader, annotators)
    votes, assigned = members.votes, members.assigned
    outcomes: list[Outcome] = []
    enough = (votes >= quorum_votes(assigned, quorum)).tolist()
    scores = consensus_score(votes, assigned, members.mean_iou).tolist()
    for document, has_enough, score in zip(made, enough, scores, strict=True):
        is_tied = document is not None and document["tie"] and ties == "leave_out"
        outcomes.append("n_below_quorum" if not has_enough else "n_tied" if is_tied else "n_labels")
        if document is not None:
            confidence = score if score == score else None  # nan is not equal to itself
            of_points = maker.label is fo.Keypoint and confidence is not None
            document["confidence"] = [confidence] * len(document["points"]) if of_points else confidence
    return made, outcomes

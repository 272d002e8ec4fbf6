"""Write the consensus of the annotators: one label for every object with enough votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import fiftyone as fo
from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.settings.arguments import is_real, one_of, takes_arrays
from ...agreement.settings.errors import AgreementInputError
from ...metrics.consensus.consensus import consensus_score, quorum_votes
from ..record.run import dataset_of
from ..record.run_labels import open_run_labels
from ..run.work_through import Progress
from .consensus_geometry import ConsensusMaker, Shapes
from .derived_fields import DerivedField, DerivedLabels, Outcome, check_can_derive, derive_labels
from .unit_members import UnitMembers, UnitReader
from .units_field import open_units, unit_documents

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

    An object gets a label if enough of the assigned annotators drew it. Geometry and class follow :func:`add_units`:
    class by vote, boxes by median, shapes by medoid or by votes on every pixel. ``confidence`` is the share of the
    assigned annotators who drew the object times their mean IoU (for keypoints once for every point); None with a
    single vote. A sample without an object with enough votes gets an empty list.

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
        shapes: ``"medoid"`` or ``"vote"``; see :func:`add_units`
        overwrite: replace an existing consensus
        progress: as in :func:`compute_agreement`

    Returns:
        number of labels written, and numbers left out

    Raises:
        AgreementInputError: if there is no such completed run on objects, the field is not free, or an option is not
            usable
    """
    labels = open_run_labels(dataset_of(dataset), run_key)
    check_can_derive(labels, names.CONSENSUS_SUFFIX, "resolve_units", overwrite=overwrite)
    quorum = _checked_quorum(quorum)
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


def _checked_quorum(quorum: Any) -> float | Literal["majority"]:
    if isinstance(quorum, str) and quorum == "majority":
        return "majority"
    if not is_real(quorum) or not 0 < quorum <= 1:
        raise AgreementInputError(f'`quorum` must be "majority" or a share of the annotators in (0, 1], got {quorum!r}')
    return float(quorum)

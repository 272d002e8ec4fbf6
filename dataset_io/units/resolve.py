"""Write the consensus of the annotators: one label for every object with enough votes."""

from __future__ import annotations

import numbers
from typing import Any

from fiftyone.core.collections import SampleCollection

from ... import names
from ...agreement.errors import AgreementInputError
from ...metrics.consensus import consensus_score, quorum_votes
from ..record.run import dataset_of
from ..record.run_labels import open_run_labels
from ..run.batches import Progress
from .consensus_geometry import Shapes
from .derived_fields import DerivedField, DerivedLabels, check_can_derive, derive_labels
from .unit_members import UnitMembers
from .units_field import open_units, unit_documents


def resolve_units(
    dataset: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    quorum: float = 0.5,
    shapes: Shapes = "medoid",
    overwrite: bool = False,
    progress: Progress = None,
) -> DerivedLabels:
    """Write the consensus of the annotators into ``<key>_consensus``, on frames into ``frames.<key>_consensus``.

    An object gets a label if at least a quorum of the assigned annotators drew it. Geometry and class follow
    :func:`add_units`: class by vote, boxes by median, shapes by medoid or by votes on every pixel. If several classes
    tie, the label has no class, and ``tie`` is true. ``score`` is the share of the assigned annotators who drew the
    object times their mean IoU; None with a single vote. A sample without an object with enough votes gets an empty
    list.

    The annotators' own labels do not change. Deleting the run deletes the consensus; to keep it, clone the field:
    ``dataset.clone_sample_field("agreement_consensus", "ground_truth")``.

    Args:
        dataset: the dataset, or a view of it; the consensus of all samples of the run is written
        run_key: key of the run
        quorum: share of the assigned annotators, in (0, 1], rounded up: half of 3 is 2, half of 4 is 2
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
    _check_quorum(quorum)
    family, maker = open_units(labels, shapes)

    def documents(members: UnitMembers) -> tuple[list[dict[str, Any] | None], list[bool]]:
        made = unit_documents(members, maker, family, labels.annotators)
        votes, assigned = members.votes, members.assigned
        for document, score in zip(made, consensus_score(votes, assigned, members.mean_iou).tolist(), strict=True):
            if document is not None:
                document["score"] = score if score == score else None  # nan is not equal to itself
        return made, (votes >= quorum_votes(assigned, quorum)).tolist()

    made = DerivedField(
        names.CONSENSUS_SUFFIX,
        maker.stored,
        f"Consensus of the annotators: objects with the votes of at least {quorum:g} of those assigned",
        names.CONSENSUS_ATTRIBUTES,
        documents,
        {"quorum": float(quorum), "shapes": shapes},
    )
    return derive_labels(labels, family, made, progress)


def _check_quorum(quorum: Any) -> None:
    if isinstance(quorum, bool) or not isinstance(quorum, numbers.Real) or not 0.0 < float(quorum) <= 1.0:
        raise AgreementInputError(f"`quorum` must be a share of the annotators in (0, 1], got {quorum!r}")

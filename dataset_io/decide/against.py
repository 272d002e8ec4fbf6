"""Adjudication report of a run: coverage, accuracy of every annotator, and overruled labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fiftyone as fo
import numpy as np
from bson import ObjectId
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ... import names
from ...agreement.disputes.costs import SoughtUnits
from ...agreement.disputes.judged import (
    NO_MAJORITY,
    NOTHING,
    DecisionReport,
    Judged,
    annotators_decided,
    decided_by_rule,
)
from ...agreement.families.family import FAMILIES
from ...agreement.matching.verdicts import AGREED
from ...agreement.ratings.compute import agreeing
from ...agreement.settings.arguments import takes_arrays, text_of
from ...agreement.settings.errors import AgreementInputError
from ...agreement.settings.options import OPTIONS
from ...metrics.consensus.consensus import quorum_votes, vote_classes
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..families.ratings import is_comparable
from ..run.read import rare_collections
from ..units.changing import BATCH
from ..units.unit_labels import Stored
from .decidable import CHANGED, DECIDED, SKIPPED, Decidable
from .decide import ObjectsToDecide, open_decided
from .decision_log import BY_RULE, applied_changes
from .decision_units import NumberUnits

#: codes of what is right, and of anything else, where labels have no classes
_RIGHT, _OTHER = 1, 2
_COUNTS = ("n_decided", "n_disputed_decided", "n_by_rule", "n_applied", "n_skipped", "n_changed")
#: what the majority said of decided objects
_OF_MAJORITY = ("n_consensus_right", "n_consensus_wrong", "n_no_majority")


@takes_arrays
def report_decisions(
    samples: SampleCollection,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    gold: str = names.DEFAULT_GOLD_FIELD,
    resamples: int | None = None,
) -> DecisionReport:
    """Report on the decisions of a run: objects decided, accuracy of every annotator, and of the majority.

    An annotator's numbers are over the decided objects of samples that they were assigned to. Where only disputed
    objects were decided, they are about these. What a rule decided (``run.decisions.decide`` without ``objects``) is no
    evidence of who was right: it is in ``by_rule``, and in nobody's numbers.

    Args:
        samples: the dataset, or a view of its samples
        run_key: key of the run
        gold: the field of decisions
        resamples: number of resamples for the intervals; None for the number in the run, 0 for no intervals

    Raises:
        AgreementInputError: if there is no such completed run, or no such field
    """
    opened = open_decided(samples, run_key, gold, if_any=True)
    labels, loaded = opened.labels, opened.labels.run.records()
    kept = np.ones(len(loaded.index), np.bool_)
    if opened.among is not None:
        wanted = set(map(str, opened.among))
        kept = np.array([each in wanted for each in loaded.index.ids()], np.bool_)
    records = loaded.records.select(kept)
    counts = dict.fromkeys((*_COUNTS, *_OF_MAJORITY), 0)
    n_samples, judged = 0, list[Judged]()
    judged_by_rule: list[Judged] = []
    clusters: dict[ObjectId, int] = {}
    with rare_collections():
        for rows, cluster_ids in _decided(opened):
            cluster = np.array([clusters.setdefault(each, len(clusters)) for each in cluster_ids], np.int64)
            n_samples += len(cluster)
            disputed = rows.decided & (rows.objects.units.verdict > AGREED)
            left_out = (rows.states == SKIPPED, rows.states == CHANGED)
            is_applied = rows.applied.any(axis=1)
            found = (rows.decided, disputed, rows.by_rule, is_applied, *left_out, *rows.majority())
            for name, each in zip(counts, found, strict=True):
                counts[name] += int(each.sum())
            judged.append(rows.judged(cluster, rows.by_hand))
            judged_by_rule.append(rows.judged(cluster, rows.by_rule))
    config = labels.config
    majority_counts = {name: counts.pop(name) for name in _OF_MAJORITY}
    return DecisionReport(
        run_key=run_key,
        field=opened.gold.path,
        unit=opened.units.unit,
        n_objects=int(FAMILIES[records.family].units_to_decide(records).sum()),
        n_disputed=int(FAMILIES[records.family].costly_units(records, SoughtUnits()).n.sum()),
        n_samples=int(kept.sum()),
        n_samples_decided=n_samples,
        **counts,
        **(majority_counts if opened.units.has_consensus else dict.fromkeys(_OF_MAJORITY)),
        annotators=annotators_decided(
            _joined(judged),
            labels.annotators,
            opened.reader.codes.names() if opened.units.has_classes else [],
            resamples=config.resamples if resamples is None else OPTIONS["resamples"].checked(resamples),
            seed=config.seed,
        ),
        by_rule=decided_by_rule(_joined(judged_by_rule)),
    )


def _decided(opened: ObjectsToDecide) -> Iterator[tuple[_Rows, list[ObjectId]]]:
    """The objects of all samples with decisions, some at a time; and of every sample its group, video, or own id."""
    reader, ids = opened.reader, opened.gold.decided_ids()
    for start in range(0, len(ids), BATCH):
        for rows in reader.batched(reader.again(ids[start : start + BATCH])):
            objects = opened.of(rows)
            clusters = [each.group_id or each.video_id or each.sample_id for each in objects.units.samples]
            yield _Rows(opened, objects), clusters


class _Rows:
    """Decided objects as rows of annotators."""

    def __init__(self, opened: ObjectsToDecide, objects: Decidable) -> None:
        self.objects = objects
        self.states = states = np.array([objects.state(unit) for unit in range(objects.units.n_units)], np.int64)
        self.decided: BoolArray = states == DECIDED
        self._rows = np.flatnonzero(self.decided).tolist()
        self.by_rule: BoolArray = np.zeros(len(states), np.bool_)
        self.by_rule[self._rows] = [objects.found[unit][0][BY_RULE] for unit in self._rows]
        self.by_hand: BoolArray = self.decided & ~self.by_rule
        #: shape ``(U, R)``, whose labels were changed to what was decided, which say nothing of how right they were
        self.applied = np.zeros((len(states), len(opened.labels.annotators)), np.bool_)
        for unit in self._rows:
            changed = {each["annotator"] for decision in objects.found[unit] for each in applied_changes(decision)}
            self.applied[unit] = [name in changed for name in opened.labels.annotators] if changed else False
        self.right, self.given, self._said = _answers(opened, objects, self._rows)

    def majority(self) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Objects decided by hand whose majority is right, whose majority is wrong, and without one, each ``(U,)``."""
        said = self._said
        judged, is_none, is_right = self.by_hand & ~self.applied.any(axis=1), said == NO_MAJORITY, said == self.right
        return judged & ~is_none & is_right, judged & ~is_none & ~is_right, judged & is_none

    def judged(self, cluster: IntArray, chosen: BoolArray) -> Judged:
        """Outcomes of every assigned annotator on some of the decided objects."""
        units = self.objects.units
        assigned = units.asked[units.sample]
        given = np.full(assigned.shape, NOTHING)
        given[units.unit, units.annotator] = self.given
        unit, annotator = np.nonzero(assigned & chosen[:, None] & ~self.applied)
        return Judged(cluster[units.sample[unit]], annotator, self.right[unit], given[unit, annotator])


def _answers(
    opened: ObjectsToDecide, objects: Decidable, decided: Sequence[int]
) -> tuple[IntArray, IntArray, IntArray]:
    """Codes of what is right of decided objects ``(U,)``, of what every label says ``(N,)``, and the majority ``(U,)``.

    These are classes, or ``NOTHING`` where there is no object, or more than half gave it no label; the majority is that
    of the consensus, or ``NO_MAJORITY``. Where labels have no classes, one code stands for what is right, and another
    one for anything else: a number is right if it differs by the tolerance at most, a mask if its hash is that of the
    decided one.
    """
    family, units = opened.units, objects.units
    gold = {unit: label for unit in decided if (label := objects.gold_label(unit)) is not None}
    right = np.full(units.n_units, NOTHING)
    for unit, label in gold.items():
        right[unit] = family.code(label) if family.has_classes else _RIGHT
    voted = vote_classes(units.unit, units.category, units.n_units)
    is_nothing = units.assigned - units.votes >= quorum_votes(units.assigned, "majority")
    said = np.where(family.has_majority(units), voted.category, np.where(is_nothing, NOTHING, NO_MAJORITY))
    if family.has_classes:
        return right, units.category, said
    if isinstance(family, NumberUnits):
        number, tolerance = np.full(units.n_units, np.nan), family.config.tolerance
        for unit, label in gold.items():
            number[unit] = label["value"] if is_comparable(label.get("value")) else np.nan
        is_right = agreeing(np.array(units.values, np.float64), number[units.unit], tolerance)
        said = np.where(agreeing(family.medians(units), number, tolerance), _RIGHT, _OTHER)
    else:
        decisions = [(unit, objects.found[unit][0]) for unit in decided]
        hashed = {
            (unit, key): found == decision["gold_hash"]
            for unit, decision in decisions
            for key, found in zip(decision["labels"], decision["hashes"], strict=True)
        }
        every = enumerate(units.unit.tolist())
        is_right = np.array([hashed.get((unit, objects.member_key(row)), False) for row, unit in every], np.bool_)
    return right, np.where(is_right, _RIGHT, _OTHER), said


def _joined(parts: Sequence[Judged]) -> Judged:
    nothing = np.empty(0, np.int64)
    columns = zip(*((each.sample, each.annotator, each.right, each.given) for each in parts), strict=True)
    return Judged(*(map(np.concatenate, columns))) if parts else Judged(*(nothing,) * 4)


@dataclass(frozen=True, slots=True)
class Against:
    """Decision against an annotator on one object."""

    document_id: ObjectId  #: id of the sample, or frame
    given: str | None  #: class, or value, that they gave; None if they left it out
    right: str | None  #: class, or value, that is right; None if there is nothing
    key: str | None  #: what decisions call their label; None without one
    label_id: Any  #: id of their label; None without one
    gold: Stored | None  #: the right label
    decision: Stored


def errors_of(opened: ObjectsToDecide, annotator: str, *, made_by_rule: bool = False) -> list[Against]:
    """Decisions against an annotator, object by object: those of persons, or those of a rule.

    Raises:
        AgreementInputError: if this is no annotator of the run
    """
    opened.labels.check_annotators("annotator", [text_of("annotator", annotator)])
    units, number, found = opened.units, opened.labels.annotators.index(annotator), list[Against]()
    for rows, _ in _decided(opened):
        objects, found_units = rows.objects, rows.objects.units
        assigned = found_units.asked[found_units.sample]
        row_of = {int(found_units.unit[row]): int(row) for row in np.flatnonzero(found_units.annotator == number)}
        chosen = rows.by_rule if made_by_rule else rows.by_hand
        for unit in np.flatnonzero(chosen & assigned[:, number]).tolist():
            row, label = row_of.get(unit), objects.gold_label(unit)
            if row is None and label is None:
                continue
            if row is not None and label is not None and rows.given[row] == rows.right[unit]:
                continue
            against = Against(
                document_id=found_units.samples[int(found_units.sample[unit])].sample_id,
                given=None if row is None else units.shown(found_units.values[row]),
                right=None if label is None else units.shown(units.value(label)),
                key=None if row is None else objects.member_key(row),
                label_id=None if row is None else found_units.labels[row].get("_id"),
                gold=label,
                decision=objects.found[unit][0],
            )
            found.append(against)
    return found


@takes_arrays
def decided_against(
    samples: SampleCollection,
    annotator: str,
    run_key: str = names.DEFAULT_RUN_KEY,
    *,
    gold: str = names.DEFAULT_GOLD_FIELD,
) -> DatasetView:
    """The samples on which somebody decided against an annotator, with what is right and what they drew.

    The view shows the labels of the annotator that are of no object or have another class than the object, and, in the
    field of decisions, the objects whose class they got wrong or which they did not draw. What a rule decided is not
    held against anybody.

    Args:
        samples: the dataset, or a view of its samples
        annotator: name of the annotator in the run
        run_key: key of the run
        gold: the field of decisions

    Raises:
        AgreementInputError: as ``run.decisions.report``; if this is no annotator of the run, or labels are on frames
    """
    opened = open_decided(samples, run_key, gold)
    labels = opened.labels
    if labels.on_frames:
        raise AgreementInputError(f"`run_key` must be a run on samples, got {run_key!r}, on frames")
    with rare_collections():
        found = errors_of(opened, annotator)
    theirs = {each.label_id for each in found if each.label_id is not None}
    right = {each.gold["_id"] for each in found if each.gold is not None}
    documents = {str(each.document_id) for each in found}
    field = labels.field_of(annotator)
    ordered = [
        str(row["_id"]) for row in opened.gold.collection.find({}, {"_id": True}) if str(row["_id"]) in documents
    ]
    view = samples.select(ordered)
    for name, kind, ids in ((field, labels.kind_of(annotator), theirs), (opened.gold.path, opened.kind, right)):
        if kind.is_label:  # plain values have no ids
            view = view.filter_labels(name, fo.ViewField("_id").is_in(sorted(ids, key=str)), only_matches=False)
    others = [name for name in labels.config.fields if name != field]
    return view.exclude_fields(others) if others else view

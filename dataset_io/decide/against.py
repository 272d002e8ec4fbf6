"""Adjudication report of a run: coverage, accuracy of every annotator, and overruled labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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
from ..database.fiftyone_private import all_slices
from ..families.ratings import is_comparable
from ..run.read import rare_collections
from ..units.changing import BATCH
from ..units.unit_labels import Stored
from .decide import open_decided
from .decision_log import BY_RULE, applied_changes, label_key
from .decision_units import CHANGED, DECIDED, SKIPPED, Decidable, NumbersToDecide, ObjectsToDecide

#: codes of the right answer and of every other one, where labels have no classes
_RIGHT, _OTHER = 1, 2
_COUNTS = ("n_decided", "n_disputed_decided", "n_by_rule", "n_applied", "n_skipped", "n_changed", "n_undrawn")
#: counts of decided objects by whether the majority was right
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

    An annotator's numbers count the decided objects of samples that the annotator was assigned to; if only disputed
    objects were decided, they hold for disputed objects. An object that no annotator drew, but whoever decided, was
    missed by all of them. A decision by a rule (``run.decisions.decide`` without
    ``objects``) is no evidence of who was right: it counts in ``by_rule``, not in the numbers of annotators.

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
    counts, n_samples, clusters = Counter[str](), 0, dict[ObjectId, int]()
    by_hand, by_rule = ([(np.empty(0, np.int64),) * 4] for _ in range(2))
    with rare_collections():
        for found in _answers(opened):
            units, n = found.objects.units, found.objects.units.n_units
            of = [each.group_id or each.video_id or each.sample_id for each in units.samples]
            cluster = np.array([clusters.setdefault(each, len(clusters)) for each in of], np.int64)
            states, is_applied = found.states, found.applied[:n].any(axis=1)
            only_skipped = np.setdiff1d(units.sample[states == SKIPPED], units.sample[states > SKIPPED])
            n_samples += len(cluster) - len(only_skipped)
            is_none, is_right = found.said == NO_MAJORITY, found.said == found.right[:n]
            judged = found.by_hand[:n] & ~is_applied & (units.assigned >= 2)  # one alone is no majority
            masks = {
                "n_decided": states == DECIDED,
                "n_disputed_decided": (states == DECIDED) & (units.verdict > AGREED),
                "n_by_rule": found.by_rule,
                "n_applied": is_applied,
                "n_skipped": states == SKIPPED,
                "n_changed": states == CHANGED,
                "n_consensus_right": judged & ~is_none & is_right,
                "n_consensus_wrong": judged & ~is_none & ~is_right,
                "n_no_majority": judged & is_none,
            }
            counts.update({name: int(each.sum()) for name, each in masks.items()})
            counts.update(n_undrawn=len(found.gold) - n, n_changed=found.n_drawn_since)
            by_hand.append(found.judged(cluster, found.by_hand))
            by_rule.append(found.judged(cluster, found.by_rule))
    config, family = labels.config, FAMILIES[records.family]
    of_majority: dict[str, Any] = {name: counts[name] if opened.has_consensus else None for name in _OF_MAJORITY}
    return DecisionReport(
        run_key=run_key,
        field=opened.gold.path,
        unit=opened.unit,
        n_objects=int(family.units_to_decide(records).sum()),
        n_disputed=int(family.costly_units(records, SoughtUnits()).n.sum()),
        n_samples=int(kept.sum()),
        n_samples_decided=n_samples,
        **{name: counts[name] for name in _COUNTS},
        **of_majority,
        annotators=annotators_decided(
            Judged(*map(np.concatenate, zip(*by_hand, strict=True))),
            labels.annotators,
            opened.reader.codes.names() if opened.has_classes else [],
            resamples=config.resamples if resamples is None else OPTIONS["resamples"].checked(resamples),
            seed=config.seed,
        ),
        by_rule=decided_by_rule(Judged(*map(np.concatenate, zip(*by_rule, strict=True)))),
    )


def _answers(opened: ObjectsToDecide) -> Iterator[_Answers]:
    """The answers on the objects of all samples with decisions, in batches."""
    reader, ids = opened.reader, opened.gold.decided_ids()
    for start in range(0, len(ids), BATCH):
        for rows in reader.batched(reader.again(ids[start : start + BATCH])):
            yield _Answers(Decidable(opened, rows))


class _Answers:
    """Answers on ``V`` objects of some samples: the ``U`` of the run, then those that only whoever decided drew.

    The ``right`` answer on each object ``(V,)``, the majority's on those of the run, ``said`` ``(U,)``, and that of
    each label, ``given`` ``(N,)``, are codes of classes; or ``NOTHING``: there is no object, or more than half of the
    assigned annotators gave no label. ``said`` is the class of the consensus, or ``NO_MAJORITY``. Where labels have no
    classes, one code stands for the right answer, one for any other: a number is right if it differs by the tolerance
    at most, a mask if its hash is that of the decided one. Labels changed by applying the decision, ``applied``
    ``(V, R)``, are no evidence of who was right, and are not judged.
    """

    def __init__(self, objects: Decidable) -> None:
        self.objects, opened, units, n = objects, objects.opened, objects.units, objects.units.n_units
        self.states = np.array([objects.state(unit) for unit in range(n)], np.int64)
        decided: list[tuple[int, Stored | None, Stored | None]] = [  # sample, decision and its label
            (sample, objects.found[unit][0], objects.gold_label(unit)) if state == DECIDED else (sample, None, None)
            for unit, (sample, state) in enumerate(zip(units.sample.tolist(), self.states.tolist(), strict=True))
        ]
        self.n_drawn_since = 0  #: objects that only whoever decided drew, and an annotator since
        for sample, log in enumerate(objects.logs if opened.has_votes else ()):
            drawn = [
                (sample, decision, label)
                for decision in log.decisions
                if (label := objects.gold[sample].get(decision["gold_id"])) is not None
                and decision["labels"] == [label_key(opened.gold.name, label["_id"], opened.kind)]
                and not applied_changes(decision)
            ]
            undecided = [unit for unit in objects.of_sample[sample] if not objects.found[unit]] if drawn else []
            now = opened.drawn(units, undecided, [label for *_, label in drawn])
            decided += [each for each, unit in zip(drawn, now, strict=True) if unit is None]
            self.n_drawn_since += sum(unit is not None for unit in now)
        self.sample = np.array([sample for sample, _, _ in decided], np.int64)
        self.decisions, self.gold = [each for _, each, _ in decided], [label for *_, label in decided]
        self.by_rule = np.array([each is not None and each[BY_RULE] for each in self.decisions], np.bool_)
        self.by_hand = np.array([each is not None and not each[BY_RULE] for each in self.decisions], np.bool_)
        self.applied = np.zeros((len(decided), len(opened.labels.annotators)), np.bool_)
        self.right, number = np.full(len(decided), NOTHING), np.full(n, np.nan)
        for unit, (_, decision, label) in enumerate(decided):
            changed = {each["annotator"] for each in applied_changes(decision or {})}
            self.applied[unit] = [name in changed for name in opened.labels.annotators] if changed else False
            if label is not None:
                self.right[unit] = opened.code(label) if opened.has_classes else _RIGHT
                if is_comparable(label.get("value")):
                    number[unit] = label["value"]
        voted = vote_classes(units.unit, units.category, n)
        is_nothing = units.assigned - units.votes >= quorum_votes(units.assigned, "majority")
        no_majority = np.where(is_nothing, NOTHING, NO_MAJORITY)
        self.said, self.given = np.where(opened.has_majority(units), voted.category, no_majority), units.category
        if isinstance(opened, NumbersToDecide):
            given, tolerance = np.array(units.values, np.float64), opened.config.tolerance
            self.given = np.where(agreeing(given, number[units.unit], tolerance), _RIGHT, _OTHER)
            self.said = np.where(agreeing(opened.medians(units), number, tolerance), _RIGHT, _OTHER)
        elif not opened.has_classes:
            same = {
                (unit, key)
                for unit, decision in enumerate(self.decisions)
                if decision is not None
                for key, found in zip(decision["labels"], decision["hashes"], strict=True)
                if found == decision["gold_hash"]
            }
            of_labels = zip(units.unit.tolist(), objects.keys, strict=True)
            self.given = np.array([_RIGHT if each in same else _OTHER for each in of_labels], np.int64)

    def judged(self, cluster: IntArray, chosen: BoolArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The columns of :class:`Judged` on objects in a mask ``(V,)``; ``cluster``: resampled unit by sample."""
        units, assigned = self.objects.units, self.objects.units.asked[self.sample]
        given = np.full(assigned.shape, NOTHING)
        given[units.unit, units.annotator] = self.given
        unit, annotator = np.nonzero(assigned & chosen[:, None] & ~self.applied)
        return cluster[self.sample[unit]], annotator, self.right[unit], given[unit, annotator]


@dataclass(frozen=True, slots=True)
class Against:
    """Decision against an annotator on one object."""

    document_id: ObjectId  #: id of the sample, or frame
    given: str | None  #: class or value that the annotator gave; None without a label
    right: str | None  #: class or value that is right; None if there is no object
    key: str | None  #: name of the annotator's label in decisions; None without a label
    label_id: Any  #: id of the annotator's label; None without one
    gold: Stored | None  #: the label in the field of decisions; None if there is no object
    decision: Stored


def errors_of(opened: ObjectsToDecide, annotator: str, *, made_by_rule: bool = False) -> list[Against]:
    """Decisions against an annotator, one for each object: those of people or, with ``made_by_rule``, those of rules.

    Raises:
        AgreementInputError: if this is no annotator of the run
    """
    opened.labels.check_annotators("annotator", [text_of("annotator", annotator)])
    number, found = opened.labels.annotators.index(annotator), list[Against]()
    for answers in _answers(opened):
        objects, units = answers.objects, answers.objects.units
        row_of = {int(units.unit[row]): int(row) for row in np.flatnonzero(units.annotator == number)}
        chosen = answers.by_rule if made_by_rule else answers.by_hand
        for unit in np.flatnonzero(chosen & units.asked[answers.sample, number]).tolist():
            row, label, decision = row_of.get(unit), answers.gold[unit], answers.decisions[unit]
            if row is None if label is None else row is not None and answers.given[row] == answers.right[unit]:
                continue
            against = Against(
                document_id=units.samples[int(answers.sample[unit])].sample_id,
                given=None if row is None else opened.shown(units.values[row]),
                right=None if label is None else opened.shown(label.get(opened.said)),
                key=None if row is None else objects.keys[row],
                label_id=None if row is None else units.labels[row].get("_id"),
                gold=label,
                decision=decision or {},
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
    """The samples on which somebody decided against an annotator, with the right labels and those of the annotator.

    The view shows the annotator's labels whose class is wrong, or of which it was decided that there is no object, and,
    in the field of decisions, the labels of objects whose class the annotator got wrong, or which the annotator did not
    draw. Decisions by a rule do not count.

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
    view = all_slices(samples).select(ordered)
    for name, kind, ids in ((field, labels.kind_of(annotator), theirs), (opened.gold.path, opened.kind, right)):
        if kind.is_label:  # plain values have no ids
            view = view.filter_labels(name, fo.ViewField("_id").is_in(sorted(ids, key=str)), only_matches=False)
    others = [name for name in labels.config.fields if name != field]
    return view.exclude_fields(others) if others else view

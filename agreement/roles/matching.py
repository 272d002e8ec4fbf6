"""Match the objects of a role (a reference, a model) with those of every annotator, and those of every two annotators.

Two who were asked on the same image meet there: a role and an annotator, or two annotators, one of whom is left out and
takes the place of a model. Every meeting is matched alone, as an image of two annotators.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.objects import Geometry, Objects
from ...metrics.geometry.regions import joined
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, concatenated, ranges
from ..matching.batch import Batch
from ..matching.compute import MatchedBatch, in_crowd, matched_pairs, matching_of
from ..matching.tables import SamplePairs
from ..settings.config import AgreementConfig
from ..statistics.records import Columns, compact, packed

#: least similarity of a label that was drawn loosely: below it two labels share too little to mean one object
LOOSE = 0.1
#: kinds of pairs: matched with equal classes, or with others, and overlapping below the threshold; a label of the
#: annotator in a crowd region of the role; one of an object that nobody decided, where the role holds decisions
RIGHT, WRONG_CLASS, LOOSELY, COVERED, UNDECIDED = range(5)


@dataclass(frozen=True, slots=True)
class RolePairs:
    """``P`` labels of one role, and what annotators drew for them; rows are those of all labels, also of roles."""

    label: IntArray  #: shape ``(P,)``, row of the label of the role; -1 for ``COVERED`` and ``UNDECIDED``
    drawn: IntArray  #: shape ``(P,)``, row of the label of the annotator
    kind: IntArray  #: shape ``(P,)``
    iou: FloatArray  #: shape ``(P,)``, nan from ``COVERED`` on


@dataclass(frozen=True, slots=True)
class Everyone:
    """The ``N`` objects of annotators, and behind them those of a role as of one more annotator."""

    sample: IntArray
    who: IntArray
    category: IntArray
    geometry: Geometry
    assigned: BoolArray  #: shape ``(S, R)``


@dataclass(frozen=True, slots=True)
class Meetings:
    """Two who were asked on the same sample, as samples of two annotators."""

    batch: Batch
    row: IntArray  #: shape ``(N',)``, row of every object of the batch among all objects
    sample: IntArray  #: shape ``(V,)``, sample of every meeting

    @classmethod
    def of(cls, everyone: Everyone, chosen: BoolArray, sample: IntArray, a: IntArray, b: IntArray) -> Meetings:
        """Some objects ``(N,)`` of ``a`` and of ``b`` on samples; shapes ``(V,)``."""
        n_samples, n = everyone.assigned.shape
        key = everyone.sample * n + everyone.who
        order = np.argsort(key, kind="stable")
        order = order[chosen[order]]
        counts = np.bincount(key[order], minlength=n_samples * n)
        cell = np.column_stack([sample * n + a, sample * n + b]).ravel()
        row = order[ranges((np.cumsum(counts) - counts)[cell], counts[cell])]
        place = np.repeat(np.arange(len(cell)), counts[cell])
        two = Objects(place // 2, place % 2, everyone.category[row])
        return cls(Batch(two, everyone.geometry.take(row), np.ones((len(sample), 2), np.bool_)), row, sample)

    @classmethod
    def with_role(cls, everyone: Everyone, chosen: BoolArray) -> Meetings:
        """The last annotator, a role, and every other one."""
        n = everyone.assigned.shape[1] - 1
        sample, annotator = np.nonzero(everyone.assigned[:, :n] & everyone.assigned[:, n:])
        return cls.of(everyone, chosen, sample, np.full(len(sample), n), annotator)

    def matched(self, config: AgreementConfig) -> RolePairs:
        """Match every meeting by the method ``optimal``, and what remains once more at the similarity ``LOOSE``."""
        config, batch, objects = optimal(config), self.batch, self.batch.objects
        overlaps = batch.geometry.overlaps(objects)
        pairs = matched_pairs(objects, batch.geometry, overlaps, matching_of(objects, overlaps, config))
        found = [(pairs.i, pairs.j, np.where(pairs.same_class, RIGHT, WRONG_CLASS), pairs.iou)]
        alone = np.ones(len(objects), np.bool_)
        alone[pairs.i] = alone[pairs.j] = False
        if config.iou > LOOSE and alone.any():
            place, left, of_left = np.flatnonzero(alone), batch.among(alone), overlaps.among(alone)
            again = matching_of(left.objects, of_left, config, LOOSE)
            loose = matched_pairs(left.objects, left.geometry, of_left, again)
            found.append((place[loose.i], place[loose.j], np.full(len(loose.i), LOOSELY), loose.iou))
        i, j, kind, iou = (np.concatenate(column) for column in zip(*found, strict=True))
        return RolePairs(self.row[i], self.row[j], kind, iou)


def optimal(config: AgreementConfig) -> AgreementConfig:
    """The options of the matching of a role."""
    return dataclasses.replace(config, method="optimal")


def with_role(read: Batch, counted: BoolArray, role: Batch, codes: IntArray) -> tuple[Everyone, BoolArray, BoolArray]:
    """The objects of annotators, and behind them those of a role as of one more annotator.

    Args:
        read: the objects of annotators, with crowd regions
        counted: shape ``(N,)``, those that count
        role: the objects of the role on the same samples
        codes: for every class of roles the code of the annotators' classes

    Returns:
        all objects ``(N + M,)``; those to be matched; and the objects of annotators that are not, as they lie mostly
        within a crowd region of the role
    """
    own, theirs, n = role.objects, read.objects, read.assigned.shape[1]
    everyone = Everyone(
        np.r_[theirs.sample, own.sample],
        np.r_[theirs.annotator, np.full(len(own), n)],
        np.r_[theirs.category, codes[own.category]],
        joined([read.geometry, role.geometry]),
        np.column_stack([read.assigned, role.assigned]),
    )
    crowd = np.concatenate(
        [np.zeros(len(each.objects), np.bool_) if each.crowd is None else each.crowd for each in (read, role)]
    )
    inside = np.zeros(len(crowd), np.bool_)
    if crowd.any():
        cells = Meetings.with_role(everyone, np.ones_like(crowd))
        objects = cells.batch.objects
        inside[cells.row[in_crowd(objects, crowd[cells.row], cells.batch.geometry.overlaps(objects))]] = True
    of_annotators, left = np.r_[counted, np.zeros(len(own), np.bool_)], np.r_[counted, ~crowd[len(theirs) :]]
    return everyone, left & ~inside, inside & of_annotators


def match_role(
    agreement: MatchedBatch,
    read: Batch,
    role: Batch,
    codes: IntArray,
    config: AgreementConfig,
    undecided: BoolArray | None = None,
) -> tuple[BoolArray, RolePairs]:
    """Match the objects of a role with those of every annotator.

    Args:
        agreement: the agreement of the annotators
        read, role, codes: as of :func:`with_role`
        config: the options
        undecided: shape ``(N,)``, labels of annotators of which the decisions in the role say nothing; None: it holds
            no decisions

    Returns:
        which objects of the role count, none of them in a crowd region of an annotator; and their pairs with those of
        annotators that count: rows among these, then among those of the role that count
    """
    everyone, chosen, covered = with_role(read, agreement.counted, role, codes)
    n, pairs = len(read.objects), Meetings.with_role(everyone, chosen).matched(config)
    alone = np.full(len(chosen), -1)
    alone[covered] = COVERED
    if undecided is not None:
        alone[:n][undecided & chosen[:n] & role.assigned[read.objects.sample, 0]] = UNDECIDED
        alone[pairs.drawn[pairs.kind <= WRONG_CLASS]] = -1
    kept, rows = alone[pairs.drawn] < 0, np.flatnonzero(alone >= 0)
    # numbers of the objects that count; behind the last one that of none
    number = np.append(np.cumsum(np.r_[agreement.counted, chosen[n:]]) - 1, -1)
    return chosen[n:], RolePairs(
        number[np.r_[pairs.label[kept], np.full(len(rows), -1)]],
        number[np.r_[pairs.drawn[kept], rows]],
        np.r_[pairs.kind[kept], alone[rows]],
        np.r_[pairs.iou[kept], np.full(len(rows), np.nan)],
    )


def match_annotators(drawn: Batch, config: AgreementConfig) -> RolePairs:
    """Match the objects of every two annotators.

    Units of three and more annotators would not do as a standard for a role: who is matched alone finds more.
    """
    objects, pairs = drawn.objects, SamplePairs.of(drawn.objects, drawn.assigned)
    everyone = Everyone(objects.sample, objects.annotator, objects.category, drawn.geometry, drawn.assigned)
    found = Meetings.of(everyone, np.ones(len(objects), np.bool_), pairs.sample, pairs.a, pairs.b).matched(config)
    kept = found.kind <= WRONG_CLASS
    return RolePairs(found.label[kept], found.drawn[kept], found.kind[kept], found.iou[kept])


# ---- stored ----


@dataclass(frozen=True, slots=True)
class RoleLabels:
    """The ``M`` labels of one role on a batch of samples, sorted by sample."""

    present: BoolArray  #: shape ``(S,)``, samples with a label list of the role
    sample: IntArray  #: shape ``(M,)``
    category: NDArray[np.float64 | np.int64]  #: shape ``(M,)``, codes of the classes of roles, or numbers
    label_ids: NDArray[np.uint8] | None  #: shape ``(M, 12)``; None where labels have none
    more: Columns = dataclasses.field(default_factory=dict)  #: other columns, by name


def role_columns(roles: Sequence[RoleLabels]) -> Columns:
    """The labels of all roles as columns of records, sorted by sample."""
    sample = np.concatenate([each.sample for each in roles])
    order = np.argsort(sample, kind="stable")
    number = np.repeat(np.arange(len(roles)), [len(each.sample) for each in roles])
    category = np.concatenate([each.category for each in roles])[order]
    columns: Columns = {
        "role_present": packed(np.column_stack([each.present for each in roles])),
        "n_role_labels": compact(np.bincount(sample, minlength=len(roles[0].present))),
        "role": compact(number[order]),
        "role_category": category if category.dtype.kind == "f" else compact(category),
    }
    if any(each.label_ids is not None for each in roles):
        none = np.zeros((len(sample), 12), np.uint8)
        ids = [none[: len(each.sample)] if each.label_ids is None else each.label_ids for each in roles]
        columns["role_label_id"] = np.concatenate(ids)[order]
    for name in set.intersection(*(set(each.more) for each in roles)):
        columns[f"role_{name}"] = np.concatenate([each.more[name] for each in roles])[order]
    return columns


def role_pair_columns(
    roles: Sequence[RoleLabels], pairs: Sequence[RolePairs], of_annotators: RolePairs | None, objects: Objects, n: int
) -> Columns:
    """The pairs of all roles, and of annotators, as columns of records.

    A label is stored as its place on its sample: first the objects of annotators, then the labels of roles.

    Args:
        pairs: of every role
        of_annotators: of every two annotators; None where nobody asks for them
        objects: those of the annotators, that count
        n: number of annotators
    """
    n_samples, n_labels = len(roles[0].present), [len(each.sample) for each in roles]
    sample = np.concatenate([objects.sample, *(each.sample for each in roles)])
    of_role = np.arange(len(sample)) >= len(objects)
    place, counts = np.full(len(sample) + 1, -1), np.bincount(sample, minlength=n_samples)
    place[np.lexsort((of_role, sample))] = np.arange(len(sample)) - np.repeat(np.cumsum(counts) - counts, counts)
    labels = [np.where(own.label < 0, -1, own.label + start)
              for own, start in zip(pairs, np.cumsum([0, *n_labels]), strict=False)]  # fmt: skip
    parties = [np.full(len(own.label), n + k) for k, own in enumerate(pairs)]
    if of_annotators is not None:
        labels, parties = [*labels, of_annotators.label], [*parties, objects.annotator[of_annotators.label]]
        pairs = [*pairs, of_annotators]
    label, party = np.concatenate(labels), np.concatenate(parties)
    drawn, kind, iou = concatenated(pairs, "drawn", "kind", "iou").values()
    by_sample = np.lexsort((drawn, label, party, sample[drawn]))
    return {
        "n_role_pairs": compact(np.bincount(sample[drawn], minlength=n_samples)),
        "pair_party": compact(party[by_sample]),
        "pair_label": compact(place[label[by_sample]]),
        "pair_drawn": compact(place[drawn[by_sample]]),
        "pair_kind": kind[by_sample].astype(np.uint8),
        "pair_iou": iou[by_sample],
    }

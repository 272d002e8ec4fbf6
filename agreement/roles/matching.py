"""Match the objects of a role (reference or model) with each annotator's; matches as columns of the records."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.objects import Objects
from ...metrics.geometry.regions import joined
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by
from ..matching.batch import Batch, SamplePairs
from ..matching.compute import MatchedBatch, in_crowd, matched_pairs, matching_of
from ..objects.attributes import Values
from ..settings.config import AgreementConfig
from ..statistics.codes import NOT_GIVEN
from ..statistics.records import Columns, Records, compact, packed, unpacked

#: least similarity of a label that was drawn loosely: below it two labels share too little to mean one object
LOOSE = 0.1
#: kinds of pairs: matched with equal classes, or with others, and overlapping below the threshold; a label of the
#: annotator in a crowd region of the role; one of an object that nobody decided, where the role holds decisions
RIGHT, WRONG_CLASS, LOOSELY, COVERED, UNDECIDED = range(5)


#: what the reference says of the labels of such pairs, and of labels without one
SAID = {RIGHT: "right", WRONG_CLASS: "wrong_class", LOOSELY: "loose"}
#: where the classes are equal, but an attribute differs that both have
WRONG_ATTRIBUTE = "wrong_attribute"
EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class RolePairs:
    """Matches of ``P`` labels of one role and labels of annotators."""

    label: IntArray  #: shape ``(P,)``, row of the label of the role; -1 for ``COVERED`` and ``UNDECIDED``
    drawn: IntArray  #: shape ``(P,)``, row of the label of the annotator
    annotator: IntArray  #: shape ``(P,)``
    kind: IntArray  #: shape ``(P,)``
    iou: FloatArray  #: shape ``(P,)``, nan from ``COVERED`` on

    def without_undecided(self, undecided: BoolArray, annotator: IntArray) -> RolePairs:
        """The pairs, with labels of annotators that nobody decided in none, unless the role has them too.

        Args:
            undecided: shape ``(N,)``, labels of annotators
            annotator: shape ``(N,)``
        """
        left_out = undecided.copy()
        left_out[self.drawn[self.kind <= WRONG_CLASS]] = False
        kept, rows = ~np.append(left_out, False)[self.drawn], np.flatnonzero(left_out)
        n = len(rows)
        return RolePairs(
            np.r_[self.label[kept], np.full(n, -1)],
            np.r_[self.drawn[kept], rows],
            np.r_[self.annotator[kept], annotator[rows]],
            np.r_[self.kind[kept], np.full(n, UNDECIDED)],
            np.r_[self.iou[kept], np.full(n, np.nan)],
        )


@dataclass(frozen=True, slots=True)
class Cells:
    """The pairs of a role and an annotator on every sample that both were assigned to, as samples of two annotators."""

    batch: Batch
    row: IntArray  #: shape ``(N,)``, row of every object of the batch among the objects of its side
    sample: IntArray  #: shape ``(V,)``, sample of every cell
    annotator: IntArray  #: shape ``(V,)``, its annotator

    @classmethod
    def of(cls, drawn: Batch, role: Batch) -> Cells:
        """All cells; the first side is the role."""
        both: BoolArray = drawn.assigned & role.assigned
        cell = (np.cumsum(both) - 1).reshape(both.shape)
        n_cells, asked = int(both.sum()), both.sum(axis=1)
        counts = asked[role.objects.sample]
        repeated = np.repeat(np.arange(len(role.objects)), counts)
        of_role = ranges((np.cumsum(asked) - asked)[role.objects.sample], counts)
        rows = np.flatnonzero(both[drawn.objects.sample, drawn.objects.annotator])
        of_drawn = cell[drawn.objects.sample[rows], drawn.objects.annotator[rows]]
        side = np.repeat([0, 1], [len(repeated), len(rows)])
        order = np.lexsort((side, np.r_[of_role, of_drawn]))
        taken = np.r_[repeated, len(role.objects) + rows][order]
        category = np.r_[role.objects.category, drawn.objects.category][taken]
        batch = Batch(
            Objects(np.r_[of_role, of_drawn][order], side[order], category),
            joined([role.geometry, drawn.geometry]).take(taken),
            np.ones((n_cells, 2), np.bool_),
        )
        return cls(batch, np.r_[repeated, rows][order], *np.nonzero(both))

    @classmethod
    def of_annotators(cls, drawn: Batch) -> Cells:
        """The cells of all pairs of annotators, numbered as in :class:`SamplePairs`."""
        objects, pairs = drawn.objects, SamplePairs.of(drawn.objects, drawn.assigned)
        asked = drawn.assigned.sum(axis=1)
        counts = asked[objects.sample]
        row = np.repeat(np.arange(len(objects)), counts)
        other = np.nonzero(drawn.assigned)[1][ranges((np.cumsum(asked) - asked)[objects.sample], counts)]
        different = other != objects.annotator[row]
        row, other = row[different], other[different]
        own = objects.annotator[row]
        cell = pairs.row(objects.sample[row], np.minimum(own, other), np.maximum(own, other))
        order = np.lexsort((own > other, cell))
        row, side = row[order], (own > other)[order].astype(np.int64)
        batch = Batch(
            Objects(cell[order], side, objects.category[row]),
            drawn.geometry.take(row),
            np.ones((len(pairs.sample), 2), np.bool_),
        )
        return cls(batch, row, pairs.sample, np.arange(len(pairs.sample)))


def optimal(config: AgreementConfig) -> AgreementConfig:
    """The options of the matching of a role."""
    return dataclasses.replace(config, method="optimal")


def in_codes(role: Batch, codes: IntArray) -> Batch:
    """The objects of a role with the codes of the annotators' classes, from the code there of every class of roles."""
    objects = role.objects
    category = np.append(codes, 0)[objects.category]
    return Batch(Objects(objects.sample, objects.annotator, category), role.geometry, role.assigned, role.crowd)


def match_annotators(drawn: Batch, config: AgreementConfig) -> RolePairs:
    """Match the objects of every two annotators, as :func:`match_role` does those of a role with each annotator.

    Units of three and more annotators would not do as a standard for a role: who is matched alone finds more.

    Returns:
        pairs of a label of the first annotator and one of the second; ``annotator`` has the number of their pair on
        their sample (:class:`SamplePairs`)
    """
    return _match(Cells.of_annotators(drawn), config)


def match_role(drawn: Batch, role: Batch, config: AgreementConfig) -> RolePairs:
    """Match the objects of a role with those of every annotator, of each alone.

    For every annotator that is the matching of a run of two annotators by the method ``optimal``. What remains is
    matched once more at the similarity ``LOOSE``.

    Args:
        drawn: the objects of the annotators that count
        role: those of the role on the same samples, whose classes have the codes of the annotators' classes
        config: the options of the run
    """
    return _match(Cells.of(drawn, role), config)


def _match(cells: Cells, config: AgreementConfig) -> RolePairs:
    config = optimal(config)
    batch, row, objects = cells.batch, cells.row, cells.batch.objects
    overlaps = batch.geometry.overlaps(objects)
    pairs = matched_pairs(objects, batch.geometry, overlaps, matching_of(objects, overlaps, config))
    found = [(pairs.i, pairs.j, np.where(pairs.same_class, RIGHT, WRONG_CLASS), pairs.iou)]
    alone = np.ones(len(objects), np.bool_)
    alone[pairs.i] = alone[pairs.j] = False
    if config.iou > LOOSE and alone.any():
        place, left = np.flatnonzero(alone), batch.among(alone)
        of_left = overlaps.among(alone)
        again = matched_pairs(left.objects, left.geometry, of_left, matching_of(left.objects, of_left, config, LOOSE))
        found.append((place[again.i], place[again.j], np.full(len(again.i), LOOSELY), again.iou))
    i, j, kind, iou = (np.concatenate(column) for column in zip(*found, strict=True))
    return RolePairs(row[i], row[j], cells.annotator[objects.sample[i]], kind, iou)


def role_without_crowd(drawn: Batch, role: Batch) -> BoolArray:
    """The objects of a role that count, shape ``(M,)``: no crowd regions, and none mostly within an annotator's.

    Args:
        drawn: the objects of the annotators as they were read, with crowd regions
        role: those of the role
    """
    counted = np.ones(len(role.objects), np.bool_) if role.crowd is None else ~role.crowd
    if drawn.crowd is not None and drawn.crowd.any():
        cells, inside = _inside(drawn.among(drawn.crowd), role, side=0)
        counted[cells.row[inside]] = False
    return counted


def covered_by(drawn: Batch, role: Batch) -> BoolArray:
    """The objects of annotators mostly within a crowd region of a role, shape ``(N,)``."""
    covered = np.zeros(len(drawn.objects), np.bool_)
    if role.crowd is not None and role.crowd.any():
        cells, inside = _inside(drawn, role.among(role.crowd), side=1)
        covered[cells.row[inside]] = True
    return covered


def _inside(drawn: Batch, role: Batch, side: int) -> tuple[Cells, BoolArray]:
    """The objects of one side mostly within those of the other, which are crowd regions."""
    cells = Cells.of(drawn, role)
    objects = cells.batch.objects
    own = objects.annotator == side
    return cells, own & in_crowd(objects, ~own, cells.batch.geometry.overlaps(objects))


@dataclass(frozen=True, slots=True)
class RoleLabels:
    """The ``M`` labels of one role on a batch of samples, sorted by sample."""

    present: BoolArray  #: shape ``(S,)``, samples with a label list of the role
    sample: IntArray  #: shape ``(M,)``
    category: IntArray  #: shape ``(M,)``, codes of the classes of roles
    area: FloatArray  #: shape ``(M,)``
    boxes_xyxy: FloatArray | None  #: shape ``(M, 4)``
    label_ids: NDArray[np.uint8]  #: shape ``(M, 12)``
    position: IntArray  #: shape ``(M,)``, index in the label list in the database
    confidence: FloatArray  #: shape ``(M,)``, nan without one
    attributes: IntArray  #: shape ``(M, A)``, codes of the values of every compared attribute


@dataclass(frozen=True, slots=True)
class MatchedRole:
    """The labels of one role, and their pairs with those of annotators."""

    labels: RoleLabels
    pairs: RolePairs
    differs: BoolArray  #: shape ``(P,)``, pairs of equal classes of which an attribute differs


def matched_role(
    agreement: MatchedBatch,
    read: Batch,
    role: Batch,
    codes: IntArray,
    label_ids: NDArray[np.uint8],
    position: IntArray,
    confidence: FloatArray,
    config: AgreementConfig,
    undecided: BoolArray | None = None,
) -> MatchedRole:
    """Match the objects of a role with those of every annotator.

    Args:
        agreement: the agreement of the annotators
        read: their objects as they were read, with crowd regions
        role: the objects of the role on the same samples
        codes: for every class of roles the code of the annotators' classes
        label_ids: shape ``(M, 12)``, id of every object of the role
        position: shape ``(M,)``, index of every object of the role in the label list in the database
        confidence: shape ``(M,)``
        config: the options
        undecided: shape ``(N,)``, labels of annotators of which the decisions in the role say nothing; None: it holds
            no decisions
    """
    kept, drawn, covered = role_without_crowd(read, role), agreement.batch, covered_by(agreement.batch, role)
    rows = np.flatnonzero(~covered)
    pairs = match_role(drawn.among(~covered), in_codes(role.among(kept), codes), config)
    pairs = dataclasses.replace(pairs, drawn=rows[pairs.drawn])
    if undecided is not None:
        there = role.assigned[drawn.objects.sample, 0]
        pairs = pairs.without_undecided(undecided[agreement.counted] & there & ~covered, drawn.objects.annotator)
    of_crowd = np.flatnonzero(covered)
    n = len(of_crowd)
    found = RolePairs(
        np.r_[pairs.label, np.full(n, -1)],
        np.r_[pairs.drawn, of_crowd],
        np.r_[pairs.annotator, drawn.objects.annotator[of_crowd]],
        np.r_[pairs.kind, np.full(n, COVERED)],
        np.r_[pairs.iou, np.full(n, np.nan)],
    )
    boxes = role.geometry.boxes_xyxy()
    labels = RoleLabels(
        role.assigned[:, 0],
        role.objects.sample[kept],
        role.objects.category[kept],
        role.geometry.area[kept],
        None if boxes is None else boxes[kept],
        label_ids[kept],
        position[kept],
        confidence[kept],
        np.column_stack(role.attributes)[kept] if role.attributes else np.empty((int(kept.sum()), 0), np.int64),
    )
    differs = np.zeros(len(found.kind), np.bool_)
    values = zip(config.attributes, agreement.attributes, labels.attributes.T, role.attribute_numbers, strict=True)
    for name, own, true, numbers in values:
        rows, differ = compared_values(found, own, true, Values(name, (), numbers, config.tolerance))
        differs[rows[differ]] = True
    return MatchedRole(labels, found, differs & (found.kind == RIGHT))


def compared_values(pairs: RolePairs, own: IntArray, true: IntArray, values: Values) -> tuple[IntArray, BoolArray]:
    """The matched pairs in which both labels have a value of an attribute, and which of them differ.

    Args:
        pairs: of a role
        own: shape ``(N,)``, codes of the values of the labels of annotators
        true: shape ``(M,)``, codes of those of the role
        values: what the codes mean
    """
    rows = np.flatnonzero(pairs.kind <= WRONG_CLASS)
    a, b = own[pairs.drawn[rows]], true[pairs.label[rows]]
    given = (a != NOT_GIVEN) & (b != NOT_GIVEN)
    return rows[given], values.differ(a[given], b[given])


def role_columns(roles: Sequence[MatchedRole], n_objects: IntArray) -> Columns:
    """The columns of all roles, sorted by sample.

    Args:
        roles: the roles
        n_objects: shape ``(S,)``, objects of the annotators on every sample
    """
    n_samples = len(n_objects)
    labels, pairs = [each.labels for each in roles], [each.pairs for each in roles]
    numbers = np.repeat(np.arange(len(roles)), [len(each.sample) for each in labels])
    sample = np.concatenate([each.sample for each in labels])
    order = np.argsort(sample, kind="stable")
    n_labels = np.bincount(sample, minlength=n_samples)
    place = np.empty(len(sample), np.int64)  # of every label among those of its sample
    place[order] = np.arange(len(sample)) - np.repeat(np.cumsum(n_labels) - n_labels, n_labels)
    starts = np.cumsum([0, *(len(each.sample) for each in labels)])
    # the sample of a pair is that of either label
    first_object, of_object = np.cumsum(n_objects) - n_objects, np.repeat(np.arange(n_samples), n_objects)
    label = np.concatenate([np.where(each.label >= 0, each.label + start, -1)
                            for each, start in zip(pairs, starts, strict=False)])  # fmt: skip
    drawn = np.concatenate([each.drawn for each in pairs])
    of_pair = np.where(label >= 0, np.append(sample, 0)[label], np.append(of_object, 0)[drawn])
    which = np.repeat(np.arange(len(roles)), [len(each.label) for each in pairs])
    by_sample = np.lexsort((drawn, label, which, of_pair))

    def of_labels(name: str) -> NDArray[np.float64]:
        return np.concatenate([getattr(each, name) for each in labels])[order]

    def of_pairs(name: str) -> NDArray[np.float64]:
        return np.concatenate([getattr(each, name) for each in pairs])[by_sample]

    objects = np.where(drawn >= 0, drawn - first_object[of_pair], -1) if len(of_pair) else drawn
    columns: Columns = {
        "role_present": packed(np.column_stack([each.present for each in labels])),
        "n_role_labels": compact(n_labels),
        "n_role_pairs": compact(np.bincount(of_pair, minlength=n_samples)),
        "role": compact(numbers[order]),
        "role_label_id": of_labels("label_ids").astype(np.uint8),
        "role_position": compact(of_labels("position").astype(np.int64)),
        "role_category": compact(of_labels("category").astype(np.int64)),
        "role_area": of_labels("area").astype(np.float32),
        "role_confidence": of_labels("confidence").astype(np.float32),
        "pair_label": compact(np.where(label >= 0, np.append(place, -1)[label], -1)[by_sample]),
        "pair_object": compact(objects[by_sample]),
        "pair_annotator": compact(of_pairs("annotator").astype(np.int64)),
        "pair_kind": of_pairs("kind").astype(np.uint8),
        "pair_iou": of_pairs("iou"),
        "pair_role": compact(which[by_sample]),
    }
    if labels[0].attributes.shape[1]:
        columns["role_attributes"] = compact(of_labels("attributes").astype(np.int64))
    if all(each.boxes_xyxy is not None for each in labels):
        columns["role_boxes"] = of_labels("boxes_xyxy").astype(np.float32)
    return columns


def most_matched(pairs: RolePairs, unit: IntArray, n_labels: int) -> IntArray:
    """A label of annotators in the unit with which every label of a role is matched most often; -1 without one.

    Args:
        pairs: of the role
        unit: shape ``(N,)``, unit of every label of annotators
        n_labels: number ``M`` of labels of the role
    """
    rows = np.flatnonzero(pairs.kind <= WRONG_CLASS)
    label, of = pairs.label[rows], unit[pairs.drawn[rows]]
    keys, first, row = np.unique(label * (int(of.max(initial=0)) + 1) + of, return_index=True, return_inverse=True)
    n, iou = np.bincount(row, minlength=len(keys)), sums_by(row, pairs.iou[rows], len(keys))
    # the last of every label: most labels, then the greatest overlap, then the first unit
    order = np.lexsort((-keys, iou, n))
    found = np.full(n_labels, -1)
    found[label[first[order]]] = pairs.drawn[rows[first[order]]]
    return found


@dataclass(frozen=True, slots=True)
class StoredRole:
    """The labels of one role in records, and their pairs with those of annotators."""

    present: BoolArray  #: shape ``(S,)``
    row: IntArray  #: shape ``(M,)``, row of every label in the columns of all roles
    sample: IntArray  #: shape ``(M,)``
    category: IntArray  #: shape ``(M,)``, codes of the classes of roles
    pairs: RolePairs  #: rows of labels are those here, rows of annotators' labels those of the records

    @classmethod
    def of(cls, records: Records, role: int, n_roles: int) -> StoredRole:
        """One of the ``n_roles`` roles of records."""
        n_labels, n_pairs, n_objects = (
            records.column(name).astype(np.int64) for name in ("n_role_labels", "n_role_pairs", "n_objects")
        )
        n_samples = len(n_labels)
        sample, of_pair = np.repeat(np.arange(n_samples), n_labels), np.repeat(np.arange(n_samples), n_pairs)
        row = np.flatnonzero(records.column("role") == role)
        number = np.full(len(sample) + 1, -1)
        number[row] = np.arange(len(row))
        own = np.flatnonzero(records.column("pair_role") == role)
        of_pair = of_pair[own]
        label, drawn, annotator, kind = (
            records.column(f"pair_{name}")[own].astype(np.int64) for name in ("label", "object", "annotator", "kind")
        )
        first, first_drawn = np.cumsum(n_labels) - n_labels, np.cumsum(n_objects) - n_objects
        pairs = RolePairs(
            number[np.where(label >= 0, label + first[of_pair], -1)],
            np.where(drawn >= 0, drawn + first_drawn[of_pair], -1),
            annotator,
            kind,
            records.column("pair_iou")[own],
        )
        present = unpacked(records.column("role_present"), n_roles)[:, role]
        category = records.column("role_category")[row].astype(np.int64)
        return cls(present, row, sample[row], category, pairs)

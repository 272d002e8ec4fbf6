"""Numbers of annotators against a reference or model: of each annotator, and by class, size and attribute.

Every number is a quotient of two columns, summed over meetings: an annotator and the role, on a sample that both have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...metrics.bootstrap.draws import hstack, sparse
from ...metrics.geometry.boxes import box_area
from ...metrics.geometry.objects import iou_from_areas
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, distinct, sums_by
from ..matching.tables import MEASURES
from ..objects.classes import SIZES
from ..pixels.compute import MaskValues, are_classes
from ..statistics.numbers import GroupNumbers, Key, ratio
from .role_labels import LOOSELY, RIGHT, Comparison

#: columns of every annotator, class or size; the last ones are offsets of boxes
COLUMNS = (
    *("n_labels", "n_reference", "n_both", "n_matched", "n_right", "n_loose", "iou", "iou_right", "n_boxes"),
    *("n_numbers", "error", "absolute_error", "n_images", "iou_of_images", *MEASURES),
)
#: numbers: a factor, and the columns of numerator and denominator; ``n_either`` counts labels of both that are not
#: matched, and each matched pair once
NUMBERS: dict[str, tuple[float, str, str]] = {
    "precision": (1.0, "n_matched", "n_labels"),
    "recall": (1.0, "n_matched", "n_reference"),
    "f1": (2.0, "n_matched", "n_both"),
    "pq": (2.0, "iou_right", "n_both"),
    "class_accuracy": (1.0, "n_right", "n_matched"),
    "mean_iou": (1.0, "iou", "n_matched"),
    "jaccard": (1.0, "n_matched", "n_either"),
    "class_precision": (1.0, "n_right", "n_labels"),
    "class_recall": (1.0, "n_right", "n_reference"),
    "class_jaccard": (1.0, "n_right", "n_either"),
    **{f"bias.{measure}": (1.0, measure, "n_boxes") for measure in MEASURES},
    "accuracy": (1.0, "n_right", "n_labels"),
    "mean_error": (1.0, "error", "n_numbers"),
    "mean_absolute_error": (1.0, "absolute_error", "n_numbers"),
    "iou_of_images": (1.0, "iou_of_images", "n_images"),
}
_OF_ATTRIBUTES = {name: name for name in ("accuracy", "mean_error", "mean_absolute_error")}
#: numbers of a model as numbers of the annotators against it: the precision of a model is their recall
_OF_MODELS = {
    "precision": "recall",
    "recall": "precision",
    "class_precision": "class_recall",
    "class_recall": "class_precision",
}
#: most classes (sizes) of annotators with intervals
MAX_RESAMPLED = 200
#: rows to be summed: annotator, sample, part (class, size or attribute; -1: none), and the values of columns
#: (None: 1)
Summed = tuple[IntArray, IntArray, IntArray, Mapping[str, FloatArray | IntArray | BoolArray | None]]


@dataclass(frozen=True, slots=True)
class RoleTable:
    """Columns of every group and sample that occur together; groups are annotators times parts."""

    parts: Sequence[str]  #: names of the classes, sizes or attributes; one without a name for all labels
    group: IntArray  #: shape ``(T,)``
    sample: IntArray  #: shape ``(T,)``
    columns: dict[str, FloatArray]  #: ``COLUMNS`` by name, shape ``(T,)``

    def sums(self, name: str, n_annotators: int) -> FloatArray:
        """Sum of a column for every annotator and part, shape ``(R, K)``."""
        n = n_annotators * len(self.parts)
        return sums_by(self.group, self.columns[name], n).reshape(n_annotators, len(self.parts))


def formula(columns: Mapping[str, FloatArray], names: Sequence[str]) -> FloatArray:
    """Some of the numbers from sums of columns by name; the last axis in the order of the names."""
    if "n_both" in columns and "n_matched" in columns:
        columns = {**columns, "n_either": columns["n_both"] - columns["n_matched"]}
    chosen = (NUMBERS[name] for name in names)
    return np.stack([ratio(factor * columns[above], columns[below]) for factor, above, below in chosen], axis=-1)


def table_of(summed: Iterable[Summed], parts: Sequence[str], compared: Comparison) -> RoleTable:
    """Sum columns by annotator, part and sample."""
    (n_samples, n), rows = compared.both.shape, list(summed)
    kept = [part >= 0 for *_, part, _ in rows]
    keys = [((annotator * len(parts) + part) * n_samples + sample)[known]
            for (annotator, sample, part, _), known in zip(rows, kept, strict=True)]  # fmt: skip
    found, row = distinct(np.concatenate([np.empty(0, np.int64), *keys]), n * len(parts) * n_samples)
    columns = {name: np.zeros(len(found)) for name in COLUMNS}
    ends = pairwise(np.cumsum([0, *map(len, keys)]).tolist())
    for (*_, values), known, (start, end) in zip(rows, kept, ends, strict=True):
        for name, column in values.items():
            columns[name] += np.bincount(row[start:end], None if column is None else column[known], len(found))
    return RoleTable(parts, found // n_samples, found % n_samples, columns)


def role_tables(compared: Comparison) -> dict[str, RoleTable]:
    """Sums over all labels (``""``), by their ``classes`` and ``sizes``, and by their ``attributes``."""
    context = compared.labels.context
    parts: dict[str, Sequence[str]] = {"": [""]}
    if compared.labels.kind == "masks":
        meaning, is_rgb = MaskValues.from_dict(context.details), bool(context.details["is_rgb"])
        values = np.unique(mask_areas(compared)["value"]).tolist()
        parts["classes"] = [meaning.name(value, is_rgb=is_rgb) for value in values]
    elif compared.kind.of_parts:
        parts["classes"] = compared.labels.names
    if compared.labels.kind == "objects":
        parts["sizes"] = SIZES
    found = {part: table_of(_summed(compared, part), names, compared) for part, names in parts.items()}
    if compared.attributes:
        names, rows = [each.values.name for each in compared.attributes], list[Summed]()
        for place, each in enumerate(compared.attributes):  # of matched labels
            label, numbers = compared.pairs.label[each.rows], each.values.numbers
            where = compared.annotator[each.rows], compared.labels.sample[label], np.full(len(label), place)
            rows.append((*where, {"n_labels": None, "n_both": None, "n_right": ~each.differ}))
            if each.are_numbers:
                rows.append((*where, _errors(numbers[each.own] - numbers[each.true])))
        found["attributes"] = table_of(rows, names, compared)
    return found


def part_of_labels(compared: Comparison, part: str) -> IntArray:
    """The class or size of every label, shape ``(L,)``; 0 if ``part`` is empty.

    A matched label of an annotator has the size of the label of the role.
    """
    if part == "classes":
        return compared.labels.value
    if part != "sizes":
        return np.zeros(len(compared.labels.who), np.int64)
    size, pairs = compared.labels.sizes.copy(), compared.pairs
    size[pairs.drawn[compared.matched]] = size[pairs.label[compared.matched]]
    return size


def _summed(compared: Comparison, part: str) -> Iterator[Summed]:
    """Rows to be summed over labels; by class, only pairs of equal classes are matched."""
    if compared.labels.kind == "masks":
        yield from _summed_of_masks(compared, part)
        return
    labels, pairs, judged, code = compared.labels, compared.pairs, compared.judged, part_of_labels(compared, part)
    wanted, sample = compared.wanted, labels.sample

    def of_pairs(rows: IntArray, **columns: FloatArray | BoolArray | None) -> Summed:
        label = pairs.label[rows]
        return compared.annotator[rows], sample[label], code[label], columns

    yield labels.who[judged], sample[judged], code[judged], {"n_labels": None, "n_both": None}
    yield compared.wanted_of, sample[wanted], code[wanted], {"n_reference": None, "n_both": None}
    yield of_pairs(np.flatnonzero(pairs.kind == LOOSELY), n_loose=None)
    matched = np.flatnonzero(pairs.kind == RIGHT) if part == "classes" else compared.matched
    right, iou = pairs.kind[matched] == RIGHT, pairs.iou[matched]
    yield of_pairs(matched, n_matched=None, n_right=right, iou=iou, iou_right=iou * right)
    boxes = labels.boxes if not part and compared.who >= compared.both.shape[1] else None
    if labels.kind == "numbers":
        yield of_pairs(matched, **_errors(labels.value[pairs.drawn[matched]] - labels.value[pairs.label[matched]]))
    if boxes is not None:  # offsets from those of the role in per cent of its size
        true = boxes[pairs.label[matched]]
        rows = matched[(true[:, 2:] > true[:, :2]).all(axis=1)]
        drawn, true = boxes[pairs.drawn[rows]], boxes[pairs.label[rows]]
        size = 100.0 * (np.sqrt(box_area(drawn) / box_area(true)) - 1.0)
        offsets = 100.0 * (drawn - true) / np.tile(true[:, 2:] - true[:, :2], 2)
        yield of_pairs(rows, n_boxes=None, **dict(zip(MEASURES, (size, *offsets.T), strict=True)))


def _errors(error: FloatArray) -> dict[str, FloatArray | None]:
    """Columns of the differences of numbers."""
    return {"n_numbers": None, "error": error, "absolute_error": np.abs(error)}


def mask_areas(compared: Comparison) -> dict[str, IntArray]:
    """Pixels of every value that the role or an annotator gave, by sample and annotator: columns of shape ``(V,)``.

    ``drawn`` are those in the mask of the annotator, ``wanted`` those of the role, ``shared`` those of both; ``place``
    is the index of the value among all values.
    """
    records = compared.labels.records
    own = records.column("area_role") == compared.who - records.n_annotators
    sample = np.repeat(np.arange(records.n_samples), records.column("n_role_areas"))[own]
    names = ("annotator", "value", "drawn", "wanted", "shared")
    columns = {name: records.column(f"area_{name}")[own].astype(np.int64) for name in names}
    return {"sample": sample, "place": np.unique(columns["value"], return_inverse=True)[1], **columns}


def _summed_of_masks(compared: Comparison, part: str) -> Iterator[Summed]:
    """Rows to be summed over masks, whose pixels are labels: all are matched, and right where both values are equal.

    By class (values without the background) only pixels with equal values are matched.
    """
    (n_samples, n), areas, context = compared.both.shape, mask_areas(compared), compared.labels.context
    annotator, sample = areas["annotator"], areas["sample"]
    is_class = are_classes(areas["value"], MaskValues.from_dict(context.details).background)
    drawn, wanted, shared = (areas[name].astype(np.float64) for name in ("drawn", "wanted", "shared"))
    columns = {"n_labels": drawn, "n_reference": wanted, "n_both": drawn + wanted, "n_right": shared}
    place = np.where(is_class, areas["place"], -1) if part else 0 * sample
    yield annotator, sample, place, {**columns, "n_matched": shared if part else drawn}
    if part:
        return
    # mean IoU of the classes that the role or the annotator used, on every sample that both have
    cell, n_cells = sample * n + annotator, n_samples * n
    iou = iou_from_areas(shared, drawn, wanted)
    n_classes = np.bincount(cell[is_class], minlength=n_cells)
    mean = sums_by(cell[is_class], iou[is_class], n_cells) / np.where(n_classes > 0, n_classes, np.nan)
    if context.config.empty == "agree":
        mean[(n_classes == 0) & (np.bincount(cell, minlength=n_cells) > 0)] = 1.0
    defined = np.flatnonzero(~np.isnan(mean))
    yield defined % n, defined // n, 0 * defined, {"n_images": None, "iou_of_images": mean[defined]}


def values_of_images(compared: Comparison) -> FloatArray:
    """The number ``of_image`` of every annotator on every sample, shape ``(S, R)``.

    Undefined:
        nan where the role or the annotator was not asked, and where neither has a label
    """
    table = table_of(_summed(compared, ""), [""], compared)
    values = np.full(compared.both.shape, np.nan)
    values[table.sample, table.group] = formula(table.columns, compared.kind.of_image[:1])[:, 0]
    return values


def numbers_against(
    compared: Comparison, tables: Mapping[str, RoleTable], key: Key, *, by_sample: bool
) -> Iterator[GroupNumbers]:
    """The numbers of every annotator, and by class, size and attribute.

    Args:
        tables: see :func:`role_tables`
        key: beginning of the keys: the table, and the name of a model
        by_sample: whether the numbers have intervals
    """
    kind, annotators = compared.kind, compared.labels.context.annotators
    for part, table in tables.items():
        first = (f"{key[0]}_{part}" if part else key[0], *key[1:])
        owners = [(*first, name, *([title] if part else [])) for name in annotators for title in table.parts]
        shown = {"": kind.shown, "attributes": _OF_ATTRIBUTES}.get(part, kind.of_parts)
        computed = [_OF_MODELS.get(name, name) if compared.is_model else name for name in shown.values()]
        total = table.sums("n_both", len(annotators)).ravel()
        order = np.argsort(-total, kind="stable")[:MAX_RESAMPLED]
        named = {name for each in computed for name in NUMBERS[each][1:]} | {"n_both", "n_matched"}
        used = [name for name in COLUMNS if name in named]

        def of_sums(sums: FloatArray, used: list[str] = used, computed: list[str] = computed) -> FloatArray:
            return formula({name: sums[..., k] for k, name in enumerate(used)}, computed)

        yield GroupNumbers(
            table=part,
            keys={k: owner for k, owner in enumerate(owners) if total[k] > 0},
            n_groups=len(owners),
            names=list(shown),
            group=table.group,
            sample=table.sample,
            columns={name: table.columns[name] for name in used},
            formula=of_sums,
            basis=np.array([used.index(NUMBERS[name][2].replace("n_either", "n_both")) for name in computed]),
            resampled=order[total[order] > 0] if by_sample else order[:0],
        )
    pairs, matched, sample = compared.pairs, compared.matched, compared.labels.sample
    of_annotators: list[Key] = [(*key, name) for name in annotators]
    if compared.labels.kind == "masks":
        areas = mask_areas(compared)
        said, n = [areas[name] for name in ("annotator", "sample", "place", "place")], ("drawn", "wanted", "shared")
        yield _kappas(of_annotators, said, by_sample, [areas[name] for name in n])
    elif kind.has_kappa:
        label, of_pair, value = pairs.label[matched], compared.annotator[matched], compared.labels.value
        yield _kappas(of_annotators, [of_pair, sample[label], value[pairs.drawn[matched]], value[label]], by_sample)
    for each in compared.attributes:
        if not each.are_numbers:
            first = f"{key[0]}_attributes", *key[1:]
            said = [compared.annotator[each.rows], sample[pairs.label[each.rows]], each.own, each.true]
            yield _kappas([(*first, name, each.values.name) for name in annotators], said, by_sample)


def _kappas(
    owners: Sequence[Key],
    said: Sequence[IntArray],
    by_sample: bool,
    counts: Sequence[IntArray] | None = None,
) -> GroupNumbers:
    """Cohen's kappa of every annotator.

    Args:
        owners: beginning of the keys
        said: annotator, sample, and the codes that the annotator and the role gave, shapes ``(Q,)``
        by_sample: whether kappa has intervals
        counts: how many labels of the annotator, of the role, and of both have the code; None: a row is one label
    """
    annotator, sample, own, true = said
    n_own, n_true, n_right = counts or (np.ones(len(own)), np.ones(len(own)), own == true)
    n_samples, n_codes = int(sample.max(initial=0)) + 1, 1 + max(int(own.max(initial=0)), int(true.max(initial=0)))
    found, row = np.unique(annotator * n_samples + sample, return_inverse=True)
    codes = [sparse(row, code, n, (len(found), n_codes)) for code, n in ((own, n_own), (true, n_true))]
    return GroupNumbers(
        table="",
        keys={k: owners[k] for k in np.unique(annotator).tolist()},
        n_groups=len(owners),
        names=["kappa"],
        group=found // n_samples,
        sample=found % n_samples,
        columns={"n": sums_by(row, n_own, len(found)), "agreed": sums_by(row, n_right, len(found))},
        formula=_kappa,
        basis=np.zeros(1, np.int64),
        resampled=np.arange(len(owners) if by_sample else 0),
        categories=hstack([*codes, codes[0] + codes[1]]),
        n_blocks=3,
    )


def _kappa(sums: FloatArray) -> FloatArray:
    """Cohen's kappa; nan where both gave one and the same code to all labels."""
    n, agreed = sums[..., 0], sums[..., 1]
    own, true, _ = np.split(sums[..., 2:], 3, axis=-1)
    chance = (own * true).sum(axis=-1)
    return ratio(n * agreed - chance, n * n - chance)[..., None]

"""Records, the base class of stored columns of all families: join, select, take; and ranks of samples by content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges, sums_by

#: columns by name
Columns = dict[str, NDArray[Any]]
AnyColumns = Mapping[str, NDArray[Any]]

#: in ``Records.rows``: the column has one row per sample
OF_SAMPLE = ""

#: samples in each part of records after :meth:`Records.regrouped`
PART_SAMPLES = 2_000
#: columns on roles (reference, models) in the records of runs that have any: a row is a sample, a pair of labels of two
#: parties (a role and an annotator, or two annotators), or a value in the mask of a role and in that of an annotator
_ROLE_ROWS = {
    OF_SAMPLE: ("role_present", "n_role_pairs", "n_role_areas"),
    "n_role_pairs": ("pair_party", "pair_label", "pair_drawn", "pair_kind", "pair_iou"),
    "n_role_areas": ("area_role", "area_annotator", "area_value", "area_drawn", "area_wanted", "area_shared"),
}

#: columns of samples that all label types have: their ids (of frames that of the video, and the number), when they, and
#: their videos, were changed last, and what was noticed when they were read
SAMPLE_COLUMNS = (
    *("sample_id", "group_id", "frame_number", "stamp", "video_stamp"),
    *("n_invalid", "n_unknown", "n_added", "lists"),
)

#: columns of labels that are in no unit: crowd regions, labels within them, tags that an annotator gave again, and
#: labels of roles (whose numbers follow those of annotators); areas, boxes and attributes in runs with roles alone
_UNCOUNTED_ROWS = {
    OF_SAMPLE: ("n_uncounted",),
    "n_uncounted": tuple(
        f"uncounted_{name}" for name in ("annotator", "category", "label_id", "area", "boxes", "attributes")
    ),
}

R = TypeVar("R", bound="Records")


def rows_by_column(own: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """For every column the name of the column with its number of rows per sample; ``own`` are those of a family."""
    return {
        name: counted
        for rows in (own, {OF_SAMPLE: SAMPLE_COLUMNS}, _UNCOUNTED_ROWS, _ROLE_ROWS)
        for counted, names in rows.items()
        for name in names
    }


@dataclass(frozen=True, slots=True)
class SampleValues:
    """Values of every sample that all label types have."""

    score: FloatArray  #: shape ``(S,)``, nan where not scored
    alpha: FloatArray  #: shape ``(S,)``, nan where undefined or not computed for this label type
    n_annotators: IntArray  #: shape ``(S,)``, assigned annotators
    n_objects: IntArray  #: shape ``(S,)``, compared labels
    n_units: IntArray  #: shape ``(S,)``, compared units (objects, tags, classes of pixels)
    n_disputed: IntArray  #: shape ``(S,)``, units without full agreement


@dataclass(frozen=True, slots=True)
class Records:
    """Columns of any number of samples; ``+`` joins the records of batches."""

    n_annotators: int  #: number of annotators ``R``
    parts: tuple[AnyColumns, ...]  #: columns of every batch, by name

    family: ClassVar[str]  #: the family of label types
    #: for every column ``OF_SAMPLE`` (one row per sample), or the name of the column with its number of rows per sample
    rows: ClassVar[Mapping[str, str]]
    of_classes: ClassVar[str | None] = None  #: the column with codes of classes
    scores_are_shares: ClassVar[bool] = False  #: whether a score is a share of pairs that agree

    def __add__(self: R, other: R) -> R:
        # regrouped at every sum, so that many records are never in memory twice
        last = replace(self, parts=self.parts[-1:] + other.parts).regrouped()
        return replace(self, parts=self.parts[:-1] + last.parts)

    @property
    def n_samples(self) -> int:
        """Number of samples ``S``."""
        return sum(len(part["score"]) for part in self.parts)

    @property
    def assigned(self) -> BoolArray:
        """True where an annotator was assigned to a sample, shape ``(S, R)``."""
        return unpacked(self.column("assigned"), self.n_annotators)

    @property
    def rated(self) -> BoolArray:
        """True for samples with at least two assigned annotators, shape ``(S,)``."""
        rated: BoolArray = self.assigned.sum(axis=1) >= 2
        return rated

    @property
    def otherwise(self) -> BoolArray:
        """Who would be assigned if null label lists meant the opposite of what they do, shape ``(S, R)``."""
        known = "otherwise" in self.parts[0]
        return unpacked(self.column("otherwise"), self.n_annotators) if known else self.assigned

    def column(self, name: str) -> NDArray[Any]:
        """A column of all samples; its type does not depend on how samples were read together."""
        return _joined([part[name] for part in self.parts])

    def labels(self) -> tuple[IntArray, IntArray, NDArray[Any]]:
        """Sample, annotator and class code (or number) of every label, shape ``(N,)``."""
        codes = str(self.of_classes)
        if self.rows[codes] == OF_SAMPLE:
            sample, annotator = np.nonzero(self.assigned)
            return sample, annotator, self.column(codes)[sample, annotator]
        sample = np.repeat(np.arange(self.n_samples), self.column("n_objects"))
        return sample, self.column("annotator").astype(np.int64), self.column(codes).astype(np.int64)

    def with_columns(self: R, columns: AnyColumns) -> R:
        """The same records, of a single batch, with more columns."""
        (part,) = self.parts
        return replace(self, parts=({**part, **columns},))

    def codes_given(self) -> IntArray:
        """Codes of the classes that annotators gave, ascending; none of numbers and of masks."""
        if self.of_classes is None or self.column(self.of_classes).dtype.kind == "f":
            return np.empty(0, np.int64)
        given = self.labels()[2]
        if "n_uncounted" in self.parts[0]:
            own = self.column("uncounted_annotator") < self.n_annotators
            given = np.concatenate([given, self.column("uncounted_category")[own]])
        return np.unique(given.astype(np.int64))

    def regrouped(self: R) -> R:
        """The same records in parts of equally many samples: rounding of sums depends on what is added together."""
        sizes = [len(part["score"]) for part in self.parts]
        if not any(sizes):
            return replace(self, parts=self.parts[:1])
        if all(size == PART_SAMPLES for size in sizes[:-1]) and sizes[-1] <= PART_SAMPLES:
            return self
        parts: list[Columns] = []
        pieces: list[Columns] = []
        room = PART_SAMPLES
        for part, size in zip(self.parts, sizes, strict=True):
            start = 0
            starts = self._starts(part)
            while start < size:
                end = min(size, start + room)
                pieces.append({name: part[name][starts[name][start] : starts[name][end]] for name in part})
                room -= end - start
                start = end
                if not room:
                    parts.append(_concatenated(pieces))
                    pieces, room = [], PART_SAMPLES
        return replace(self, parts=(*parts, *([_concatenated(pieces)] if pieces else [])))

    def _starts(self, part: AnyColumns) -> dict[str, IntArray]:
        """For every column the first row of every sample, and the number of rows."""
        n = len(part["score"])
        first = {OF_SAMPLE: np.arange(n + 1)}
        for counted in {self.rows[name] for name in part} - {OF_SAMPLE}:
            first[counted] = np.concatenate([[0], np.cumsum(part[counted], dtype=np.int64)])
        return {name: first[self.rows[name]] for name in part}

    def recoded(self: R, classes: IntArray, attributes: Sequence[IntArray]) -> R:
        """The same records with other codes.

        Args:
            classes: the new code of every code of a class
            attributes: of every compared attribute, the new code of every code of a value
        """
        parts = list[AnyColumns]()
        for part in self.parts:
            changed: Columns = {}
            if self.of_classes is not None and part[self.of_classes].dtype.kind != "f":  # numbers are no codes
                coded = {self.of_classes, "uncounted_category"} & {*part}
                changed = {name: compact(classes[part[name]]) for name in coded}
                for name in {"attributes", "uncounted_attributes"} & {*part}:
                    columns = [new[part[name][:, k]] for k, new in enumerate(attributes)]
                    changed[name] = compact(np.column_stack(columns))
            parts.append({**part, **changed})
        return replace(self, parts=tuple(parts))

    def sample_values(self) -> SampleValues:
        """The values that all label types have, from columns with the names of its fields; ``n_objects`` are labels."""
        score, n = self.column("score"), self.assigned.sum(axis=1)
        n_objects, n_units, n_disputed = (
            self.column(name).astype(np.int64) if name in self.rows else n
            for name in ("n_objects", "n_units", "n_disputed")
        )
        alpha = self.column("alpha") if "alpha" in self.rows else np.full(len(score), np.nan)
        return SampleValues(score, alpha, n, n_objects, n_units, n_disputed)

    def select(self: R, samples: BoolArray) -> R:
        """Records of the samples in a mask ``(S,)``."""
        parts: list[Columns] = []
        start = 0
        for part in self.parts:
            kept = samples[start : start + len(part["score"])]
            start += len(kept)
            counted = {self.rows[name] for name in part} - {OF_SAMPLE}
            masks = {OF_SAMPLE: kept, **{name: np.repeat(kept, part[name]) for name in counted}}
            parts.append({name: values[masks[self.rows[name]]] for name, values in part.items()})
        return replace(self, parts=tuple(parts))

    def take(self: R, samples: IntArray) -> R:
        """Records of the samples at the given rows, in that order."""
        rows = {OF_SAMPLE: samples}
        for counted in {self.rows[name] for name in self.parts[0]} - {OF_SAMPLE}:
            counts = self.column(counted).astype(np.int64)
            rows[counted] = ranges((np.cumsum(counts) - counts)[samples], counts[samples])
        taken = {name: self.column(name)[rows[counted]] for name, counted in self.rows.items() if name in self.parts[0]}
        return replace(self, parts=(taken,))

    def blocks(self, counted: str, at_once: int) -> Iterator[Columns]:
        """Columns of consecutive samples in blocks of bounded size; a single empty block if there is no sample.

        Args:
            counted: name of the column whose sum is limited in a block
            at_once: largest sum in a block; a single sample may exceed it
        """
        for part in self.parts:
            starts, total = self._starts(part), np.cumsum(part[counted], dtype=np.int64)
            start, n_samples = 0, len(total)
            while start < n_samples or (n_samples == 0 and start == 0):
                done = int(total[start - 1]) if start else 0
                end = max(start + 1, int(np.searchsorted(total, done + at_once, side="right")))
                last = min(end, n_samples)
                yield {name: values[starts[name][start] : starts[name][last]] for name, values in part.items()}
                start = end


def _joined(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if len(columns) == 1:
        return columns[0]
    joined = np.concatenate(columns)
    return joined if len({column.dtype for column in columns}) == 1 else compact(joined)


def _concatenated(pieces: Sequence[Columns]) -> Columns:
    if len(pieces) == 1:  # copied, as a slice keeps all of its part in memory
        return {name: values.copy() for name, values in pieces[0].items()}
    return {name: _joined([piece[name] for piece in pieces]) for name in pieces[0]}


def compact(values: IntArray) -> NDArray[Any]:
    """Integers in the smallest type that holds them; never uint64, which numpy combines with int64 to floats."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    types: tuple[type[np.integer[Any]], ...] = (np.uint8, np.uint16, np.uint32) if low >= 0 else (np.int8, np.int16)
    fitting = (kind for kind in types if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return values.astype(next(fitting, np.int64))


def packed(assigned: BoolArray) -> NDArray[np.uint8]:
    """Pack assignments into bits, eight annotators per byte."""
    return np.packbits(assigned, axis=1)


def unpacked(bits: NDArray[np.uint8], n_annotators: int) -> BoolArray:
    """Assignments, shape ``(S, R)``, from the bits of :func:`packed`."""
    return np.unpackbits(bits, axis=1, count=n_annotators).astype(np.bool_)


def uncounted_columns(
    sample: IntArray, annotator: IntArray, category: NDArray[Any], n_samples: int, **more: NDArray[Any] | None
) -> Columns:
    """The columns of labels that make no unit, sorted by sample, and further columns ``more``; None is left out.

    Ids have the shape ``(N, 12)``, attributes one column for each.
    """
    return {
        "n_uncounted": compact(np.bincount(sample, minlength=n_samples)),
        "uncounted_annotator": compact(annotator),
        "uncounted_category": category if category.dtype.kind == "f" else compact(category),
        **{f"uncounted_{name}": column for name, column in more.items() if column is not None},
    }


def ids_of_given(label_ids: NDArray[np.uint8] | None, given: BoolArray) -> Columns:
    """The column of label ids where every annotator gives a sample at most one label.

    Args:
        label_ids: shape ``(S, R, 12)``; None where labels have none
        given: shape ``(S, R)``, who gave one
    """
    return {} if label_ids is None else {"n_labels": compact(given.sum(axis=1)), "label_id": label_ids[given]}


def id_texts(label_ids: NDArray[np.uint8]) -> list[str | None]:
    """Ids as texts from their bytes ``(N, 12)``; None for zeros, which stand for none."""
    text, n = label_ids.tobytes().hex(), 2 * label_ids.shape[1]
    texts: list[str | None] = [text[k : k + n] for k in range(0, len(text), n)]
    for k in np.flatnonzero(~label_ids.any(axis=1)).tolist():
        texts[k] = None
    return texts


#: hashes of content; sums do not depend on the order
Hashes: TypeAlias = NDArray[np.uint64]

#: values are rounded to this number of decimals; smaller differences are rounding errors
_DIGITS = 9


def name_hashes(names: Sequence[str]) -> Hashes:
    """A hash of every name, the same in every process."""
    words = (hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in names)
    return np.frombuffer(b"".join(words), "<u8").astype(np.uint64)


def mixed(hashes: Hashes) -> Hashes:
    """SplitMix64 finaliser: spread the bits so that summed hashes do not collide.

    References:
        G. L. Steele Jr., D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators", 2014 (the finaliser,
        with D. Stafford's constants)
    """
    word = hashes + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def combined(hashes: Hashes, codes: IntArray) -> Hashes:
    """Hashes of (hash, code) pairs."""
    return mixed(hashes + mixed(codes.astype(np.uint64)))


def with_numbers(hashes: Hashes, numbers: FloatArray) -> Hashes:
    """Hashes of a hash and the numbers with it, shape ``(N, …)``; -0 is 0, and every nan the same."""
    words = (np.where(np.isnan(numbers), np.inf, numbers) + 0.0).view(np.uint64)
    for column in words.reshape(len(hashes), int(np.prod(numbers.shape[1:]))).T:
        hashes = mixed(hashes + column)
    return hashes


def hash_sums(index: IntArray, hashes: Hashes, n: int) -> Hashes:
    """Sum of the hashes at every index ``0 … n - 1``, modulo 2⁶⁴."""
    total = np.zeros(n, np.uint64)
    np.add.at(total, index, hashes)
    return total


def assignment_hashes(assigned: BoolArray, annotators: Hashes) -> Hashes:
    """A hash of the set of annotators assigned to every sample."""
    sample, annotator = np.nonzero(assigned)
    return hash_sums(sample, mixed(annotators[annotator]), len(assigned))


def content_ranks(hashes: Hashes, values: FloatArray, clusters: IntArray | None = None) -> IntArray:
    """Rank of every sample by its content, shape ``(S,)``; samples of one video or group share a rank.

    The order of samples of equal content is arbitrary: no number depends on it.

    Args:
        hashes: shape ``(S,)``, hash of the content of every sample
        values: shape ``(S, D)``, further content, rounded to nine digits; nan counts as a value
        clusters: shape ``(S,)``, number of the video or group of every sample
    """
    values = np.nan_to_num(np.round(values, _DIGITS), nan=-1.0)
    number = np.arange(len(hashes))
    if clusters is not None:
        number = np.unique(clusters, return_inverse=True)[1].ravel()
        n = int(number.max(initial=-1)) + 1
        hashes = hash_sums(number, mixed(hashes), n)
        sums = [np.round(sums_by(number, column, n), _DIGITS) for column in values.T]
        values = np.array(sums).reshape(len(sums), n).T
    order = np.lexsort([*values.T, hashes])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[number]

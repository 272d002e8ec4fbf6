"""The numbers of annotators as functions of sums over the samples that they were assigned to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ....metrics.arrays import BoolArray, FloatArray, IntArray
from ....metrics.bootstrap.draws import SparseColumns, sparse, vstack
from ...numbers import Key, Numbers, ratio
from ..bias import MEASURES, offsets
from ..chunk import Chunk
from ..consensus import MIN_OTHERS
from ..size_rule import SIZES
from ..verdicts import NO_VERDICT, VERDICTS

#: quotients of two columns of an annotator, by the number's name: of what they drew, with others, of their boxes
_OF_OBJECTS: dict[Key, tuple[str, str]] = {
    ("miss_rate",): ("n_missed", "n_could_miss"),
    **{(f"miss_rate_by_size.{size}",): (f"n_missed_{size}", f"n_could_miss_{size}") for size in SIZES},
    **{(f"verdict_shares.{verdict}",): (verdict, "n_judged") for verdict in VERDICTS},
}
_OF_OTHERS: dict[Key, tuple[str, str]] = {
    ("score",): ("score", "n_scored"),
    ("mean_iou",): ("iou", "n_matched"),
    ("consensus", "precision"): ("n_both", "n_objects"),
    ("consensus", "recall"): ("n_both", "n_units"),
    ("consensus", "f1"): ("twice_both", "n_objects_and_units"),
    ("consensus", "mean_iou"): ("consensus_iou", "n_consensus_pairs"),
}
_OF_BOXES: dict[Key, tuple[str, str]] = {("bias", name): (name, "n_boxes") for name in MEASURES}

#: column entries: annotator and sample of every entry, and its value
_Entries = tuple[IntArray, IntArray, FloatArray | IntArray]
_Reader = Callable[[Chunk], dict[str, _Entries]]


class AnnotatorColumns:
    """Collects the columns of some numbers of all annotators."""

    def __init__(self, annotators: Sequence[str], ratios: Mapping[Key, tuple[str, str]], entries: _Reader) -> None:
        self._names = annotators
        self._ratios = ratios
        self._entries = entries
        self._columns: list[SparseColumns] = []
        self._of_annotator = tuple(dict.fromkeys(column for names in ratios.values() for column in names))

    def add(self, chunk: Chunk) -> None:
        """Add the findings of the next samples."""
        entries, n = self._entries(chunk), len(self._names)
        of_columns = [(k * n, entries[name]) for k, name in enumerate(self._of_annotator)]
        self._columns.append(
            sparse(
                np.concatenate([sample for _, (_, sample, _) in of_columns]),
                np.concatenate([first + annotator for first, (annotator, _, _) in of_columns]),
                np.concatenate([values for _, (_, _, values) in of_columns]),
                (chunk.findings.n_samples, n * len(of_columns)),
            )
        )

    def sums(self) -> Iterator[Numbers]:
        """The numbers of all annotators."""
        n, names, ratios = len(self._names), self._of_annotator, self._ratios

        def statistic(sums: FloatArray) -> FloatArray:
            by_annotator = sums.reshape(*sums.shape[:-1], len(names), n)
            column = {name: by_annotator[..., k, :] for k, name in enumerate(names)}
            return np.concatenate([ratio(column[above], column[below]) for above, below in ratios.values()], axis=-1)

        yield Numbers(
            tuple(("annotators", name, *key) for key in ratios for name in self._names),
            vstack(self._columns),
            statistic,
            basis=np.concatenate([names.index(below) * n + np.arange(n) for _, below in ratios.values()]),
        )


def annotator_collectors(annotators: Sequence[str]) -> list[Callable[[], AnnotatorColumns]]:
    """What makes the collectors of all numbers of annotators."""
    readers: list[tuple[Mapping[Key, tuple[str, str]], _Reader]] = [
        (_OF_OBJECTS, lambda chunk: _existence(chunk) | _verdicts(chunk)),
        (_OF_OTHERS, lambda chunk: _pairs(chunk) | _consensus(chunk)),
        (_OF_BOXES, _bias),
    ]
    return [functools.partial(AnnotatorColumns, annotators, *reader) for reader in readers]


def _counted(annotator: IntArray, sample: IntArray) -> _Entries:
    return annotator, sample, np.ones(len(sample))


def _of_samples(assigned: BoolArray, counts: IntArray) -> _Entries:
    """A number of every sample, for all who were assigned to it."""
    sample, annotator = np.nonzero(assigned)
    return annotator, sample, counts[sample]


def _sum(*entries: _Entries) -> _Entries:
    annotator, sample, values = (np.concatenate(column) for column in zip(*entries, strict=True))
    return annotator, sample, values


def _less(entries: _Entries) -> _Entries:
    annotator, sample, values = entries
    return annotator, sample, -values


def _existence(chunk: Chunk) -> dict[str, _Entries]:
    """What every annotator missed of units of two or more others, and could have missed."""
    findings, units, objects = chunk.findings, chunk.findings.units, chunk.findings.objects
    several = chunk.rated_unit & (units.votes >= 2)

    def drawn(of_unit: BoolArray) -> _Entries:
        rows = of_unit[findings.unit]
        return _counted(objects.annotator[rows], objects.sample[rows])

    entries = {}
    for suffix, among in (("", several), *((f"_{size}", several & (chunk.size == k)) for k, size in enumerate(SIZES))):
        of_sample = np.bincount(units.sample[among], minlength=findings.n_samples)
        missed = _sum(_of_samples(findings.assigned, of_sample), _less(drawn(among)))
        entries[f"n_missed{suffix}"] = missed
        entries[f"n_could_miss{suffix}"] = _sum(missed, drawn(among & (units.votes >= 3)))
    return entries


def _verdicts(chunk: Chunk) -> dict[str, _Entries]:
    """Labels with every verdict."""
    objects, verdict = chunk.findings.objects, chunk.findings.object_verdict

    def count(rows: BoolArray) -> _Entries:
        return _counted(objects.annotator[rows], objects.sample[rows])

    counts = {name: count(verdict == k) for k, name in enumerate(VERDICTS)}
    return {**counts, "n_judged": count(verdict != NO_VERDICT)}


def _pairs(chunk: Chunk) -> dict[str, _Entries]:
    """Scores of pairs with others, and matched labels."""
    findings, shared = chunk.findings, chunk.findings.sample_pairs
    objects, pairs = findings.objects, findings.pairs
    score = findings.pair_score()
    scored = ~np.isnan(score)
    annotator = np.concatenate([shared.a[scored], shared.b[scored]])
    sample = np.tile(shared.sample[scored], 2)
    matched, of_match = objects.annotator[np.concatenate([pairs.i, pairs.j])], np.tile(chunk.match_sample, 2)
    return {
        "score": (annotator, sample, np.tile(score[scored], 2)),
        "n_scored": _counted(annotator, sample),
        "iou": (matched, of_match, np.tile(pairs.iou, 2)),
        "n_matched": _counted(matched, of_match),
    }


def _consensus(chunk: Chunk) -> dict[str, _Entries]:
    """Objects against the units that at least half of the others drew, see :mod:`..consensus`."""
    findings, units, objects = chunk.findings, chunk.findings.units, chunk.findings.objects
    many = units.assigned > MIN_OTHERS
    others = units.assigned - 1
    without = many & (2 * units.votes >= others)
    own = many[findings.unit]
    both = own & (2 * (units.votes - 1) >= others)[findings.unit]
    of_sample = np.bincount(units.sample[without], minlength=findings.n_samples)

    def count(rows: BoolArray) -> _Entries:
        return _counted(objects.annotator[rows], objects.sample[rows])

    # a unit that an annotator did not draw is seen by all of its members, else by one less
    n_units = _sum(_of_samples(findings.assigned, of_sample), _less(count(without[findings.unit])), count(both))
    ends = np.concatenate([findings.pairs.i, findings.pairs.j])
    kept = both[ends]
    of_pair = _counted(objects.annotator[ends[kept]], objects.sample[ends[kept]])
    return {
        "n_both": count(both),
        "twice_both": _sum(count(both), count(both)),
        "n_objects": count(own),
        "n_units": n_units,
        "n_objects_and_units": _sum(count(own), n_units),
        "n_consensus_pairs": of_pair,
        "consensus_iou": (*of_pair[:2], np.tile(findings.pairs.iou, 2)[kept]),
    }


def _bias(chunk: Chunk) -> dict[str, _Entries]:
    """Sums of the offsets of boxes from the median box of their unit."""
    found, objects = offsets(chunk), chunk.findings.objects
    annotator, sample = objects.annotator[found.row], objects.sample[found.row]
    return {
        "n_boxes": _counted(annotator, sample),
        **{name: (annotator, sample, found.values[:, k]) for k, name in enumerate(MEASURES)},
    }

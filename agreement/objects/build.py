"""From records to the report on objects: passes over blocks of samples, all its numbers, and their assembly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...metrics.geometry.boxes import Boxes
from ...metrics.geometry.keypoints import Keypoints
from ...metrics.geometry.objects import Geometry, Objects
from ...metrics.geometry.regions import Outlines
from ...metrics.matching.pairs import panoptic_quality
from ...metrics.numeric.arrays import FloatArray, IntArray, ranges, sums_by
from ..evidence.hypotheses import EffectRows
from ..matching.compute import matched_pairs, matching_of
from ..matching.tables import Tables
from ..settings.annotators import AnnotatorPairs
from ..settings.no_labels import OtherReading
from ..statistics.estimates import (
    Fields,
    kept_by_sample,
    other_reading,
    rated_only,
    report_estimates,
    report_of,
    sample_numbers,
)
from ..statistics.image_alpha import Annotations, ExpectedDistances, image_distances
from ..statistics.numbers import BySample, GroupNumbers, Joined, Numbers
from ..statistics.records import Hashes, assignment_hashes, combined, hash_sums, mixed, name_hashes, with_numbers
from ..statistics.report import ReportContext, mean_defined, number
from .annotators import add_annotators, annotator_numbers, annotator_summaries, vitality_numbers, with_vitality
from .attributes import add_attributes, attribute_numbers, attribute_summaries, compared_attributes, unused_tables
from .classes import (
    SizeRule,
    add_classes,
    add_sizes,
    by_frequency,
    class_numbers,
    class_pairs,
    class_summaries,
    merges,
    similar_names,
    size_summaries,
    synonyms,
)
from .headline import (
    N_HEAD,
    OBSERVED,
    add_headline,
    headline_numbers,
    headline_otherwise,
    headline_parts,
    main_numbers,
)
from .object_effects import findings_on_objects, object_effects
from .pairs import (
    add_pairs,
    clusters,
    count_numbers,
    pair_numbers,
    pair_summaries,
    session_numbers,
    sessions,
    track_consistency,
)
from .records import Gathered, ObjectRecords
from .report import ObjectReport

#: objects that are hashed at once
_HASHED_AT_ONCE = 2**18


def object_distances(records: ObjectRecords, context: ReportContext) -> ExpectedDistances:
    """Distances of annotations of different images: 1 - their score, if they are matched as in the run.

    Objects are placed as if all images had the same size. Polygons and masks are compared by coarse outlines, lines by
    the boxes around them.
    """
    n, of_sample = records.n_annotators, np.repeat(np.arange(records.n_samples), records.column("n_objects"))
    places, size = _places(records, of_sample, context)
    known, outlines = records.parts[0], _outlines(records)

    def geometry(rows: IntArray) -> Geometry:
        own = places(rows)
        own = own * np.tile(size, own.shape[-1] // 2)
        if "coordinates" in known:
            radius = context.config.radius_px(size)
            return Keypoints(own, context.config.point_sigmas, None if radius is None else np.full(len(own), radius))
        return Outlines.of(own, outlines[rows]) if outlines.size else Boxes(own)

    category, annotator = records.column("category"), records.column("annotator")
    n_blocks = records.n_samples * n
    of_block, content = np.zeros(n_blocks, np.int64), np.zeros(n_blocks, np.uint64)
    for rows, hashes in _drawn(records, context):
        block = of_sample[rows] * n + annotator[rows]
        of_block += np.bincount(block, minlength=n_blocks)
        content += hash_sums(block, hashes, n_blocks)
    annotation = np.flatnonzero((records.assigned & image_distances(records)[0][:, None]).ravel())
    content = content[annotation]
    start, n_objects = (np.cumsum(of_block) - of_block)[annotation], of_block[annotation]

    def distances(i: IntArray, j: IntArray) -> FloatArray:
        n_pairs, counts = len(i), (n_objects[i], n_objects[j])
        of_two, drawn = np.stack(counts, axis=1).ravel(), counts[0] + counts[1]
        row = ranges(np.stack([start[i], start[j]], axis=1).ravel(), of_two)
        sample, of = np.repeat(np.arange(n_pairs), drawn), np.repeat(np.tile([0, 1], n_pairs), of_two)
        objects, own = (
            Objects(sample, of, category[row].astype(np.int64)),
            geometry(row),
        )  # every pair of annotations is a sample
        overlaps = own.overlaps(objects)
        pairs = matched_pairs(objects, own, overlaps, matching_of(objects, overlaps, context.config))
        same = pairs.same_class
        quality = panoptic_quality(sums_by(objects.sample[pairs.i[same]], pairs.iou[same], n_pairs), *counts)
        return 1.0 - np.where(drawn > 0, quality, 1.0)

    annotations = Annotations(annotation // n, content, n_objects, n_objects == 0, distances)
    return ExpectedDistances.of(annotations, records, context.clusters)


def _outlines(records: ObjectRecords) -> NDArray[np.uint8]:
    """Coarse outlines of objects, shape ``(N, B)``; of no bytes where boxes or points say all."""
    known = records.parts[0]
    if "outline" in known and "coordinates" not in known:
        return records.column("outline")
    return np.empty((int(records.column("n_objects").sum()), 0), np.uint8)


def _drawn(records: ObjectRecords, context: ReportContext) -> Iterator[tuple[IntArray, Hashes]]:
    """Rows of objects, and hashes of the class and place of each."""
    names, category, outlines = name_hashes(context.class_names), records.column("category"), _outlines(records)
    places, _ = _places(records, np.repeat(np.arange(records.n_samples), records.column("n_objects")), context)
    for first in range(0, len(category), _HASHED_AT_ONCE):
        rows = np.arange(first, min(first + _HASHED_AT_ONCE, len(category)))
        hashes = with_numbers(names[category[rows]], places(rows))
        for column in np.ascontiguousarray(outlines[rows]).view(np.uint32).T:
            hashes = mixed(hashes + column)
        yield rows, hashes


def _places(
    records: ObjectRecords, of_sample: IntArray, context: ReportContext
) -> tuple[Callable[[IntArray], FloatArray], FloatArray]:
    """Function that gives boxes ``(N, 4)`` or points ``(N, L, 2)`` of objects, as if all images had the size 1 and all
    videos began together, and the mean size of the images."""
    known = records.parts[0]
    if "coordinates" in known:  # the points of all objects, shape (N, L, 2), nan where there is none
        n_objects = np.maximum(records.column("n_objects").astype(np.int64), 1)
        n_points = (records.column("n_coordinates") // (2 * n_objects))[of_sample]
        places = np.full((len(of_sample), int(n_points.max(initial=1)), 2), np.nan)
        places[np.arange(places.shape[1]) < n_points[:, None]] = records.column("coordinates").reshape(-1, 2)
    elif "first_frame" in known:
        first, none = records.column("first_frame").astype(np.float64), np.zeros(len(of_sample))
        places = np.column_stack([first, none, first + records.column("area"), none + 1.0])
    else:
        places = records.column("boxes_xyxy")
    if not context.details.get("in_pixels") or not len(of_sample):
        return lambda rows: places[rows].astype(np.float64), np.ones(2)
    size = records.column("size_px").astype(np.float64)

    def of_size_1(rows: IntArray) -> FloatArray:
        own = size[of_sample[rows]]
        return places[rows] / (own[:, None, :] if places.ndim == 3 else np.tile(own, 2))

    return of_size_1, np.average(size, axis=0, weights=records.column("n_objects"))


#: number of (pair, shared sample) whose columns are collected in one pass
MAX_SHARED_AT_ONCE = 500_000
#: functions that compute numbers of a block at the same time
_N_THREADS = 2

#: computes numbers of a block of samples
_Subject: TypeAlias = Callable[[Tables], Iterable[Numbers | GroupNumbers]]


class Blocks:
    """All numbers of a report, computed from records block by block.

    Args:
        records: of rated samples
        context: the context of these samples
        by_sample: what is kept per sample, for intervals or a comparison of runs
    """

    def __init__(self, records: ObjectRecords, context: ReportContext, *, by_sample: BySample) -> None:
        self.records, self.context, self.by_sample = records, context, by_sample
        self.n_categories = len(context.class_names)
        self.pairs_met = AnnotatorPairs.of(records.assigned)
        self.sizes = SizeRule.of(records, context.config)
        self.expected = object_distances(records, context)
        self.attributes = compared_attributes(records, context)
        _, _, category = records.labels()
        self.n_labels = np.bincount(category, minlength=self.n_categories)
        self.joined, self.gathered = Joined(by_sample), Gathered()

    def blocks(self) -> Iterator[Tables]:
        """The tables of the samples, about 100,000 labels at a time."""
        known = {"n_categories": self.n_categories, "pairs_met": self.pairs_met, "sizes": self.sizes.of_units}
        return self.records.tables(self.context.config, **known)

    def _subjects(self) -> Iterator[list[_Subject]]:
        """The functions that compute numbers, for each pass through the samples: pairs may take much memory."""
        names, pairs_met = self.context.annotators, self.pairs_met
        chosen = pairs_met.chosen(names) if self.by_sample else np.empty(0, np.int64)
        codes = by_frequency(self.n_labels, self.context.class_names)
        with_interval = with_vitality(names, self.records.assigned, self.n_categories) if self.by_sample else chosen[:0]
        with_two = bool((self.records.assigned.sum(axis=1) == 2).any())
        group = np.zeros(len(pairs_met), np.int64)
        if self.by_sample is True:  # moments take little memory
            group[chosen] = (np.cumsum(pairs_met.n_shared[chosen]) - 1) // MAX_SHARED_AT_ONCE
        groups = [np.flatnonzero(group == k) for k in np.unique(group)] or [np.empty(0, np.int64)]

        def pairs_in(some: IntArray) -> _Subject:
            resampled = np.intersect1d(some, chosen)
            return lambda t: pair_numbers(t, names, some, resampled, self.expected.mean)

        all_chosen = len(chosen) == len(pairs_met) and len(groups) == 1
        yield [
            headline_numbers,
            *(pairs_in(some) for some in groups[:1]),
            count_numbers,
            lambda t: session_numbers(t, names, by_sample=all_chosen),
            lambda t: class_numbers(t, codes, self.context.class_names),
            lambda t: annotator_numbers(t, names),
            lambda t: vitality_numbers(t, names, with_interval, with_two=with_two),
            lambda t: attribute_numbers(t, self.attributes),
        ]
        yield from ([pairs_in(some)] for some in groups[1:])

    def numbers(self, look: Callable[[Tables], None] | None = None) -> Iterator[Numbers]:
        """All numbers; ``look`` is called with every block, too."""
        yield sample_numbers(self.records)
        yield self.expected.numbers(self.records)
        with ThreadPoolExecutor(_N_THREADS) as pool:  # numpy lets another thread work meanwhile
            for number_of_pass, subjects in enumerate(self._subjects()):
                for t in self.blocks():
                    waiting = [
                        pool.submit(self.joined.add, place, of(t), t.n_samples) for place, of in enumerate(subjects)
                    ]
                    if not number_of_pass:
                        add_attributes(self.gathered, t, self.attributes)
                        if look is not None:
                            look(t)
                    for each in waiting:
                        each.result()
                yield from self.joined.numbers(unused_tables(self.gathered, self.attributes))


def object_numbers(records: ObjectRecords, context: ReportContext) -> Iterator[Numbers]:
    """All numbers of a report as functions of sums over its samples.

    Their keys are single names (``("alpha.pooled",)``), or begin with a part of the report: ``("pairs", "alice", "bob",
    "f1")``, ``("classes", "car", "alpha")``, ``("annotators", "alice", "miss_rate")``. Samples that are not rated have
    rows of zeros.
    """
    return Blocks(records, context, by_sample=True).numbers()


def headline_numbers_of(records: ObjectRecords, context: ReportContext) -> Iterator[Numbers]:
    """The headline numbers that are functions of sums over any samples; the alpha of images is not."""
    joined = Joined(by_sample=True)
    for t in records.tables(context.config, n_categories=len(context.class_names)):
        joined.add(0, main_numbers(t), t.n_samples)
    yield sample_numbers(records)
    yield from joined.numbers()


def sample_contents(records: ObjectRecords, context: ReportContext) -> tuple[Hashes, FloatArray]:
    """Content of the samples for :func:`~..statistics.records.content_ranks`; independent of order and ids.

    Returns:
        hashes of the labels with their annotators, classes, places and verdicts ``(S,)``, and values ``(S, 2)``
    """
    annotators, config, hashes, values = name_hashes(context.annotators), context.config, [], []
    drawn, done = np.concatenate([np.empty(0, np.uint64), *(found for _, found in _drawn(records, context))]), 0
    of_values = [
        name_hashes([repr(value) for value in context.attribute_values.get(name, [None])]) for name in config.attributes
    ]
    for t in records.tables(config):
        objects = t.objects
        label = mixed(annotators)[objects.annotator] + drawn[done : done + len(objects)]
        label, done = with_numbers(combined(label, t.object_verdict), t.area), done + len(objects)
        label = combined(label, t.units.votes[t.unit])
        for of_value, codes in zip(of_values, t.attributes, strict=False):
            label = combined(label, of_value[codes].view(np.int64))
        of_assigned = assignment_hashes(t.assigned, annotators)
        if "size_px" in t.part:
            of_assigned = with_numbers(of_assigned, t.part["size_px"].astype(np.float64))
        hashes.append(of_assigned + hash_sums(objects.sample, label, t.n_samples))
        values.append(np.column_stack([t.score, sums_by(t.pair_sample, t.pairs.iou, t.n_samples)]))
    return np.concatenate(hashes), np.concatenate(values)


def object_reading(records: ObjectRecords, context: ReportContext) -> OtherReading | None:
    """The main numbers if null label lists meant the opposite; None if the same annotators would be assigned."""
    if not (records.otherwise != records.assigned).any():
        return None
    return other_reading(records, context, *headline_otherwise(records, len(context.class_names), context.config))


def build_object_report(records: ObjectRecords, context: ReportContext) -> ObjectReport:
    """The report on objects, from the records of samples."""
    config, class_names = context.config, context.class_names
    rated, of_rated = rated_only(records, context)
    own = Blocks(rated, of_rated, by_sample=kept_by_sample(rated, of_rated))
    gathered, joined, pairs_met, effects = (
        own.gathered,
        own.joined,
        own.pairs_met,
        EffectRows(of_rated.clusters),
    )

    def look(t: Tables) -> None:
        effects.add(object_effects(t), t.n_samples)
        for add in (add_headline, add_pairs, add_classes, add_sizes, add_annotators):
            add(gathered, t)

    numbers = own.numbers(
        look
    )  # a generator: rest, effects and joined.sums are filled while the next line draws from it
    found = report_estimates(numbers, lambda: sample_contents(rated, of_rated), rated, of_rated)
    fields, of_pairs = Fields(found), joined.of_groups("pairs")
    confused = class_pairs(gathered.counts("confused"), class_names)
    tracks = None
    if "track" in records.parts[0] and context.clusters is not None:
        tracks = track_consistency(records, context.clusters)
    pairs = pair_summaries(fields, of_pairs, gathered, pairs_met, tracks, context)
    classes, n_classes_unlisted = class_summaries(fields, gathered, own.n_labels, confused, class_names)
    tested = findings_on_objects(effects, of_rated, own.n_labels, pairs_met, of_pairs["n_beside_others"])
    joint = joined.sums["joint"]
    drawn = np.unique(records.column("category")).tolist()
    n_hard, n_inexact, n_crowded, n_repaired, n_points = (
        int(records.column(name).sum(dtype=np.int64))
        for name in ("n_hard", "n_inexact", "crowded", "n_repaired", "n_points")
    )
    surplus, bound = records.column("inexact_surplus").sum(axis=0).tolist()
    n_units, n_objects = (rated.column(name) for name in ("n_units", "n_objects"))
    return report_of(
        ObjectReport,
        fields,
        records,
        context,
        n_rated=rated.n_samples,
        n_empty=int((n_objects == 0).sum()),
        n_units=int(n_units.sum(dtype=np.int64)),
        n_objects=int(n_objects.sum(dtype=np.int64)),
        n_hard_components=n_hard,
        n_inexact_components=n_inexact,
        inexact_gap=1.0 - surplus / bound if bound else None,
        n_crowded=n_crowded,
        n_repaired=n_repaired,
        n_points=n_points,
        track_consistency=mean_defined(
            [pair.track_consistency for pair in pairs if pair.track_consistency is not None]
        )[0],
        **headline_parts(fields.of(), joined, gathered, confused, records, of_rated),
        image_alpha=own.expected.summary(number(found["image_alpha.value",].value), rated, gathered.rows("pair_score")),
        attributes=attribute_summaries(gathered, own.attributes, found, of_rated.describe),
        sizes=size_summaries(gathered, own.sizes),
        pairs=pairs,
        annotators=annotator_summaries(fields, joined, gathered, pairs_met, records, context),
        sessions=sessions(pairs, fields),
        clusters=clusters(pairs, context.annotators),
        classes=classes,
        n_classes_unlisted=n_classes_unlisted,
        merges=merges(
            gathered.counts("conflicts"),
            joint[OBSERVED],
            joint[N_HEAD : N_HEAD + len(class_names)],
            class_names,
            config.undefined,
        ),
        similar_names=similar_names(
            [class_names[code] for code in drawn], synonyms(confused, class_names, tested["confused"])
        ),
        **tested,
        other_reading=object_reading(records, context),
    )

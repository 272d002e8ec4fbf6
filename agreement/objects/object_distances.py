"""Distances between annotations of different images, from records: the expected part of the alpha of images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...metrics.geometry.boxes import Boxes
from ...metrics.geometry.keypoints import Keypoints
from ...metrics.geometry.objects import Geometry, Objects
from ...metrics.geometry.regions import Outlines
from ...metrics.matching.pairs import panoptic_quality
from ...metrics.numeric.arrays import FloatArray, IntArray, ranges, sums_by
from ..image_alpha.expected import Annotations, ExpectedDistances, image_distances
from ..matching.compute import matched_pairs, matching_of
from ..statistics.content_order import hash_sums, mixed, name_hashes
from ..statistics.report import ReportContext
from .records import ObjectRecords

#: objects that are hashed at once
_HASHED_AT_ONCE = 2**18


def object_distances(records: ObjectRecords, context: ReportContext) -> ExpectedDistances:
    """The distances of annotations of different images, 1 - score of the two as the run matches them.

    Objects are placed as if all images had the same size. Polygons and masks are compared by coarse outlines, lines by
    the boxes around them.
    """
    n, names = records.n_annotators, name_hashes(context.class_names)
    of_sample = np.repeat(np.arange(records.n_samples), records.column("n_objects"))
    places, size = _places(records, of_sample, context)
    known, outlines = records.parts[0], np.empty((len(of_sample), 0), np.uint8)
    if "outline" in known and "coordinates" not in known:
        outlines = records.column("outline")

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
    for first in range(0, len(of_sample), _HASHED_AT_ONCE):
        rows = np.arange(first, min(first + _HASHED_AT_ONCE, len(of_sample)))
        block = of_sample[rows] * n + annotator[rows]
        of_block += np.bincount(block, minlength=n_blocks)
        hashes, place = names[category[rows]], places(rows)
        # 0.0 for -0.0, and one nan for all
        words = (np.where(np.isnan(place), np.inf, place) + 0.0).reshape(len(rows), -1).view(np.uint64)
        for column in (*words.T, *np.ascontiguousarray(outlines[rows]).view(np.uint32).T):
            hashes = mixed(hashes + column)
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
        )  # every pair is a sample of two
        overlaps = own.overlaps(objects)
        pairs = matched_pairs(objects, own, overlaps, matching_of(objects, overlaps, context.config))
        same = pairs.same_class
        quality = panoptic_quality(sums_by(objects.sample[pairs.i[same]], pairs.iou[same], n_pairs), *counts)
        return 1.0 - np.where(drawn > 0, quality, 1.0)

    annotations = Annotations(annotation // n, content, n_objects, n_objects == 0, distances)
    return ExpectedDistances.of(annotations, records, context.clusters)


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

"""Overlaps of polygons and instance masks, against FiftyOne's ``compute_ious`` and pycocotools on the same pairs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import fiftyone as fo
import fiftyone.utils.iou as foui
import numpy as np
import shapely
from numpy.typing import NDArray
from pycocotools import mask as coco_mask

from tools.dev.plugin import load_plugin

from .output import Row, at_least, say, timed

N_SAMPLES = 2_000
N_ANNOTATORS = 3
N_OBJECTS = 7
N_VERTICES = 20
WIDTH, HEIGHT = 640, 480
RADIUS_PX = 50.0
#: number of samples on which FiftyOne is timed; the time is then scaled
N_OF_FIFTYONE = 100
REPETITIONS = 3
SEED = 51

#: polygons ``(samples, annotators, objects, vertices, 2)`` in pixels
Drawn = NDArray[np.float64]


def draw(n_samples: int, seed: int = SEED) -> Drawn:
    """Star-shaped objects of about 100 x 100 pixels, and each annotator's noisy version of them."""
    rng = np.random.default_rng(seed)
    shape = (n_samples, 1, N_OBJECTS, 1)
    center = np.stack([rng.uniform(RADIUS_PX * 1.4, side - RADIUS_PX * 1.4, shape) for side in (WIDTH, HEIGHT)], -1)
    true_radius = RADIUS_PX * rng.uniform(0.7, 1.15, (n_samples, 1, N_OBJECTS, N_VERTICES))
    radius = true_radius * rng.normal(1.0, 0.05, (n_samples, N_ANNOTATORS, N_OBJECTS, N_VERTICES))
    angle = np.linspace(0.0, 2.0 * np.pi, N_VERTICES, endpoint=False)
    outline = radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    moved = center + rng.normal(0.0, 2.0, (n_samples, N_ANNOTATORS, N_OBJECTS, 1, 2))
    return moved + outline


def crops_of(drawn: Drawn) -> list[tuple[NDArray[np.bool_], int, int]]:
    """The pixels whose centres lie in each polygon: crop, first column, first row."""
    crops = []
    for ring in drawn.reshape(-1, N_VERTICES, 2):
        left, top = np.floor(ring.min(axis=0)).astype(int)
        right, bottom = np.ceil(ring.max(axis=0)).astype(int)
        x, y = np.meshgrid(np.arange(left, right) + 0.5, np.arange(top, bottom) + 0.5)
        crops.append((shapely.contains_xy(shapely.Polygon(ring), x, y), int(left), int(top)))
    return crops


def _objects(n_samples: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    sample = np.repeat(np.arange(n_samples), N_ANNOTATORS * N_OBJECTS)
    annotator = np.tile(np.repeat(np.arange(N_ANNOTATORS), N_OBJECTS), n_samples)
    return sample, annotator


def our_polygons(drawn: Drawn) -> Callable[[], float]:
    """From vertices to the IoU of every overlapping pair; gives the sum."""
    load_plugin()
    from annotator_agreement.metrics import Objects, Regions, polygons_from_rings

    points = drawn.reshape(-1, 2)
    sample, annotator = _objects(len(drawn))
    shape = np.arange(len(sample))

    def run() -> float:
        polygons = polygons_from_rings(points, np.repeat(shape, N_VERTICES), shape, len(shape))
        return float(
            Regions.of_polygons(polygons)
            .overlaps(Objects(sample, annotator, np.ones_like(sample)))
            .similarity("iou")
            .sum()
        )

    return run


def our_masks(crops: list[tuple[NDArray[np.bool_], int, int]], n_samples: int) -> Callable[[], float]:
    """From the annotators' masks and boxes to the IoU of every overlapping pair; gives the sum."""
    load_plugin()
    from annotator_agreement.dataset_io.labels.shape_readers import placed_masks
    from annotator_agreement.metrics import Objects
    from annotator_agreement.metrics.geometry.regions import Regions

    masks = [crop for crop, _, _ in crops]
    size = np.array([WIDTH, HEIGHT], np.float64)
    boxes = np.array([[left, top, crop.shape[1], crop.shape[0]] for crop, left, top in crops]) / np.tile(size, 2)
    sizes = np.tile(size, (len(crops), 1))
    sample, annotator = _objects(n_samples)

    def run() -> float:
        regions = Regions.of_masks(placed_masks(masks, boxes, sizes))
        return float(regions.overlaps(Objects(sample, annotator, np.ones_like(sample))).similarity("iou").sum())

    return run


def fiftyone_run(labels: list[list[list[fo.Label]]], **options: bool) -> Callable[[], float]:
    """``compute_ious`` of the pairs of annotators of every sample; gives the sum."""

    def run() -> float:
        return sum(
            float(foui.compute_ious(a, b, **options).sum())
            for sample in labels
            for a, b in itertools.combinations(sample, 2)
        )

    return run


def _nested(flat: list[fo.Label]) -> list[list[list[fo.Label]]]:
    per_annotator = [flat[k : k + N_OBJECTS] for k in range(0, len(flat), N_OBJECTS)]
    return [per_annotator[k : k + N_ANNOTATORS] for k in range(0, len(per_annotator), N_ANNOTATORS)]


def polylines(drawn: Drawn) -> list[list[list[fo.Label]]]:
    """The polygons as labels."""
    relative = drawn.reshape(-1, N_VERTICES, 2) / [WIDTH, HEIGHT]
    return _nested([fo.Polyline(label="x", points=[ring], closed=True, filled=True) for ring in relative.tolist()])


def detections(crops: list[tuple[NDArray[np.bool_], int, int]]) -> list[list[list[fo.Label]]]:
    """The masks as labels."""
    flat = []
    for crop, left, top in crops:
        box = [left / WIDTH, top / HEIGHT, crop.shape[1] / WIDTH, crop.shape[0] / HEIGHT]
        flat.append(fo.Detection(label="x", bounding_box=box, mask=crop))
    return _nested(flat)


def coco_seconds(crops: list[tuple[NDArray[np.bool_], int, int]]) -> tuple[float, float]:
    """Seconds of pycocotools to encode all masks and compare the pairs of annotators, and the sum of the IoU.

    Painting the masks on images of full size, which pycocotools needs, is not counted.
    """
    seconds, total = 0.0, 0.0
    per_sample = N_ANNOTATORS * N_OBJECTS
    for start in range(0, len(crops), per_sample):
        images = np.zeros((per_sample, WIDTH, HEIGHT), np.uint8).transpose(2, 1, 0)
        for k, (crop, left, top) in enumerate(crops[start : start + per_sample]):
            images[top : top + crop.shape[0], left : left + crop.shape[1], k] = crop
        images = np.asfortranarray(images)
        started = time.perf_counter()
        encoded = coco_mask.encode(images)
        groups = [encoded[k : k + N_OBJECTS] for k in range(0, per_sample, N_OBJECTS)]
        for a, b in itertools.combinations(groups, 2):
            total += float(coco_mask.iou(a, b, [0] * len(b)).sum())
        seconds += time.perf_counter() - started
    return seconds, total


def measure() -> list[Row]:
    """Time all of them on the same shapes."""
    drawn = draw(N_SAMPLES)
    crops = crops_of(drawn)
    say(f"shapes: {N_SAMPLES} samples x {N_ANNOTATORS} annotators x {N_OBJECTS} objects, {N_VERTICES} vertices each")
    n_few = N_OF_FIFTYONE * N_ANNOTATORS * N_OBJECTS
    scale = N_SAMPLES / N_OF_FIFTYONE
    ours = our_polygons(drawn), our_masks(crops, N_SAMPLES)
    ours[0](), ours[1]()  # warm up
    (polygon_seconds, polygon_sum), (mask_seconds, mask_sum) = (timed(run, REPETITIONS) for run in ours)
    their_polygons, their_polygon_sum = timed(fiftyone_run(polylines(drawn[:N_OF_FIFTYONE])))
    their_masks, _ = timed(fiftyone_run(detections(crops[:n_few]), use_masks=True))
    coco, coco_sum = coco_seconds(crops)
    few = our_polygons(drawn[:N_OF_FIFTYONE])()
    say(f"  sum of IoU, polygons of {N_OF_FIFTYONE} samples: ours {few:.6f}, FiftyOne {their_polygon_sum:.6f}")
    say(f"  sum of IoU, masks:    ours {mask_sum:.6f}, pycocotools {coco_sum:.6f}; polygons {polygon_sum:.1f}")
    return [
        Row("polygons: compute_ious / ours", their_polygons * scale, at_least(10), polygon_seconds),
        Row("masks: compute_ious / ours", their_masks * scale, at_least(10), mask_seconds),
        Row("masks: pycocotools with encoding / ours", coco, at_least(1), mask_seconds),
    ]

"""Polygons and masks: overlaps against FiftyOne and pycocotools, and semantic masks against decoding their files."""

from __future__ import annotations

import itertools
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import fiftyone as fo
import fiftyone.utils.iou as foui
import numpy as np
import shapely
from numpy.typing import NDArray
from pycocotools import mask as coco_mask

from tools.dev.plugin import load_plugin

from .generated import ANNOTATORS, SEED
from .output import Row, at_least, at_most, in_turns, say, timed
from .runs import run_seconds

N_SAMPLES, N_ANNOTATORS, N_OBJECTS, N_VERTICES = 2_000, 3, 7, 20
WIDTH, HEIGHT, RADIUS_PX = 640, 480, 50.0
#: samples on which FiftyOne is timed; the time is then scaled
N_OF_FIFTYONE = 100


def _drawn(n_samples: int) -> NDArray[np.float64]:
    """Star-shaped objects of about 100 x 100 pixels as every annotator draws them, ``(S, R, N, vertices, 2)``."""
    rng = np.random.default_rng(SEED)
    shape = (n_samples, 1, N_OBJECTS, 1)
    center = np.stack([rng.uniform(RADIUS_PX * 1.4, side - RADIUS_PX * 1.4, shape) for side in (WIDTH, HEIGHT)], -1)
    true_radius = RADIUS_PX * rng.uniform(0.7, 1.15, (n_samples, 1, N_OBJECTS, N_VERTICES))
    radius = true_radius * rng.normal(1.0, 0.05, (n_samples, N_ANNOTATORS, N_OBJECTS, N_VERTICES))
    angle = np.linspace(0.0, 2.0 * np.pi, N_VERTICES, endpoint=False)
    outline = radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], -1)
    return center + rng.normal(0.0, 2.0, (n_samples, N_ANNOTATORS, N_OBJECTS, 1, 2)) + outline


def _of_fiftyone(labels: list[fo.Label], **options: bool) -> float:
    """Seconds of ``compute_ious`` of the pairs of annotators, scaled to all samples."""
    by_annotator = [labels[k : k + N_OBJECTS] for k in range(0, len(labels), N_OBJECTS)]
    samples = [by_annotator[k : k + N_ANNOTATORS] for k in range(0, len(by_annotator), N_ANNOTATORS)]
    pairs = [pair for sample in samples for pair in itertools.combinations(sample, 2)]
    return timed(lambda: [foui.compute_ious(*pair, **options) for pair in pairs])[0] * N_SAMPLES / N_OF_FIFTYONE


def _of_coco(crops: list[tuple[NDArray[np.bool_], int, int]]) -> tuple[float, float]:
    """Seconds of pycocotools to encode all masks and compare the pairs of annotators, and the sum of the IoU.

    Painting the masks on images of full size, which pycocotools needs, is not counted.
    """
    seconds, total, of_sample = 0.0, 0.0, N_ANNOTATORS * N_OBJECTS
    for start in range(0, len(crops), of_sample):
        images = np.zeros((of_sample, WIDTH, HEIGHT), np.uint8).transpose(2, 1, 0)
        for k, (crop, left, top) in enumerate(crops[start : start + of_sample]):
            images[top : top + crop.shape[0], left : left + crop.shape[1], k] = crop
        images = np.asfortranarray(images)

        def compare(images: NDArray[np.uint8] = images) -> float:
            encoded = coco_mask.encode(images)
            groups = [encoded[k : k + N_OBJECTS] for k in range(0, of_sample, N_OBJECTS)]
            pairs = itertools.combinations(groups, 2)
            return sum(float(coco_mask.iou(a, b, [0] * len(b)).sum()) for a, b in pairs)

        took, found = timed(compare)
        seconds, total = seconds + took, total + found
    return seconds, total


def shapes() -> list[Row]:
    """Overlaps of the same polygons and masks by ours, FiftyOne and pycocotools."""
    load_plugin()
    from annotator_agreement.dataset_io.labels.shape_readers import placed_masks
    from annotator_agreement.metrics import Objects, Regions, polygons_from_rings

    rings = _drawn(N_SAMPLES).reshape(-1, N_VERTICES, 2)
    crops = []  # the pixels whose centres lie in each polygon, first column, first row
    for ring in rings:
        (left, top), (right, bottom) = np.floor(ring.min(axis=0)).astype(int), np.ceil(ring.max(axis=0)).astype(int)
        x, y = np.meshgrid(np.arange(left, right) + 0.5, np.arange(top, bottom) + 0.5)
        crops.append((shapely.contains_xy(shapely.Polygon(ring), x, y), int(left), int(top)))
    size = np.tile(np.array([WIDTH, HEIGHT], np.float64), 2)
    boxes = np.array([[left, top, crop.shape[1], crop.shape[0]] for crop, left, top in crops]) / size
    shape = np.arange(len(rings))
    sample, rest = np.divmod(shape, N_ANNOTATORS * N_OBJECTS)
    objects = Objects(sample, rest // N_OBJECTS, np.ones_like(sample))

    def of_polygons() -> float:
        polygons = polygons_from_rings(rings.reshape(-1, 2), np.repeat(shape, N_VERTICES), shape, len(shape))
        return float(Regions.of_polygons(polygons).overlaps(objects).similarity("iou").sum())

    def of_masks() -> float:
        masks = placed_masks([crop for crop, _, _ in crops], boxes, np.tile(size[:2], (len(crops), 1)))
        return float(Regions.of_masks(masks).overlaps(objects).similarity("iou").sum())

    of_polygons(), of_masks()  # warm up
    (polygons, _), (masks, total) = timed(of_polygons, 3), timed(of_masks, 3)
    few = slice(N_OF_FIFTYONE * N_ANNOTATORS * N_OBJECTS)
    relative = (rings[few] / size[:2]).tolist()
    lines = [fo.Polyline(label="x", points=[ring], closed=True, filled=True) for ring in relative]
    of_few = zip(boxes[few].tolist(), crops[few], strict=True)
    detections = [fo.Detection(label="x", bounding_box=box, mask=crop) for box, (crop, _, _) in of_few]
    coco, coco_total = _of_coco(crops)
    say(f"  sum of IoU, masks: ours {total:.6f}, pycocotools {coco_total:.6f}")
    return [
        Row("polygons: compute_ious / ours", _of_fiftyone(lines), at_least(10), polygons),
        Row("masks: compute_ious / ours", _of_fiftyone(detections, use_masks=True), at_least(10), masks),
        Row("masks: pycocotools with encoding / ours", coco, at_least(1), masks),
    ]


# ---- semantic masks ----

N_OF_MASKS, SIDE, N_CLASSES = 500, 1024, 20
#: boundaries take longer, so only a few samples are compared
N_OF_BOUNDARIES = 12
_N_SCENES, _MARGIN, _FLIP_RATE = 8, 64, 0.03
#: amplitude of the deviations of annotators' boundaries, in pixels
_WANDER = 4.0


def _smooth(rng: np.random.Generator, size: int, cells: int) -> Any:
    """Smooth noise without preferred direction."""
    coarse = rng.standard_normal((cells, cells)).astype(np.float32)
    return cv2.resize(coarse, (size, size), interpolation=cv2.INTER_CUBIC)


def _scene(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Regions of all classes, larger than an image; the first class, background, is the most common."""
    size = SIDE + 2 * _MARGIN
    highest, scene = _smooth(rng, size, 9) + 0.8, np.zeros((size, size), np.uint8)
    for value in range(1, N_CLASSES):
        field = _smooth(rng, size, int(rng.integers(6, 24)))
        scene[field > highest] = value
        np.maximum(highest, field, out=highest)
    return scene


def _masks_dataset(folder: Path) -> tuple[fo.Dataset, list[str]]:
    """Masks in files with deviating boundaries and some confused classes; the dataset, and all files."""
    rng, paths = np.random.default_rng(SEED), []
    scenes = [_scene(rng) for _ in range(_N_SCENES)]
    rows, columns = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)
    wanders = [_WANDER * _smooth(rng, SIDE, 48) for _ in range(8)]
    samples = []
    for number in range(N_OF_MASKS):
        scene, sample = scenes[rng.integers(_N_SCENES)], fo.Sample(filepath=f"/nowhere/{number}.jpg")
        left, top = rng.integers(0, 2 * _MARGIN, 2)
        for name in ANNOTATORS:
            across, down = (wanders[k] for k in rng.integers(0, len(wanders), 2))
            moved = columns + across + np.float32(left), rows + down + np.float32(top)
            mask = cv2.remap(scene, *moved, cv2.INTER_NEAREST, borderMode=cv2.BORDER_REPLICATE)
            table = np.arange(256, dtype=np.uint8)
            flipped = np.flatnonzero(rng.random(N_CLASSES) < _FLIP_RATE)
            table[flipped] = rng.integers(0, N_CLASSES, len(flipped))
            paths.append(str(folder / f"{number:04d}-{name}.png"))
            cv2.imwrite(paths[-1], table[mask])
            sample[name] = fo.Segmentation(mask_path=paths[-1])
        samples.append(sample)
    dataset = fo.Dataset("bench-semantic", persistent=True, overwrite=True)
    dataset.add_samples(samples, progress=False)
    return dataset, paths


def semantic() -> list[Row]:
    """Everything except the boundary numbers, against only decoding the same files; and the boundary numbers."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as threads:
        dataset, paths = _masks_dataset(Path(folder))

        def decode(path: str) -> int:
            return int(fo.Segmentation(mask_path=path).get_mask().shape[0])

        seconds = in_turns({
            "semantic masks": lambda: run_seconds(dataset),
            "decoding": lambda: timed(lambda: list(map(decode, paths)))[0],
            "decoding in two threads": lambda: timed(lambda: list(threads.map(decode, paths)))[0],
        })  # fmt: skip
        few = dataset.limit(N_OF_BOUNDARIES)
        of_sample = (run_seconds(few, boundaries=True) - run_seconds(few)) / N_OF_BOUNDARIES
        dataset.delete()
    own, one, two = seconds.values()
    return [
        Row("semantic masks / decoding them alone", own, at_most(1.5), one),
        Row("semantic masks / decoding them alone in two threads", own, None, two),
        Row("boundaries: more seconds a sample", of_sample),
    ]

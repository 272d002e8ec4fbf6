"""Semantic masks in PNG files: all numbers of a run, against only decoding the same files."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import fiftyone as fo
import numpy as np
from numpy.typing import NDArray

from .generated import ANNOTATORS, SEED
from .output import Row, at_most, in_turns, timed
from .runs import run_seconds

N_SAMPLES, SIDE, N_CLASSES = 500, 1024, 20
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
    for number in range(N_SAMPLES):
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

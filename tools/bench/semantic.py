"""Semantic masks in PNG files: everything except the boundary numbers, against only decoding the same files."""

from __future__ import annotations

import shutil
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import fiftyone as fo
import numpy as np
from numpy.typing import NDArray

from .generated import ANNOTATORS, SEED
from .main_job import our_seconds
from .output import Row, at_most, say, timed

N_SAMPLES = 500
SIZE = 1024
N_CLASSES = 20
REPETITIONS = 3
#: boundaries take longer, so only a few samples are compared
N_OF_BOUNDARIES = 12

_N_SCENES = 8
_MARGIN = 64
#: amplitude of the deviations of annotators' boundaries, in pixels
_WANDER = 4.0
_FLIP_RATE = 0.03


def _smooth(rng: np.random.Generator, size: int, cells: int) -> NDArray[np.float32]:
    """Smooth noise without preferred direction."""
    coarse = rng.standard_normal((cells, cells)).astype(np.float32)
    return cv2.resize(coarse, (size, size), interpolation=cv2.INTER_CUBIC)


def _scene(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Regions of all classes, larger than an image; the first class, background, is the most common."""
    size = SIZE + 2 * _MARGIN
    highest = _smooth(rng, size, 9) + 0.8
    scene = np.zeros((size, size), np.uint8)
    for value in range(1, N_CLASSES):
        field = _smooth(rng, size, int(rng.integers(6, 24)))
        scene[field > highest] = value
        np.maximum(highest, field, out=highest)
    return scene


def write_masks(folder: Path, n_samples: int) -> list[list[str]]:
    """Masks of all annotators of every sample, with deviating boundaries and some confused classes."""
    rng = np.random.default_rng(SEED)
    scenes = [_scene(rng) for _ in range(_N_SCENES)]
    rows, columns = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    wanders = [_WANDER * _smooth(rng, SIZE, 48) for _ in range(8)]
    paths = []
    for sample in range(n_samples):
        scene = scenes[rng.integers(_N_SCENES)]
        left, top = rng.integers(0, 2 * _MARGIN, 2)
        of_sample = []
        for name in ANNOTATORS:
            across, down = (wanders[k] for k in rng.integers(0, len(wanders), 2))
            mask = cv2.remap(
                scene, columns + across + np.float32(left), rows + down + np.float32(top), cv2.INTER_NEAREST,
                borderMode=cv2.BORDER_REPLICATE,
            )  # fmt: skip
            table = np.arange(256, dtype=np.uint8)
            flipped = np.flatnonzero(rng.random(N_CLASSES) < _FLIP_RATE)
            table[flipped] = rng.integers(0, N_CLASSES, len(flipped))
            path = folder / f"{sample:04d}-{name}.png"
            cv2.imwrite(str(path), table[mask])
            of_sample.append(str(path))
        paths.append(of_sample)
    return paths


def make_dataset(name: str, paths: list[list[str]]) -> fo.Dataset:
    """A dataset with the files as masks."""
    dataset = fo.Dataset(name, persistent=True, overwrite=True)
    samples = []
    for number, of_sample in enumerate(paths):
        masks = {name: fo.Segmentation(mask_path=path) for name, path in zip(ANNOTATORS, of_sample, strict=True)}
        samples.append(fo.Sample(filepath=f"/nowhere/{number}.jpg", **masks))
    dataset.add_samples(samples, progress=False)
    return dataset


def _decode(path: str) -> int:
    return int(fo.Segmentation(mask_path=path).get_mask().shape[0])


def decoding_seconds(paths: list[str], n_threads: int) -> float:
    """Seconds of FiftyOne to read all masks."""
    with ThreadPoolExecutor(n_threads) as threads:
        return timed(lambda: list((map if n_threads == 1 else threads.map)(_decode, paths)))[0]


def measure() -> list[Row]:
    """Time all of them on the same files, taking turns."""
    folder = Path(tempfile.mkdtemp())
    try:
        paths = write_masks(folder, N_SAMPLES)
        files = [path for of_sample in paths for path in of_sample]
        size = sum(Path(path).stat().st_size for path in files) / len(files)
        say(f"semantic masks: {N_SAMPLES} samples x {len(ANNOTATORS)} annotators, {SIZE} x {SIZE}, {N_CLASSES} classes,"
            f" {size / 1024:.0f} KiB a file")  # fmt: skip
        dataset = make_dataset("bench-semantic", paths)
        our_seconds(dataset), decoding_seconds(files, 1)  # warm up
        ours, alone, in_two = [], [], []
        for _ in range(REPETITIONS):
            ours.append(our_seconds(dataset))
            alone.append(decoding_seconds(files, 1))
            in_two.append(decoding_seconds(files, 2))
        few = dataset.limit(N_OF_BOUNDARIES)
        per_sample = (our_seconds(few, boundaries=True) - our_seconds(few)) / N_OF_BOUNDARIES
        dataset.delete()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    own, one, two = (statistics.median(seconds) for seconds in (ours, alone, in_two))
    return [
        Row("semantic masks / decoding them alone", own, at_most(1.5), one),
        Row("semantic masks / decoding them alone in two threads", own, None, two),
        Row("boundaries: more seconds a sample", per_sample),
    ]

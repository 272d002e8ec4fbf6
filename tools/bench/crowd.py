"""Crowds: 200 annotators with habits of their own, 8 or 9 on each image, against kalos on the same boxes."""

from __future__ import annotations

import statistics

import fiftyone as fo
import numpy as np
from numpy.typing import NDArray

from tools.dev.other_programs import OtherProgram
from tools.dev.plugin import load_plugin

from .generated import SEED, GeneratedBoxes, random_boxes
from .kernels import kalos_with, our_run
from .output import Limit, Row, at_most, say, timed

N_ANNOTATORS = 200
ON_EACH_IMAGE = (8, 9)
OBJECTS = (1, 15)
#: median displacement of a corner, as a share of the side
JITTER = 0.1
#: annotators who draw anything anywhere
SPAMMERS = 0.03
#: objects beside another one that they overlap, which makes groups of labels ambiguous
CROWDED = 0.2
REPETITIONS = 3
SIZES = (200, 2_000)


def generate_crowd(n_images: int, n_classes: int, seed: int = SEED, *, alike: bool = False) -> GeneratedBoxes:
    """Draw true objects, and what those who were asked made of them; ``alike``: nobody has a habit of their own."""
    rng = np.random.default_rng(seed)
    jitter = JITTER * rng.lognormal(0.0, 0.4, N_ANNOTATORS)
    missed = rng.beta(1.2, 10.0, N_ANNOTATORS)
    mistaken = rng.beta(1.2, 15.0, N_ANNOTATORS)
    growth = rng.normal(0.0, 0.05, N_ANNOTATORS)
    spams = rng.random(N_ANNOTATORS) < SPAMMERS
    if alike:
        jitter[:], missed[:], mistaken[:], growth[:], spams[:] = JITTER, missed.mean(), mistaken.mean(), 0.0, False
    sample, true, label = _objects(n_images, n_classes, rng)
    asked = np.zeros((n_images, N_ANNOTATORS), np.bool_)
    for row in asked:
        row[rng.choice(N_ANNOTATORS, rng.choice(ON_EACH_IMAGE), replace=False)] = True
    item, annotator = np.nonzero(asked[sample])
    kept = rng.random(len(item)) >= missed[annotator]
    item, annotator = item[kept], annotator[kept]
    side = true[item, 2:]
    low = true[item, :2] + rng.normal(0.0, 1.0, side.shape) * jitter[annotator, None] * side
    high = true[item, :2] + side + rng.normal(0.0, 1.0, side.shape) * jitter[annotator, None] * side
    grown = growth[annotator, None] * side
    first, second = np.clip(low - grown, 0.0, 1.0), np.clip(high + grown, 0.0, 1.0)
    boxes = np.hstack([np.minimum(first, second), np.maximum(np.abs(second - first), 1e-3)])
    drawn = np.where(rng.random(len(item)) < mistaken[annotator], rng.integers(0, n_classes, len(item)), label[item])
    anywhere = spams[annotator]
    boxes[anywhere] = random_boxes(int(anywhere.sum()), rng)
    order = np.lexsort((annotator, sample[item]))
    return GeneratedBoxes(
        sample[item][order], annotator[order], drawn[order], boxes[order], n_images, N_ANNOTATORS, asked
    )


def _objects(
    n_images: int, n_classes: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    sample = np.repeat(np.arange(n_images), rng.integers(OBJECTS[0], OBJECTS[1] + 1, n_images))
    boxes = random_boxes(len(sample), rng)
    beside = np.flatnonzero((rng.random(len(sample)) < CROWDED) & (np.diff(sample, prepend=-1) == 0))
    shift = rng.uniform(-0.35, 0.35, (len(beside), 2)) * boxes[beside - 1, 2:]
    boxes[beside] = boxes[beside - 1]
    boxes[beside, :2] = np.clip(boxes[beside, :2] + shift, 0.0, 1.0 - boxes[beside, 2:])
    return sample, boxes, rng.integers(0, n_classes, len(sample))


def crowd_dataset(data: GeneratedBoxes) -> fo.Dataset:
    """The crowd as a dataset: one field of boxes, whose attribute names the annotator, and a list of who was asked."""
    dataset = fo.Dataset("bench-crowd", persistent=True, overwrite=True)
    starts = np.searchsorted(data.sample, np.arange(data.n_samples + 1))
    samples = []
    for k in range(data.n_samples):
        rows = slice(starts[k], starts[k + 1])
        drawn = zip(data.annotator[rows], data.label[rows], data.boxes_xywh_rel[rows].tolist(), strict=True)
        labels = [fo.Detection(label=str(name), bounding_box=box, annotator=str(who)) for who, name, box in drawn]
        asked = [str(who) for who in np.flatnonzero(data.assigned[k])]
        samples.append(fo.Sample(filepath=f"/nowhere/{k}.jpg", labels=fo.Detections(detections=labels), asked=asked))
    dataset.add_samples(samples, progress=False)
    return dataset


def _whole_run(title: str, data: GeneratedBoxes, kalos: OtherProgram) -> Row:
    """The default run, everything included and written to the database, against kalos with its diagnostics."""
    plugin, dataset = load_plugin(), crowd_dataset(data)
    asked = {"annotator_attribute": "annotator", "assigned_field": "asked", "progress": False, "overwrite": True}
    plugin.compute(dataset, "labels", **asked)  # warm up
    own, _ = timed(lambda: plugin.compute(dataset, "labels", **asked), REPETITIONS)
    other = statistics.median(kalos.ask("greedy", "negative_score", True)[0] for _ in range(REPETITIONS))
    dataset.delete()
    return Row(f"{title}, default run / kalos greedy, diagnostics", own, at_most(1), other)


def measure() -> list[Row]:
    """Time the kernels on both sizes, with one class and with ten; and kalos on the same boxes."""
    rows = []
    for n_classes in (1, 10):
        seconds = {}
        for n_images in SIZES:
            data = generate_crowd(n_images, n_classes)
            title = f"crowd, {n_images:,} images, {n_classes} classes"
            say(f"{title}: {len(data.sample)} boxes")
            ours = [our_run(data, "ignore") for _ in range(REPETITIONS if n_images == min(SIZES) else 1)]
            seconds[n_images] = statistics.median(run[0] for run in ours)
            rows.append(Row(f"{title}, kernels, s", seconds[n_images]))
            if n_images > min(SIZES):
                continue
            kalos = kalos_with(data)
            for method, most in (("mgm", 1.0), ("greedy", 2.5)):
                theirs = [kalos.ask(method, "negative_score") for _ in range(REPETITIONS)]
                other = statistics.median(run[0] for run in theirs)
                say(f"  {method}: {other:.2f} s, alpha {theirs[0][1]:.6f}; ours {ours[0][1]:.6f}")
                rows.append(Row(f"{title}, ours / kalos {method}", seconds[n_images], at_most(most), other))
            rows.append(_whole_run(title, data, kalos))
            kalos.close()
        few, many = (seconds[n_images] / n_images for n_images in SIZES)
        rows.append(Row(f"crowd, {n_classes} classes, time per image, 2,000 / 200", many, Limit(0.5, 2), few))
    return rows

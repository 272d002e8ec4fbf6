"""``make bench ARGS=image_alpha``: what the alpha of images depends on, for annotators who all do alike.

Boxes on simulated images: everybody misses 15 % of the objects, draws a false one on 20 % of the images, and is
a few per cent off; nobody errs in a class. Prints the tables of ``docs/method/alpha.md``, and how far alpha from some
pairs of annotations is from that of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.dev.plugin import load_plugin

from .generated import GeneratedBoxes, report_on
from .output import Row, at_most, say

N_IMAGES = 1_000
_HEADER = (
    "annotators",
    "classes",
    "objects an image",
    "F1",
    "score",
    "expected",
    "alpha of images",
    "alpha of objects",
)
#: annotators, classes, objects of an image
_CASES = (
    *((n, 1, 4) for n in (2, 3, 5, 8)),
    *((3, n_classes, 4) for n_classes in (2, 4, 10)),
    *((3, n_classes, n_objects) for n_objects in (1, 12) for n_classes in (1, 10)),
)
#: mean objects of an image, and images: more where chance weighs more
_SPARSE = ((0.3, 30_000), (1, 10_000), (4, 3_000))
#: images, annotators, places of boxes, share of boxes beside these, share of empty annotations
_REPEATED = (
    *((200, 2, 2, 0.0, 0.0), (60, 3, 50, 0.0, 0.3), (200, 3, 300, 0.0, 0.3), (100, 10, 20, 0.5, 0.0)),
    *((500, 3, 1_000, 1.0, 0.0), (2_000, 2, 5, 0.3, 0.5), (2_000, 2, 1_000, 0.0, 0.0), (1_000, 5, 200, 1.0, 0.8)),
)


def report_on_boxes(
    n_annotators: int, n_classes: int, n_objects: float, *, n_images: int = N_IMAGES, exchanged: bool = False
) -> Any:
    """The report on simulated boxes."""
    rng = np.random.default_rng([n_annotators, n_classes, int(10 * n_objects)])
    drawn = [
        labels for _ in range(n_images) for labels in _annotations(rng, n_annotators, n_classes, rng.poisson(n_objects))
    ]
    order = rng.permutation(len(drawn)) if exchanged else np.arange(len(drawn))
    return _report([drawn[k] for k in order], n_annotators)


def _report(drawn: list[NDArray[np.float64]], n_annotators: int) -> Any:
    """The report on boxes with their class, ``(N, 5)``, of every annotator of every image."""
    image, annotator = np.divmod(np.repeat(np.arange(len(drawn)), [len(each) for each in drawn]), n_annotators)
    labels = np.concatenate(drawn)
    boxes = np.hstack([labels[:, :2], labels[:, 2:4] - labels[:, :2]])
    data = (image, annotator, labels[:, 4].astype(np.int64) - 1, boxes)
    return report_on(GeneratedBoxes(*data, len(drawn) // n_annotators, n_annotators))


def _annotations(
    rng: np.random.Generator, n_annotators: int, n_classes: int, n_objects: int
) -> list[NDArray[np.float64]]:
    """Boxes with their class, ``(N, 5)``, of every annotator of one image."""
    true = _boxes(rng, n_objects, n_classes)
    found = []
    for _ in range(n_annotators):
        seen = true[rng.random(n_objects) >= 0.15]
        seen[:, :4] += rng.normal(0.0, 0.03, (len(seen), 4)) * np.tile(seen[:, 2:4] - seen[:, :2], 2)
        found.append(np.vstack([seen, _boxes(rng, int(rng.random() < 0.2), n_classes)]))
    return found


def _boxes(rng: np.random.Generator, n: int, n_classes: int) -> NDArray[np.float64]:
    size = rng.uniform(0.08, 0.3, (n, 2))
    corner = rng.uniform(0.0, 1.0 - size)
    return np.column_stack([corner, corner + size, rng.integers(1, n_classes + 1, n)])


def largest_error() -> float:
    """The largest difference of alpha from that of all pairs, of repeated, new and empty annotations of one box."""
    load_plugin()
    from annotator_agreement.metrics.geometry.boxes import box_iou

    errors = []
    for n_images, n_annotators, n_places, new, empty in _REPEATED:
        rng = np.random.default_rng([n_images, n_annotators, n_places])
        places = _boxes(rng, n_places, 3)
        places[:, 2:4] = np.minimum(places[:, :2] + 0.7, 1.0)
        drawn = []
        for true in rng.integers(0, n_places, n_images):
            for place in np.where(rng.random(n_annotators) < 0.7, true, rng.integers(0, n_places, n_annotators)):
                box = places[[place]]
                box[:, :2] += rng.uniform(0.0, 0.05, 2) * (rng.random() < new)
                drawn.append(box[: int(rng.random() >= empty)])
        found = _report(drawn, n_annotators).image_alpha
        image, is_drawn = np.arange(len(drawn)) // n_annotators, np.array([len(box) > 0 for box in drawn])
        boxes = np.concatenate([box if len(box) else [[0.0, 0.0, 1.0, 1.0, 0.0]] for box in drawn])
        corners, code = boxes[:, :4].astype(np.float32).astype(np.float64), boxes[:, 4]
        total = n = 0.0
        for k in range(0, len(drawn), n_annotators):
            some, other = slice(k, k + n_annotators), image != image[k]
            iou = box_iou(corners[some], corners) * (code[some, None] == code)
            apart = np.where(
                is_drawn[some, None] & is_drawn, 1.0 - iou * (iou >= 0.5), is_drawn[some, None] != is_drawn
            )
            total, n = total + apart[:, other].sum(), n + n_annotators * other.sum()
        errors.append(found.value - (1.0 - found.observed / (total / n)))
        kinds = f"{n_places} places, {new:.0%} new, {empty:.0%} empty"
        say(f"{n_images} images of {n_annotators}, {kinds}: {errors[-1]:+.5f}")
    return float(np.abs(errors).max())


def image_alpha() -> list[Row]:
    """Print the tables; the alpha of images may differ by 0.02 between numbers of annotators, and is 0 by chance."""
    reports = {case: report_on_boxes(*case) for case in _CASES}
    say(f"| {' | '.join(_HEADER)} |")
    say(f"|{' --- |' * len(_HEADER)}")
    for case, report in reports.items():
        _say_row([*map(str, case)], report)
    exchanged = report_on_boxes(3, 4, 4, exchanged=True)
    _say_row(["3", "4", "4, exchanged between images"], exchanged)
    values = [report.image_alpha.value for (_, n_classes, n), report in reports.items() if (n_classes, n) == (1, 4)]
    spread, by_chance = float(np.ptp(values)), abs(exchanged.image_alpha.value)
    say("| objects an image | annotators | F1 | score | expected | alpha of images |")
    say(f"|{' --- |' * 6}")
    for n_objects, n_images in _SPARSE:
        of_sparse = [report_on_boxes(n, 1, n_objects, n_images=n_images) for n in (2, 3, 8)]
        spread = max(spread, float(np.ptp([report.image_alpha.value for report in of_sparse])))
        for n, report in zip((2, 3, 8), of_sparse, strict=True):
            numbers = (report.existence.f1, report.score.mean, report.image_alpha.expected, report.image_alpha.value)
            say(f"| {n_objects} | {n} | {' | '.join(f'{number:.3f}' for number in numbers)} |")
    return [
        Row("alpha of images, 2 to 8 annotators: greatest difference", spread, at_most(0.02)),
        Row("alpha of images, against all pairs of annotations: error", largest_error(), at_most(0.005)),
        Row("alpha of images, annotations exchanged: distance from 0", by_chance, at_most(0.01)),
    ]


def _say_row(case: list[str], report: Any) -> None:
    of_images = report.image_alpha
    numbers = (report.existence.f1, report.score.mean, of_images.expected, of_images.value, report.alpha.pooled)
    say(f"| {' | '.join([*case, *(f'{number:.3f}' for number in numbers)])} |")

"""How often a report finds something in data without habits, and how often it finds planted ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .generated import GeneratedBoxes, context_of, generate, report_on
from .kernels import generate_crowd
from .output import Row, at_most, say

CLASSES = ("cat", "dog", "owl")
_PREVALENCE = (0.6, 0.3, 0.1)
_TAGS = ("night", "rain", "crowd", "snow", "glare")
#: rows of a mask; it has twice as many columns, one half for each disc
_SIDE = 20


def report_on_classes(
    n_images: int, n_annotators: int, seed: int, habit: float = 0.0, *, at_random: bool = False
) -> Any:
    """Ratings as classes, wrong at random on images that differ in difficulty."""
    context = context_of(n_annotators, CLASSES, "Classification", numbers=False)
    rng = np.random.default_rng(seed)
    shape = (n_images, n_annotators)
    truth = rng.choice(len(CLASSES), n_images, p=_PREVALENCE)[:, None]
    wrong = rng.random(shape) < rng.beta(1.0, 5.0, (n_images, 1))
    ratings = 1.0 + np.where(wrong, (truth + rng.integers(1, len(CLASSES), shape)) % len(CLASSES), truth)
    chosen = rng.random(n_images) < habit
    ratings[chosen, 0] = rng.integers(1, len(CLASSES) + 1, chosen.sum()) if at_random else len(CLASSES)
    return _rated(ratings, rng, context)


def report_on_numbers(n_images: int, n_annotators: int, seed: int, habit: float = 0.0) -> Any:
    """Ratings from 1 to 5; the first annotator gives so much more, on average."""
    context = context_of(n_annotators, (), "Regression", numbers=True)
    rng = np.random.default_rng(seed)
    noise = rng.normal(0.0, 0.7, (n_images, n_annotators))
    noise[:, 0] += habit
    return _rated(np.clip(np.rint(rng.normal(3.0, 1.0, (n_images, 1)) + noise), 1, 5), rng, context)


def _rated(ratings: NDArray[np.float64], rng: np.random.Generator, context: Any) -> Any:
    from annotator_agreement.agreement.ratings.compute import compute_ratings, record_ratings
    from annotator_agreement.agreement.ratings.report import build_rating_report

    if ratings.shape[1] > 2:
        ratings[rng.random(ratings.shape) < 0.2] = np.nan
    numbers = bool(context.details["numbers"])
    return build_rating_report(record_ratings(compute_ratings(ratings), numbers=numbers), context)


def report_on_tags(n_images: int, n_annotators: int, seed: int, habit: float = 0.0) -> Any:
    """Equally frequent tags, wrong on images that differ in difficulty; the first annotator leaves out a share."""
    context = context_of(n_annotators, _TAGS, "Classifications")
    from annotator_agreement.agreement.tags.compute import compute_tags, record_tags
    from annotator_agreement.agreement.tags.report import build_tag_report

    rng = np.random.default_rng(seed)
    applies = rng.random((n_images, 1, len(_TAGS))) < 0.3
    hard = rng.beta(1.0, 6.0, (n_images, 1, 1))
    given = (rng.random((n_images, n_annotators, len(_TAGS))) < hard) ^ applies
    given[:, 0] &= rng.random((n_images, len(_TAGS))) >= habit
    sample, annotator, tag = np.nonzero(given)
    found = compute_tags(sample, annotator, tag + 1, np.ones((n_images, n_annotators), np.bool_))
    return build_tag_report(record_tags(found), context)


def report_on_masks(n_images: int, n_annotators: int, seed: int, habit: float = 0.0) -> Any:
    """Masks of two discs with borders that vary; the first annotator paints the second class wider by a share."""
    details = {"background": 0, "ignored": [], "names": {"1": "road", "2": "grass"}, "is_rgb": False}
    context = context_of(n_annotators, (), "Segmentation", **details)
    from annotator_agreement.agreement.pixels.compute import MaskValues, compare_masks, mask_columns, measure
    from annotator_agreement.agreement.pixels.records import record_pixels
    from annotator_agreement.agreement.pixels.report import build_pixel_report

    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:_SIDE, : 2 * _SIDE]
    meaning, found = MaskValues.from_dict(context.details), []
    for _ in range(n_images):
        centres, radii = rng.uniform(8, _SIDE - 8, (2, 2)), rng.uniform(3.0, 6.0, 2)
        centres[1, 1] += _SIDE
        masks = []
        for k in range(n_annotators):
            mask = np.zeros(x.shape, np.int64)
            for value, (centre, radius) in enumerate(zip(centres, radii, strict=True), 1):
                reach = radius * (1.0 + rng.normal(0.0, 0.05) + habit * (k == 0 and value == 2))
                mask[np.hypot(y - centre[0], x - centre[1]) < reach] = value
            masks.append(mask)
        found.append(compare_masks(masks, meaning, context.config))
    columns = mask_columns(found, np.ones((n_images, n_annotators), np.bool_), context.config)
    return build_pixel_report(record_pixels(measure(columns, n_annotators, 0, context.config)), context)


#: the reports of every family, by title, with a habit and the kind of finding that it must give
SIMULATED = {
    "classes": (report_on_classes, 0.35, "class_used"),
    "numbers": (report_on_numbers, 0.6, "rates"),
    "tags": (report_on_tags, 0.3, "misses"),
    "masks": (report_on_masks, 0.12, "class_area"),
}

RUNS = 200
#: data on which all annotators do alike, by title
WITHOUT_HABITS: dict[str, Callable[[int], GeneratedBoxes]] = {
    "2 annotators, 60 images": lambda seed: generate(60, 2, seed),
    "3 annotators, 60 images": lambda seed: generate(60, 3, seed),
    "4 annotators, 60 images": lambda seed: generate(60, 4, seed),
    "5 annotators, 300 images": lambda seed: generate(300, 5, seed),
    "crowd of 200, 200 images": lambda seed: generate_crowd(200, 10, seed, alike=True),
}
#: annotators, images and runs of the table of power
POWER = ((2, 60, 40), (3, 30, 40), (3, 60, 40), (4, 100, 40), (8, 200, 10))


def forgetful(data: GeneratedBoxes, rng: np.random.Generator, share: float = 0.35) -> GeneratedBoxes:
    """The data without a share of the objects of the first annotator."""
    return data.of_rows((data.annotator != 0) | (rng.random(len(data.sample)) >= share))


def _report_on_forgetful(n_images: int, n_annotators: int, seed: int, share: float) -> Any:
    return report_on(forgetful(generate(n_images, n_annotators, seed), np.random.default_rng(seed), share))


#: a habit of the first annotator in words, how the report on it is made, and its sizes
HABITS: tuple[tuple[str, Callable[[int, int, int, float], Any], dict[str, float]], ...] = (
    ("does not draw so many of the objects", _report_on_forgetful, {"35 %": 0.35, "10 %": 0.1}),
    ("one class for so many images, whatever is there", report_on_classes, {"35 %": 0.35, "15 %": 0.15}),
    (
        "a random class for so many images",
        lambda *case: report_on_classes(*case, at_random=True),
        {"35 %": 0.35, "15 %": 0.15},
    ),
    ("rates higher by so many points of 5", SIMULATED["numbers"][0], {"0.6": 0.6, "0.3": 0.3}),
    ("leaves out so many of the tags", SIMULATED["tags"][0], {"30 %": 0.3, "15 %": 0.15}),
    ("paints one class so much wider", SIMULATED["masks"][0], {"12 %": 0.12, "6 %": 0.06}),
)


def _share_without_habits(title: str, report: Callable[[int], Any]) -> Row:
    n = sum(bool(report(seed).findings) for seed in range(RUNS))
    say(f"{title}, nobody has a habit: {n} of {RUNS} runs have a finding")
    return Row(f"findings without habits, {title}, share of runs", n / RUNS, at_most(0.05))


def findings() -> list[Row]:
    """The runs with a finding where nobody has a habit, and the table of ``docs/method/findings.md`` with one."""
    rows = [
        _share_without_habits(title, lambda seed, draw=draw: report_on(draw(seed)))
        for title, draw in WITHOUT_HABITS.items()
    ]
    for family, (report, _, _) in SIMULATED.items():
        for n, images in ((2, 60), (3, 30), (3, 100), (4, 60), (8, 200)):
            of_size = functools.partial(report, images, n)
            rows.append(_share_without_habits(f"{family}, {n} annotators, {images} images", of_size))
    say("| habit | size | " + " | ".join(f"{n} annotators, {images} images" for n, images, _ in POWER) + " |")
    say("| --- " * (2 + len(POWER)) + "|")
    for habit, report, sizes in HABITS:
        for title, size in sizes.items():
            cells = []
            for n_annotators, n_images, runs in POWER:
                found = (report(n_images, n_annotators, seed, size).findings for seed in range(runs))
                n = sum(any(each.annotators == ["worker 1"] for each in of_run) for of_run in found)
                cells.append(f"{n} of {runs}")
                where = f"{n_annotators} annotators, {n_images} images"
                rows.append(Row(f"named, {habit}, {title}, {where}, share of runs", n / runs))
            say(f"| {habit} | {title} | " + " | ".join(cells) + " |")
    return rows

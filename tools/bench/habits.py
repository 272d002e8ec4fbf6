"""Reports on simulated ratings, tags and masks of annotators who all do alike, or of whom the first has a habit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .generated import context_of

CLASSES = ("cat", "dog", "owl")
_PREVALENCE = (0.6, 0.3, 0.1)
_TAGS = ("night", "rain", "crowd", "snow", "glare")
#: rows of a mask; it has twice as many columns, one half for each disc
_SIDE = 20


def report_on_classes(
    n_images: int, n_annotators: int, seed: int, habit: float = 0.0, *, at_random: bool = False
) -> Any:
    """Ratings as classes, wrong at random on images that differ in difficulty.

    Args:
        n_images: number of images
        n_annotators: number of annotators; a fifth of the ratings is missing
        seed: seed of the random numbers
        habit: share of the images that the first annotator calls an owl, whatever is there
        at_random: whether they call them one of the classes at random instead
    """
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

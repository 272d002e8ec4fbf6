"""The threshold that the data suggest: kalos' ``configure`` against ours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.dev.plugin import load_plugin

from .annotations import Annotations
from .matching import Comparison
from .table import EQUAL, Row, Section

#: number of random draws of pairs of images
N_DRAWS = 10
#: kalos needs minutes for more
MAX_ANNOTATORS = 3
#: kalos gives the last point before the crossing on a grid with step 1/999, ours the middle of two points 1/1000 apart
_LEAST_OFFSET, _LARGEST_OFFSET = -0.0005, 1.0 / 999.0 + 0.0005
#: means of draws may differ by this many standard errors
_STANDARD_ERRORS = 3.0


def threshold_from_data(comparison: Comparison) -> Section | None:
    """The threshold where densities of observed and expected similarities cross, and how far these are apart."""
    data = comparison.annotations
    if len(data.annotators) > MAX_ANNOTATORS:
        return None
    return Section(
        f"{data.name}: threshold from the data",
        "Every object has a best similarity with the objects of another annotator, on the same image and on different "
        "images. The threshold is where the densities of these two cross; KS is their Kolmogorov-Smirnov distance.",
        ("threshold", "KS"),
        [_on_the_same_similarities(comparison), _over_draws(comparison)],
    )


def _on_the_same_similarities(comparison: Comparison) -> Row:
    observed, expected = _similarities(comparison.annotations, seed=0)
    theirs = comparison.kalos.ask("threshold_between", (1.0 - observed).tolist(), (1.0 - expected).tolist())
    ours = load_plugin().metrics.threshold_from_data(observed, expected, len(expected))
    text = (
        "kalos gives the last point before the crossing on a grid with step 1/999, ours the middle of two points "
        "1/1000 apart"
    )
    explained = _LEAST_OFFSET <= theirs["threshold"] - ours.threshold <= _LARGEST_OFFSET
    if not explained or abs(theirs["ks"] - ours.ks) >= EQUAL:
        text += " (NOT ALL: they differ more)"
    values = ((theirs["threshold"], ours.threshold), (theirs["ks"], ours.ks))
    return Row("kalos, on our similarities", "`threshold_from_data`", values, text)


def _over_draws(comparison: Comparison) -> Row:
    data = comparison.annotations
    seeds = list(range(N_DRAWS))
    theirs = comparison.kalos.ask("threshold_from_data", str(data.path), seeds)
    ours = [_our_draw(data, seed) for seed in seeds]
    values, texts = [], []
    for name in ("threshold", "ks"):
        a, b = (np.array([draw[name] for draw in draws]) for draws in (theirs, ours))
        error = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / N_DRAWS)
        values.append((float(a.mean()), float(b.mean())))
        difference = a.mean() - b.mean()
        if name == "threshold":
            difference -= min(max(difference, _LEAST_OFFSET), _LARGEST_OFFSET)
        note = "" if abs(difference) <= _STANDARD_ERRORS * error else " (NOT ALL: it is larger)"
        texts.append(f"{error:.4f} ({name}){note}")
    text = (
        f"means of {N_DRAWS} random draws: for every annotator of an image, kalos takes one other random image; ours "
        "takes as many similarities, drawn from those with several other images; the standard error of the difference "
        f"is {', '.join(texts)}"
    )
    if theirs[0]["n_observed"] != ours[0]["n_observed"]:
        text += " (NOT SO: other observed similarities)"
    return Row("kalos `configure`", "`threshold_from_data`", values, text)


def _our_draw(data: Annotations, seed: int) -> dict[str, float]:
    observed, expected = _similarities(data, seed)
    found: Any = load_plugin().metrics.threshold_from_data(observed, expected, len(expected))
    return {"threshold": found.threshold, "ks": found.ks, "n_observed": found.n_observed}


def _similarities(data: Annotations, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Best similarities on the same image, and on others: one for every object, as many as kalos takes."""
    metrics = load_plugin().metrics
    from annotator_agreement.metrics.geometry.boxes import Boxes

    order = np.lexsort((data.annotator, data.sample))
    objects = metrics.Objects(data.sample[order], data.annotator[order], data.category[order])
    boxes = Boxes(data.boxes_xyxy[order])
    assigned = np.ones((data.n_samples, len(data.annotators)), np.bool_)
    observed = metrics.best_similarities(objects, boxes.overlaps(objects), assigned)
    rng = np.random.default_rng(seed)
    expected = metrics.similarities_between_samples(objects, boxes, assigned, rng=rng)
    return observed, rng.choice(expected, len(objects), replace=False)

"""The diagnostics of kalos other than alpha, against our corresponding numbers; one function per table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.dev.plugin import load_plugin

from .annotations import Annotations, changed
from .explain import differing_places, why
from .matching import THRESHOLD, Comparison, answer_of
from .ours import MISSING, OurDataset, reliability_tables
from .table import EQUAL, Row, Section

#: diagnostics are compared for one method only: its units are closest to ours (mgm stops, see :func:`pairs`)
METHOD, COST = "greedy", "category_lenient"
OPTIONS = {"method": "optimal", "classes": "prefer"}
_OURS = ", ".join(f"`{value}`" for value in OPTIONS.values())
_THEIRS = f"kalos `{METHOD}`, `{COST}`"


def pairs(comparison: Comparison) -> Section | None:
    """The matrix of pairs: kalos matches each pair afresh, our report takes the units of all annotators."""
    data = comparison.annotations
    if len(data.annotators) != 3:
        return None
    theirs = _diagnostics(comparison)
    report = comparison.ours.report(**OPTIONS)
    full = reliability_tables(data, comparison.run(OPTIONS).unit)
    of_pair = {(pair.a, pair.b): pair.alpha for pair in report.pairs}
    rows = []
    for a, b in itertools.combinations(data.annotators, 2):
        values = theirs["mean_pairs"][f"{a}|{b}"], theirs["pairs"][f"{a}|{b}"]
        rows.append(_pair_alone(comparison, a, b, values))
        ours = of_pair[a, b]
        columns = [data.annotators.index(a), data.annotators.index(b)]
        text = "kalos matches these two alone, our report uses the units of all annotators"
        text += _rest(abs(ours - _alpha_of_pair(full, columns)))
        rows.append(Row(f"{_THEIRS}: {a}, {b}", "`report.pairs`", ((None, None), (values[1], ours)), text))
    return Section(
        f"{data.name}: pairs",
        "Alpha of every two annotators: computed from these two alone, and in the report on all annotators.",
        ("mean alpha", "pooled alpha"),
        rows,
        [
            _mgm_stops(comparison),
            "The intra-annotator agreement of kalos is the mean alpha of the sessions of one annotator (according to "
            "its source, `kalos_execution.py`). It is computed as in the rows on two annotators alone.",
        ],
    )


def _pair_alone(comparison: Comparison, a: str, b: str, values: tuple[float, float]) -> Row:
    """A cell of the matrix against our run on the same two."""
    pair = changed(
        *(comparison.annotations, f"{a}_{b}"),
        images=lambda image: {"rater_list": [a, b]},
        annotations=lambda entry: {} if entry["rater_id"] in (a, b) else None,
    )
    answer = comparison.kalos.ask("alphas", str(pair.path), METHOD, COST, THRESHOLD)
    with OurDataset(pair) as ours:
        own = ours.run(**OPTIONS)
    theirs = answer_of(pair, answer)
    text = why(differing_places(pair, theirs.unit, own.unit, THRESHOLD), METHOD, COST, pair)
    rest = max(abs(theirs.mean - values[0]), abs((theirs.pooled or math.nan) - values[1]))
    if not rest < EQUAL:
        text += f" (NOT ALL: kalos on these two alone differs from its matrix by {rest:.6f})"
    return Row(f"{_THEIRS}: {a}, {b}", _OURS, ((values[0], own.mean), (values[1], own.pooled)), text)


def _alpha_of_pair(tables: list[NDArray[np.float64]], columns: list[int]) -> float:
    """Alpha of two columns: units with an object of either, and the images that everybody left empty."""
    kept = []
    for table in tables:
        empty = bool((table == MISSING).all())
        of_pair = table[:, columns]
        kept.append(of_pair if empty else of_pair[(of_pair != MISSING).any(axis=1)])
    return float(load_plugin().metrics.krippendorff_alpha(np.concatenate(kept)))


def _mgm_stops(comparison: Comparison) -> str:
    stopped = comparison.kalos.ask("try_diagnostics", str(comparison.annotations.path), "mgm", COST, THRESHOLD)
    if stopped is None:
        return "kalos with `mgm` gives the pair matrix too."
    return f'kalos with `mgm` gives no pair matrix on images in which somebody drew nothing: "{stopped}".'


def class_difficulty(comparison: Comparison) -> Section | None:
    """Alpha of the units in which a class occurs: not offered by the report, whose alpha of a class is binary."""
    data = comparison.annotations
    names = {category["id"]: category["name"] for category in data.coco["categories"]}
    alpha = load_plugin().metrics.krippendorff_alpha

    def of_classes(table: NDArray[np.float64]) -> dict[str, float]:
        found = {names[k]: alpha(table[(table == k).any(axis=1)]) for k in np.unique(data.category).tolist()}
        return {name: 1.0 if math.isnan(value) else value for name, value in found.items()}

    theirs: dict[str, float] = _diagnostics(comparison)["difficulty"]
    ours, formula = (of_classes(table) for table in _both_tables(comparison))
    differing = [name for name in theirs if abs(theirs[name] - ours[name]) >= EQUAL]
    text = f"{len(theirs) - len(differing)} of {len(theirs)} classes are equal"
    if differing:
        text += "; in the others only the units differ, as above"
    text += _rest(max(abs(theirs[name] - formula[name]) for name in theirs))
    values = (float(np.mean(list(theirs.values()))), float(np.mean(list(ours.values()))))
    return Section(
        f"{data.name}: class difficulty",
        "For every class, kalos gives alpha, with all classes, over the units in which this class occurs. The alpha of "
        "a class in our report is a different number (this class against all others, over all units); here "
        "`krippendorff_alpha` is applied to the same selection as in kalos.",
        ("mean over classes",),
        [Row(_THEIRS, "`krippendorff_alpha` of those units", (values,), text)],
    )


def vitality(comparison: Comparison) -> Section | None:
    """Alpha with all annotators minus alpha without one, the units matched once with all."""
    data = comparison.annotations
    if len(data.annotators) < 3:
        return None
    theirs = _diagnostics(comparison)["vitality"]
    alpha = load_plugin().metrics.krippendorff_alpha
    table, their_table = _both_tables(comparison)
    images = reliability_tables(data, comparison.run(OPTIONS).unit)
    reported = {annotator.name: annotator.vitality for annotator in comparison.ours.report(**OPTIONS).annotators}
    rows = []
    for k, name in enumerate(data.annotators):
        own, formula = (alpha(units) - alpha(np.delete(units, k, axis=1)) for units in (table, their_table))
        text = "the same units" if abs(theirs[name] - own) < EQUAL else "only the units differ, as above"
        text += _rest(abs(theirs[name] - formula))
        rows.append(Row(f"{_THEIRS}: {name}", "`krippendorff_alpha`, with and without", ((theirs[name], own),), text))
        kept = np.concatenate([_drawn_by_others(np.delete(image, k, axis=1)) for image in images])
        text = (
            f"as above, and ours leaves out the {len(table) - len(kept)} units that only {name} drew; kalos keeps "
            "them, as units in which the others agree on a miss"
        ) + _rest(abs(reported[name] - (alpha(table) - alpha(kept))))
        rows.append(Row(f"{_THEIRS}: {name}", "`report.annotators`", ((theirs[name], reported[name]),), text))
    return Section(
        f"{data.name}: vitality",
        "Pooled alpha of all annotators minus pooled alpha without one of them; the units are matched once, with all "
        "annotators. The first row of an annotator follows the rule of kalos, the second is the number in our report.",
        ("vitality",),
        rows,
    )


def _drawn_by_others(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """The units that those who are left drew; one of misses where they left the image empty."""
    drawn = image[(image != MISSING).any(axis=1)]
    return drawn if len(drawn) else image[:1]


def _both_tables(comparison: Comparison) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ratings of our units and of those of kalos."""
    data = comparison.annotations
    answer = comparison.kalos.ask("alphas", str(data.path), METHOD, COST, THRESHOLD)
    units = (comparison.run(OPTIONS).unit, answer_of(data, answer).unit)
    ours, theirs = (np.concatenate(reliability_tables(data, unit)) for unit in units)
    return ours, theirs


def _rest(difference: float) -> str:
    """A warning if our formula on their units does not give their number."""
    return f" (NOT ALL: our formula on its units differs by {difference:.6f})" if difference >= EQUAL else ""


def _diagnostics(comparison: Comparison) -> dict[str, Any]:
    answer: dict[str, Any] = comparison.kalos.ask(
        "diagnostics", str(comparison.annotations.path), METHOD, COST, THRESHOLD
    )
    return answer


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


#: the tables, in the order of the document; each gives None where a data set has no such numbers
DIAGNOSTICS: tuple[Callable[[Comparison], Section | None], ...] = (
    pairs,
    vitality,
    class_difficulty,
    threshold_from_data,
)

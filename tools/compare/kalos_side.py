"""Runs in the environment of kalos: its numbers and its units for a COCO file.

A request is ``["versions"]`` or ``[name, path, method, cost, threshold]``; see the functions.
"""

from __future__ import annotations

import importlib.metadata
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from kalos.correspondence.correspondence_algorithms import (
    COST_FUNCTIONS,
    MATCHING_FUNCTIONS,
    THRESHOLD_FUNCTIONS,
    precompute_pairwise_scores,
)
from kalos.iaa.core import calculate_iaa
from kalos.iaa.empirical_disagreement import calculate_do_de
from kalos.iaa.principled_configuration import calculate_ks_statistic, find_bayesian_boundary
from kalos.utils.data_loading import load_and_preprocess_data

from tools.dev.other_programs import serve

_SIMILARITY = "bbox_iou_similarity"


def versions() -> dict[str, str]:
    """Versions of the packages in this environment."""
    return {name: importlib.metadata.version(name) for name in ("kalos", "pylibmgm", "numpy", "scipy")}


def alphas(path: str, method: str, cost: str, threshold: float) -> dict[str, Any]:
    """Mean and global alpha as kalos calculates them, and the units that its matching makes."""
    numbers = _calculated(_load(path), method, cost, threshold, False)
    units: list[list[int]] = []
    options = {"cost_func": COST_FUNCTIONS[cost], "similarity_threshold": threshold}
    for image in _load(path)["processed_data"].values():  # afresh: calculate_iaa adds lists of annotators to images
        scores = precompute_pairwise_scores(image, THRESHOLD_FUNCTIONS[_SIMILARITY], threshold)
        units += map(list, MATCHING_FUNCTIONS[method](image_data=image, pairwise_scores=scores, **options))
    return {"mean": float(numbers[0]), "pooled": float(numbers[1]), "units": units}


def timed(path: str, method: str, cost: str, threshold: float, is_diagnosed: bool) -> tuple[float, float]:
    """Seconds without reading the file, and the global alpha."""
    data = _load(path)
    if method == "mgm":  # which cannot do images in which an annotator drew nothing
        images = data["processed_data"].items()
        data["processed_data"] = {k: each for k, each in images if all(each["annotations_by_rater"].values())}
    started = time.perf_counter()
    numbers = _calculated(data, method, cost, threshold, is_diagnosed)
    return time.perf_counter() - started, float(numbers[1])


def diagnostics(path: str, method: str, cost: str, threshold: float) -> dict[str, Any]:
    """Its vitality, class difficulty and pair matrix, mean over images and global."""
    found = _calculated(_load(path), method, cost, threshold, True)
    _, _, _, vitality, _, difficulty, _, mean_pairs, pairs = found
    return {
        "vitality": {name: float(value) for name, value in vitality.items()},
        "pairs": {f"{a}|{b}": float(value) for a, row in pairs.items() for b, value in row.items()},
        "mean_pairs": {f"{a}|{b}": float(np.mean(v)) for a, row in mean_pairs.items() for b, v in row.items()},
        "difficulty": {name: float(values["alpha"]) for name, values in difficulty.items()},
    }


def try_diagnostics(path: str, method: str, cost: str, threshold: float) -> str | None:
    """The error with which it stops; None if it does not."""
    try:
        diagnostics(path, method, cost, threshold)
    except ValueError as error:
        return str(error)
    return None


def threshold_from_data(path: str, seeds: list[int]) -> list[dict[str, float]]:
    """Its threshold and its Kolmogorov-Smirnov statistic, for several seeds of the random pairs of images."""
    draws = []
    for seed in seeds:
        random.seed(seed)
        distances = calculate_do_de(_load(path)["processed_data"], THRESHOLD_FUNCTIONS[_SIMILARITY])
        draws.append(threshold_between(distances["d_o"], distances["d_e"]))
    return draws


def threshold_between(observed: list[float], expected: list[float]) -> dict[str, float]:
    """Its threshold (as a similarity) and its Kolmogorov-Smirnov statistic for distances that are given."""
    distances = np.array(observed), np.array(expected)
    return {
        "threshold": 1.0 - float(find_bayesian_boundary(*distances)),
        "ks": float(calculate_ks_statistic(*distances)),
        "n_observed": len(observed),
        "n_expected": len(expected),
    }


def _load(path: str) -> dict[str, Any]:
    data: dict[str, Any] = load_and_preprocess_data(Path(path), "coco-json")
    return data


def _calculated(data: dict[str, Any], method: str, cost: str, threshold: float, is_diagnosed: bool) -> Any:
    """All numbers, of which the diagnostics are computed if they are asked for."""
    how = (method, _SIMILARITY, cost, threshold, *[is_diagnosed] * 3)
    return calculate_iaa(data["processed_data"], data["categories"], *how, data["all_raters"])


serve(versions, alphas, timed, diagnostics, try_diagnostics, threshold_from_data, threshold_between)

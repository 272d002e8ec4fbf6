"""Runs in the environment of kalos: its numbers and its units for a COCO file.

A request is ``["versions"]`` or ``[name, path, method, cost, threshold]``; see the functions.
"""

from __future__ import annotations

import importlib.metadata
import random
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
    data = _load(path)
    numbers = calculate_iaa(
        data["processed_data"],
        data["categories"],
        method,
        _SIMILARITY,
        cost,
        threshold,
        False,
        False,
        False,
        data["all_raters"],
    )
    units: list[list[int]] = []
    for image in _load(path)["processed_data"].values():  # afresh: calculate_iaa adds lists of annotators to images
        scores = precompute_pairwise_scores(image, THRESHOLD_FUNCTIONS[_SIMILARITY], threshold)
        units += map(
            list,
            MATCHING_FUNCTIONS[method](
                image_data=image, pairwise_scores=scores, cost_func=COST_FUNCTIONS[cost], similarity_threshold=threshold
            ),
        )
    return {"mean": float(numbers[0]), "pooled": float(numbers[1]), "units": units}


def diagnostics(path: str, method: str, cost: str, threshold: float) -> dict[str, Any]:
    """Its vitality, class difficulty and pair matrix, mean over images and global."""
    data = _load(path)
    (_, _, mean_vitality, vitality, mean_difficulty, difficulty, _, mean_pairs, pairs) = calculate_iaa(
        data["processed_data"],
        data["categories"],
        method,
        _SIMILARITY,
        cost,
        threshold,
        True,
        True,
        True,
        data["all_raters"],
    )
    return {
        "vitality": {name: float(value) for name, value in vitality.items()},
        "mean_vitality": {name: float(np.mean(values)) for name, values in mean_vitality.items()},
        "pairs": {f"{a}|{b}": float(value) for a, row in pairs.items() for b, value in row.items()},
        "mean_pairs": {f"{a}|{b}": float(np.mean(v)) for a, row in mean_pairs.items() for b, v in row.items()},
        "difficulty": {name: float(values["alpha"]) for name, values in difficulty.items()},
        "mean_difficulty": {name: float(np.mean(values["alphas"])) for name, values in mean_difficulty.items()},
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


def _answer(name: str, *arguments: Any) -> Any:
    return {
        "versions": versions,
        "alphas": alphas,
        "diagnostics": diagnostics,
        "try_diagnostics": try_diagnostics,
        "threshold_from_data": threshold_from_data,
        "threshold_between": threshold_between,
    }[name](*arguments)


serve(_answer)

"""The alternative annotator test on published answers, against what its authors' code gives (nitaytech/AltTest).

The answers have no licence, so they are not here: clone ``https://github.com/nitaytech/AltTest`` and run
``python -m tools.compare.alternative_annotator PATH_OF_THE_CLONE``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tools.dev.plugin import load_plugin

Answers: TypeAlias = dict[str, dict[str, Any]]


def accuracy(answer: Any, others: list[Any]) -> float:
    """Share of the others who gave this answer."""
    return float(np.mean([answer == other for other in others]))


def negative_rmse(answer: float, others: list[float]) -> float:
    """Root mean squared difference from the others, negative."""
    return -float(np.sqrt(np.mean([(answer - other) ** 2 for other in others])))


#: folder, epsilon, score, and winning rate and advantage probability of every model by ``alt_test`` of the authors
EXPECTED: tuple[tuple[str, float, Callable[[Any, list[Any]], float], dict[str, tuple[float, float]]], ...] = (
    (
        *("lesion", 0.15, negative_rmse),
        {"gemini_flash": (0.1667, 0.710806), "gemini_pro": (1.0, 0.809751)}
        | {"gpt-4o": (0.0, 0.617032), "gpt-4o-mini": (0.6667, 0.734858)},
    ),
    (
        *("wax", 0.1, accuracy),
        {"gemini_flash": (0.375, 0.692312), "gemini_pro": (0.5, 0.737148), "gpt-4o": (0.5, 0.730021)}
        | {"llama-31": (0.0, 0.573028), "gpt-4o-mini": (0.0, 0.594493), "mistral-v03": (0.0, 0.497714)},
    ),
)


def scores(
    model: dict[str, Any], annotators: Answers, score: Callable[[Any, list[Any]], float]
) -> tuple[np.ndarray, np.ndarray]:
    """Agreement of the model, and of the annotator left out, with the others; ``(S, R)`` each."""
    items = sorted(model)
    found = np.full((2, len(items), len(annotators)), np.nan)
    for row, item in enumerate(items):
        given = {name: answers[item] for name, answers in annotators.items() if item in answers}
        for place, name in enumerate(annotators):
            others = [answer for other, answer in given.items() if other != name]
            if name in given and others:
                found[:, row, place] = score(model[item], others), score(given[name], others)
    return found[0], found[1]


def main(folder: Path) -> int:
    """Print the numbers of every model; the exit code is 1 if one differs."""
    test = load_plugin().metrics.alternative_annotator_test
    n_different = 0
    for name, epsilon, score, expected in EXPECTED:
        people, models = (
            json.loads((folder / "data" / name / f"{who}_annotations.json").read_text()) for who in ("human", "llm")
        )
        for model, numbers in expected.items():
            found = test(*scores(models[model], people, score), epsilon=epsilon)
            ours = (found.winning_rate, found.advantage_probability)
            same = np.allclose(ours, numbers, rtol=0, atol=(6e-5, 6e-7))
            n_different += not same
            print(f"{name:8}{model:14}{ours[0]:8.4f}{ours[1]:10.6f}  {'as theirs' if same else f'not {numbers}'}")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

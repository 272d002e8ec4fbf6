"""How often a simulated model passes the alternative annotator test on boxes, and how wide the interval misses.

``python -m tools.bench.model_as_annotator [datasets]``; the numbers of ``docs/method/model_as_annotator.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tools.dev.plugin import load_plugin

load_plugin()

from tests.agreement.habits import Habits, context_of, person_of, simulate  # noqa: E402

from .output import say  # noqa: E402

#: share of objects that every annotator misses; all others are drawn with this jitter of their edges
MISS, JITTER = 0.05, 0.03
ANNOTATORS = ("alice", "bob", "carol")
N_IMAGES, N_DATASETS = 100, 500
#: images of the dataset in which the model at the boundary is sought
N_LONG_RUN = 6_000


def person(miss: float, n_images: int, seed: int, resamples: int = 0) -> Any:
    """The comparison of a model that misses a share of the objects, and otherwise draws as the annotators."""
    from annotator_agreement.agreement.settings.config import make_config

    habits = [*(Habits(name, miss=MISS) for name in ANNOTATORS), Habits("model", miss=miss)]
    simulated = simulate(habits, n_images, np.random.default_rng([seed, int(1e6 * miss)]), JITTER)
    config = make_config(ANNOTATORS, models=["model"], resamples=resamples)
    return person_of(simulated.batch(), context_of(simulated, config))


def mean_difference(miss: float) -> float:
    """How much more often an annotator than such a model has the higher F1, in the long run (what epsilon bounds)."""
    found = person(miss, N_LONG_RUN, 0).left_out
    return float(np.mean([entry.advantage_of_annotator - entry.advantage for entry in found]))


def boundary(epsilon: float) -> float:
    """The share of objects that the model misses for which this difference is epsilon."""
    tried = MISS + np.array([0.0, 0.02, 0.04, 0.06, 0.08])
    line = np.polyfit([mean_difference(miss) for miss in tried.tolist()], tried, 2)
    return float(np.polyval(line, epsilon))


def passes(miss: float, n_datasets: int, n_images: int = N_IMAGES) -> dict[float, tuple[float, float]]:
    """By epsilon: share of datasets in which the model passes, and in which it wins against any annotator."""
    found = [person(miss, n_images, 1 + seed).tests for seed in range(n_datasets)]
    return {
        tests[0].epsilon: (
            float(np.mean([test.passed for test in tests])),
            float(np.mean([test.winning_rate > 0 for test in tests])),
        )
        for tests in zip(*found, strict=True)
    }


def main(arguments: Sequence[str]) -> None:
    """Print a line for every model."""
    n_datasets = int(arguments[0]) if arguments else N_DATASETS
    least = boundary(0.1)
    models = {"a copy": MISS, "misses 20 % more": MISS + 0.2, "at the boundary of epsilon 0.1": least}
    for title, miss in models.items():
        found = passes(miss, n_datasets)
        numbers = "; ".join(f"{epsilon}: {passed:.3f} ({won:.3f})" for epsilon, (passed, won) in found.items())
        say(f"{title} (misses {miss:.3f}), {n_datasets} datasets of {N_IMAGES} images, passes (wins any): {numbers}")


if __name__ == "__main__":
    main(sys.argv[1:])

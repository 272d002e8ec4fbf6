"""Reports on noisy labels together with their units, as input for tests that recompute numbers with loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.agreement.agreement_oracle import NAN, Sample, Unit, batch_of, config_of, random_samples, report_of, units_of
from tests.chance import seeds

from annotator_agreement.agreement import AgreementConfig
from annotator_agreement.agreement.matching import compute_agreement_of
from annotator_agreement.agreement.objects import ObjectReport

N_ANNOTATORS = 4
RULES = (
    {}, {"missing": "ignore"}, {"empty": "agree", "undefined": "one"},
    {"missing": "ignore", "empty": "agree", "classes": "require"},
)  # fmt: skip


def each_case(test: Callable[..., None]) -> Callable[..., None]:
    """Call a test with some seeds of random samples, and rules of the run."""
    return pytest.mark.parametrize("rules", RULES, ids=str)(pytest.mark.parametrize("seed", seeds(3))(test))


@dataclass(frozen=True)
class Found:
    """Samples, their units and the report on them."""

    samples: list[Sample]
    units: list[Unit]
    config: AgreementConfig
    report: ObjectReport

    @property
    def rated(self) -> list[int]:
        """Samples that two annotators were assigned to."""
        return [s for s, sample in enumerate(self.samples) if len(sample) >= 2]

    @property
    def rated_units(self) -> list[Unit]:
        """Their units."""
        return [unit for unit in self.units if len(self.samples[unit.sample]) >= 2]

    def label_pairs(self) -> list[tuple[Unit, int, int]]:
        """Pairs of annotators of every unit."""
        return [(unit, a, b) for unit in self.units for a, b in unit.pairs()]


def found(seed: int, rules: dict[str, Any]) -> Found:
    """The report on noisy labels of four annotators."""
    return _found(seed, tuple(sorted(rules.items())))


@functools.lru_cache(maxsize=32)
def _found(seed: int, rules: tuple[tuple[str, Any], ...]) -> Found:
    samples = random_samples(seed, n_samples=40, n_annotators=N_ANNOTATORS)
    return found_in(samples, **dict(rules))


def found_in(samples: list[Sample], n_annotators: int = N_ANNOTATORS, **rules: Any) -> Found:
    """The report on samples."""
    config = config_of(n_annotators, **rules)
    units = units_of(samples, compute_agreement_of(batch_of(samples, n_annotators), config))
    return Found(samples, units, config, report_of(samples, config))


def same(value: float | None, expected: float, tolerance: float = 1e-9) -> None:
    """A number of a report: None where it is undefined."""
    if np.isnan(expected):
        assert value is None, value
    else:
        assert value == pytest.approx(expected, rel=0, abs=tolerance)


def mean(values: list[float]) -> float:
    """Mean; nan without values."""
    return sum(values) / len(values) if values else NAN


def median(values: list[float]) -> float:
    """Median; nan without values."""
    return float(np.median(values)) if values else NAN


def share(part: float, whole: float) -> float:
    """Part divided by whole; nan if the whole is 0."""
    return part / whole if whole else NAN


def assigned_pairs(sample: Sample) -> list[tuple[int, int]]:
    """Pairs of annotators assigned to a sample."""
    return list(combinations(sorted(sample), 2))

"""Expected values of a report on ratings or tags, computed with plain loops over samples and pairs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from tests.agreement.agreement_oracle import NAN, mean

from annotator_agreement.agreement import AgreementConfig
from annotator_agreement.agreement.ratings import RatingReport, build_rating_report, compute_ratings, record_ratings
from annotator_agreement.agreement.statistics import ReportContext, RunFacts

#: what every annotator gave on a sample, None where they did not rate
Row = Sequence[Any]


def report_of(
    rows: Sequence[Row], config: AgreementConfig, *, numbers: bool = False, batch_size: int = 0
) -> RatingReport:
    """The report on ratings, classes or numbers, in batches of so many samples, or in one."""
    names = list(dict.fromkeys(value for row in rows for value in row if value is not None))
    code = {name: number for number, name in enumerate(names, 1)}

    def table(part: Sequence[Row]) -> np.ndarray:
        values = [[NAN if v is None else v if numbers else code[v] for v in row] for row in part]
        return np.array(values, np.float64)

    size = batch_size or len(rows)
    total = None
    for start in range(0, len(rows), size):
        agreement = compute_ratings(table(rows[start : start + size]), config.tolerance if numbers else 0.0)
        records = record_ratings(agreement, numbers=numbers)
        total = records if total is None else total + records
    classes, details = ["(missing)", *names], {"numbers": numbers}
    context = ReportContext(config, config.annotators, classes, ["labels"], RunFacts(), details=details)
    return build_rating_report(total, context)


def given(row: Row) -> list[Any]:
    """The ratings of a sample."""
    return [value for value in row if value is not None]


def score_of(row: Row, agree: Callable[[Any, Any], bool]) -> float:
    """Share of the pairs of annotators who agree."""
    return mean([float(agree(a, b)) for a, b in combinations(given(row), 2)])


def majority_of(row: Row) -> Any:
    """What most gave, None where several lead."""
    ranking = Counter(given(row)).most_common(2)
    if not ranking or (len(ranking) == 2 and ranking[0][1] == ranking[1][1]):
        return None
    return ranking[0][0]


def entropy_of(row: Row) -> float:
    """Entropy of the votes in bits."""
    votes = Counter(given(row))
    return -sum(n / votes.total() * math.log2(n / votes.total()) for n in votes.values())


def random_rows(seed: int, values: Sequence[Any], n_samples: int = 40, n_annotators: int = 4) -> list[list[Any]]:
    """Ratings of annotators who mostly agree; some missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_samples):
        truth = int(rng.integers(len(values)))
        rows.append(
            [
                None if rng.random() < 0.2 else values[truth if rng.random() < 0.6 else int(rng.integers(len(values)))]
                for _ in range(n_annotators)
            ]
        )
    return rows

"""Average linkage: against scipy if all distances are known, and cases by hand if some are missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from tests.chance import seeds

from annotator_agreement.metrics.matching import average_linkage

NAN = float("nan")


def matrix_of(n: int, entries: dict[tuple[int, int], float]) -> np.ndarray:
    """A symmetric matrix of some known entries."""
    matrix = np.full((n, n), NAN)
    for (a, b), value in entries.items():
        matrix[a, b] = matrix[b, a] = value
    return matrix


@pytest.mark.parametrize("seed", seeds(6))
def test_joins_are_those_of_scipy_where_everything_is_known(seed: int) -> None:
    for n in (2, 3, 7, 20):
        similarity = squareform(np.random.default_rng(seed).random(n * (n - 1) // 2))
        tree = linkage(squareform(1.0 - similarity, checks=False), "average")
        members: list[tuple[int, ...]] = [(k,) for k in range(n)]
        for (a, b, distance, _), found in zip(tree, average_linkage(similarity), strict=True):
            members.append(tuple(sorted(members[int(a)] + members[int(b)])))
            assert found[0] == members[-1]
            assert found[1] == pytest.approx(1.0 - distance, abs=1e-12)


def test_unknown_similarities_are_left_out_of_the_average() -> None:
    # carol and dave are unknown to each other: the others decide how similar the groups are
    matrix = matrix_of(4, {(0, 1): 0.9, (0, 2): 0.8, (1, 2): 0.6, (0, 3): 0.3, (1, 3): 0.5})
    joins = average_linkage(matrix)
    assert [members for members, _ in joins] == [(0, 1), (0, 1, 2), (0, 1, 2, 3)]
    assert [value for _, value in joins] == pytest.approx([0.9, 0.7, 0.4], abs=1e-12)


def test_groups_that_nothing_is_known_of_are_not_joined() -> None:
    assert average_linkage(matrix_of(4, {(0, 1): 0.2, (2, 3): 0.9})) == [((2, 3), 0.9), ((0, 1), 0.2)]
    assert average_linkage(np.full((3, 3), NAN)) == []
    assert average_linkage(np.empty((0, 0))) == []
    assert average_linkage(np.array([[1.0]])) == []


def test_of_equal_similarities_the_first_are_joined_first() -> None:
    matrix = matrix_of(4, {pair: 0.5 + 1e-12 * place for place, pair in enumerate(((0, 1), (0, 2), (1, 2), (0, 3)))})
    assert [members for members, _ in average_linkage(matrix)] == [(0, 1), (0, 1, 2), (0, 1, 2, 3)]


def test_a_matrix_that_is_not_one_of_similarities_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`similarity` must have the shape \(N, N\), got \(2, 3\)"):
        average_linkage(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="`similarity` must be symmetric"):
        average_linkage(np.array([[1.0, 0.2], [0.3, 1.0]]))

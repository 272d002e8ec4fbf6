"""Connected components, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from annotator_agreement.metrics.numeric import components

_RNG = np.random.default_rng(4)


def _random(n: int, n_edges: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges between nodes that are at most ``reach`` apart, some of them twice, some of a node to itself."""
    u = _RNG.integers(0, n, n_edges)
    return u, np.clip(u + _RNG.integers(-reach, reach + 1, n_edges), 0, n - 1)


def _path(n: int) -> tuple[np.ndarray, np.ndarray]:
    """All nodes in a row, in any order."""
    order = _RNG.permutation(n)
    return order[1:], order[:-1]


GRAPHS = {
    "no nodes": (0, *_random(1, 0, 1)),
    "no edges": (7, *_random(7, 0, 1)),
    "an edge to itself": (1, np.zeros(1, int), np.zeros(1, int)),
    "in a row": (3000, np.arange(2999), np.arange(1, 3000)),
    "a shuffled path": (3000, *_path(3000)),
    "a star of the last node": (500, np.arange(499), np.full(499, 499)),
    "all pairs": (60, *np.triu_indices(60, 1)),
    **{
        f"{n} nodes, {e} edges, {reach}": (n, *_random(n, e, reach))
        for n, e, reach in ((40, 25, 3), (2000, 1500, 2000))
    },
    "few components": (2000, *_random(2000, 2600, 30)),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_components_are_those_of_scipy_in_the_order_of_their_first_nodes(name: str) -> None:
    n, u, v = GRAPHS[name]
    n_components, component = components(u, v, n)
    n_expected, expected = connected_components(coo_array((np.ones(len(u)), (u, v)), shape=(n, n)), directed=False)
    assert n_components == n_expected
    assert component.dtype == np.int64
    assert component.tolist() == expected.tolist()

"""Random stored geometries, valid or not: each is compared, counted as unusable, or refused."""

from __future__ import annotations

import math
import os
import random

import numpy as np
import pytest
from bson import Decimal128, Int64

from annotator_agreement.agreement.settings.config import make_config
from annotator_agreement.dataset_io.labels.geometry_readers import BoxReader
from annotator_agreement.dataset_io.labels.shape_readers import PolylineReader

pytestmark = pytest.mark.long

PAIR = ["alice", "bob"]


# ---- anything that may stand in a database ----

ODD = [
    0, 1, 0.5, -0.2, 1.7, 2.5, 1e9, 1.1e9, 1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf, True, False, None,
    "0.5", "a", "", Int64(2**40), [], [0.1], {}, {"a": 1}, Decimal128("0.5"), b"x",
]  # fmt: skip


def _odd_point(rng):
    if rng.random() < 0.8:
        return [rng.uniform(-0.2, 1.2), rng.uniform(-0.2, 1.2)]
    if rng.random() < 0.6:
        return [rng.choice(ODD) for _ in range(rng.choice([2, 2, 2, 1, 3, 0]))]
    return rng.choice(["ab", None, 5, "", {"x": 1, "y": 2}, [[0.1, 0.2], [0.3, 0.4]], b"ab", True])


def _odd_points(rng):
    if rng.random() < 0.1:
        return rng.choice([None, "ab", 5, [], {"a": 1}, [[[]]], [[[0.1, 0.2]]], [0.1, 0.2], [None], ["ab"]])
    return [
        [_odd_point(rng) for _ in range(rng.choice([0, 1, 2, 3, 4, 5]))]
        if rng.random() < 0.9
        else rng.choice([None, "ab", "", 5, {"a": [0.1, 0.2]}, [0.1, 0.2], [[]], True])
        for _ in range(rng.choice([0, 1, 1, 1, 2]))
    ]


def _odd_label(rng):
    label = {
        "bounding_box": [rng.random() for _ in range(4)],
        "points": _odd_points(rng),
        "closed": rng.choice([True, True, False, None, 1, 0]),
        "filled": rng.choice([True, True, False, None, 1, 0]),
    }
    if rng.random() < 0.5:
        label["bounding_box"][rng.randrange(4)] = rng.choice(ODD)
    if rng.random() < 0.1:
        label["bounding_box"] = rng.choice([None, "abcd", [0.1] * 3, [0.1] * 5, {}, ["0.1", "0.1", "0.2", "0.2"]])
    if rng.random() < 0.05:
        del label[rng.choice(["bounding_box", "points"])]
    return label


@pytest.mark.parametrize(
    ("reader", "options"),
    [
        (BoxReader(), {}),
        (PolylineReader(), {}),
        (PolylineReader(), {"line_tolerance": 2.0}),
        (PolylineReader(), {"geometry": "box"}),
        (PolylineReader(), {"rasterize": "pillow"}),
    ],
    ids=str,
)
def test_the_database_the_check_and_the_reader_find_the_same_labels_unusable(private_fiftyone, reader, options):
    from fiftyone.core.odm import get_db_conn

    rng = random.Random(11)
    collection = get_db_conn()[f"odd-{os.getpid()}"]
    config = make_config(PAIR, **options)
    try:
        collection.insert_many([{"_id": k, "labels": [_odd_label(rng)]} for k in range(1500)])
        found = {d["_id"] for d in collection.find({"labels": {"$elemMatch": reader.unusable(config)}}, {"_id": 1})}
        size = np.array([[64.0, 48.0]]) if reader.needs_size(config) else None
        n_usable = 0
        for document in collection.find():
            (label,) = document["labels"]
            usable = reader.is_usable(label, config)
            values = {column: [label.get(attribute)] for column, attribute in reader.columns.items()}
            assert (document["_id"] not in found, reader.read(values, config, size)[1].tolist()) == (
                usable,
                [usable],
            ), label
            n_usable += usable
        assert 50 < n_usable < 1450
    finally:
        collection.drop()

"""The order of the samples in which fixing them would change most."""

from __future__ import annotations

import numpy as np

from tests.datasets import random_annotators

from annotator_agreement import compute_agreement
from annotator_agreement.dataset_io.record.run import Run
from annotator_agreement.dataset_io.run.work_list import work_list

BOX, OTHER = [0.1, 0.1, 0.2, 0.2], [0.6, 0.6, 0.2, 0.2]


def test_a_sample_with_many_disputed_objects_comes_before_one_with_a_lower_score(make_dataset):
    many = [("cat", [0.1 * k, 0.1, 0.05, 0.05]) for k in range(8)]
    dataset = make_dataset(
        {"a": [[("cat", BOX)], many, [("cat", BOX)]], "b": [[("cat", OTHER)], many[:4], [("cat", BOX)]]}
    )
    compute_agreement(dataset, ["a", "b"])
    loaded = Run(dataset, "agreement").records()
    found = work_list(loaded.records, loaded.index)
    ids = dataset.values("id")
    # the first has the score 0, but two objects; the last has nothing to fix
    assert [loaded.index.ids()[row] for row in found.row] == [ids[1], ids[0]]
    assert found.cost.tolist() == [4.0, 2.0]
    assert found.score[1] == 0.0 < found.score[0]
    np.testing.assert_allclose(found.share, [2 / 3, 1 / 3])
    assert (found.n_disputed.tolist(), found.n_units.tolist()) == ([4, 2], [8, 2])


def test_of_frames_the_videos_are_listed_with_their_most_costly_frame(make_videos):
    from tests.datasets import detections

    boxes = random_annotators(12, ["a", "b"])
    dataset = make_videos(
        [{name: [detections(entry) for entry in boxes[name][k : k + 3]] for name in "ab"} for k in range(0, 12, 3)]
    )
    compute_agreement(dataset, ["frames.a", "frames.b"], progress=False)
    loaded = Run(dataset, "agreement").records()
    found = work_list(loaded.records, loaded.index)
    costs = {}
    for video, frame, n in zip(
        loaded.index.ids(), loaded.index.frame_numbers(), loaded.records.sample_values().n_disputed, strict=True
    ):
        costs.setdefault(video, {})[int(frame)] = int(n)
    ids = [loaded.index.ids()[row] for row in found.row]
    assert len(set(ids)) == len(ids) <= 4
    assert found.n_disputed.tolist() == [sum(costs[video].values()) for video in ids]
    assert found.cost.tolist() == sorted(found.cost.tolist(), reverse=True)

"""The order of the samples in which fixing them would change most."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dataset_io.masked import masked_dataset, random_masks
from tests.dataset_io.rated import by_annotator, rated_dataset
from tests.datasets import random_annotators

import annotator_agreement as aa
from annotator_agreement.dataset_io import compute_agreement
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


CLASSES = [["cat", "cat", "dog"], ["cat", "cat", "cat"], ["cat", None, "dog"], ["cat", "dog", "owl"]]
TAGS = [[["wet"], ["wet", "dark"], []], [["wet"], ["wet"], ["wet"]], [[], ["dark"], None], [["a"], ["b"], ["c"]]]


@pytest.mark.parametrize("kind", ["boxes", "classes", "tags", "masks"])
@pytest.mark.few(1)
def test_sidebar_table_of_samples_and_report_sort_by_the_same_cost(kind, make_dataset):
    names = ["alice", "bob", "carol"]
    dataset = {
        "boxes": lambda: make_dataset(random_annotators(12)),
        "classes": lambda: rated_dataset(make_dataset, by_annotator(CLASSES, names), "Classification"),
        "tags": lambda: rated_dataset(make_dataset, by_annotator(TAGS, names), "Classifications"),
        "masks": lambda: masked_dataset(make_dataset, random_masks(6)),
    }[kind]()
    run = aa.compute(dataset, names, progress=False)
    table = run.samples().set_index("id")["cost"]
    of_field = dict(zip(*dataset.values(["id", "agreement_cost"]), strict=True))
    assert {key: value or 0.0 for key, value in of_field.items()} == table.to_dict()
    listed = [entry["id"] for entry in run.look_first]
    costs = [of_field[key] for key in listed]
    assert costs == sorted((cost for cost in of_field.values() if cost), reverse=True)[: len(costs)]
    assert len(costs) == min(10, sum(bool(cost) for cost in of_field.values())) > 1
    if kind != "boxes":
        rows = zip(*dataset.values(["id", "agreement_score", "agreement_n_annotators"]), strict=True)
        lack = {key: (1 - score) * n * (n - 1) / 2 for key, score, n in rows if score is not None}
        assert {key: of_field[key] for key in lack} == pytest.approx(lack, abs=1e-8)

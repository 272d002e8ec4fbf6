"""``make compare``: the explanations of differences are true, and no difference stays unexplained."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tools.compare.annotations import LVIS, Annotations, generated
from tools.compare.explain import UNKNOWN, differing_places, kind_of
from tools.dev.other_programs import KALOS, KALPHACV, OtherProgram
from tools.dev.private_fiftyone import ROOT

DOCUMENT = ROOT / "docs" / "method" / "compare.md"
#: what stands in a table where a check failed
FAILED = (UNKNOWN, "NOT ALL", "NOT SO")


def _chain(step: float) -> Annotations:
    """Three boxes, each moved by a part of the width: IoU (1 - step) / (1 + step), and of the ends with 2 steps."""
    labels = [{"id": 7 + k, "image_id": 0, "rater_id": name, "category_id": 1, "bbox": [40 * k * step, 5.0, 40.0, 20.0]}
              for k, name in enumerate("abc")]  # fmt: skip
    image = {"id": 0, "file_name": "0.jpg", "width": 100, "height": 50, "rater_list": ["a", "b", "c"]}
    coco = {"images": [image], "categories": [{"id": 1, "name": "cat"}], "annotations": labels}
    return Annotations.of("test", Path("unused.json"), coco)


#: the step, where each program places the three boxes, and the kind of the difference
PLACES = [
    (0.1, [0, 0, 1], [0, 0, 0], "not the best"),  # IoU 0.82, 0.82, 0.67: all pairs gain
    (0.2, [0, 0, 1], [0, 0, 0], "outweighed"),  # 0.67, 0.67, 0.43: 0.17 + 0.17 - 0.07 against 0.17
    (0.25, [0, 0, 0], [0, 0, 1], "chain"),  # 0.6, 0.6, 0.33: 0.1 + 0.1 - 0.17 against 0.1
    (1 / 3, [0, 0, 1], [0, 1, 1], UNKNOWN),  # a pair at the threshold stays unexplained
]


def test_a_place_is_of_the_kind_that_its_numbers_say():
    for step, theirs, ours, kind in PLACES:
        (place,) = differing_places(_chain(step), np.array(theirs), np.array(ours), 0.5)
        assert place.theirs.n_pairs == 3 - 2 * max(theirs)
        assert place.iou[0, 1] == pytest.approx((1 - step) / (1 + step), rel=1e-12)
        assert kind_of(place, "negative_score") == kind


def test_every_difference_in_the_documentation_is_explained():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert "## LVIS-200" in text
    assert "kalos 0.8.0" in text
    assert "kalphacv 1.5.2" in text
    # the introduction says what would stand there
    assert not [mark for mark in FAILED if mark in text.split("Versions:")[1]]


def _require(requirements):
    folder = ROOT / ".dev" / requirements[0].split("==")[0]
    if not (folder / "installed").is_file():
        pytest.skip(f"needs {requirements[0]} in {folder}; `make compare` installs it")


@pytest.fixture(scope="module")
def kalos(private_fiftyone):
    """Kalos, where `make compare` has installed it."""
    _require(KALOS)
    program = OtherProgram(KALOS, "tools.compare.kalos_side", environment={"PYTHONHASHSEED": "0"})
    yield program
    program.close()


@pytest.fixture(scope="module")
def programs(kalos):
    """Both programs."""
    _require(KALPHACV)
    kalphacv = OtherProgram(KALPHACV, "tools.compare.kalphacv_side")
    yield kalos, kalphacv
    kalphacv.close()


def test_every_difference_on_generated_boxes_is_explained(programs, tmp_path):
    from tools.compare.matching import Comparison
    from tools.compare.ours import OurDataset

    with OurDataset(generated(3, tmp_path, n_samples=60)) as ours:
        section = Comparison(ours, *programs).section()
    assert len(section.rows) == 11
    assert not [row for row in section.rows if any(mark in row.why for mark in FAILED)]
    sequential = {row.theirs: row.values for row in section.rows if "recursive" in row.ours}
    for theirs, ours in sequential["kalos `shm`, `negative_score`"]:
        assert theirs == pytest.approx(ours, rel=0, abs=1e-12)


#: method, cost function, mean and pooled alpha of kalos on LVIS-200
PUBLISHED = [("mgm", "negative_score", 0.679026, 0.635151), ("mgm", "category_lenient", 0.688879, 0.648286)]


@pytest.mark.parametrize("is_exported", [False, True], ids=["original", "exported"])
def test_kalos_gives_its_published_numbers_of_lvis(kalos, is_exported, tmp_path):
    if not LVIS.is_file():
        pytest.skip(f"needs {LVIS}, which is not part of the repository")
    path = LVIS
    if is_exported:  # from the file into a dataset, and from there into a file again
        import fiftyone as fo

        from annotator_agreement.dataset_io import export_annotations, import_annotations

        dataset = fo.Dataset()
        dataset.add_samples([fo.Sample(entry["file_name"]) for entry in json.loads(LVIS.read_text())["images"]])
        summary = import_annotations(dataset, LVIS)
        path = tmp_path / "lvis.json"
        export_annotations(dataset, [name for entry in summary.annotators for name in entry.fields], path)
        dataset.delete()
    for method, cost, mean, pooled in PUBLISHED:
        answer = kalos.ask("alphas", str(path), method, cost, 0.5)
        assert (answer["mean"], answer["pooled"]) == pytest.approx((mean, pooled), rel=0, abs=5e-7)


def test_a_program_that_ends_says_why(kalos):
    other = OtherProgram(KALOS, "tools.compare.kalos_side")
    with pytest.raises(RuntimeError, match=r"(?s)kalos==0\.8\.0 ended without an answer to .*KeyError: 'nothing'"):
        other.ask("nothing")
    other.close()

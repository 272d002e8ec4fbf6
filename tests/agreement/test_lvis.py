"""200 images of LVIS annotated twice: numbers that other programs give too."""

from __future__ import annotations

import functools
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agreement.agreement_oracle import object_report
from tests.chance import some_seeds

from annotator_agreement.agreement import make_config
from annotator_agreement.agreement.matching import Batch
from annotator_agreement.agreement.objects import Block, ObjectReport, RuleAlpha, RuleNumbers
from annotator_agreement.agreement.statistics import ClassCodes
from annotator_agreement.metrics import Objects, best_similarities, similarities_between_samples, threshold_from_data
from annotator_agreement.metrics.geometry import Boxes

# ROOT.parent / "shared" / "data"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
LVIS = DATA / "lvis_double" / "lvis_v1.0_val_doubly_annos_subset200.json"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not LVIS.is_file(), reason=f"needs {LVIS}, which is not part of the repository"),
]


@pytest.fixture(scope="module")
def lvis() -> tuple[list[str], list[str], Batch]:
    """Annotators, class names and columns."""
    if not LVIS.is_file():
        pytest.skip(f"needs {LVIS}, which is not part of the repository")
    data: dict[str, Any] = json.loads(LVIS.read_text())
    annotators = sorted({rater for image in data["images"] for rater in image["rater_list"]})
    names = {category["id"]: category["name"] for category in data["categories"]}
    codes = ClassCodes()
    labels = defaultdict(list)
    for entry in data["annotations"]:
        labels[entry["image_id"]].append(entry)
    rows = []
    assigned = np.zeros((len(data["images"]), len(annotators)), np.bool_)
    for sample, image in enumerate(data["images"]):
        assigned[sample, [annotators.index(rater) for rater in image["rater_list"]]] = True
        for entry in sorted(labels[image["id"]], key=lambda e: (annotators.index(e["rater_id"]), e["id"])):
            x, y, width, height = entry["bbox"]
            box = np.array([x, y, x + width, y + height]) / np.tile([image["width"], image["height"]], 2)
            rows.append((sample, annotators.index(entry["rater_id"]), codes[names[entry["category_id"]]], *box))
    table = np.array(rows)
    return annotators, codes.names(), Batch(Objects(*table[:, :3].astype(np.int64).T), Boxes(table[:, 3:]), assigned)


@pytest.fixture(scope="module")
def report_on(lvis: tuple[list[str], list[str], Batch]) -> Callable[..., ObjectReport]:
    """The report under some options, without intervals; several tests look at the same one."""
    annotators, class_names, batch = lvis

    @functools.cache
    def report(**options: str) -> ObjectReport:
        config = make_config(annotators, resamples=0, **options)
        return object_report(batch, config, class_names)

    return report


@pytest.fixture(scope="module")
def rules_under(lvis: tuple[list[str], list[str], Batch]) -> Callable[..., list[RuleAlpha]]:
    """Alpha under all combinations of rules, in a run with some options."""
    annotators, _, batch = lvis

    @functools.cache
    def rules(**run: str) -> list[RuleAlpha]:
        config = make_config(annotators, **run)
        numbers = RuleNumbers(config)
        numbers.add(Block.of(batch, config))
        return numbers.alphas()

    return rules


CONVENTIONS = {"source": {"empty": "agree", "undefined": "one"}, "defaults": {}}
# (conventions, classes, mean of the alphas of the images, pooled alpha)
ALPHA = [
    ("source", "ignore", 0.679026, 0.635151), ("source", "prefer", 0.688879, 0.648286),
    ("defaults", "ignore", 0.569163, 0.633426), ("defaults", "prefer", 0.582387, 0.646623),
    ("defaults", "require", 0.582046, 0.645886),
]  # fmt: skip


@pytest.mark.parametrize(("conventions", "classes", "mean", "pooled"), ALPHA)
def test_alpha_is_the_published_one(
    report_on: Callable, conventions: str, classes: str, mean: float, pooled: float
) -> None:
    report = report_on(classes=classes, **CONVENTIONS[conventions])
    assert report.alpha.mean == pytest.approx(mean, rel=0, abs=5e-7)
    assert report.alpha.pooled == pytest.approx(pooled, rel=0, abs=5e-7)


def test_images_without_an_alpha_are_counted_by_reason(report_on: Callable) -> None:
    for classes in ("ignore", "prefer"):
        assert report_on(classes=classes).alpha.n_defined == 149
    report = report_on()
    assert Counter(report.alpha.undefined) == Counter({"single_category": 37, "no_objects": 14})
    assert (report.n_samples, report.n_rated, report.n_empty, report.n_objects) == (200, 200, 14, 3521)


@pytest.mark.parametrize(
    ("classes", "n_units", "n_shared"), [("ignore", 2121, None), ("prefer", 2121, 1400), ("require", 2123, 1398)]
)
def test_units_are_as_many_as_published(report_on: Callable, classes: str, n_units: int, n_shared: int | None) -> None:
    report = report_on(classes=classes)
    votes = {(entry["assigned"], entry["votes"]): entry["units"] for entry in report.existence.votes}
    assert report.n_units == n_units
    assert report.n_inexact_components == 0
    if n_shared is not None:
        assert votes == {(2, 1): n_units - n_shared, (2, 2): n_shared}


# method and classes, missing, empty, undefined, mean, pooled: as other programs give them
PUBLISHED = [
    ("optimal", "ignore", "category", "agree", "one", 0.679026, 0.635151),
    ("optimal", "prefer", "category", "agree", "one", 0.688879, 0.648286),
    ("optimal", "ignore", "category", "skip", "none", 0.569163, 0.633426),
    ("optimal", "prefer", "category", "skip", "none", 0.582387, 0.646623),
    ("optimal", "require", "category", "skip", "none", 0.582046, 0.645886),
    ("optimal", "prefer", "ignore", "skip", "none", None, 0.9986),
    ("recursive", "ignore", "category", "agree", "one", 0.6790, None),
]


@pytest.mark.parametrize("run", [{}, {"classes": "ignore", "missing": "ignore"}, {"classes": "require"}])
@pytest.mark.parametrize("published", PUBLISHED)
def test_published_alphas_are_among_those_under_other_rules(rules_under: Callable, run: dict, published: tuple) -> None:
    *wanted, mean, pooled = published
    found = [r for r in rules_under(**run) if [r.method, r.classes, r.missing, r.empty, r.undefined] == wanted]
    assert len(found) == 1
    for number, value in ((mean, found[0].mean), (pooled, found[0].pooled)):
        if number is not None:
            n_digits = len(str(number)) - 2
            assert value == pytest.approx(number, rel=0, abs=0.5 * 10 ** -max(n_digits, 4))


@pytest.mark.random
def test_the_threshold_from_the_data_is_that_of_kalos(lvis: tuple) -> None:
    # kalos 0.8.0, 60 seeds of its draws of other images: threshold 0.3076, standard deviation 0.0220; separation
    # 0.8166, 0.0032; the mean of the observed distances does not depend on the draws
    _, _, batch = lvis
    overlaps = batch.geometry.overlaps(batch.objects)
    observed = best_similarities(batch.objects, overlaps, batch.assigned)
    assert (len(observed), 1.0 - observed.mean()) == (3521, pytest.approx(0.26230440, rel=0, abs=1e-8))
    for seed in some_seeds(3):
        rng = np.random.default_rng(seed)
        expected = similarities_between_samples(batch.objects, batch.geometry, batch.assigned, rng=rng)
        found = threshold_from_data(observed, expected, len(batch.objects))
        assert found.threshold == pytest.approx(0.3076, rel=0, abs=0.022)
        assert found.ks == pytest.approx(0.8166, rel=0, abs=0.0032)

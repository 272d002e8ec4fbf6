"""Of many annotators the panel has a chart of skill against volume, in which every point leads to its labels."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.app.app_page import page_with_panel
from tests.app.demo_copies import address_of
from tests.app.plots import chart, click_point, drawn

pytestmark = pytest.mark.browser

N_ANNOTATORS, N_IMAGES = 13, 8


@pytest.fixture
def crowd(demo_address: str) -> Iterator[Any]:
    """One object on every image, drawn by the first annotator on all of them, by the next ones on ever fewer."""
    import fiftyone as fo

    from annotator_agreement.dataset_io import compute_agreement

    demo = fo.load_dataset(demo_address.rsplit("/", 1)[1])
    dataset = fo.Dataset(f"{demo.name}-crowd", persistent=True)
    samples = []
    for k, path in enumerate(demo.limit(N_IMAGES).values("filepath")):
        own = [
            fo.Detection(label="cat", bounding_box=[0.1 + 0.01 * r, 0.2, 0.5, 0.5], who=f"worker {r}")
            for r in range(N_ANNOTATORS)
            if k < N_IMAGES - r // 2
        ]
        samples.append(fo.Sample(filepath=path, labels=fo.Detections(detections=own)))
    dataset.add_samples(samples, progress=False)
    compute_agreement(dataset, "labels", annotator_attribute="who", resamples=0, sensitivity=False, progress=False)
    yield dataset
    dataset.delete()


def test_a_point_of_skill_against_volume_leads_to_its_labels(browser: Browser, demo_address: str, crowd: Any) -> None:
    with page_with_panel(browser, address_of(crowd, demo_address)) as app:
        app.open_tab("Annotators", "Pairs of annotators")
        plot = chart(app.panel, "skill")
        (points, *_) = drawn(plot)
        number = list(points["customdata"]).index("worker 9")
        click = functools.partial(click_point, app.page, plot, 0, number)
        app.drill_down(click, "Labels of worker 9")
        app.expect_shown(N_IMAGES - 9 // 2)
        app.back()
        app.expect_shown(N_IMAGES)

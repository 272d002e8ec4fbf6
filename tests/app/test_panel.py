"""The panel in the real App: what its charts have drawn, and where clicks on them lead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dev.browser import find_chromium, open_page, running_app

pytestmark = pytest.mark.browser

NAME = f"panel-test-{os.getpid()}"
PANEL = "[data-cy='panel-content-agreement_panel']"
_MOST = 60_000

#: the traces of the chart whose title begins with, or contains, a text
TRACES = """text => { const found = [...document.querySelectorAll('.js-plotly-plot')].filter(
    plot => plot.layout.title.text.includes(text)); return found.length ? found[0].data : null }"""


@pytest.fixture(scope="module")
def address(private_fiftyone, tmp_path_factory) -> Iterator[str]:
    if find_chromium() is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("REQUIRE_BROWSER is set, but there is no Chromium (Debian: apt-get install chromium)")
        pytest.skip("there is no Chromium (Debian: apt-get install chromium)")
    with running_app(NAME, Path(tmp_path_factory.mktemp("panel"))) as address:
        yield address


def _click_bar(page, text: str, number: int) -> None:
    """Click a bar of a chart, as a user does: pointer there first."""
    chart = page.locator(f"{PANEL} .js-plotly-plot").filter(has_text=text)
    bar = chart.locator(".bars .point path").nth(number)
    bar.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    box = bar.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.wait_for_timeout(500)
    page.mouse.click(x, y)


def test_the_panel_draws_the_report_and_its_bars_are_doors_with_a_way_back(address):
    import fiftyone as fo

    from annotator_agreement import compute_agreement

    dataset = fo.load_dataset(NAME)
    report = compute_agreement(dataset, ["alice", "bob", "carol"], progress=False)
    expect.set_options(timeout=_MOST)
    with open_page(address) as page:
        page.set_default_timeout(_MOST)
        page.locator("[data-cy='new-panel-btn']").first.click()
        page.locator("[data-cy='new-panel-option-agreement_panel']").click()
        panel = page.locator(PANEL)
        expect(panel).to_contain_text(f"Score {report.score.mean:.3f}")
        expect(panel).to_contain_text(f"Krippendorff's alpha {report.alpha.pooled:.3f}")
        page.wait_for_selector(f"{PANEL} .js-plotly-plot .bars .point path", state="attached")

        (pairs,) = page.evaluate(TRACES, "agree least")
        drawn = {(a, b): pairs["z"][i][j] for i, a in enumerate(pairs["y"]) for j, b in enumerate(pairs["x"])}
        assert {(entry.a, entry.b): drawn[entry.a, entry.b] for entry in report.pairs} == {
            (entry.a, entry.b): pytest.approx(entry.alpha) for entry in report.pairs
        }
        (verdicts,) = page.evaluate(TRACES, "agreed on by everybody")
        counted = {name: sum(entry.verdicts.get(name, 0) for entry in report.annotators) for name in verdicts["x"]}
        assert dict(zip(verdicts["x"], verdicts["y"], strict=True)) == counted
        (votes,) = page.evaluate(TRACES, "drawn by everybody")
        assert sum(votes["y"]) == sum(e["units"] for e in report.existence.votes if e["assigned"] >= 2 and e["votes"])

        all_samples = page.locator("[data-cy='entry-counts']").inner_text()
        number = verdicts["x"].index("lone")
        paths = [f"{name}.detections.agreement" for name in ("alice", "bob", "carol")]
        n_lone = len(dataset.match({"$or": [{path: "lone"} for path in paths]}))
        _click_bar(page, "agreed on by everybody", number)
        expect(page.locator("[data-cy='entry-counts']")).to_have_text(f"{n_lone} samples")
        expect(panel).to_contain_text("Labels with the verdict lone")
        panel.get_by_role("button", name="Back").click()
        expect(page.locator("[data-cy='entry-counts']")).to_have_text(all_samples)
        expect(panel.get_by_role("button", name="Back")).to_have_count(0)

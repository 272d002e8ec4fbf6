"""The HTML page: complete, safe against markup in the data, and drawn in a real browser without a network."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tests.charts.filled import ANNOTATORS, CLASSES, IOU_HISTOGRAM, filled_report, filled_values, unfilled_report
from tests.charts.other_families import OTHERS
from tools.dev.browser import find_chromium

from annotator_agreement.agreement import AgreementReport
from annotator_agreement.charts.figures import FIGURES
from annotator_agreement.charts.page import anchor, report_page
from annotator_agreement.charts.text import Section

DATASET = 'streets <2026> & "more" </script><script>alert(1)</script>'
COMPUTED = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)
#: elements without an end
VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """What a page consists of: text, elements, and whether every element that was opened was closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: dict[str | None, str] = {}
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            element = next(attrs for tag, attrs in reversed(self.elements) if tag == "script")
            self.scripts[element.get("id")] = self.scripts.get(element.get("id"), "") + data
        elif inside != "style":
            self.texts.append(data)
            if inside == "td":
                self.cells.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    @property
    def figures(self) -> dict:
        return json.loads(self.scripts["figures"])


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(report_page(filled_report(), dataset_name=DATASET, computed_at=COMPUTED))


def test_the_page_has_sentences_tables_figures_and_names_that_are_never_markup(page: Page) -> None:
    for part in (
        *("0.647", "[0.603, 0.691]", "0.612", "[0.581, 0.640]", "computed on 21 November 2026", "214 samples"),
        *("is about objects that not everybody drew", "590 of 1,000 objects (59.0 %) were drawn by everybody assigned"),
        *("labels with IoU of at least 0.5", "fiftyone 1.22.1, numpy 2.1.0", "12 % larger, lower edge 9 % lower"),
    ):
        assert part in page.text, part
    assert DATASET in page.text
    for name in (*ANNOTATORS, *CLASSES):
        assert name in page.cells
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"b", "far", "2026"}
    assert "alert" not in "".join(text for name, text in page.scripts.items() if name == "figures")
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    names = set(FIGURES) - {"verdicts", "models", "thresholds"}  # without a model, and not loaded from a dataset
    assert set(page.figures) == names
    places = {attrs["id"] for tag, attrs in page.elements if attrs.get("class") == "plot"}
    assert (places, page.figures["iou"]["data"][0]["y"]) == ({f"figure-{name}" for name in names}, IOU_HISTOGRAM)
    assert page.figures["confusion"]["data"][0]["z"][0][1] == 57
    # their titles are text of the page, which wraps
    assert not any(figure["layout"].get("title") for figure in page.figures.values())
    assert "IoU is 0.87 or more for half of the 1,400 pairs of labels" in page.text


def test_scores_are_drawn_if_given_and_a_long_table_ends_with_how_many_rows_more_there_are() -> None:
    alphas = iter((0.1, 0.2, 0.9, 0.3, 0.4))
    pairs = [{**pair, "alpha": next(alphas)} for pair in filled_values()["pairs"]]
    page = Page(report_page(filled_report(pairs=pairs), scores=np.array([0.5, np.nan, 0.9])))
    assert "bob & co and dan|d agree least (score 0.49), alice and bob & co most (0.81)" in page.text
    assert sum(page.figures["scores"]["data"][0]["y"]) == 2
    one = filled_values()["classes"][0]
    classes = [{**one, "name": f"class {k:03d}"} for k in range(130)]
    page = report_page(filled_report(classes=classes))
    assert "30 more rows: report.print_report(full=True)." in page
    assert sum(f"<td>class {k:03d}</td>" in page for k in range(130)) == 100


def test_links_lead_to_sections_the_page_needs_nothing_else_and_without_numbers_it_says_so(page: Page) -> None:
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in page.elements if tag == "a"]
    assert len(links) >= 6
    assert {link.removeprefix("#") for link in links} <= set(ids)
    titles = {"Why? Three <questions>": "why-three-questions", "???": "section", "天气": "天气"}
    assert {title: anchor(Section(title, [])) for title in titles} == titles
    loading = {"src", "srcset", "data", "action"}
    assert not [attrs for tag, attrs in page.elements if loading & set(attrs) or tag in ("link", "iframe", "img")]
    text = report_page(filled_report())
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style
    assert "url(" not in style[1]
    assert "@import" not in style[1]
    assert text.count("plotly.js v") == 1
    page = Page(report_page(unfilled_report()))
    assert page.figures == {}
    assert not [text for text in page.texts if re.search(r"\bNone\b|\bnan\b", text)]
    assert "-" in page.texts
    assert "No two annotators have labels to compare" in page.text


# ---- in a browser ----


@pytest.fixture(scope="module")
def browser() -> Iterator:
    if find_chromium() is None:
        if os.environ.get("REQUIRE_BROWSER"):
            pytest.fail("REQUIRE_BROWSER is set, but there is no Chromium (Debian: apt-get install chromium)")
        pytest.skip("there is no Chromium (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


REPORTS = {"objects": filled_report, "nothing": unfilled_report, **OTHERS}


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("kind", list(REPORTS))
def test_the_page_is_drawn_without_errors_and_without_a_network(browser, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "report.html"
    report: AgreementReport = REPORTS[kind]()
    path.write_text(report_page(report, dataset_name=DATASET), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    n = len(Page(path.read_text(encoding="utf-8")).figures)
    page.wait_for_function(f"document.querySelectorAll('.plot > .plot-container').length === {n}")
    assert (complaints, requests) == ([], [path.as_uri()])
    assert page.title().startswith("Annotator agreement: streets <2026>")
    page.close()

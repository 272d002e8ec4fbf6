"""Read the data that charts draw in the page, and click on their points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.sync_api import TimeoutError as NotYet
from playwright.sync_api import expect

from tests.app.app_page import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

#: part of a title of an axis that only this chart has
CHARTS = {
    "iou": "of two labels of one object",
    "thresholds": "of a match",
    "scores": "score (0",
    "skill": "score with the others",
}
_DATA = "plot => plot.data"
#: how often a pointer is moved to a chart that is being drawn anew, and how long it waits there, in milliseconds
_TRIES = 240
_SECOND = 1_000

#: where a bar or point is, seen from the upper left corner of what takes the clicks
_PLACE_OF_POINT = """(plot, [trace, point]) => {
    const drag = plot.querySelector('.nsewdrag').getBoundingClientRect();
    const kind = plot.data[trace].type === 'bar' ? '.bars' : '.scatter';
    const traces = [...plot.querySelectorAll(`.trace${kind}`)];
    const nodes = traces[trace].querySelectorAll(kind === '.bars' ? '.point path' : 'path.point');
    const box = nodes[point].getBoundingClientRect();
    return {x: box.x + box.width / 2 - drag.x, y: box.y + box.height / 2 - drag.y};
}"""


def chart(panel: Locator, name: str) -> Locator:
    """A chart of the panel."""
    return panel.locator(".js-plotly-plot").filter(has_text=CHARTS[name])


def drawn(plot: Locator) -> list[dict[str, Any]]:
    """The traces that a chart has drawn; one that takes the place of another has none for a moment."""
    expect(plot.locator(".main-svg").first).to_be_attached()
    wait_until(plot.page, lambda: plot.evaluate(_DATA))
    return plot.evaluate(_DATA)


def click_point(page: Page, plot: Locator, trace: int, point: int) -> str:
    """Click a bar or a point; returns what the chart said of it before."""
    return _click(page, plot, _PLACE_OF_POINT, [trace, point])


def _click(page: Page, plot: Locator, place: str, of: list[Any]) -> str:
    """Click as soon as the chart shows what is under the pointer; it ignores earlier clicks."""
    label = plot.locator(".hoverlayer .hovertext")
    surface = plot.locator(".nsewdrag").first
    expect(surface).to_be_attached()
    for _ in range(_TRIES):
        position = plot.evaluate(place, of)
        surface.hover(position={"x": max(0, position["x"] - 3), "y": position["y"]})
        surface.hover(position=position)
        try:
            label.first.wait_for(timeout=_SECOND)
        except NotYet:
            page.mouse.move(0, 0)
            continue
        said = label.first.text_content() or ""
        page.mouse.down()
        page.mouse.up()
        return said
    raise AssertionError("The chart does not say what the pointer is on")

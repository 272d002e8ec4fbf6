"""From a click on a number to the samples and labels behind it.

A click has a position: a row and a column of a table, a point of a chart, a button. Its meaning comes from the data of
the view model, never from displayed text.
"""

from __future__ import annotations

import math
from typing import Any

from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from ..agreement.errors import AgreementInputError
from ..dataset_io import decided_against, view_agreement
from ..names import FRAMES_PREFIX
from .items import Item, Link
from .panel_state import PanelState
from .view_model import ViewModel

Click = dict[str, Any]


def item_name(path: str) -> str:
    """Name of the item at a path of the panel: the last part without the version."""
    return path.rsplit(".", 1)[-1].rsplit("_", 1)[0]


def samples_behind(samples: SampleCollection, state: PanelState, leads: Link) -> DatasetView:
    """The view behind a number, with the fields of the run alone: the App draws it in half the time.

    Args:
        samples: the samples that the numbers describe
        state: the run
        leads: what to show

    Raises:
        AgreementInputError: if the fields of the run are gone
    """
    if "against" in leads:
        return decided_against(samples, leads["against"], state.run_key or "")
    options = dict(leads["options"])
    assigned = options.pop("n_annotators", None)
    view = view_agreement(samples, state.run_key or "", **options)
    if assigned is not None:
        view = view.match({f"{state.field_key}_n_annotators": assigned})
    compared, written = state.config["options"]["fields"], state.config["fields_written"]
    own = [path for path in written if path.removeprefix(FRAMES_PREFIX).startswith(f"{state.field_key}_")]
    return view.select_fields([path for path in (*compared, *own) if view.has_field(path)])


def link_of(model: ViewModel, click: Click) -> Link:
    """The labels behind a click.

    Raises:
        AgreementInputError: if there are none
    """
    name = item_name(str(click.get("path", "")))
    if name == "card":
        leads = _card(model, click)
    else:
        item = next((item for item in model["items"] if item["name"] == name), None)
        if item is None:
            raise AgreementInputError("There are no samples behind this")
        leads = _of_cell(item, click) if item["kind"] == "table" else _of_point(item, click)
    if leads is None:
        raise AgreementInputError("There are no samples behind this; click an underlined number")
    return leads


def _card(model: ViewModel, click: Click) -> Link | None:
    number = click.get("number")
    cards = model["cards"]
    leads: Link | None = cards[number]["link"] if isinstance(number, int) and 0 <= number < len(cards) else None
    return leads


def _of_cell(item: Item, click: Click) -> Link | None:
    row, column, links = click.get("row"), click.get("column"), item["links"]
    if not isinstance(row, int) or not isinstance(column, int) or not 0 <= row < len(links):
        return None
    leads: Link | None = links[row][column] if 0 <= column < len(links[row]) else None
    return leads


def _of_point(item: Item, click: Click) -> Link | None:
    """The labels behind a bar or point, looked up by its place because the App may still show an earlier chart."""
    if not item.get("points"):
        return None
    (trace,) = item["data"][:1]
    places = _places(trace["x"], click.get("x"))
    if len(places) > 1:
        places = [place for place in _places(trace["y"], click.get("y")) if place in places]
    leads: Link | None = item["points"][places[0]] if places else None
    return leads


def _places(values: list[Any], value: Any) -> list[int]:
    """The positions of a coordinate among the drawn ones."""
    if not isinstance(value, float | int):
        return []
    return [k for k, drawn in enumerate(values) if math.isclose(drawn, value, abs_tol=1e-6)]

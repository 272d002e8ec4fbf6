"""Drill-down from a number in the panel to a view of the samples and labels behind it, and the way back.

A click has a position: a row and a column of a table, a point of a chart, a button. Its meaning comes from the data of
the view model, never from displayed text.

The view to go back to is kept in FiftyOne's store, by panel, not in the state of the panel: after every change of the
state the App stores its layout and reads its page again, so that a click on a number would take 50 % longer.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from .. import names
from ..agreement.settings.errors import AgreementInputError
from ..dataset_io import decided_against
from ..dataset_io.app.appearance import sidebar_groups
from ..dataset_io.database.fiftyone_private import serialized_stages, view_from_stages
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.results.parts import open_parts
from ..dataset_io.views.agreement_view import requested_view
from ..dataset_io.views.unit_views import labels_of_size
from ..dataset_io.views.view_request import check_request
from ..names import AGREEMENT_PANEL, FRAMES_PREFIX, SHOWN_BY_FORM
from .drawing import GRID_TITLE, safe_title
from .items import Link
from .panel_state import PanelState, hash_of, hash_of_view
from .view_model import ViewModel

Click = dict[str, Any]

#: seconds after which FiftyOne deletes an entry of the store that nobody changed
_KEPT = 7 * 24 * 3600


def item_name(path: str) -> str:
    """Name of the item at a path of the panel: the last part without the version."""
    return path.rsplit(".", 1)[-1].rsplit("_", 1)[0]


def samples_behind(samples: SampleCollection, state: PanelState, behind: Link) -> DatasetView:
    """The view behind a number, with the fields of the run alone: the App draws it in half the time.

    Args:
        samples: the samples that the numbers describe
        behind: the link of the number

    Raises:
        AgreementInputError: if the fields of the run are gone
    """
    if "against" in behind:
        return decided_against(samples, behind["against"], state.run_key or "")
    if "part" in behind:
        return _with_fields(open_parts(samples, state.run_key or "").view(*behind["part"]), state)
    if "sized" in behind:
        model, size = behind["sized"]
        return _with_fields(labels_of_size(samples, state.run_key or "", model, size), state, model)
    options = dict(behind["options"])
    assigned = options.pop("n_annotators", None)
    labels = open_run_labels(samples, state.run_key or "")
    view = requested_view(labels, check_request(labels, options))
    if assigned is not None:
        view = view.match({f"{state.field_key}_n_annotators": assigned})
    return _with_fields(view, state, *filter(None, [options.get("model")]))


def _with_fields(view: DatasetView, state: PanelState, *more: str) -> DatasetView:
    """The view with only the compared fields, those that the run wrote on samples, and ``more``."""
    asked, written = state.config["options"], state.config["fields_written"]
    compared = [*asked["fields"], *([asked["reference"]] if asked.get("reference") else [])]
    own = [path for path in written if path.removeprefix(FRAMES_PREFIX).startswith(f"{state.field_key}_")]
    return view.select_fields([path for path in (*compared, *more, *own) if view.has_field(path)])


def link_of(model: ViewModel, click: Click) -> Link:
    """The link behind a click.

    Raises:
        AgreementInputError: if there is none
    """
    name = item_name(str(click.get("path", "")))
    behind: Link | None = None
    if name == "card":
        card = _entry(model["cards"], click.get("number"))
        behind = None if card is None else card["link"]
    else:
        item = next((item for item in model["items"] if item["name"] == name), None)
        if item is None:
            raise AgreementInputError("There are no samples behind this")
        if item["kind"] == "table":
            behind = _entry(_entry(item["links"], click.get("row")) or [], click.get("column"))
        elif item.get("points"):  # found by its coordinates, because the App may still show an earlier chart
            for trace in item["data"]:
                heights = _places(trace["y"], click.get("y"))
                places = [place for place in _places(trace["x"], click.get("x")) if place in heights]
                if places:
                    break
            else:
                (trace,) = item["data"][:1]
                places = _places(trace["x"], click.get("x"))
                if len(places) > 1:
                    places = [place for place in _places(trace["y"], click.get("y")) if place in places]
            behind = item["points"][places[0]] if places else None
    if behind is None:
        raise AgreementInputError("There are no samples behind this; click an underlined number")
    return behind


def _entry(values: list[Any], place: object) -> Any:
    """The value at a place that the App names; None if there is no such place."""
    return values[place] if isinstance(place, int) and 0 <= place < len(values) else None


def _places(values: list[Any], value: Any) -> list[int]:
    """The positions of a coordinate, which is a number or a name, among the drawn ones."""
    if isinstance(value, str):
        return [k for k, drawn in enumerate(values) if drawn == value]
    if not isinstance(value, float | int):
        return []
    return [
        k for k, drawn in enumerate(values) if not isinstance(drawn, str) and math.isclose(drawn, value, abs_tol=1e-6)
    ]


@dataclass(frozen=True, slots=True)
class WayBack:
    """A view behind a number that the grid shows, and the view before it."""

    title: str  #: what is shown
    shown: str  #: hash of its view
    before: list[dict[str, Any]]  #: stages of the view that the user had
    seen: bool = False  #: whether the App has reported that it shows the view

    def is_view_of(self, ctx: foo.ExecutionContext) -> bool:
        """True if the App shows this view."""
        return hash_of_view(ctx.view) == self.shown


def way_back(ctx: foo.ExecutionContext) -> WayBack | None:
    """Way back from the view of a number; None if the user did not click one, or left it."""
    stored = ctx.store(AGREEMENT_PANEL).get(ctx.panel_id) if ctx.dataset is not None else None
    return None if stored is None else WayBack(**json.loads(stored))


def adopt_view_of_form(ctx: foo.ExecutionContext) -> None:
    """If a form of the plugin showed the current view, store a way back from it, as from a view behind a number."""
    store = ctx.store(AGREEMENT_PANEL) if ctx.dataset is not None else None
    told = None if store is None else store.get(SHOWN_BY_FORM)
    if store is None or told is None or hash_of_view(ctx.view) != hash_of((entry := json.loads(told))["shown"]):
        return
    store.delete(SHOWN_BY_FORM)
    own = way_back(ctx)
    before = entry["before"] if own is None else own.before
    _keep(ctx, WayBack(entry["title"], hash_of_view(ctx.view), before, seen=True))
    ctx.panel.set_data(GRID_TITLE, safe_title(entry["title"]))


def is_behind(ctx: foo.ExecutionContext) -> bool:
    """True if the App still shows the view that a click on a number opened."""
    shown = way_back(ctx)
    return shown is not None and shown.is_view_of(ctx)


def view_before(ctx: foo.ExecutionContext) -> list[dict[str, Any]]:
    """Stages of the view that the user had before clicking a number; without a click, of the present view."""
    shown = way_back(ctx)
    return shown.before if shown is not None and shown.is_view_of(ctx) else serialized_stages(ctx.view)


def has_left(ctx: foo.ExecutionContext) -> bool:
    """True if the user left the view of a number; to be called when the App reports the view that it shows.

    Reports from before the App showed the view of the number may arrive after the click, and do not count.
    """
    shown = way_back(ctx)
    if shown is None:
        return False
    is_shown = shown.is_view_of(ctx)
    if is_shown and not shown.seen:
        _keep(ctx, replace(shown, seen=True))
    return shown.seen and not is_shown


def _keep(ctx: foo.ExecutionContext, entry: WayBack) -> None:
    # as text: older versions of MongoDB refuse the operators of stages as keys
    ctx.store(AGREEMENT_PANEL).set(ctx.panel_id, json.dumps(asdict(entry)), ttl=_KEPT)


def forget_way_back(ctx: foo.ExecutionContext) -> None:
    """Delete the stored way back."""
    if ctx.dataset is not None:
        ctx.store(AGREEMENT_PANEL).delete(ctx.panel_id)


def leave_view(ctx: foo.ExecutionContext) -> None:
    """Forget a drill-down, and restore the groups of the sidebar: the App dropped those of fields not in its view."""
    forget_way_back(ctx)
    ctx.panel.set_data(GRID_TITLE, safe_title(None))
    groups = {"groups": sidebar_groups(ctx.dataset)}
    ctx.trigger(f"{names.PLUGIN_NAME}/{names.SHOW_SIDEBAR_GROUPS}", groups)


def show_view(ctx: foo.ExecutionContext, title: str, view: SampleCollection) -> None:
    """Show a view, with a way back to the view that the user had."""
    _keep(ctx, WayBack(title, hash_of_view(view), view_before(ctx)))
    ctx.panel.set_data(GRID_TITLE, safe_title(title))
    ctx.ops.set_view(view)


def go_back(ctx: foo.ExecutionContext) -> None:
    """Show the view that the user had before."""
    shown = way_back(ctx)
    leave_view(ctx)
    if shown is not None and shown.before:
        ctx.ops.set_view(view_from_stages(ctx.dataset, shown.before))
    else:
        ctx.ops.clear_view()


def described_samples(ctx: foo.ExecutionContext) -> SampleCollection | None:
    """View that the numbers describe (None: whole run). Views opened by a click do not count."""
    if not (ctx.panel_state or {}).get("of_view") or ctx.view is None:
        return None
    return view_from_stages(ctx.dataset, view_before(ctx)) if is_behind(ctx) else ctx.view

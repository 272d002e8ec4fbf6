"""The layout of the panel: every state as a schema that the App draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fiftyone.operators import types

from ..charts.sections import plain_markdown
from .model_cache import hash_of
from .panel_state import PanelState
from .view_model import Item, ViewModel

#: the handlers of the panel by name
Handlers = Callable[[str], str]

#: minimum width of a column of charts, in pixels
_COLUMN = 460
# CSS columns, unlike a grid, leave no gaps next to tall charts
_GRID = {"grid": {"sx": {"display": "block", "columnWidth": f"{_COLUMN}px", "columnGap": "16px", "width": "100%"}}}
#: figures do not know the theme of the App: set the colour of their text here
_TEXTS = {
    "& .gtitle": {"fill": "var(--fo-palette-text-primary) !important"},
    ", ".join(
        f"& .{name}"
        for name in (*("xtick text", "ytick text", "y2tick text", "xtitle", "ytitle", "y2title"),
                     *("legendtext", "annotation-text", "bartext-outside"))
    ): {"fill": "var(--fo-palette-text-secondary) !important"},
}  # fmt: skip
# FiftyOne fits charts to their column only when drawn and when the window changes, not when the panel changes; until
# then a chart must not cover its neighbour
_SX = {"width": "100%", "overflow": "hidden", "breakInside": "avoid", "paddingBottom": "16px", **_TEXTS}
_ITEM = {"item": {"sx": _SX}}
#: matrices with more names take the full width
_MOST_NAMES = 6
_WIDE_ITEM = {"item": {"sx": {**_SX, "columnSpan": "all"}}}
#: the title of a drill-down is part of the panel's data, not of its schema: a new schema would redraw all charts
DRILL_DOWN_TITLE = "drill_down.title"
_WITHOUT_DRILL_DOWN = "&:not(:has(strong))"
_DRILL_DOWN = {"container": {"sx": {_WITHOUT_DRILL_DOWN: {"display": "none"}}}}
_ROOT = {"container": {"sx": {"padding": "8px 16px 32px", "width": "100%", "boxSizing": "border-box"}}}


def panel_schema(state: PanelState, model: ViewModel | None, handlers: Handlers, *, of_view: bool) -> types.Property:
    """The schema of the panel.

    Args:
        state: the runs of the dataset
        model: the view model of the run; None if there is nothing to show
        handlers: gives the URI of a handler
        of_view: whether the numbers are of the current view only
    """
    root = types.Object()
    version = model["version"] if model is not None else hash_of(state.problem, state.advice)
    if state.keys:
        _controls(root, state, handlers, of_view=of_view)
    for k, note in enumerate(state.notes):
        root.view(f"note_{k}_{hash_of(note)}", types.Warning(label=note))
    _drill_down(root, handlers)
    if state.problem is not None:
        _problem(root, state, handlers, version)
    if model is not None:
        root.md(model["headline"], name=f"headline_{version}")
        charts = root.grid("charts", gap=2, componentsProps=_GRID)
        # large matrices come first: between other charts they would leave gaps; the sort is stable
        for item in sorted(model["items"], key=lambda item: not _is_large_matrix(item)):
            if item["kind"] == "chart":
                _chart(charts, item, version, handlers)
            else:
                _table(root, item, version, handlers)
    return types.Property(root, view=types.View(componentsProps=_ROOT))


def message_schema(text: str, advice: str, handlers: Handlers) -> types.Property:
    """The panel after an error."""
    root = types.Object()
    root.view(f"message_{hash_of(text)}", types.Error(label=text, description=advice))
    _refresh(root, handlers)
    return types.Property(root, view=types.View(componentsProps=_ROOT))


def _controls(root: types.Object, state: PanelState, handlers: Handlers, *, of_view: bool) -> None:
    row = root.h_stack("controls", gap=2, align_y="center")
    choices = types.DropdownView()
    for key in state.keys:
        choices.add_choice(key, label=key)
    # the App keeps the value of a path, so every list of runs needs its own path
    row.enum(
        f"run_{hash_of(state.keys, state.run_key)}",
        state.keys,
        label="Run",
        default=state.run_key,
        view=choices,
        on_change=handlers("choose_run"),
    )
    row.bool(
        f"of_view_{int(of_view)}",
        label="Only the current view",
        default=of_view,
        view=types.SwitchView(),
        on_change=handlers("choose_samples"),
    )
    _refresh(row, handlers)


def _refresh(parent: types.Object, handlers: Handlers) -> None:
    parent.btn("refresh", label="Refresh", icon="refresh", variant="outlined", on_click=handlers("refresh"))


def drill_down_title(title: str | None) -> str:
    """The title of a drill-down as Markdown; empty without one, which hides the Back button."""
    return "" if title is None else f"**{plain_markdown(title)}**"


def _drill_down(root: types.Object, handlers: Handlers) -> None:
    """The title of the drill-down in the grid, and the Back button."""
    group, name = DRILL_DOWN_TITLE.split(".")
    row = root.h_stack(group, gap=2, align_y="center", componentsProps=_DRILL_DOWN)
    row.btn("back", label="Back", icon="arrow_back", variant="contained", on_click=handlers("back"))
    row.md("", name=name)


def _problem(root: types.Object, state: PanelState, handlers: Handlers, version: str) -> None:
    notice = types.Warning if state.keys else types.Notice
    root.view(f"problem_{version}", notice(label=state.problem, description=state.advice))
    label = "Compute annotator agreement"
    row = root.h_stack("actions", gap=2)
    if state.has_dataset:
        row.btn("compute", label=label, icon="diversity_3", variant="contained", on_click=handlers("compute"))
    if not state.keys:  # somebody else may compute it meanwhile
        _refresh(row, handlers)


def _chart(grid: types.Object, item: Item, version: str, handlers: Handlers) -> None:
    name = f"{item['name']}_{version}"
    options: dict[str, Any] = {"on_click": handlers("drill_down")} if item["hint"] else {}
    grid.plot(
        name,
        data=item["data"],
        layout=item["layout"],
        config={"displayModeBar": False, "scrollZoom": False, "responsive": True},
        caption=item["hint"],
        componentsProps=_WIDE_ITEM if _is_large_matrix(item) else _ITEM,
        **options,
    )


def _is_large_matrix(item: Item) -> bool:
    trace = item["data"][0] if item["kind"] == "chart" else {}
    return trace.get("type") == "heatmap" and len(trace["x"]) > _MOST_NAMES


def _table(root: types.Object, item: Item, version: str, handlers: Handlers) -> None:
    table = types.TableView()
    for key, label in item["columns"]:
        table.add_column(key, label=label)
    if item["action"]:
        handler = handlers("open_sample" if item["name"] == "worst" else "drill_down")
        table.add_row_action("open", on_click=handler, label=item["action"], icon="open_in_new")
    root.md(f"**{item['title']}**", name=f"title_{item['name']}_{version}")
    # the path contains the version, because the App keeps old rows of a path
    root.list(f"{item['name']}_{version}", types.Object(), default=item["rows"], view=table)

"""How the panel looks: every state of it as a schema that the App draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fiftyone.operators import types

from ..charts.tables import plain_markdown
from .board import Board, fingerprint
from .sections import Section
from .situation import Situation

#: the handlers of the panel by name
Handlers = Callable[[str], str]

#: charts stand side by side where each gets so many pixels
_COLUMN = 460
# columns that are filled one after the other leave no holes beside tall charts
_GRID = {"grid": {"sx": {"display": "block", "columnWidth": f"{_COLUMN}px", "columnGap": "16px", "width": "100%"}}}
#: figures are made before anybody knows the theme: here their text gets the colours of the App
_TEXTS = {
    "& .gtitle": {"fill": "var(--fo-palette-text-primary) !important"},
    ", ".join(
        f"& .{name}"
        for name in (*("xtick text", "ytick text", "y2tick text", "xtitle", "ytitle", "y2title"),
                     *("legendtext", "annotation-text", "bartext-outside"))
    ): {"fill": "var(--fo-palette-text-secondary) !important"},
}  # fmt: skip
# FiftyOne fits charts to their column when they are drawn and when the window changes, not when the panel does: until
# then a chart must not lie over its neighbour
_SX = {"width": "100%", "overflow": "hidden", "breakInside": "avoid", "paddingBottom": "16px", **_TEXTS}
_ITEM = {"item": {"sx": _SX}}
#: matrices of more names a side have a row of their own
_MOST_NAMES = 6
_WIDE_ITEM = {"item": {"sx": {**_SX, "columnSpan": "all"}}}
#: the title of a door comes with the panel's data, not with its schema: every new schema draws all charts anew
DOOR_TITLE = "door.title"
_WITHOUT_DOOR = "&:not(:has(strong))"
_DOOR = {"container": {"sx": {_WITHOUT_DOOR: {"display": "none"}}}}
_ROOT = {"container": {"sx": {"padding": "8px 16px 32px", "width": "100%", "boxSizing": "border-box"}}}


def panel_schema(situation: Situation, board: Board | None, handlers: Handlers, *, of_view: bool) -> types.Property:
    """The panel as it is to be drawn.

    Args:
        situation: the runs of the dataset
        board: what there is to show of the run; None where nothing is
        handlers: gives the URI of a handler
        of_view: whether the numbers are those of the current view
    """
    root = types.Object()
    version = board["version"] if board is not None else fingerprint(situation.problem, situation.advice)
    if situation.keys:
        _controls(root, situation, handlers, of_view=of_view)
    for k, note in enumerate(situation.notes):
        root.view(f"note_{k}_{fingerprint(note)}", types.Warning(label=note))
    _door(root, handlers)
    if situation.problem is not None:
        _problem(root, situation, handlers, version)
    if board is not None:
        root.md(board["headline"], name=f"headline_{version}")
        charts = root.grid("charts", gap=2, componentsProps=_GRID)
        # the sort is stable; between other charts a row of its own would leave holes
        for section in sorted(board["sections"], key=lambda section: not _is_large_matrix(section)):
            if section["kind"] == "chart":
                _chart(charts, section, version, handlers)
            else:
                _table(root, section, version, handlers)
    return types.Property(root, view=types.View(componentsProps=_ROOT))


def message_schema(text: str, advice: str, handlers: Handlers) -> types.Property:
    """The panel where something went wrong."""
    root = types.Object()
    root.view(f"message_{fingerprint(text)}", types.Error(label=text, description=advice))
    _refresh(root, handlers)
    return types.Property(root, view=types.View(componentsProps=_ROOT))


def _controls(root: types.Object, situation: Situation, handlers: Handlers, *, of_view: bool) -> None:
    row = root.h_stack("controls", gap=2, align_y="center")
    choices = types.DropdownView()
    for key in situation.keys:
        choices.add_choice(key, label=key)
    # the App keeps the value of a path: another choice of runs, or another run shown, is another path
    row.enum(
        f"run_{fingerprint(situation.keys, situation.run_key)}",
        situation.keys,
        label="Run",
        default=situation.run_key,
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


def door_title(door: str | None) -> str:
    """What the panel says of a door, as Markdown; empty without one, which hides the way back."""
    return "" if door is None else f"**{plain_markdown(door)}**"


def _door(root: types.Object, handlers: Handlers) -> None:
    """What the grid shows since the user clicked something, and the way back."""
    group, name = DOOR_TITLE.split(".")
    row = root.h_stack(group, gap=2, align_y="center", componentsProps=_DOOR)
    row.btn("back", label="Back", icon="arrow_back", variant="contained", on_click=handlers("back"))
    row.md("", name=name)


def _problem(root: types.Object, situation: Situation, handlers: Handlers, version: str) -> None:
    notice = types.Warning if situation.keys else types.Notice
    root.view(f"problem_{version}", notice(label=situation.problem, description=situation.advice))
    label = "Compute annotator agreement"
    row = root.h_stack("actions", gap=2)
    if situation.has_dataset:
        row.btn("compute", label=label, icon="diversity_3", variant="contained", on_click=handlers("compute"))
    if not situation.keys:  # somebody else may have computed it
        _refresh(row, handlers)


def _chart(grid: types.Object, section: Section, version: str, handlers: Handlers) -> None:
    name = f"{section['name']}_{version}"
    options: dict[str, Any] = {"on_click": handlers("open_door")} if section["hint"] else {}
    grid.plot(
        name,
        data=section["data"],
        layout=section["layout"],
        config={"displayModeBar": False, "scrollZoom": False, "responsive": True},
        caption=section["hint"],
        componentsProps=_WIDE_ITEM if _is_large_matrix(section) else _ITEM,
        **options,
    )


def _is_large_matrix(section: Section) -> bool:
    trace = section["data"][0] if section["kind"] == "chart" else {}
    return trace.get("type") == "heatmap" and len(trace["x"]) > _MOST_NAMES


def _table(root: types.Object, section: Section, version: str, handlers: Handlers) -> None:
    table = types.TableView()
    for key, label in section["columns"]:
        table.add_column(key, label=label)
    if section["action"]:
        handler = handlers("open_sample" if section["name"] == "worst" else "open_door")
        table.add_row_action("open", on_click=handler, label=section["action"], icon="open_in_new")
    root.md(f"**{section['title']}**", name=f"title_{section['name']}_{version}")
    # the version is in the path, as the App keeps what a path once had
    root.list(f"{section['name']}_{version}", types.Object(), default=section["rows"], view=table)

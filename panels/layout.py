"""The layout of the panel: every state as a schema that the App draws."""

from __future__ import annotations

from typing import Any

from fiftyone.operators import types

from ..names import UPDATE_AGREEMENT
from .drawing import FITTING, LINE, LINK, Handlers, draw_item
from .items import Item
from .model_cache import hash_of
from .panel_state import PanelState
from .view_model import ViewModel

#: what the grid shows is part of the panel's data, not of its schema: a new schema would draw all charts anew. The App
#: mixes data and state, so that no state may have the name of this group
GRID_TITLE = "head.grid_shows.title"
#: the samples that the numbers describe
RUN, VIEW = "run", "view"
_WITHOUT_TITLE = "&:not(:has(strong))"
_SURFACE = "var(--fo-palette-background-level2)"
_ROOT = {
    "container": {"sx": {"width": "100%", "boxSizing": "border-box"}},
    "grid": {"sx": {"padding": "0 14px 32px", "minWidth": 0, "gap": "8px", "gridTemplateColumns": "minmax(0, 1fr)"}},
}
#: the head stays in sight while the panel scrolls
_HEAD = {"sx": {"position": "sticky", "top": 0, "zIndex": 10, "background": _SURFACE, "padding": "8px 0 2px"}}
_CARDS = {
    "display": "grid",
    "gridAutoFlow": "row",
    "gridTemplateColumns": "repeat(auto-fit, minmax(92px, 1fr))",
    "gap": "8px",
}
#: colours of the levels of alpha, readable on white and on black
_LEVELS = {"good": "#1a9e77", "fair": "#c77700", "poor": "#e0561b"}


def panel_schema(
    state: PanelState, model: ViewModel | None, handlers: Handlers, *, of_view: bool, jumps: int = 0
) -> types.Property:
    """The schema of the panel.

    Args:
        state: the runs of the dataset
        model: the view model of the run; None if there is nothing to show
        handlers: gives the URI of a handler
        of_view: whether the numbers are of the current view only
        jumps: how often a button opened another tab: the App keeps the tab of a path
    """
    root = types.Object()
    _head(root, state, handlers, of_view=of_view)
    for k, note in enumerate(state.notes):
        root.view(f"note_{k}_{hash_of(note)}", types.Warning(label=note))
    if state.problem is not None:
        _problem(root, state, handlers)
    if model is not None:
        _cards(root, model, handlers)
        for k, warning in enumerate(model["warnings"]):
            said = types.TextView(title=f"⚠ {warning}", color=_LEVELS["fair"], padding="0", font_size=".82rem")
            root.view(f"warning_{k}_{model['version']}", said)
        if model["cause"]:
            cause = types.TextView(title=model["cause"], color="text.primary", padding="2px 0", font_size=".92rem")
            root.view(f"cause_{model['version']}", cause)
        _tabs(root, model, handlers, jumps)
        version = hash_of(model["version"], model["tab"], model["items"])
        for item in model["items"]:
            draw_item(root, item, version if item["kind"] != "chart" else model["version"], handlers)
    return _page(root)


def beside_schema(state: PanelState, items: list[Item], handlers: Handlers) -> types.Property:
    """The schema of the panel beside a sample: its items alone."""
    root = types.Object()
    if state.problem is not None:
        _problem(root, state, handlers)
    version = hash_of(state.results_id, items)
    for item in items:
        draw_item(root, item, version, handlers)
    return _page(root)


def message_schema(text: str, advice: str, handlers: Handlers) -> types.Property:
    """The panel after an error."""
    root = types.Object()
    root.view(f"message_{hash_of(text)}", types.Error(label=text, description=advice))
    _refresh(root, handlers)
    return _page(root)


def _page(root: types.Object) -> types.Property:
    view = types.GridView(orientation="vertical", gap=1, columns=1, componentsProps=_ROOT)
    return types.Property(root, view=view)


def _head(root: types.Object, state: PanelState, handlers: Handlers, *, of_view: bool) -> None:
    """The run, the samples, what the grid shows, and whether labels changed since the run."""
    head = root.v_stack("head", gap=1, componentsProps={"item": _HEAD})
    if state.keys:
        row = head.h_stack("controls", gap=1, align_y="center", componentsProps={"grid": {"sx": LINE}})
        # the App keeps the value of a path, so every list of runs needs its own path
        _dropdown(
            row,
            f"run_{hash_of(state.keys, state.run_key)}",
            {key: key for key in state.keys},
            state.run_key,
            handlers("choose_run"),
        )
        samples = {RUN: "Whole run", VIEW: "Current view"}
        _dropdown(row, f"of_{int(of_view)}", samples, VIEW if of_view else RUN, handlers("choose_samples"))
        row.btn(
            "compute_again",
            label="Compute again",
            icon="diversity_3",
            variant="outlined",
            on_click=handlers("compute"),
            componentsProps=FITTING,
        )
        _refresh(row, handlers)
    _, group, name = GRID_TITLE.split(".")
    hidden = {"sx": {_WITHOUT_TITLE: {"display": "none"}}}
    shows = head.h_stack(group, gap=1, componentsProps={"container": hidden, "grid": {"sx": LINE}})
    shows.btn(
        "back",
        label="Back",
        icon="arrow_back",
        variant="contained",
        on_click=handlers("back"),
        componentsProps=FITTING,
    )
    text = {"sx": {"fontSize": ".88rem", "& p": {"margin": 0}}}
    shows.md("", name=name, componentsProps={"container": text, "item": {"sx": {"width": "auto", "flex": 1}}})
    if state.n_changed:
        row = head.h_stack(
            f"changed_{state.n_changed}", gap=1, align_y="center", componentsProps={"grid": {"sx": LINE}}
        )
        said = types.TextView(
            title=f"⚠ {state.changed_sentence}", color=_LEVELS["fair"], padding="0", font_size=".85rem", bold=True
        )
        row.view("said", said, componentsProps=FITTING)
        row.btn(
            "update",
            label="Update",
            icon="update",
            variant="outlined",
            on_click=handlers("run_operator"),
            params={"operator": UPDATE_AGREEMENT},
            componentsProps=FITTING,
        )


def _dropdown(row: types.Object, name: str, titles: dict[str, str], value: str | None, handler: str) -> None:
    choices = types.DropdownView(componentsProps={"item": {"sx": {"width": "auto", "minWidth": "110px"}}})
    for key, title in titles.items():
        choices.add_choice(key, label=title)
    row.enum(name, list(titles), default=value, view=choices, on_change=handler)


def _refresh(parent: types.Object, handlers: Handlers) -> None:
    parent.btn(
        "refresh",
        label="",
        title="Refresh",
        icon="refresh",
        variant="outlined",
        on_click=handlers("refresh"),
        componentsProps=FITTING,
    )


def _problem(root: types.Object, state: PanelState, handlers: Handlers) -> None:
    notice = types.Warning if state.keys else types.Notice
    text = hash_of(state.problem, state.advice)
    root.view(f"problem_{text}", notice(label=state.problem, description=state.advice))
    row = root.h_stack("actions", gap=2, componentsProps={"grid": {"sx": LINE}})
    if state.has_dataset:
        row.btn(
            "compute",
            label="Compute annotator agreement",
            icon="diversity_3",
            variant="contained",
            on_click=handlers("compute"),
            componentsProps=FITTING,
        )
    if not state.keys:  # somebody else may compute it meanwhile
        _refresh(row, handlers)


def _cards(root: types.Object, model: ViewModel, handlers: Handlers) -> None:
    row = root.h_stack("cards", gap=1, componentsProps={"grid": {"sx": _CARDS}})
    version = model["version"]
    for k, card in enumerate(model["cards"]):
        # a card fills its place, also where another one is taller
        cell = row.v_stack(f"c{k}", gap=0, variant="paper", elevation=2, componentsProps=_CARD)
        _small(cell, f"title_{version}", card["title"])
        colour = _LEVELS.get(card["level"], "text.primary")
        if card["link"] is None:
            view = types.TextView(title=card["value"], bold=True, font_size="1.35rem", padding="0", color=colour)
            cell.view(f"value_{version}", view)
        else:
            cell.btn(
                f"card_{version}",
                label=card["value"],
                title="Show these labels",
                variant="text",
                on_click=handlers("drill_down"),
                params={"number": k},
                componentsProps={"button": {"sx": _NUMBER}},
            )
        if card["word"]:
            word = types.TextView(title=card["word"], bold=True, font_size=".76rem", padding="0", color=colour)
            cell.view(f"word_{version}", word)
        if card["below"]:
            _small(cell, f"below_{version}", card["below"])


_CARD: dict[str, Any] = {
    "container": {"sx": {"height": "100%", "boxSizing": "border-box", "padding": "8px 10px", "borderRadius": "6px"}},
    "grid": {"sx": {"gap": "2px"}},
    "item": {"sx": {"& .MuiPaper-root": {"height": "100%"}}},
}
#: the number of a card that leads to labels
_NUMBER = {
    "padding": 0,
    "minWidth": 0,
    "justifyContent": "flex-start",
    "whiteSpace": "nowrap",
    "color": "var(--fo-palette-text-primary)",
    "& .MuiTypography-root": {"fontSize": "1.35rem", "fontWeight": 700, **LINK},
}


def _small(parent: types.Object, name: str, text: str) -> None:
    parent.view(name, types.TextView(title=text, color="text.secondary", font_size=".76rem", padding="0"))


def _tabs(root: types.Object, model: ViewModel, handlers: Handlers, jumps: int) -> None:
    tab = {"sx": {"minHeight": 38, "minWidth": 0, "padding": "6px 5px", "textTransform": "none", "fontSize": ".8rem"}}
    # where they do not fit, tabs go on in the next line, in which the App's indicator would not follow
    several_lines = {
        "& .MuiTabs-flexContainer, & .MuiTabs-list": {"flexWrap": "wrap"},
        "& .MuiTabs-indicator": {"display": "none"},
        "& .Mui-selected": {"boxShadow": "inset 0 -2px 0 var(--fo-palette-primary-main)"},
    }
    line = {"minHeight": 38, "borderBottom": 1, "borderColor": "divider", **several_lines}
    bar = {"scrollButtons": False, "sx": line}
    view = types.TabsView(componentsProps={"tab": tab, "tabs": bar})
    for name, title in model["tabs"].items():
        view.add_choice(name, label=title)
    path = f"tabs_{hash_of(list(model['tabs']), jumps)}"
    root.enum(path, list(model["tabs"]), default=model["tab"], view=view, on_change=handlers("choose_tab"))

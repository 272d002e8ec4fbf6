"""The layout of the panel: every state as a schema that the App draws."""

from __future__ import annotations

from typing import Any

from fiftyone.operators import types

from ..names import UPDATE_AGREEMENT
from .drawing import FITTING, LINE, LINK, NARROW, Handlers, button, choice, css, draw_item, said
from .items import Item
from .panel_state import PanelState, hash_of
from .view_model import FIRST_TAB, ViewModel

#: what the grid shows is part of the panel's data, not of its schema: a new schema would draw all charts anew. The App
#: mixes data and state, so that no state may have the name of this group
GRID_TITLE = "head.grid_shows.title"
#: the samples that the numbers describe
RUN, VIEW = "run", "view"
_WITHOUT_TITLE = "&:not(:has(strong))"
_SURFACE = "var(--fo-palette-background-level2)"
#: what stands below a choice is pale until it is of what was chosen
_UNDER_WORK = "& > div:has([data-works]) ~ div"
_ROOT = {
    "container": {"sx": css("width: 100%; box-sizing: border-box; container-type: inline-size")},
    "grid": {
        "sx": {
            **css("padding: 0 14px 32px; min-width: 0; gap: 8px; grid-template-columns: minmax(0, 1fr)"),
            _UNDER_WORK: css("opacity: 0.3; pointer-events: none"),
        }
    },
}
#: the head stays in sight while the panel scrolls
_HEAD = {"sx": css(f"position: sticky; top: 0; z-index: 10; background: {_SURFACE}; padding: 8px 0 2px")}
_CARDS = {
    **css("display: grid; grid-auto-flow: row; grid-template-columns: repeat(auto-fit, minmax(92px, 1fr)); gap: 8px"),
    NARROW: css("grid-template-columns: repeat(auto-fit, minmax(58px, 1fr)); gap: 4px"),
}
#: a button that is as wide as its icon where the panel is narrow
_ICON_ALONE = {NARROW: {**css("min-width: 0; padding: 5px 10px"), "& .MuiTypography-root": css("display: none")}}
#: colours of the levels of alpha, readable on white and on black
_LEVELS = {"good": "#1a9e77", "fair": "#c77700", "poor": "#e0561b"}


def panel_schema(state: PanelState, model: ViewModel | None, handlers: Handlers, *, of_view: bool) -> types.Property:
    """The schema of the panel.

    Args:
        of_view: whether the numbers are of the current view only
    """
    root = types.Object()
    is_first = model is None or model["tab"] == FIRST_TAB
    head = root.v_stack("head", gap=1, componentsProps={"item": _HEAD})
    if state.keys:
        row = head.h_stack("controls", gap=1, align_y="center", componentsProps={"grid": {"sx": LINE}})
        keys = {key: key for key in state.keys}
        choice(row, "run", keys, state.run_key, handlers("choose_run"), label="Run")
        samples = {RUN: "Whole run", VIEW: "Current view"}
        choice(row, "samples", samples, VIEW if of_view else RUN, handlers("choose_samples"), label="Samples")
        label = "Compute again"
        button(row, "compute_again", label, handlers("compute"), style=_ICON_ALONE, icon="diversity_3", title=label)
        _refresh(row, handlers)
    _, group, name = GRID_TITLE.split(".")
    hidden = {"sx": {_WITHOUT_TITLE: {"display": "none"}}}
    shows = head.h_stack(group, gap=1, componentsProps={"container": hidden, "grid": {"sx": LINE}})
    button(shows, "back", "Back", handlers("back"), look="contained", icon="arrow_back")
    text = {"sx": {"fontSize": ".88rem", "& p": {"margin": 0}}}
    shows.md("", name=name, componentsProps={"container": text, "item": {"sx": {"width": "auto", "flex": 1}}})
    if model is not None:
        choice(root, "tabs", model["tabs"], model["tab"], handlers("choose_tab"), look="tabs")
    if state.n_changed or (state.lacks_colors and is_first):
        _offers(root, state, handlers, is_first=is_first)
    for k, note in enumerate(state.notes):
        root.view(f"note_{k}_{hash_of(note)}", types.Warning(label=note))
    if state.problem is not None:
        _problem(root, state, handlers)
    if model is not None:
        if is_first:
            _verdict(root, model, handlers)
        else:  # in one line: the room is for the tab
            said(root, f"numbers_{model['version']}", " · ".join(map(_in_line, model["cards"])), _SMALL)
        for k, note in enumerate(model["notes"]):  # on the samples that the numbers are of
            said(root, f"of_{k}_{model['version']}", f"⚠ {note}", color=_LEVELS["fair"])
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


def _offers(root: types.Object, state: PanelState, handlers: Handlers, *, is_first: bool) -> None:
    """What happened since the run, and what is missing, each with a button; they scroll away with the numbers."""
    row = root.h_stack("offers", gap=1, align_y="center", componentsProps={"grid": {"sx": LINE}})
    if state.n_changed:
        said(
            row, "changed", f"⚠ {state.changed_sentence}", ".82rem", _LEVELS["fair"], bold=True, componentsProps=FITTING
        )
        update = {"operator": UPDATE_AGREEMENT}
        button(row, "update", "Update", handlers("run_operator"), update, icon="update")
    if state.lacks_colors and is_first:
        said(row, "colours", "The annotators' labels have no colours of their own", componentsProps=FITTING)
        button(row, "palette", "Colour by annotator", handlers("color_annotators"), {}, icon="palette")


def _refresh(parent: types.Object, handlers: Handlers) -> None:
    style = css("min-width: 0; padding: 5px 10px")
    button(parent, "refresh", "", handlers("refresh"), style=style, title="Refresh", icon="refresh")


def _problem(root: types.Object, state: PanelState, handlers: Handlers) -> None:
    notice = types.Warning if state.keys else types.Notice
    text = hash_of(state.problem, state.advice)
    root.view(f"problem_{text}", notice(label=state.problem, description=state.advice))
    row = root.h_stack("actions", gap=2, componentsProps={"grid": {"sx": LINE}})
    if state.has_dataset:
        label = "Compute annotator agreement"
        button(row, "compute", label, handlers("compute"), look="contained", icon="diversity_3")
    if not state.keys:  # somebody else may compute it meanwhile
        _refresh(row, handlers)


def _in_line(card: dict[str, Any]) -> str:
    """A card as a text: of how many a number counts, but no interval."""
    of = card["below"] if card["below"].startswith("of ") else ""
    return " ".join(filter(None, (card["title"], card["value"], card["word"], of)))


def _verdict(root: types.Object, model: ViewModel, handlers: Handlers) -> None:
    """The main numbers as cards, warnings, and the main cause."""
    row = root.h_stack("cards", gap=1, componentsProps={"grid": {"sx": _CARDS}})
    version = model["version"]
    for k, card in enumerate(model["cards"]):
        # a card fills its place, also where another one is taller
        props = {**_CARD, "container": {**_CARD["container"], "title": card["hint"] or None}}
        cell = row.v_stack(f"c{k}", gap=0, variant="paper", elevation=2, componentsProps=props)
        said(cell, f"title_{version}", card["title"], _SMALL)
        colour = _LEVELS.get(card["level"], "text.primary")
        if card["link"] is None:
            said(cell, f"value_{version}", card["value"], "1.35rem", colour, bold=True)
        else:
            options: dict[str, Any] = {"look": "text", "style": _NUMBER, "props": {}, "title": "Show these labels"}
            button(cell, f"card_{version}", card["value"], handlers("drill_down"), {"number": k}, **options)
        if card["word"]:
            said(cell, f"word_{version}", card["word"], _SMALL, colour, bold=True)
        if card["below"]:
            said(cell, f"below_{version}", card["below"], _SMALL)
    for k, warning in enumerate(model["warnings"]):
        said(root, f"warning_{k}_{version}", f"⚠ {warning}", color=_LEVELS["fair"])
    if model["cause"]:
        said(root, f"cause_{version}", model["cause"], ".92rem", "text.primary", padding="2px 0")


#: size of the texts of a card
_SMALL = ".76rem"
_CARD: dict[str, Any] = {
    "container": {
        "sx": {
            **css("height: 100%; box-sizing: border-box; padding: 8px 10px; border-radius: 6px"),
            NARROW: {"padding": "5px", "& .MuiTypography-root": css("font-size: .68rem !important")},
        }
    },
    "grid": {"sx": {"gap": "2px"}},
    "item": {"sx": {"& .MuiPaper-root": css("height: 100%")}},
}
#: the number of a card that leads to labels
_NUMBER = {
    **css("padding: 0; min-width: 0; justify-content: flex-start; white-space: nowrap"),
    "color": "var(--fo-palette-text-primary)",
    "& .MuiTypography-root": {**css("font-size: 1.35rem; font-weight: 700"), **LINK},
}

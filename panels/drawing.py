"""The panel as FiftyOne's components: its head, its cards, and the items of a tab."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from fiftyone.operators import types

from .. import names
from ..charts.text.sections import plain_markdown
from .items import Item
from .panel_state import PanelState, hash_of
from .view_model import FIRST_TAB, ViewModel

#: the URI of a handler of the panel, by its name
Handlers = Callable[[str], str]


def css(declarations: str) -> dict[str, Any]:
    """CSS as the App's components take it: ``css("font-size: 1rem; margin: 0")`` is ``{"fontSize": "1rem", …}``."""
    found: dict[str, Any] = {}
    for name, value in re.findall(r"([\w-]+): *([^;]+)", declarations):
        key = re.sub(r"-(\w)", lambda letter: letter[1].upper(), name)
        found[key] = float(value) if "." in value and value[0].isdecimal() and value[-1].isdecimal() else value
        if value.isdecimal():
            found[key] = int(value)
    return found


#: a row whose parts wrap to the next line if they do not fit
LINE = css("display: flex; flex-wrap: wrap; align-items: center; gap: 8px")
#: a part of a row that is as wide as its content
FITTING = {"item": {"sx": {"width": "auto"}}}
#: CSS conditions: the panel is narrow, as beside the grid on a small screen; the panel is wide
NARROW, _WIDE = "@container (max-width: 460px)", "@container (min-width: 760px)"
#: style of numbers that are links to labels
_UNDERLINED = "text-decoration: underline; text-decoration-color: var(--fo-palette-primary-main)"
LINK = css(f"{_UNDERLINED}; text-underline-offset: 3px; cursor: pointer")
#: a chart is drawn as wide as this, and scaled down if its container is narrower
_CHART_WIDTH = 480
#: width of the container / width of the chart: CSS cannot divide lengths, but the tangent of their angle does
_CHART_SCALE = f"min(1, tan(atan2(100cqw, {_CHART_WIDTH}px)))"
#: figures do not know the theme of the App: set the colour of their text here
_TEXTS = {
    "& text": css("font-family: inherit !important"),
    "& .gtitle": css(
        "fill: var(--fo-palette-text-primary) !important; font-size: 14px !important; font-weight: 700 !important"
    ),
    ", ".join(
        f"& .{name}"
        for name in (*("xtick text", "ytick text", "y2tick text", "xtitle", "ytitle", "y2title"),
                     *("legendtext", "annotation-text", "bartext-outside"))
    ): css("fill: var(--fo-palette-text-secondary) !important"),
}  # fmt: skip
_CELL = {
    **css("padding: 5px 6px; font-size: .82rem; white-space: pre-line; line-height: 1.3"),
    NARROW: css("padding: 4px 2px; font-size: .68rem"),
}
#: Markdown at the size of the tables
TEXT = {
    "container": {
        "sx": {
            "& p, & li": css("font-size: .86rem; line-height: 1.45; overflow-wrap: anywhere"),
            # numbers and words are not broken: a table that is too wide scrolls
            "& td, & th": css("font-size: .82rem; line-height: 1.45; padding: 4px 6px"),
            "& table": css("display: block; max-width: 100%; overflow-x: auto; scrollbar-width: thin"),
            "& p, & ul": css("margin: 4px 0"),
            "& ul": css("padding-left: 18px"),
        }
    }
}


def choice(
    parent: types.Object,
    name: str,
    titles: Mapping[str, str],
    value: str | None,
    handler: str,
    *,
    label: str = "",
    look: str = "list",
) -> None:
    """A list, or tabs, to choose a value from; it always shows the value that the panel uses.

    FiftyOne's own lists and tabs show what was chosen in them last. This one is drawn by a component in ``app.js``.

    Args:
        parent: where to draw it
        titles: the values that can be chosen, with their titles
        handler: URI of the handler of a choice
        label: what is chosen here, for screen readers
        look: ``"list"`` or ``"tabs"``
    """
    choices = [{"value": key, "label": title} for key, title in titles.items()]
    options = {"look": look, "title": label, "choices": choices, "value": value, "on_choose": handler}
    props = FITTING if look == "list" else {}
    parent.view(name, types.View(component=names.CHOICE, componentsProps=props, **options))


def said(
    parent: types.Object, name: str, text: str, size: str = ".82rem", color: str = "text.secondary", **look: Any
) -> None:
    """A text; ``look`` are other attributes of FiftyOne's ``TextView``."""
    parent.view(name, types.TextView(title=text, font_size=size, color=color, **{"padding": "0", **look}))


def button(
    parent: types.Object,
    name: str,
    label: str,
    handler: str,
    params: dict[str, Any] | None = None,
    *,
    look: str = "outlined",
    style: dict[str, Any] | None = None,
    key: str | None = None,
    props: dict[str, Any] = FITTING,
    **options: Any,
) -> None:
    """A button, as wide as its label.

    Args:
        handler: URI of the handler of a click
        params: its parameters
        look: FiftyOne's ``variant``
        style: CSS of the button
        key: a key that presses it, too, and is shown on it (``app.js``)
        props: attributes of its container
        options: further arguments of FiftyOne's ``btn()``
    """
    attributes: dict[str, Any] = {} if style is None else {"sx": style}
    if key is not None:
        attributes = {"sx": {**(style or {}), "&::before": _SHOWN_KEY}, **_pressed_by(key), "aria-label": label}
    props = {"button": attributes, **props} if attributes else props
    parent.btn(
        name, label=label, variant=look, on_click=handler, params=params, componentsProps=props or None, **options
    )


def _named(handler: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Handler and parameters of a button whose click the browser sends with the name of who decides (``app.js``)."""
    return f"{names.PLUGIN_NAME}/{names.SEND_NAMED}", {**params, "event": handler}


def _pressed_by(key: str) -> dict[str, str]:
    """Attributes of a button that a key presses: for ``app.js``, and for screen readers."""
    return {_KEY: key, "aria-keyshortcuts": key}


def heading(root: types.Object, name: str, text: str, note: str = "") -> None:
    """The title of an item, and a note below it."""
    if text:
        said(root, f"title_{name}", text, "1rem", "text.primary", bold=True, padding="8px 0 0")
    if note:
        said(root, f"note_{name}", note)


def draw_item(root: types.Object, item: Item, version: str, handlers: Handlers) -> None:
    """Draw an item; paths contain its version, because the App keeps the data of a path."""
    name = f"{item['name']}_{version}"
    _DRAW[item["kind"]](root, item, name, handlers)


def _chart(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    options: dict[str, Any] = {"on_click": handlers("drill_down")} if item["hint"] else {}
    # a style that scales the chart with its container: the App fits a chart only when it is drawn
    height = item["layout"]["height"]
    drawn = css(
        f"width: {_CHART_WIDTH}px !important; height: {height:g}px !important; transform-origin: 0 0; "
        f"transform: scale({_CHART_SCALE}); margin-bottom: calc(({_CHART_SCALE} - 1) * {height:g}px)"
    )
    place = css(f"container-type: inline-size; max-width: {_CHART_WIDTH}px; overflow: hidden")
    root.plot(
        name,
        data=item["data"],
        layout=item["layout"],
        config={"displayModeBar": False, "scrollZoom": False, "responsive": True},
        caption=item["hint"],
        componentsProps={"item": {"sx": {**place, "& .js-plotly-plot": drawn, **_TEXTS}}},
        **options,
    )


def _table(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    heading(root, name, item["title"], item["note"])
    # the style of a table: right-aligned numbers, linked numbers, coloured cells, headers that sort
    style: dict[str, Any] = {
        **css(f"min-width: 0; width: {'auto' if item['slanted'] else '100%'}"),
        "& td": {**_CELL, **css("color: var(--fo-palette-text-primary); overflow-wrap: break-word")},
        "& td:first-of-type": css("min-width: 56px; max-width: 180px"),  # a name longer than that is broken
        "& th": {
            **css("cursor: pointer; font-weight: 600; vertical-align: bottom"),
            **_CELL,
            **css("font-size: .78rem; color: var(--fo-palette-text-secondary)"),
        },
    }
    if item["slanted"]:
        style["& th:not(:first-of-type)"] = css("writing-mode: vertical-rl; max-height: 110px; padding: 6px 2px")
    for k in item["numbers"]:
        style[f"& td:nth-of-type({k + 1}), & th:nth-of-type({k + 1})"] = {"textAlign": "right"}
        style[f"& td:nth-of-type({k + 1})"] = {"whiteSpace": "pre", _WIDE: {"whiteSpace": "nowrap"}}
    linked = [
        _cell_selector(row, column)
        for row, links in enumerate(item["links"])
        for column, behind in enumerate(links)
        if behind is not None
    ]
    if linked:
        style[", ".join(linked)] = LINK
        style[", ".join(f"{selector}:hover" for selector in linked)] = {"color": "var(--fo-palette-primary-main)"}
    colours: dict[str, list[str]] = {}
    for row, column, colour in item["colours"]:
        colours.setdefault(colour, []).append(_cell_selector(row, column))
    # selectors of the table override inline styles of its cells
    for colour, cells in colours.items():
        selector = ", ".join(cells)
        style[selector] = {**style.get(selector, {}), "background": colour}
    table = types.TableView(
        on_click_cell=handlers("click_cell"),
        variant="outlined",
        componentsProps={
            "table": {"sx": style},
            "tableContainer": {"sx": css("overflow-x: auto; overflow-y: hidden; scrollbar-width: thin")},
        },
    )
    for key, label in item["columns"]:
        table.add_column(key, label=label)
    root.list(name, types.Object(), default=item["rows"], view=table)
    _pager(root, item, name, handlers)


def _cell_selector(row: int, column: int) -> str:
    return f"& tbody tr:nth-of-type({row + 1}) td:nth-of-type({column + 1})"


def _pager(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """Buttons to the pages before and after."""
    if item["pages"] < 2:
        return
    row = root.h_stack(f"pager_{name}", gap=1, align_y="center")
    page, pages = item["page"], item["pages"]
    for label, other in (("Previous", page - 1), ("Next", page + 1)):
        params, disabled = {"item": item["name"], "page": other}, not 0 <= other < pages
        button(row, label.lower(), label, handlers("turn_page"), params, props={}, disabled=disabled)
    said(row, "place", f"{page + 1} of {pages}")


def _buttons(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    heading(root, name, item["title"])
    wrapped = {"grid": {"sx": css("display: flex; flex-wrap: wrap; gap: 8px")}}
    row = root.h_stack(name, gap=1, componentsProps=wrapped)
    for k, each in enumerate(item["buttons"]):
        button(row, f"b{k}", each["label"], handlers(each["handler"]), each["params"], icon=each["icon"])


def _work(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """Work list: an image, its name and its disputes; a click opens it."""
    heading(root, name, item["title"], item["note"])
    for k, entry in enumerate(item["rows"]):
        columns = "84px minmax(0, 1fr)" if entry["image"] else "minmax(0, 1fr)"
        grid = css(f"display: grid; grid-template-columns: {columns}; align-items: center; gap: 10px")
        row = root.h_stack(f"row{k}_{name}", gap=1, componentsProps={"grid": {"sx": grid}})
        handler, params = handlers("open_sample"), {"id": entry["id"]}
        if entry["image"]:
            props = {"image": {"style": css("object-fit: cover; border-radius: 4px")}}
            size = {"width": "84px", "height": "60px", "alt": entry["title"]}
            view = types.ImageView(**size, componentsProps=props, operator=handler, params=params)
            row.define_property(f"image_{k}", types.String(), default=entry["image"], view=view)
        label, hint = f"{entry['title']}\n{entry['reason']}\n{entry['numbers']}", item["hint"]
        props = {"container": {"sx": css("width: 100%")}}
        button(row, "open", label, handler, params, look="text", style=_ROW, props=props, title=hint)
    if item["turns"]:
        _pager(root, item, name, handlers)


#: a row of the work list: three lines, the name in bold, as wide as the panel
_ROW = {
    **css("width: 100%; justify-content: flex-start; text-align: left; text-transform: none; padding: 4px 6px"),
    **css("color: var(--fo-palette-text-primary); font-weight: 400; border: 1px solid var(--fo-palette-divider)"),
    "& .MuiTypography-root": css(
        "white-space: pre-line; font-size: .82rem; line-height: 1.4; overflow-wrap: anywhere; width: 100%"
    ),
    "& .MuiTypography-root::first-line": css(f"font-weight: 600; {_UNDERLINED}"),
}


def _name(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """The input of the name of who decides; the App stores it in the state of the panel after every letter."""
    root.str(DECIDER, label="Your name", description=item["text"], view=types.TextFieldView())
    props = {"button": _pressed_by("Enter"), **FITTING}
    button(root, f"start_{name}", "Start", handlers("start_deciding"), look="contained", props=props)


def _decide(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """Draw the progress, and the object: its picture beside a button for every possible decision."""
    head = root.h_stack(f"sought_{name}", gap=1, componentsProps={"grid": {"sx": LINE}})
    said(head, "progress", item["progress"], "1rem", "text.primary", bold=True, componentsProps=FITTING)
    _step(head, f"as {item['by']}", handlers("ask_name"), {}, icon="person")
    _filters(root, head, item, name, handlers)
    found = item["object"]
    if found is not None:
        heading(root, name, "", f"{found['title']} · {found['note']}" if found["note"] else found["title"])
    body = root.h_stack(f"body_{name}", gap=1, componentsProps={"grid": {"sx": _BODY}})
    if found is not None and found["picture"]:
        picture = {"image": {"style": _PICTURE}, "container": {"sx": {"width": "100%"}}}
        view = types.ImageView(alt=found["title"], componentsProps=picture)
        cell = body.v_stack("seen", gap=0, componentsProps={"item": {"sx": _SEEN}})
        cell.define_property(f"picture_{name}", types.String(), default=found["picture"], view=view)
    beside = {"item": {"sx": css("flex: 1 1 110px; min-width: 0")}, "grid": {"sx": css("display: grid; gap: 4px")}}
    column = body.v_stack("said", gap=0, componentsProps=beside)
    decides = handlers("decide_object")
    for k, version in enumerate(found["versions"] if found is not None else ()):
        style = {
            **css("width: 100%; justify-content: flex-start; text-align: left; text-transform: none"),
            "border": f"3px solid {version['colour']}",  # the colour of the annotator
            "& .MuiTypography-root": css("overflow-wrap: anywhere; line-height: 1.25"),
        }
        options = {"style": style, "key": version["key"], "title": version["hint"] or None, "props": {}}
        options["disabled"] = version["disabled"]
        button(column, f"version_{k}", version["label"], *_named(decides, version["params"]), **options)
    steps = column.h_stack("steps", gap=0, componentsProps={"grid": {"sx": {**LINE, "gap": "4px"}}})
    if found is not None:
        _step(steps, found["none_label"], *_named(decides, found["none"]), key="0")
        _step(steps, "Skip", *_named(decides, found["skip"]), key="S")
    cannot_undo = item["beside"] and not item["can_go_back"]
    said_short, hint, step = item["undoes"] or (None, None, None)
    undo, taken = ("Undo", {}) if step is None else (f"Undo: {said_short}", {"step": step})
    _step(steps, undo, handlers("undo_decision"), taken, key="U", disabled=cannot_undo, title=hint)
    row = root.h_stack(f"steps_{name}", gap=1, componentsProps={"grid": {"sx": LINE}})
    _step(row, "Previous", handlers("previous_object"), {}, icon="arrow_back", disabled=not item["can_go_back"])
    if item["beside"]:
        _step(row, "Next image", handlers("open_next"), {}, icon="arrow_forward")
    if found is None:
        return
    if not item["beside"]:
        there = {"id": found["sample"], "labels": found["labels"]}
        _step(row, "Open", handlers("open_object"), there, icon="open_in_full")
    place = {name: found[name] for name in ("document", "unit", "decision")}
    if item["can_edit"]:
        _step(row, "Edit", *_named(handlers("edit_object"), place), icon="edit")
    if item["is_edited"]:
        heading(root, f"edited_{name}", "", _EDITED)
        button(root, f"done_{name}", "Done", handlers("finish_editing"), place, look="contained", icon="check")


def _filters(root: types.Object, head: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """A button with the chosen filters of objects, and the lists that it opens."""
    if not item["filters"]:
        return
    chosen = [each["titles"][each["value"]] for each in item["filters"] if each["value"] != next(iter(each["titles"]))]
    label = f"Filters: {', '.join(chosen)}" if chosen else "Filters"
    _step(head, label, handlers("show_filters"), {}, icon="expand_less" if item["filtering"] else "filter_list")
    row = root.h_stack(f"filters_{name}", gap=1, componentsProps={"grid": {"sx": LINE}})
    for sought in item["filters"] if item["filtering"] else ():
        handler = handlers(f"seek_{sought['name']}")
        choice(row, sought["name"], sought["titles"], sought["value"], handler, label=sought["name"])


#: part of the panel's state with the name of who decides, as it is typed
DECIDER = "decider"
#: attribute of our buttons that names the key which presses it (``app.js``), and which the button shows
_KEY = "data-agreement-key"
#: the key in front of the label
_SHOWN_KEY = {
    "content": f"attr({_KEY})",
    **css("margin-right: 6px; padding: 0 5px; border: 1px solid; border-radius: 4px"),
    **css("font-size: .72rem; font-weight: 700; opacity: 0.75"),
}
#: the picture beside the buttons
_SEEN = {**css("flex: 0 1 auto; max-width: 62%"), NARROW: css("max-width: 55%")}
_BODY = css("display: flex; flex-wrap: wrap; align-items: flex-start; gap: 10px")
_PICTURE = css("display: block; max-width: 100%; max-height: calc(100vh - 390px); min-height: 120px")
_EDITED = "Click it in the grid: FiftyOne's form opens. Change it there, click beside it to close it, and press Done."


def _step(
    row: types.Object, label: str, handler: str, params: dict[str, Any], *, key: str | None = None, **options: Any
) -> None:
    name = params.get("event", handler).rsplit("#", 1)[-1] + (key or "")
    button(row, name, label, handler, params, style={"textTransform": "none"}, key=key, **options)


_DRAW: dict[str, Callable[[types.Object, Item, str, Handlers], None]] = {
    "text": lambda root, item, name, handlers: root.md(item["markdown"], name=name, componentsProps=TEXT),
    # the path has no version, so that the component stays when something is chosen
    "choice": lambda root, item, name, handlers: choice(
        root, item["name"], item["titles"], item["value"], handlers(item["handler"]), label=item["label"]
    ),
    "chart": _chart,
    "table": _table,
    "buttons": _buttons,
    "work": _work,
    "name": _name,
    "decide": _decide,
}


def safe_title(title: str | None) -> str:
    """The title of what the grid shows, as Markdown; empty if there is none, which hides the Back button."""
    return "" if title is None else f"**{plain_markdown(title)}**"


#: path of the title of what the grid shows, in the panel's data: a new schema would draw all charts anew. The App mixes
#: data and state, so that no part of the state may be called ``head``
GRID_TITLE = "head.grid_shows.title"
#: values of the choice of samples: of the whole run, or those in the view
RUN, VIEW = "run", "view"
_WITHOUT_TITLE = "&:not(:has(strong))"
_SURFACE = "var(--fo-palette-background-level2)"
#: everything below a choice is pale until the panel shows what was chosen
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
        else:  # in one line without intervals, to leave the space to the tab
            texts = []
            for card in model["cards"]:
                of = card["below"] if card["below"].startswith("of ") else ""
                texts.append(" ".join(filter(None, (card["title"], card["value"], card["word"], of))))
            said(root, f"numbers_{model['version']}", " · ".join(texts), _SMALL)
        for k, note in enumerate(model["notes"]):  # notes on the samples that the numbers describe
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
    """The schema of the panel after an error: the message, and a button to refresh."""
    root = types.Object()
    root.view(f"message_{hash_of(text)}", types.Error(label=text, description=advice))
    _refresh(root, handlers)
    return _page(root)


def _page(root: types.Object) -> types.Property:
    view = types.GridView(orientation="vertical", gap=1, columns=1, componentsProps=_ROOT)
    return types.Property(root, view=view)


def _offers(root: types.Object, state: PanelState, handlers: Handlers, *, is_first: bool) -> None:
    """Notes on samples changed since the run, and on missing colours, each with a button; they scroll with the tab."""
    row = root.h_stack("offers", gap=1, align_y="center", componentsProps={"grid": {"sx": LINE}})
    if state.n_changed:  # FiftyOne stores when samples were saved, not what changed
        what = "sample was" if state.n_changed == 1 else "samples were"
        text = f"⚠ {state.n_changed:,} {what} saved or deleted since this run"
        said(row, "changed", text, color=_LEVELS["fair"], bold=True, componentsProps=FITTING)
        update = {"operator": names.UPDATE_AGREEMENT}
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


def _verdict(root: types.Object, model: ViewModel, handlers: Handlers) -> None:
    """The main numbers as cards, warnings, and the main cause."""
    row = root.h_stack("cards", gap=1, componentsProps={"grid": {"sx": _CARDS}})
    version = model["version"]
    for k, card in enumerate(model["cards"]):
        # all cards of a row are as tall as the tallest
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

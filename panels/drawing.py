"""The items of a tab as FiftyOne's components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fiftyone.operators import types

from ..charts.sections import plain_markdown
from .items import Item

#: the handlers of the panel by name
Handlers = Callable[[str], str]

#: a row whose parts go on in the next line where they do not fit
LINE = {"display": "flex", "flexWrap": "wrap", "alignItems": "center", "gap": "8px"}
#: a part of a row that is as wide as what it holds
FITTING = {"item": {"sx": {"width": "auto"}}}
#: what looks like a way to labels
LINK = {
    "textDecoration": "underline",
    "textDecorationColor": "var(--fo-palette-primary-main)",
    "textUnderlineOffset": "3px",
    "cursor": "pointer",
}
#: a chart is drawn as wide as this, and made smaller where its place is narrower
_CHART_WIDTH = 480
#: its place in relation to that: CSS has no quotient of lengths, but the tangent of their angle is one
_CHART_SCALE = f"min(1, tan(atan2(100cqw, {_CHART_WIDTH}px)))"
#: figures do not know the theme of the App: set the colour of their text here
_TEXTS = {
    "& .gtitle": {"fill": "var(--fo-palette-text-primary) !important"},
    ", ".join(
        f"& .{name}"
        for name in (*("xtick text", "ytick text", "y2tick text", "xtitle", "ytitle", "y2title"),
                     *("legendtext", "annotation-text", "bartext-outside"))
    ): {"fill": "var(--fo-palette-text-secondary) !important"},
}  # fmt: skip
_CELL = {"padding": "5px 6px", "fontSize": ".82rem", "whiteSpace": "pre-line", "lineHeight": 1.3}
#: Markdown at the size of the tables
TEXT = {
    "container": {
        "sx": {
            "& p, & li, & td, & th": {"fontSize": ".86rem", "lineHeight": 1.45, "overflowWrap": "anywhere"},
            "& p, & ul": {"margin": "4px 0"},
            "& ul": {"paddingLeft": "18px"},
        }
    }
}


def heading(root: types.Object, name: str, text: str, note: str = "") -> None:
    """The title of an item, and a note below it."""
    if text:
        title = types.TextView(title=text, bold=True, color="text.primary", padding="8px 0 0", font_size="1rem")
        root.view(f"title_{name}", title)
    if note:
        small = types.TextView(title=note, color="text.secondary", padding="0", font_size=".82rem")
        root.view(f"note_{name}", small)


def draw_item(root: types.Object, item: Item, version: str, handlers: Handlers) -> None:
    """Draw an item; paths contain its version, because the App keeps the data of a path."""
    name = f"{item['name']}_{version}"
    _DRAW[item["kind"]](root, item, name, handlers)


def _text(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    root.md(item["markdown"], name=name, componentsProps=TEXT)


def _chart(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    options: dict[str, Any] = {"on_click": handlers("drill_down")} if item["hint"] else {}
    root.plot(
        name,
        data=item["data"],
        layout=item["layout"],
        config={"displayModeBar": False, "scrollZoom": False, "responsive": True},
        caption=item["hint"],
        componentsProps=_chart_style(item["layout"]["height"]),
        **options,
    )


def _chart_style(height: float) -> dict[str, Any]:
    """The style of a chart that follows its place: the App fits it only when it is drawn."""
    drawn = {
        "width": f"{_CHART_WIDTH}px !important",
        "height": f"{height:g}px !important",
        "transformOrigin": "0 0",
        "transform": f"scale({_CHART_SCALE})",
        "marginBottom": f"calc(({_CHART_SCALE} - 1) * {height:g}px)",
    }
    place = {"containerType": "inline-size", "maxWidth": f"{_CHART_WIDTH}px", "overflow": "hidden"}
    return {"item": {"sx": {**place, "& .js-plotly-plot": drawn, **_TEXTS}}}


def _table(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    heading(root, name, item["title"], item["note"])
    table = types.TableView(
        on_click_cell=handlers("click_cell"),
        variant="outlined",
        componentsProps={
            "table": {"sx": _table_style(item)},
            "tableContainer": {"sx": {"overflowX": "auto", "overflowY": "hidden"}},
        },
    )
    for key, label in item["columns"]:
        table.add_column(key, label=label)
    root.list(name, types.Object(), default=item["rows"], view=table)
    _pager(root, item, name, handlers)


def _table_style(item: Item) -> dict[str, Any]:
    """The style of a table: right-aligned numbers, linked numbers, coloured cells, headers that sort."""
    head = {"cursor": "pointer", "fontWeight": 600, "verticalAlign": "bottom", **_CELL}
    style: dict[str, Any] = {
        "minWidth": 0,
        "width": "100%" if not item["slanted"] else "auto",
        "& td": {**_CELL, "color": "var(--fo-palette-text-primary)", "overflowWrap": "anywhere"},
        "& td:first-of-type": {"minWidth": "72px"},
        "& td:last-of-type": {"overflowWrap": "break-word"},  # a short word, such as “decide”, stays whole
        "& th": {**head, "fontSize": ".78rem", "color": "var(--fo-palette-text-secondary)"},
    }
    if item["slanted"]:
        style["& th:not(:first-of-type)"] = {"writingMode": "vertical-rl", "maxHeight": "110px", "padding": "6px 2px"}
    for k in item["numbers"]:
        style[f"& td:nth-of-type({k + 1}), & th:nth-of-type({k + 1})"] = {"textAlign": "right"}
        style[f"& td:nth-of-type({k + 1})"] = {"whiteSpace": "pre"}
    linked = [
        _cell_selector(row, column)
        for row, links in enumerate(item["links"])
        for column, leads in enumerate(links)
        if leads is not None
    ]
    if linked:
        style[", ".join(linked)] = LINK
        style[", ".join(f"{selector}:hover" for selector in linked)] = {"color": "var(--fo-palette-primary-main)"}
    colours: dict[str, list[str]] = {}
    for row, column, colour in item["colours"]:
        colours.setdefault(colour, []).append(_cell_selector(row, column))
    # inline styles of the cells give way to selectors of their table
    for colour, cells in colours.items():
        selector = ", ".join(cells)
        style[selector] = {**style.get(selector, {}), "background": colour}
    return style


def _cell_selector(row: int, column: int) -> str:
    return f"& tbody tr:nth-of-type({row + 1}) td:nth-of-type({column + 1})"


def _pager(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """Buttons to the pages before and after."""
    if item["pages"] < 2:
        return
    row = root.h_stack(f"pager_{name}", gap=1, align_y="center")
    page, pages = item["page"], item["pages"]
    for label, other in (("Previous", page - 1), ("Next", page + 1)):
        row.btn(
            label.lower(),
            label=label,
            variant="outlined",
            disabled=not 0 <= other < pages,
            on_click=handlers("turn_page"),
            params={"item": item["name"], "page": other},
        )
    place = types.TextView(title=f"{page + 1} of {pages}", color="text.secondary", padding="0", font_size=".82rem")
    row.view("place", place)


def _buttons(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    heading(root, name, item["title"])
    wrapped = {"grid": {"sx": {"display": "flex", "flexWrap": "wrap", "gap": "8px"}}}
    row = root.h_stack(name, gap=1, componentsProps=wrapped)
    for k, button in enumerate(item["buttons"]):
        row.btn(
            f"b{k}",
            label=button["label"],
            icon=button["icon"],
            variant="outlined",
            on_click=handlers(button["handler"]),
            params=button["params"],
            componentsProps=FITTING,
        )


def _work(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """The work list: an image, its name and what is disputed on it; a click opens it."""
    heading(root, name, item["title"], item["note"])
    for k, entry in enumerate(item["rows"]):
        columns = "84px minmax(0, 1fr)" if entry["image"] else "minmax(0, 1fr)"
        grid = {"display": "grid", "gridTemplateColumns": columns, "alignItems": "center", "gap": "10px"}
        row = root.h_stack(f"row{k}_{name}", gap=1, componentsProps={"grid": {"sx": grid}})
        opens = {"operator": handlers("open_sample"), "params": {"id": entry["id"]}}
        if entry["image"]:
            row.define_property(
                f"image_{k}",
                types.String(),
                default=entry["image"],
                view=types.ImageView(
                    width="84px",
                    height="60px",
                    alt=entry["title"],
                    componentsProps={"image": {"style": {"objectFit": "cover", "borderRadius": "4px"}}},
                    **opens,
                ),
            )
        row.btn(
            "open",
            label=f"{entry['title']}\n{entry['reason']}\n{entry['numbers']}",
            title="Open this image",
            on_click=opens["operator"],
            params=opens["params"],
            variant="text",
            componentsProps={"button": {"sx": _ROW}, "container": {"sx": {"width": "100%"}}},
        )
    if item["turns"]:
        _pager(root, item, name, handlers)


#: a row of the work list: three lines, the name in bold, as wide as the panel
_ROW = {
    "width": "100%",
    "justifyContent": "flex-start",
    "textAlign": "left",
    "textTransform": "none",
    "padding": "4px 6px",
    "color": "var(--fo-palette-text-primary)",
    "fontWeight": 400,
    "border": "1px solid var(--fo-palette-divider)",
    "& .MuiTypography-root": {
        "whiteSpace": "pre-line",
        "fontSize": ".82rem",
        "lineHeight": 1.4,
        "overflowWrap": "anywhere",
        "width": "100%",
    },
    "& .MuiTypography-root::first-line": {
        "fontWeight": 600,
        "textDecoration": "underline",
        "textDecorationColor": "var(--fo-palette-primary-main)",
    },
}


def _name(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """The question who decides, asked once."""
    root.str(
        f"who_{name}",
        label="Your name",
        description=item["text"],
        default=item["value"],
        on_change=handlers("type_name"),
    )
    root.btn(
        f"start_{name}",
        label="Start",
        variant="contained",
        on_click=handlers("start_deciding"),
        params={"name": item["value"]},
    )


def _decide(root: types.Object, item: Item, name: str, handlers: Handlers) -> None:
    """How far it is, which objects are sought, and the object with a button for everything that can be decided."""
    head = root.h_stack(f"sought_{name}", gap=1, componentsProps={"grid": {"sx": LINE}})
    progress = types.TextView(title=item["progress"], bold=True, padding="0", color="text.primary")
    head.view("progress", progress)
    for sought in item["filters"]:
        view = types.DropdownView(componentsProps={"item": {"sx": {"width": "auto", "minWidth": "120px"}}})
        for key, title in sought["titles"].items():
            view.add_choice(key, label=title)
        # the App sends the value alone
        handler = handlers(f"seek_{sought['name']}")
        head.enum(sought["name"], list(sought["titles"]), default=sought["value"], view=view, on_change=handler)
    found = item["object"]
    row = root.h_stack(f"steps_{name}", gap=1, componentsProps={"grid": {"sx": LINE}})
    if found is not None:
        for label, icon, key in ((found["none_label"], "block", "none"), ("Skip", "skip_next", "skip")):
            _step(row, label, icon, handlers("decide_object"), found[key])
    _step(row, "Previous", "arrow_back", handlers("previous_object"), {}, disabled=not item["can_go_back"])
    _step(row, "Undo", "undo", handlers("undo_decision"), {}, disabled=item["beside"] and not item["can_go_back"])
    if item["beside"]:
        _step(row, "Next image", "arrow_forward", handlers("open_next"), {})
    if found is None:
        return
    if not item["beside"]:
        _step(row, "Open", "open_in_full", handlers("open_object"), {"id": found["sample"], "labels": found["labels"]})
    place = {name: found[name] for name in ("document", "unit")}
    if item["can_edit"]:
        _step(row, "Edit", "edit", handlers("edit_object"), place)
    if item["is_edited"]:
        heading(root, f"edited_{name}", "", _EDITED)
        root.btn(
            f"done_{name}",
            label="Done",
            icon="check",
            variant="contained",
            on_click=handlers("finish_editing"),
            params=place,
            componentsProps=FITTING,
        )
    versions = root.h_stack(f"versions_{name}", gap=1, componentsProps={"grid": {"sx": LINE}})
    for k, version in enumerate(found["versions"]):
        style = {
            "borderColor": version["colour"],
            "borderWidth": "3px",
            "borderStyle": "solid",
            "textTransform": "none",
        }
        versions.btn(
            f"version_{k}",
            label=version["label"],
            title=version["hint"] or None,
            variant="outlined",
            disabled=version["disabled"],
            on_click=handlers("decide_object"),
            params=version["params"],
            componentsProps={"button": {"sx": style}, **FITTING},
        )
    heading(root, name, found["title"], found["note"])
    if found["picture"]:
        view = types.ImageView(alt=found["title"], componentsProps={"image": {"style": {"maxWidth": "100%"}}})
        root.define_property(f"picture_{name}", types.String(), default=found["picture"], view=view)


_EDITED = "Click it in the grid: FiftyOne's form opens. Change it there, close it, and press Done."


def _step(
    row: types.Object, label: str, icon: str, handler: str, params: dict[str, Any], *, disabled: bool = False
) -> None:
    row.btn(
        label.lower().replace(" ", "_"),
        label=label,
        icon=icon,
        variant="outlined",
        disabled=disabled,
        on_click=handler,
        params=params,
        componentsProps=FITTING,
    )


_DRAW: dict[str, Callable[[types.Object, Item, str, Handlers], None]] = {
    "text": _text,
    "chart": _chart,
    "table": _table,
    "buttons": _buttons,
    "work": _work,
    "name": _name,
    "decide": _decide,
}


def safe_title(title: str | None) -> str:
    """The title of what the grid shows as Markdown; empty without one, which hides the Back button."""
    return "" if title is None else f"**{plain_markdown(title)}**"

"""The panels "Annotator agreement" and "Decide": what they do on each event of the App, and their schemas."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement.settings.errors import AgreementInputError
from ..dataset_io import add_units, agreement_patches
from ..dataset_io.app.settings import app_settings_of, color_names
from ..dataset_io.database.fiftyone_private import is_generated
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.units.units_field import has_units
from ..dataset_io.views.agreement_view import shows_any
from . import drill_down
from .decide_events import DecideEvents, leave_form, open_form, stepped
from .drawing import GRID_TITLE, RUN, VIEW, beside_schema, panel_schema, safe_title
from .items import Choices, Item
from .panel_state import OBJECT_ID, PanelState
from .run_panel import deciding, put, state_part
from .tab_decide import beside_items, next_sample
from .view_model import DECIDE_TAB, FIRST_TAB, TABS, ViewModel, view_model


class AgreementPanel(DecideEvents):
    """Shows how far the annotators agree, and opens the samples and labels behind every number."""

    @property
    def config(self) -> foo.PanelConfig:
        return foo.PanelConfig(
            name=names.AGREEMENT_PANEL,
            label="Annotator agreement",
            icon="diversity_3",
            help_markdown="How far annotators agree. Click a number to see the samples and labels behind it.",
            category=foo.Categories.CURATE,
        )

    def on_load(self, ctx: foo.ExecutionContext) -> None:
        """Show the panel."""
        with contextlib.suppress(fo.DatasetNotFoundError):
            drill_down.adopt_view_of_form(ctx)
            shown = drill_down.way_back(ctx)
            ctx.panel.set_data(GRID_TITLE, safe_title(shown.title if shown else None))

    def on_change_dataset(self, ctx: foo.ExecutionContext) -> None:
        """Reset the choices that belong to another dataset."""
        put(ctx, run_key=None, of_view=False, sort={}, page={}, decide={}, by=None, shown=None)
        with contextlib.suppress(fo.DatasetNotFoundError):
            drill_down.forget_way_back(ctx)
        ctx.panel.set_data(GRID_TITLE, safe_title(None))

    def on_change_view(self, ctx: foo.ExecutionContext) -> None:
        """Forget the last drill-down if the user left its view, or show the field of a label that is to be edited.

        The App sends it several times at once: for the view, its name, its filters and its selection. Numbers of the
        view are updated after each event.
        """
        with contextlib.suppress(fo.DatasetNotFoundError):
            drill_down.adopt_view_of_form(ctx)
            if drill_down.has_left(ctx):
                drill_down.leave_view(ctx)
        if isinstance(ctx.params.get("value"), list):
            open_form(ctx)

    def on_change_current_sample(self, ctx: foo.ExecutionContext) -> None:
        """Open the form of a label when the App shows it; draw Decide anew, as the user may have decided elsewhere."""
        open_form(ctx)
        put(ctx, decide=stepped(deciding(ctx)))

    def choose_run(self, ctx: foo.ExecutionContext) -> None:
        """Show another run."""
        value = ctx.params.get("value")
        if isinstance(value, str) and value != state_part(ctx, "run_key"):
            put(ctx, run_key=value)

    def choose_samples(self, ctx: foo.ExecutionContext) -> None:
        """Show the numbers of the whole run, or only of the samples in the view."""
        value = ctx.params.get("value")
        if value in (RUN, VIEW) and (value == VIEW) != bool(state_part(ctx, "of_view")):
            put(ctx, of_view=value == VIEW)

    def choose_tab(self, ctx: foo.ExecutionContext) -> None:
        """Open a tab."""
        value = ctx.params.get("value")
        if isinstance(value, str) and value in TABS and value != (state_part(ctx, "tab") or FIRST_TAB):
            put(ctx, quietly=True, tab=value)
            if value == DECIDE_TAB:  # somebody may have changed the colours meanwhile
                self._ask_browser(ctx, self._panel_state(ctx).fields)

    def go_to_tab(self, ctx: foo.ExecutionContext, tab: str | None = None) -> None:
        """Open the tab that a button, or a number, leads to."""
        tab = tab or ctx.params.get("tab")
        if isinstance(tab, str) and tab in TABS:
            put(ctx, quietly=True, tab=tab)

    def choose_by(self, ctx: foo.ExecutionContext) -> None:
        """Divide the images by another field, or by saved views."""
        value = ctx.params.get("value")
        if isinstance(value, str) and value != state_part(ctx, "by"):
            put(ctx, quietly=True, by=value, page={**(state_part(ctx, "page") or {}), "parts": 0})

    def turn_page(self, ctx: foo.ExecutionContext) -> None:
        """Show another page of a list."""
        name, page = ctx.params.get("item"), ctx.params.get("page")
        if isinstance(name, str) and isinstance(page, int) and page >= 0:
            put(ctx, quietly=True, page={**(state_part(ctx, "page") or {}), name: page})

    def click_cell(self, ctx: foo.ExecutionContext) -> None:
        """Sort a table by a header, or show the labels behind a number."""
        row, column = ctx.params.get("row"), ctx.params.get("column")
        if row != -1:
            self.drill_down(ctx)
        elif isinstance(column, int):
            name, sort = drill_down.item_name(str(ctx.params.get("path", ""))), state_part(ctx, "sort") or {}
            is_again = abs(sort.get(name) or 0) == column + 1  # then the reverse order
            put(ctx, quietly=True, sort={**sort, name: -sort[name] if is_again else column + 1})

    def open_object(self, ctx: foo.ExecutionContext) -> None:
        """Open the sample of an object, with the labels of the object selected."""
        self.open_sample(ctx)
        ctx.ops.set_selected_labels(ctx.params.get("labels") or [])

    def refresh(self, ctx: foo.ExecutionContext) -> None:
        """Reload everything."""
        put(ctx, refreshed=(state_part(ctx, "refreshed") or 0) + 1)

    def compute(self, ctx: foo.ExecutionContext) -> None:
        """Open the form that computes agreement."""
        ctx.prompt(f"{names.PLUGIN_NAME}/{names.COMPUTE_AGREEMENT}")

    def run_operator(self, ctx: foo.ExecutionContext) -> None:
        """Open the form of another operator, with the run of the panel."""
        state = self._require_run(ctx)
        params = {key: ctx.params[key] for key in ("run_key", "other_run_key", "by") if key in ctx.params}
        operator = ctx.params.get("operator")
        if not isinstance(operator, str):
            raise AgreementInputError(f"`operator` must be the name of an operator, got {operator!r}")
        ctx.prompt(f"{names.PLUGIN_NAME}/{operator}", params={"run_key": state.run_key, **params})

    # ---- drill-downs ----

    def drill_down(self, ctx: foo.ExecutionContext) -> None:
        """Show the samples and labels behind a click."""
        state = self._require_run(ctx)
        samples = drill_down.described_samples(ctx) or ctx.dataset
        if is_generated(samples):
            samples = ctx.dataset
        model, name = self._model(ctx, state), drill_down.item_name(str(ctx.params.get("path", "")))
        for tab in TABS:  # the item may be in another tab; a card is above all
            if name == "card" or any(item["name"] == name for item in model["items"]):
                break
            model = self._model(ctx, state, tab)
        behind = drill_down.link_of(model, ctx.params)
        if "seek" in behind:
            sought = {"verdict": None, "annotator": None, "label": None, "votes": None, **behind["seek"]}
            put(ctx, decide={**deciding(ctx), **sought, "skipped": False, "at": None})
            self.go_to_tab(ctx, DECIDE_TAB)
            return
        view = drill_down.samples_behind(samples, state, behind)
        # counting all samples may take seconds, and the App does it anyway
        if not shows_any(view):
            ctx.ops.notify(f"{behind['title']}: none are left", variant="warning")
            return
        drill_down.show_view(ctx, behind["title"], view)

    def show_disputed(self, ctx: foo.ExecutionContext) -> None:
        """Show the disputed objects one by one, the worst first; writes one label for each if the run has none yet."""
        run_key, samples = str(self._require_run(ctx).run_key), drill_down.described_samples(ctx) or ctx.dataset
        if not has_units(open_run_labels(ctx.dataset, run_key)):
            add_units(ctx.dataset, run_key)
            ctx.ops.reload_dataset()
        view = agreement_patches(ctx.dataset if is_generated(samples) else samples, run_key)
        if not len(view):
            raise AgreementInputError("There is nothing to show: no object is disputed")
        colors = color_names(open_run_labels(ctx.dataset, run_key))
        legend = ": " + ", ".join(f"{name} {color}" for name, color in colors.items()) if colors else ""
        drill_down.show_view(ctx, f"Disputed objects, the worst first{legend}", view)

    def color_annotators(self, ctx: foo.ExecutionContext) -> None:
        """Colour the labels by who drew them, and give the run's fields a group in the sidebar; other settings stay."""
        run_key = str(self._require_run(ctx).run_key)
        settings = dataclasses.replace(app_settings_of(ctx.dataset, run_key), color_by="annotator", sidebar=True)
        params = {"run_key": run_key, **dataclasses.asdict(settings)}
        ctx.trigger(f"{names.PLUGIN_NAME}/{names.CONFIGURE_AGREEMENT_APP}", params)

    def open_sample(self, ctx: foo.ExecutionContext) -> None:
        """Open a sample of the work list."""
        self._require_run(ctx)
        sample_id = str(ctx.params.get("id"))
        if not OBJECT_ID.fullmatch(sample_id) or not len(ctx.dataset.select(sample_id)):
            raise AgreementInputError(f"The sample {sample_id} was deleted")
        ctx.ops.open_sample(id=sample_id)

    def back(self, ctx: foo.ExecutionContext) -> None:
        """Return to the view that the user had before the first drill-down."""
        if not leave_form(ctx):
            drill_down.go_back(ctx)

    def _schema(self, ctx: foo.ExecutionContext, state: PanelState) -> types.Property:
        model = self._model(ctx, state) if state.problem is None else None
        return panel_schema(state, model, self.method_to_uri, of_view=bool(state_part(ctx, "of_view")))

    def _model(self, ctx: foo.ExecutionContext, state: PanelState, tab: str | None = None) -> ViewModel:
        shown = self._shown(ctx, state)
        sort, page = state_part(ctx, "sort") or {}, state_part(ctx, "page") or {}
        choices = Choices(sort, page, shown.run_filters(deciding(ctx)), state_part(ctx, "by"))
        return view_model(shown, state, tab or state_part(ctx, "tab") or FIRST_TAB, choices, ctx.dataset)


class DecidePanel(AgreementPanel):
    """Shows the disputed objects of the sample that is open, as the tab Decide does, without a picture.

    Of the state of :class:`RunPanel` it has ``decide``, with the id of the open ``sample``, and ``decider``.
    """

    follows_samples: ClassVar[bool] = True

    @property
    def config(self) -> foo.PanelConfig:
        return foo.PanelConfig(
            name=names.DECIDE_PANEL,
            label="Decide",
            icon="gavel",
            help_markdown="Decide which version of a disputed object is right. Split the panel to see the image.",
            category=foo.Categories.CURATE,
            surfaces="modal",
        )

    def on_load(self, ctx: foo.ExecutionContext) -> None:
        """Show the sample that is open."""
        self.on_change_current_sample(ctx)

    def on_change_dataset(self, ctx: foo.ExecutionContext) -> None:
        """Show the sample that is open; the App sends this also when it draws the panel."""
        self.on_change_current_sample(ctx)

    def on_change_current_sample(self, ctx: foo.ExecutionContext) -> None:
        """Show the objects of another sample."""
        put(ctx, decide=_open_sample_state(ctx))

    def open_next(self, ctx: foo.ExecutionContext) -> None:
        """Open the sample with the most costly object that is still to be decided."""
        state = self._require_run(ctx)
        labels = open_run_labels(ctx.dataset, str(state.run_key))
        sample = next_sample(self._shown(ctx, state), labels, _open_sample(ctx))
        if sample is None:
            raise AgreementInputError("Everything in other images is decided or skipped")
        ctx.ops.open_sample(id=sample)

    def _schema(self, ctx: foo.ExecutionContext, state: PanelState) -> types.Property:
        items: list[Item] = []
        if state.problem is None:
            shown = self._shown(ctx, state)
            items = list(beside_items(shown, state, shown.run_filters(_open_sample_state(ctx)), ctx.dataset))
        found = [item["object"]["labels"] for item in items if item.get("object")]
        ctx.ops.set_selected_labels(found[0] if found else [])
        return beside_schema(state, items, self.method_to_uri)


def _open_sample_state(ctx: foo.ExecutionContext) -> dict[str, Any]:
    """State of Decide for the open sample; if that is another one than before, without its object and its way back."""
    chosen, sample = deciding(ctx), _open_sample(ctx)
    return chosen if chosen.get("sample") == sample else {**chosen, "sample": sample, "at": None, "past": []}


def _open_sample(ctx: foo.ExecutionContext) -> str | None:
    """Id of the sample that is open, also where the App shows patches of it."""
    current: Any = ctx.current_sample
    if current is not None and ctx.view is not None and is_generated(ctx.view):
        return next(iter(ctx.view.select(current).values("sample_id")), None)
    return None if current is None else str(current)

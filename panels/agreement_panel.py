"""The panel "Annotator agreement": events in, schema and requests out."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import logging
import re
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement.settings.errors import AgreementInputError
from ..dataset_io import add_units, agreement_patches
from ..dataset_io.app.appearance import sidebar_groups
from ..dataset_io.app.settings import app_settings_of, color_names
from ..dataset_io.database.fiftyone_private import (
    DatasetContent,
    content_of,
    is_generated,
    load_dataset_once,
    view_from_stages,
)
from ..dataset_io.decide.label_schemas import end_editing
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.run.work_through import rare_collections
from ..dataset_io.units.patches import has_units
from ..dataset_io.views.agreement_view import shows_any
from .drawing import DECIDER, safe_title
from .drill_down import (
    forget_way_back,
    has_item,
    has_left,
    is_behind,
    item_name,
    link_of,
    note_way_back,
    samples_behind,
    view_before,
    way_back,
)
from .echoes import CHOSEN, is_echo, note_answer, note_beyond, note_event, noted_beyond, one_at_a_time
from .items import Choices, Link, sort_after_click
from .layout import GRID_TITLE, RUN, VIEW, message_schema, panel_schema
from .model_cache import Shown, cached_shown, hash_of, hash_of_view
from .panel_state import WITHOUT_DATASET, PanelState, damaged_parts, panel_state_of
from .tab_decide import (
    ALL,
    WAY,
    after_decision,
    after_editing,
    after_edits,
    counted_decisions,
    decide_on,
    edit_on,
    is_decided,
    one_back,
    seen_again,
    undo_last,
    way_of,
    while_editing,
)
from .view_model import DECIDE_TAB, FIRST_TAB, TABS, ViewModel, view_model

logger = logging.getLogger(__name__)

_ID = re.compile("[0-9a-f]{24}")
#: parts of the state that the App is not told of, and the way in Decide (``WAY``) where no button carries it
_BEYOND = "beyond"
_ASK_BROWSER = f"{names.PLUGIN_NAME}/{names.ASK_BROWSER}"
_ADVICE = "Refresh the panel; if that does not help, compute the run again with “overwrite”."


class AgreementPanel(foo.Panel):
    """Shows how far the annotators agree, opens the samples and labels behind every number, and leads on from there.

    The state that the App keeps: ``run_key``, ``of_view`` and ``tab`` as chosen, ``known`` (the runs so far), ``sort``
    and ``page`` of tables by their names, ``decide`` (who decides on which objects, and edits which label) and
    ``decider`` (the name as it is typed), ``refreshed`` (how often the user refreshed), ``shown`` (hash of the schema
    that the App shows) and ``answer`` (to which event it is). What changes at a click on a tab or a table is noted
    here until another part changes: after every change of its state the App stores its layout and reads its page again.
    """

    #: whether it shows the sample that is open
    follows_samples: ClassVar[bool] = False

    @property
    def config(self) -> foo.PanelConfig:
        return foo.PanelConfig(
            name=names.AGREEMENT_PANEL,
            label="Annotator agreement",
            icon="diversity_3",
            help_markdown="How far annotators agree. Click a number to see the samples and labels behind it.",
            category=foo.Categories.CURATE,
        )

    # ---- events ----

    def execute(self, ctx: foo.ExecutionContext) -> None:
        """Handle an event, then update the panel; errors become notifications, never tracebacks."""
        method = ctx.params.get("__method__")
        if method in (None, "on_startup"):
            self.on_startup(ctx)
            return
        refusal = self._refusal(ctx, method)
        if refusal is not None:
            ctx.ops.notify(refusal, variant="error")
            return
        _mend_state(ctx)
        ctx.event_args = ctx.params.get("event_args", {})
        if method == "on_change_current_sample" and not self._shows_decisions(ctx):
            return
        with rare_collections():  # one of all objects of the server takes a quarter of a second
            content = content_of(ctx)
            if is_echo(ctx, method, content):
                return
            with one_at_a_time(ctx) as has_waited:
                if has_waited:
                    content = content_of(ctx)
                if is_echo(ctx, method, content):  # of what was answered since it was sent
                    return
                note_event(ctx, method, content)
                note_answer(ctx, self._handle(ctx, method, content))

    def _refusal(self, ctx: foo.ExecutionContext, method: Any) -> str | None:
        """Why something that was sent to the panel is no event of it; None if it is one.

        Events are the public methods of our own classes. To call another one by name, such as :meth:`execute` itself,
        would wait for the event to end that it is.
        """
        ours = [vars(each) for each in type(self).__mro__ if issubclass(each, AgreementPanel)]
        events = {name for names in ours for name, value in names.items() if inspect.isfunction(value)}
        if method not in [name for name in events - {"execute", "render"} if not name.startswith("_")]:
            return f"`__method__` must be an event of the panel, got {method!r}; reload the page"
        if not isinstance(ctx.panel_id, str):
            return f"`panel_id` must be the id of a panel, got {ctx.panel_id!r}; reload the page"
        if not isinstance(ctx.panel_state, dict):
            return f"`panel_state` must be an object, got {ctx.panel_state!r}; close the panel and open it again"
        return None

    def _handle(self, ctx: foo.ExecutionContext, method: str, content: DatasetContent | None) -> DatasetContent | None:
        """Handle an event and update the panel; what is stored of the dataset then."""
        kept, ctx.params[_BEYOND] = copy.deepcopy(ctx.panel_state), noted_beyond(ctx)
        try:
            if content is not None:
                load_dataset_once(ctx, content)
            if WAY in ctx.params:  # otherwise the event is of another button, or of the App
                ctx.params[_BEYOND].pop(WAY, None)
            self._record_edits(ctx)
            getattr(self, method)(ctx)
        except AgreementInputError as error:
            ctx.ops.notify(str(error), variant="error")
        except Exception as error:
            logger.exception("The agreement panel failed in %s", method)
            ctx.ops.notify(f"This did not work: {type(error).__name__}: {error}. {_ADVICE}", variant="error")
        content = content_of(ctx)
        self._show(ctx, content, always=method in ("on_load", "choose_tab"))
        if kept == ctx.panel_state:
            note_beyond(ctx, ctx.params[_BEYOND])
        else:
            _tell(ctx)
        return content

    def on_load(self, ctx: foo.ExecutionContext) -> None:
        """Show the panel."""
        with contextlib.suppress(fo.DatasetNotFoundError):
            shown = way_back(ctx)
            ctx.panel.set_data(GRID_TITLE, safe_title(shown.title if shown else None))

    def on_change_dataset(self, ctx: foo.ExecutionContext) -> None:
        """Reset the choices that belong to another dataset."""
        ctx.params[_BEYOND].clear()
        ctx.panel.set_state({"run_key": None, "of_view": False, "sort": {}, "page": {}, "decide": {}})
        with contextlib.suppress(fo.DatasetNotFoundError):
            forget_way_back(ctx)
        ctx.panel.set_data(GRID_TITLE, safe_title(None))

    def on_change_view(self, ctx: foo.ExecutionContext) -> None:
        """Forget the last drill-down if the user left its view, or show the field of a label that is to be edited.

        The App sends this for the view, its name, its filters and its selection at once. Numbers of the view are
        updated after each event.
        """
        with contextlib.suppress(fo.DatasetNotFoundError):
            if has_left(ctx):
                _leave(ctx)
        if isinstance(ctx.params.get("value"), list):
            _open_form(ctx)

    def on_change_current_sample(self, ctx: foo.ExecutionContext) -> None:
        """Open the form of a label when the App shows it; the user may have decided, or edited, in a sample."""
        _open_form(ctx)
        keep(ctx, seen_again(deciding(ctx)))

    def choose_run(self, ctx: foo.ExecutionContext) -> None:
        """Show another run."""
        value = ctx.params.get("value")
        if isinstance(value, str) and value != _state(ctx, "run_key"):
            ctx.panel.set_state("run_key", value)

    def choose_samples(self, ctx: foo.ExecutionContext) -> None:
        """Show the numbers of the whole run, or only of the samples in the view."""
        value = ctx.params.get("value")
        if value in (RUN, VIEW) and (value == VIEW) != bool(_state(ctx, "of_view")):
            ctx.panel.set_state("of_view", value == VIEW)

    def choose_tab(self, ctx: foo.ExecutionContext) -> None:
        """Open a tab."""
        value = ctx.params.get("value")
        if isinstance(value, str) and value in TABS and value != (_state(ctx, "tab") or FIRST_TAB):
            _note(ctx, "tab", value)
            if value == DECIDE_TAB:  # somebody may have changed the colours meanwhile
                self._ask_browser(ctx, self._panel_state(ctx).fields)

    def go_to_tab(self, ctx: foo.ExecutionContext, tab: str | None = None) -> None:
        """Open the tab that a button, or a number, leads to."""
        tab = tab or ctx.params.get("tab")
        if isinstance(tab, str) and tab in TABS:
            _note(ctx, "tab", tab)

    def turn_page(self, ctx: foo.ExecutionContext) -> None:
        """Show another page of a list."""
        name, page = ctx.params.get("item"), ctx.params.get("page")
        if isinstance(name, str) and isinstance(page, int) and page >= 0:
            _note(ctx, "page", {**(_state(ctx, "page") or {}), name: page})

    def click_cell(self, ctx: foo.ExecutionContext) -> None:
        """Sort a table by a header, or show the labels behind a number."""
        row, column = ctx.params.get("row"), ctx.params.get("column")
        if row != -1:
            self.drill_down(ctx)
        elif isinstance(column, int):
            name, chosen = item_name(str(ctx.params.get("path", ""))), _state(ctx, "sort") or {}
            _note(ctx, "sort", {**chosen, name: sort_after_click(column, chosen.get(name))})

    # ---- decisions ----

    def start_deciding(self, ctx: foo.ExecutionContext) -> None:
        """Take the name that the user typed, which the browser keeps."""
        typed = _state(ctx, DECIDER)
        if not isinstance(typed, str) or not typed.strip():
            raise AgreementInputError("Type your name first: it is stored with every decision")
        ctx.panel.set_state({"decide": {**deciding(ctx), "by": typed.strip()}, DECIDER: ""})
        ctx.trigger(_ASK_BROWSER, {"name": typed.strip()})

    def hear_browser(self, ctx: foo.ExecutionContext) -> None:
        """Take the name that the browser kept, and the colours of the annotators' fields in its grid."""
        chosen, name = deciding(ctx), ctx.params.get("name")
        by = chosen.get("by") or (name.strip() or None if isinstance(name, str) else None)
        colours = ctx.params.get("colours") if isinstance(ctx.params.get("colours"), list) else []
        known = [each for each in colours if isinstance(each, dict) and isinstance(each.get("path"), str)]
        keep(ctx, {**chosen, "by": by, "colours": known})

    def ask_name(self, ctx: foo.ExecutionContext) -> None:
        """Ask who decides, again."""
        keep(ctx, {**deciding(ctx), "by": None})

    def _ask_browser(self, ctx: foo.ExecutionContext, fields: list[str]) -> None:
        """Ask for what only the browser knows; it answers with :meth:`hear_browser`."""
        asked = {"panel_id": ctx.panel_id, "operator": self.method_to_uri("hear_browser")}
        ctx.trigger(_ASK_BROWSER, {**asked, "fields": fields})

    def show_filters(self, ctx: foo.ExecutionContext) -> None:
        """Show, or hide, the lists that choose what is sought."""
        chosen = deciding(ctx)
        keep(ctx, {**chosen, "filtering": not chosen.get("filtering")})

    def seek_verdict(self, ctx: foo.ExecutionContext) -> None:
        """Look for objects with another verdict."""
        _seek(ctx, "verdict", ctx.params.get("value"))

    def seek_annotator(self, ctx: foo.ExecutionContext) -> None:
        """Look for objects of another annotator."""
        _seek(ctx, "annotator", ctx.params.get("value"))

    def seek_label(self, ctx: foo.ExecutionContext) -> None:
        """Look for objects of another class."""
        _seek(ctx, "label", ctx.params.get("value"))

    def seek_votes(self, ctx: foo.ExecutionContext) -> None:
        """Look for objects that another number of annotators drew."""
        value = ctx.params.get("value")
        _seek(ctx, "votes", int(value) if str(value).isdigit() else value)

    def seek_skipped(self, ctx: foo.ExecutionContext) -> None:
        """Go through the skipped objects."""
        keep(ctx, {**deciding(ctx), "skipped": True, "at": None})

    def decide_object(self, ctx: foo.ExecutionContext) -> None:
        """Decide on the object that is shown, and show the next one."""
        _require_object(ctx)
        _leave_form(ctx)
        problem = decide_on(ctx.dataset, str(self._require_run(ctx).run_key), deciding(ctx), ctx.params)
        if problem is not None:
            ctx.ops.notify(problem, variant="warning")
        _go_on(ctx, after_decision(deciding(ctx), ctx.params))

    def previous_object(self, ctx: foo.ExecutionContext) -> None:
        """Show the object before again."""
        _leave_form(ctx)
        _go_on(ctx, one_back(deciding(ctx)))

    def undo_decision(self, ctx: foo.ExecutionContext) -> None:
        """Take back what the user decided last, and show that object again."""
        _leave_form(ctx)
        undone = undo_last(ctx.dataset, str(self._require_run(ctx).run_key), deciding(ctx))
        if undone is None:
            ctx.ops.notify("There is nothing to undo", variant="warning")
        else:
            _go_on(ctx, undone)

    def edit_object(self, ctx: foo.ExecutionContext) -> None:
        """Open FiftyOne's own form on what is decided to be right of the object; recorded before the next event."""
        _require_object(ctx)
        state, chosen = self._require_run(ctx), deciding(ctx)
        found = edit_on(ctx.dataset, str(state.run_key), self._shown(ctx, state).class_names, chosen, ctx.params)
        if isinstance(found, str):
            ctx.ops.notify(found, variant="warning")
            keep(ctx, after_decision(chosen, ctx.params))
            return
        keep(ctx, while_editing(ctx.dataset, chosen, ctx.params, found, ctx.active_fields or []))
        _show_view(ctx, "The label that you edit", found.view)

    def finish_editing(self, ctx: foo.ExecutionContext) -> None:
        """Show the next object after a label was edited; the same one if nothing was."""
        _require_object(ctx)
        _leave_form(ctx)
        if is_decided(ctx.dataset, str(self._require_run(ctx).run_key), ctx.params):
            keep(ctx, after_decision(deciding(ctx), ctx.params))
        else:
            ctx.ops.notify("Nothing was changed in the form, so nothing is decided", variant="warning")

    def _record_edits(self, ctx: foo.ExecutionContext) -> None:
        """Record what the user edited since the last event."""
        chosen = deciding(ctx)
        if not chosen.get("watched"):
            return
        try:
            recorded = after_edits(ctx.dataset, str(self._require_run(ctx).run_key), chosen)
        except AgreementInputError:  # the run, or the decisions, are gone
            recorded = {**chosen, "watched": {}, "editing": None}
        if recorded is not None:
            keep(ctx, recorded)

    def count_decisions(self, ctx: foo.ExecutionContext) -> None:
        """Count how right everybody was."""
        found = counted_decisions(ctx.dataset, str(self._require_run(ctx).run_key))
        keep(ctx, {**deciding(ctx), "counted": found})

    def open_object(self, ctx: foo.ExecutionContext) -> None:
        """Open the sample of an object, with the labels of the object selected."""
        self.open_sample(ctx)
        ctx.ops.set_selected_labels(ctx.params.get("labels") or [])

    def refresh(self, ctx: foo.ExecutionContext) -> None:
        """Reload everything."""
        ctx.panel.set_state("refreshed", (_state(ctx, "refreshed") or 0) + 1)

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
        samples = _samples(ctx) or ctx.dataset
        if is_generated(samples):
            samples = ctx.dataset
        leads = self._link(ctx, state)
        if "seek" in leads:
            sought = {"verdict": None, "annotator": None, "label": None, "votes": None, **leads["seek"]}
            keep(ctx, {**deciding(ctx), **sought, "skipped": False, "at": None})
            self.go_to_tab(ctx, DECIDE_TAB)
            return
        view = samples_behind(samples, state, leads)
        # counting all samples may take seconds, and the App does it anyway
        if not shows_any(view):
            ctx.ops.notify(f"{leads['title']}: none are left", variant="warning")
            return
        _show_view(ctx, leads["title"], view)

    def show_disputed(self, ctx: foo.ExecutionContext) -> None:
        """Show the disputed objects one by one, the worst first; writes one label for each if the run has none yet."""
        run_key, samples = str(self._require_run(ctx).run_key), _samples(ctx) or ctx.dataset
        if not has_units(open_run_labels(ctx.dataset, run_key)):
            add_units(ctx.dataset, run_key)
            ctx.ops.reload_dataset()
        view = agreement_patches(ctx.dataset if is_generated(samples) else samples, run_key)
        if not len(view):
            raise AgreementInputError("There is nothing to show: no object is disputed")
        colors = color_names(open_run_labels(ctx.dataset, run_key))
        legend = ": " + ", ".join(f"{name} {color}" for name, color in colors.items()) if colors else ""
        _show_view(ctx, f"Disputed objects, the worst first{legend}", view)

    def color_annotators(self, ctx: foo.ExecutionContext) -> None:
        """Colour the labels by who drew them; the other settings of the run stay."""
        run_key = str(self._require_run(ctx).run_key)
        settings = dataclasses.replace(app_settings_of(ctx.dataset, run_key), color_by="annotator")
        params = {"run_key": run_key, **dataclasses.asdict(settings)}
        ctx.trigger(f"{names.PLUGIN_NAME}/{names.CONFIGURE_AGREEMENT_APP}", params)

    def open_sample(self, ctx: foo.ExecutionContext) -> None:
        """Open a sample of the work list."""
        self._require_run(ctx)
        sample_id = str(ctx.params.get("id"))
        if not _ID.fullmatch(sample_id) or not len(ctx.dataset.select(sample_id)):
            raise AgreementInputError(f"The sample {sample_id} was deleted")
        ctx.ops.open_sample(id=sample_id)

    def back(self, ctx: foo.ExecutionContext) -> None:
        """Return to the view that the user had before the first drill-down."""
        if not _leave_form(ctx):
            _go_back(ctx)

    # ---- what is shown ----

    def render(self, ctx: foo.ExecutionContext) -> types.Property:
        """The schema of the panel."""
        return self._schema(ctx, self._panel_state(ctx))

    def _show(self, ctx: foo.ExecutionContext, content: DatasetContent | None, *, always: bool) -> None:
        """Send the schema, unless the App already has it."""
        fields: list[str] = []
        try:
            state = self._panel_state(ctx, follow=True)
            fields = state.fields
            samples = _samples(ctx) if state.problem is None else None
            shown = hash_of(
                [state.keys, state.run_key, state.problem, state.notes, state.results_id],
                [hash_of_view(samples) if samples is not None else None, _state(ctx, "refreshed")],
                [bool(_state(ctx, "of_view")), state.n_changed, state.lacks_colors],
                [_state(ctx, name) for name in CHOSEN],
                deciding(ctx),
                content.version if content is not None and self._shows_decisions(ctx) else None,
            )
            if shown == _state(ctx, "shown") and not always:
                return
            schema = self._schema(ctx, state)
        except AgreementInputError as error:
            shown, schema = hash_of(str(error)), message_schema(str(error), _ADVICE, self.method_to_uri)
        except Exception as error:
            logger.exception("The agreement panel cannot be shown")
            text = f"This cannot be shown: {error}"
            shown, schema = hash_of(text), message_schema(text, _ADVICE, self.method_to_uri)
        _note(ctx, "shown", shown)
        ctx.ops.show_panel_output(schema)
        known = {each["path"] for each in deciding(ctx).get("colours") or ()}
        if self._shows_decisions(ctx) and (always or not known.issuperset(fields)):
            self._ask_browser(ctx, fields)

    def _shows_decisions(self, ctx: foo.ExecutionContext) -> bool:
        return self.follows_samples or _state(ctx, "tab") == DECIDE_TAB

    def _panel_state(self, ctx: foo.ExecutionContext, *, follow: bool = False) -> PanelState:
        """The run to show; ``follow``: a run that was computed meanwhile takes the place of the one that is shown."""
        try:
            dataset = ctx.dataset
        except fo.DatasetNotFoundError:
            return WITHOUT_DATASET
        state = panel_state_of(dataset, _state(ctx, "run_key"))
        known = _state(ctx, "known")
        if not follow:
            return state
        newest = state.keys[0] if known is not None and state.keys and state.keys[0] not in known else None
        if newest is not None and state.run_key != newest:
            state = panel_state_of(dataset, newest)
        # the first run that is shown counts as chosen: the App tells us so in any case
        if newest is not None or _state(ctx, "run_key") is None:
            ctx.panel.set_state("run_key", state.run_key)
        if state.keys != known:
            ctx.panel.set_state("known", state.keys)
        return state

    def _require_run(self, ctx: foo.ExecutionContext) -> PanelState:
        """The panel state, if it has a completed run that is still the run on the screen."""
        state = self._panel_state(ctx)
        if state.problem is not None:
            raise AgreementInputError(state.problem)
        if _state(ctx, "run_key") not in (None, state.run_key):
            raise AgreementInputError(state.notes[0])
        return state

    def _schema(self, ctx: foo.ExecutionContext, state: PanelState) -> types.Property:
        model = self._model(ctx, state) if state.problem is None else None
        return panel_schema(state, model, self.method_to_uri, of_view=bool(_state(ctx, "of_view")))

    def _shown(self, ctx: foo.ExecutionContext, state: PanelState) -> Shown:
        refreshed = _state(ctx, "refreshed") or 0
        return cached_shown(ctx, state.run_key or "", state.results_id, _samples(ctx), refreshed)

    def _model(self, ctx: foo.ExecutionContext, state: PanelState, tab: str | None = None) -> ViewModel:
        shown = self._shown(ctx, state)
        choices = Choices(_state(ctx, "sort") or {}, _state(ctx, "page") or {}, shown.of_run(deciding(ctx)))
        return view_model(shown, state, tab or _state(ctx, "tab") or FIRST_TAB, choices, ctx.dataset)

    def _link(self, ctx: foo.ExecutionContext, state: PanelState) -> Link:
        """The labels behind a click; another window with the panel may have opened another tab meanwhile."""
        model = self._model(ctx, state)
        for tab in TABS:
            if has_item(model, ctx.params):
                break
            model = self._model(ctx, state, tab)
        return link_of(model, ctx.params)


def _state(ctx: foo.ExecutionContext, name: str) -> Any:
    beyond = ctx.params.get(_BEYOND) or {}
    return beyond[name] if name in beyond else (ctx.panel_state or {}).get(name)


def _note(ctx: foo.ExecutionContext, name: str, value: Any) -> None:
    """Change a part of the state without telling the App."""
    ctx.params.setdefault(_BEYOND, {})[name] = value


def _tell(ctx: foo.ExecutionContext) -> None:
    """Tell the App what was noted, as another part of the state has changed."""
    if ctx.params.get(WAY) or ctx.params[_BEYOND].get(WAY):
        keep(ctx, deciding(ctx))
    ctx.panel.set_state(ctx.params.pop(_BEYOND))


def _mend_state(ctx: foo.ExecutionContext) -> None:
    """Begin anew where the App kept something else than the panel left, and say so."""
    damaged = damaged_parts(ctx.panel_state)
    if damaged:
        ctx.panel.set_state(dict.fromkeys(damaged))
        parts = ", ".join(f"`{name}`" for name in damaged)
        ctx.ops.notify(f"What the browser kept of this panel was damaged; {parts} begins anew", variant="warning")


def deciding(ctx: foo.ExecutionContext) -> dict[str, Any]:
    """Who decides, on which objects, and the way that was gone."""
    way = ctx.params.get(WAY) or (ctx.params.get(_BEYOND) or {}).get(WAY)
    return {**(_state(ctx, "decide") or {}), **(way if way and not damaged_parts({"decide": way}) else {})}


def keep(ctx: foo.ExecutionContext, chosen: dict[str, Any]) -> None:
    """Leave with the App what :func:`deciding` has."""
    for known in (ctx.params, ctx.params.get(_BEYOND) or {}):
        known.pop(WAY, None)
    ctx.panel.set_state("decide", chosen)


def _go_on(ctx: foo.ExecutionContext, chosen: dict[str, Any]) -> None:
    """Show the next object, or one before; the buttons carry the way that was gone, which the App is not told."""
    if (_state(ctx, "decide") or {}).get("at"):
        keep(ctx, chosen)
    else:
        ctx.params[WAY] = way_of(chosen)
        _note(ctx, WAY, ctx.params[WAY])


def _seek(ctx: foo.ExecutionContext, what: str, value: Any) -> None:
    """Look for other objects to decide on."""
    chosen = None if value == ALL else value
    if value and not damaged_parts({"decide": {what: chosen}}) and deciding(ctx).get(what) != chosen:
        _leave_form(ctx)
        keep(ctx, {**deciding(ctx), "skipped": False, "at": None, what: chosen})


def _require_object(ctx: foo.ExecutionContext) -> None:
    """Check that a button named an object."""
    document = ctx.params.get("document")
    if not isinstance(document, str) or not _ID.fullmatch(document):
        raise AgreementInputError(f"`document` must be the id of what holds the object, got {document!r}")


def _leave(ctx: foo.ExecutionContext) -> None:
    """Forget a drill-down, and show again the groups of the sidebar: the App lost those of fields that it left out."""
    forget_way_back(ctx)
    ctx.panel.set_data(GRID_TITLE, safe_title(None))
    groups = {"groups": sidebar_groups(ctx.dataset)}
    ctx.trigger(f"{names.PLUGIN_NAME}/{names.SHOW_SIDEBAR_GROUPS}", groups)


def _show_view(ctx: foo.ExecutionContext, title: str, view: SampleCollection) -> None:
    """Show a view, with a way back to the view that the user had."""
    note_way_back(ctx, title, view)
    ctx.panel.set_data(GRID_TITLE, safe_title(title))
    ctx.ops.set_view(view)


def _open_form(ctx: foo.ExecutionContext) -> None:
    """Show the field of the label that is to be edited, and its form when the user has opened it.

    The user opens it: the App does not offer the labels of a sample that we open to be edited, unless it showed their
    field before. ``ctx.ops.open_sample`` has no mode.
    """
    editing = deciding(ctx).get("editing") or {}
    if editing.get("opens") == "view" and is_behind(ctx):
        ctx.ops.set_active_fields([*editing["active"], *editing["fields"]])
        opens = "form"
    elif editing.get("opens") == "form" and ctx.current_sample == editing["shown"]:
        ctx.trigger("open_sample", {"id": ctx.current_sample, "mode": "annotate"})
        opens = None
    else:
        return
    keep(ctx, {**deciding(ctx), "editing": {**editing, "opens": opens}})


def _go_back(ctx: foo.ExecutionContext) -> None:
    shown = way_back(ctx)
    _leave(ctx)
    if shown is not None and shown.before:
        ctx.ops.set_view(view_from_stages(ctx.dataset, shown.before))
    else:
        ctx.ops.clear_view()


def _leave_form(ctx: foo.ExecutionContext) -> bool:
    """Put back what was set up to edit a label, and the view before; False if that was not shown."""
    editing = deciding(ctx).get("editing")
    if editing is None:
        return False
    end_editing(ctx.dataset)
    keep(ctx, after_editing(deciding(ctx)))
    goes_back = is_behind(ctx)
    if goes_back:
        ctx.ops.set_active_fields(editing["active"])
        _go_back(ctx)
    return goes_back


def _samples(ctx: foo.ExecutionContext) -> SampleCollection | None:
    """View that the numbers describe (None: whole run). Views opened by a click do not count."""
    if not _state(ctx, "of_view") or ctx.view is None:
        return None
    return view_from_stages(ctx.dataset, view_before(ctx)) if is_behind(ctx) else ctx.view

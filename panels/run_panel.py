"""Base of the panels: handles the events of the App one by one, keeps the state of a panel, and sends its content.

The App stores every change of a panel's state, then reads its page again and tells every panel three times that the
view changed. An answer takes a tenth of a second, and the user waits for all of them.

So the state of a panel is kept here, and the App is told of it only if it has to store it: of another tab, or another
order of a table, it is told with the next such change. An event carries the state that the App knew when it sent it,
and others may have been answered since: the App reports an open sample a second late, when the user has pressed a
button in it. So events are handled one after the other, each with the last state. Only a page that is loaded with a
stored state, such as that of a workspace, begins with that one.
"""

from __future__ import annotations

import copy
import logging
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement.settings.errors import AgreementInputError
from ..dataset_io.database.fiftyone_private import DatasetContent, content_of, dataset_id, load_dataset_once
from ..dataset_io.run.read import rare_collections
from .drawing import DECIDER, message_schema
from .drill_down import described_samples
from .panel_state import (
    WITHOUT_DATASET,
    PanelState,
    ShownReport,
    cached_shown,
    hash_of,
    hash_of_view,
    panel_state_of,
    unusable_parts,
)
from .view_model import DECIDE_TAB

logger = logging.getLogger(__name__)

#: parameter of an event: whether the App is to be told of the state after it
_TELLS = "tells"
#: parameters of an event: the snapshot of the dataset's documents, and the runs that were looked up in it
_CONTENT, _LOOKED_UP = "content", "looked_up"
ASK_BROWSER = f"{names.PLUGIN_NAME}/{names.ASK_BROWSER}"
_ADVICE = "Refresh the panel; if that does not help, compute the run again with “overwrite”."

#: parts of the panel's state that say what it shows of a run
_CHOSEN = ("tab", "sort", "page", "decide", "by")
#: parts of the panel's state, and parameters of a request of the App, on which the content of the panel depends
_STATE = (*_CHOSEN, "run_key", "of_view", "known", "refreshed", "shown")
_APP = ("dataset_id", "dataset_name", "view", "view_name", "filters", "extended", "group_slice", "current_sample")
#: methods that the App, a button or the browser calls by name; ``on_startup`` is answered by FiftyOne
EVENTS = (
    *("on_load", "on_change_dataset", "on_change_view", "on_change_current_sample"),
    *("choose_run", "choose_samples", "choose_tab", "choose_by", "go_to_tab", "turn_page", "refresh", "back"),
    *("click_cell", "drill_down", "show_disputed", "open_object", "open_sample", "open_next", "color_annotators"),
    *("compute", "run_operator", "hear_browser", "start_deciding", "ask_name", "show_filters"),
    *("seek_verdict", "seek_annotator", "seek_label", "seek_votes", "seek_skipped"),
    *("decide_object", "previous_object", "undo_decision", "edit_object", "finish_editing", "count_decisions"),
)
#: the App sends an event twice within this time, in seconds
_AT_ONCE = 1.0
_MOST_PANELS, _MOST_ANSWERS = 100, 10
#: part of the panel's state: the id of the answer with which the App got this state
_ANSWER = "answer"


@dataclass(slots=True)
class _Panel:
    handling: threading.Lock = field(default_factory=threading.Lock)
    event: str | None = None  # a hash of the last event that was handled
    at: float = 0.0
    shows: str | None = None  # a hash of what the panel shows since; None while the event is handled
    state: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)  # the state as far as the App knows it
    answers: list[str] = field(default_factory=list)  # ids of the last answers that the App was told


_panels: OrderedDict[str, _Panel] = OrderedDict()
_lock = threading.Lock()


class RunPanel(foo.Panel):
    """Base class of the panels, which show a run; subclasses define what events do.

    Its state: ``run_key``, ``of_view``, ``tab`` and ``by`` as chosen, ``known`` (the runs so far), ``sort`` and
    ``page`` of tables by their names, ``decide`` (who decides on which objects, and edits which label) and ``decider``
    (the name as it is typed), ``refreshed`` (how often the user refreshed), ``shown`` (hash of the schema that the App
    shows) and ``answer`` (id of the last answer).
    """

    #: whether it shows the sample that is open
    follows_samples: ClassVar[bool] = False

    def execute(self, ctx: foo.ExecutionContext) -> None:
        """Handle an event, then update the panel; errors become notifications, never tracebacks."""
        method = ctx.params.get("__method__")
        if method in (None, "on_startup"):
            self.on_startup(ctx)
            return
        refusal = None
        # other methods must not be called by name: this one would wait for the event that called it
        if method not in EVENTS or not hasattr(self, method):
            refusal = f"`__method__` must be an event of the panel, got {method!r}; reload the page"
        elif not isinstance(ctx.panel_id, str):
            refusal = f"`panel_id` must be the id of a panel, got {ctx.panel_id!r}; reload the page"
        elif not isinstance(ctx.panel_state, dict):
            refusal = f"`panel_state` must be an object, got {ctx.panel_state!r}; close the panel and open it again"
        if refusal is not None:
            ctx.ops.notify(refusal, variant="error")
            return
        if unusable := unusable_parts(ctx.panel_state):  # the App stored them with a wrong type
            ctx.panel.set_state(dict.fromkeys(unusable))
            parts = ", ".join(f"`{name}`" for name in unusable)
            ctx.ops.notify(
                f"What the browser kept of this panel cannot be used; {parts} begins anew", variant="warning"
            )
        ctx.event_args = ctx.params.get("event_args", {})
        if method != "on_change_current_sample" or self._shows_decisions(ctx):
            self._answer(ctx, method)

    def _answer(self, ctx: foo.ExecutionContext, method: str) -> None:
        """Handle an event when those before it have ended, unless the panel already shows what it would show."""
        with rare_collections():  # a garbage collection of the server takes a quarter of a second
            content = content_of(ctx)
            if _is_echo(ctx, method, content, ctx.panel_state):
                return
            panel = _panel(ctx)
            has_waited = panel.handling.locked()
            with panel.handling:
                if has_waited:
                    content = content_of(ctx)
                told = _with_last_state(ctx, method, panel)
                if _is_echo(ctx, method, content, told):  # an echo of an event that was answered while this one waited
                    return
                panel.event, panel.at, panel.shows = _event(ctx, method, content, told), time.monotonic(), None
                shown, state = self._handle(ctx, method, content), ctx.panel_state
                if ctx.params.pop(_TELLS, False):
                    state[_ANSWER] = secrets.token_hex(4)
                    panel.answers = [*panel.answers, state[_ANSWER]][-_MOST_ANSWERS:]
                    ctx.panel.set_state({name: value for name, value in state.items() if told.get(name) != value})
                    told = copy.deepcopy(state)
                panel.state, panel.told, panel.shows = state, told, _shows(ctx, shown, told)
                with _lock:
                    _panels[ctx.panel_id] = panel  # it may have been forgotten meanwhile

    def _handle(self, ctx: foo.ExecutionContext, method: str, content: DatasetContent | None) -> DatasetContent | None:
        """Handle an event and update the panel; returns a snapshot of the dataset after that."""
        ctx.params[_CONTENT] = content
        try:
            if content is not None:
                load_dataset_once(ctx, content)
            self._record_edits(ctx)
            getattr(self, method)(ctx)
        except AgreementInputError as error:
            ctx.ops.notify(str(error), variant="error")
        except Exception as error:
            if content is not None:  # else the panel says that the dataset was deleted
                logger.exception("The agreement panel failed in %s", method)
                ctx.ops.notify(f"This did not work: {type(error).__name__}: {error}. {_ADVICE}", variant="error")
        ctx.params[_CONTENT] = content = content_of(ctx)
        self._show(ctx, content, always=method in ("on_load", "choose_tab"))
        return content

    def _record_edits(self, ctx: foo.ExecutionContext) -> None:
        """Record what the user edited since the last event."""
        raise NotImplementedError

    def _ask_browser(self, ctx: foo.ExecutionContext, fields: list[str]) -> None:
        """Ask the browser for the name of who decides, and for colours; it answers with the event ``hear_browser``."""
        asked = {"panel_id": ctx.panel_id, "operator": self.method_to_uri("hear_browser")}
        ctx.trigger(ASK_BROWSER, {**asked, "fields": fields})

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
            samples = described_samples(ctx) if state.problem is None else None
            shown = hash_of(
                [state.keys, state.run_key, state.problem, state.notes, state.results_id],
                [hash_of_view(samples) if samples is not None else None, state_part(ctx, "refreshed")],
                [bool(state_part(ctx, "of_view")), state.n_changed, state.lacks_colors],
                [state_part(ctx, name) for name in _CHOSEN],
                deciding(ctx),
                content.version if content is not None and self._shows_decisions(ctx) else None,
            )
            if shown == state_part(ctx, "shown") and not always:
                return
            schema = self._schema(ctx, state)
        except AgreementInputError as error:
            shown, schema = hash_of(str(error)), message_schema(str(error), _ADVICE, self.method_to_uri)
        except Exception as error:
            logger.exception("The agreement panel cannot be shown")
            text = f"This cannot be shown: {error}"
            shown, schema = hash_of(text), message_schema(text, _ADVICE, self.method_to_uri)
        put(ctx, quietly=True, shown=shown)
        ctx.ops.show_panel_output(schema)
        known = {each["path"] for each in deciding(ctx).get("colours") or ()}
        if self._shows_decisions(ctx) and (always or not known.issuperset(fields)):
            self._ask_browser(ctx, fields)

    def _shows_decisions(self, ctx: foo.ExecutionContext) -> bool:
        return self.follows_samples or state_part(ctx, "tab") == DECIDE_TAB

    def _panel_state(self, ctx: foo.ExecutionContext, *, follow: bool = False) -> PanelState:
        """The run to show; ``follow``: a run that was computed meanwhile takes the place of the one that is shown."""
        try:
            dataset = ctx.dataset
        except fo.DatasetNotFoundError:
            return WITHOUT_DATASET
        state = self._runs(ctx, dataset, state_part(ctx, "run_key"))
        known = state_part(ctx, "known")
        if not follow:
            return state
        newest = state.keys[0] if known is not None and state.keys and state.keys[0] not in known else None
        if newest is not None and state.run_key != newest:
            state = self._runs(ctx, dataset, newest)
        # the first run that is shown counts as chosen: the App tells us so in any case
        if newest is not None or state_part(ctx, "run_key") is None:
            put(ctx, run_key=state.run_key)
        put(ctx, known=state.keys)
        return state

    def _runs(self, ctx: foo.ExecutionContext, dataset: Any, wanted: str | None) -> PanelState:
        """The runs of the dataset, looked up once for an event, and again if it, or somebody else, stores something."""
        content, known = ctx.params.get(_CONTENT), ctx.params.setdefault(_LOOKED_UP, {})
        key = None if content is None else (content.version, wanted)
        if key is None or key not in known:
            known[key] = panel_state_of(dataset, wanted)
        found: PanelState = known[key]
        return found

    def _require_run(self, ctx: foo.ExecutionContext) -> PanelState:
        """The panel state, if it has a completed run that is still the run on the screen."""
        state = self._panel_state(ctx)
        if state.problem is not None:
            raise AgreementInputError(state.problem)
        if state_part(ctx, "run_key") not in (None, state.run_key):
            raise AgreementInputError(state.notes[0])
        return state

    def _schema(self, ctx: foo.ExecutionContext, state: PanelState) -> types.Property:
        """Schema of the run, or of the reason why there is none."""
        raise NotImplementedError

    def _shown(self, ctx: foo.ExecutionContext, state: PanelState) -> ShownReport:
        view, refreshed = described_samples(ctx), state_part(ctx, "refreshed") or 0
        of_run = str(dataset_id(ctx.dataset)), state.run_key or "", state.results_id
        of_view = "" if view is None else hash_of_view(view)
        shown: ShownReport = cached_shown(ctx, *of_run, refreshed, of_view, view=view)
        return shown


def _with_last_state(ctx: foo.ExecutionContext, method: str, panel: _Panel) -> dict[str, Any]:
    """Give an event the last state of its panel, unless the App loaded another one; returns the state the App knows."""
    sent: dict[str, Any] = ctx.panel_state
    same = all(sent.get(name) == panel.told.get(name) for name in {*sent, *panel.told} - {_ANSWER, DECIDER})
    if not same and (method == "on_load" or sent.get(_ANSWER) not in panel.answers):
        return copy.deepcopy(sent)
    typed = {DECIDER: sent[DECIDER]} if DECIDER in sent else {}  # what was typed since the last answer
    sent.clear()
    sent.update(copy.deepcopy(panel.state), **typed)
    return {**panel.told, **typed}


def _panel(ctx: foo.ExecutionContext) -> _Panel:
    with _lock:
        panel = _panels.setdefault(ctx.panel_id, _Panel())
        _panels.move_to_end(ctx.panel_id)
        if len(_panels) > _MOST_PANELS:
            _panels.popitem(last=False)
    return panel


def _is_echo(
    ctx: foo.ExecutionContext, method: str, content: DatasetContent | None, told: dict[str, Any] | None
) -> bool:
    """True if an event needs no answer; never while samples are watched for edits, which an event records.

    Args:
        content: snapshot of the dataset
        told: the state as far as the App knows it
    """
    state, panel = told or {}, _panel(ctx)
    if method != "on_change_view" or (state.get("decide") or {}).get("watched"):
        return False
    is_again = panel.event == _event(ctx, method, content, state) and time.monotonic() - panel.at < _AT_ONCE
    return is_again or panel.shows == _shows(ctx, content, state)


def _event(ctx: foo.ExecutionContext, method: str, content: DatasetContent | None, told: dict[str, Any]) -> str:
    """A hash of an event, and of what was shown when it was sent."""
    value = ctx.params.get("value")
    return hash_of(method, isinstance(value, list) if method == "on_change_view" else value, _shows(ctx, content, told))


def _shows(ctx: foo.ExecutionContext, content: DatasetContent | None, told: dict[str, Any]) -> str:
    """A hash of all that the content of the panel depends on."""
    app = [ctx.request_params.get(name) for name in _APP]
    return hash_of(content.version if content else None, app, [told.get(name) for name in _STATE])


def state_part(ctx: foo.ExecutionContext, name: str) -> Any:
    """A part of the state of the panel."""
    return (ctx.panel_state or {}).get(name)


def put(ctx: foo.ExecutionContext, *, quietly: bool = False, **parts: Any) -> None:
    """Change parts of the state of the panel; ``quietly``: the App is told only when another part changes."""
    is_new = any(state_part(ctx, name) != value for name, value in parts.items())
    ctx.panel_state.update(parts)
    ctx.params[_TELLS] = ctx.params.get(_TELLS, False) or (is_new and not quietly)


def deciding(ctx: foo.ExecutionContext) -> dict[str, Any]:
    """State of the tab Decide: the person, the filters of objects, and the way back."""
    return dict(state_part(ctx, "decide") or {})

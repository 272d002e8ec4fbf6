"""Base of panels that show a run: answers events of the App, and sends the panel's content after each."""

from __future__ import annotations

import copy
import functools
import logging
from typing import Any, ClassVar

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement.settings.errors import AgreementInputError
from ..dataset_io.database.fiftyone_private import DatasetContent, content_of, load_dataset_once
from . import events
from .drill_down import described_samples
from .layout import message_schema
from .panel_state import WITHOUT_DATASET, PanelState, Shown, cached_shown, hash_of, hash_of_view, panel_state_of
from .tab_decide import WAY, after_edits
from .view_model import DECIDE_TAB

logger = logging.getLogger(__name__)

#: what is stored of the dataset, as far as the event knows
_CONTENT = "content"
ASK_BROWSER = f"{names.PLUGIN_NAME}/{names.ASK_BROWSER}"
_ADVICE = "Refresh the panel; if that does not help, compute the run again with “overwrite”."


class RunPanel(foo.Panel):
    """Shows a run; what its events do is said by the classes that inherit it.

    The state that the App keeps: ``run_key``, ``of_view`` and ``tab`` as chosen, ``known`` (the runs so far), ``sort``
    and ``page`` of tables by their names, ``decide`` (who decides on which objects, and edits which label) and
    ``decider`` (the name as it is typed), ``refreshed`` (how often the user refreshed), ``shown`` (hash of the schema
    that the App shows) and ``answer`` (to which event it is). What changes at a click on a tab or a table is noted
    here until another part changes: after every change of its state the App stores its layout and reads its page again.
    """

    #: whether it shows the sample that is open
    follows_samples: ClassVar[bool] = False

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
        events.mend_state(ctx)
        ctx.event_args = ctx.params.get("event_args", {})
        if method != "on_change_current_sample" or self._shows_decisions(ctx):
            events.answer(ctx, method, functools.partial(self._handle, ctx, method))

    def _refusal(self, ctx: foo.ExecutionContext, method: Any) -> str | None:
        """Reason to refuse what was sent to the panel as no event of it; None if it is one.

        To call another method by name, such as :meth:`execute` itself, would wait for the event to end that it is.
        """
        if method not in events.EVENTS or not hasattr(self, method):
            return f"`__method__` must be an event of the panel, got {method!r}; reload the page"
        if not isinstance(ctx.panel_id, str):
            return f"`panel_id` must be the id of a panel, got {ctx.panel_id!r}; reload the page"
        if not isinstance(ctx.panel_state, dict):
            return f"`panel_state` must be an object, got {ctx.panel_state!r}; close the panel and open it again"
        return None

    def _handle(self, ctx: foo.ExecutionContext, method: str, content: DatasetContent | None) -> DatasetContent | None:
        """Handle an event and update the panel; what is stored of the dataset then."""
        kept, ctx.params[events.BEYOND] = copy.deepcopy(ctx.panel_state), events.noted_beyond(ctx)
        ctx.params[_CONTENT] = content
        try:
            if content is not None:
                load_dataset_once(ctx, content)
            if WAY in ctx.params:  # otherwise the event is of another button, or of the App
                ctx.params[events.BEYOND].pop(WAY, None)
            if events.deciding(ctx).get("watched"):
                self._record_edits(ctx)
            getattr(self, method)(ctx)
        except AgreementInputError as error:
            ctx.ops.notify(str(error), variant="error")
        except Exception as error:
            logger.exception("The agreement panel failed in %s", method)
            ctx.ops.notify(f"This did not work: {type(error).__name__}: {error}. {_ADVICE}", variant="error")
        ctx.params[_CONTENT] = content = content_of(ctx)
        self._show(ctx, content, always=method in ("on_load", "choose_tab"))
        if kept == ctx.panel_state:
            events.note_beyond(ctx, ctx.params[events.BEYOND])
        else:
            events.tell_noted(ctx)
        return content

    def _record_edits(self, ctx: foo.ExecutionContext) -> None:
        """Record what the user edited since the last event."""
        chosen = events.deciding(ctx)
        try:
            recorded = after_edits(ctx.dataset, str(self._require_run(ctx).run_key), chosen)
        except AgreementInputError:  # the run, or the decisions, are gone
            recorded = {**chosen, "watched": {}, "editing": None}
        if recorded is not None:
            events.keep(ctx, recorded)

    def _ask_browser(self, ctx: foo.ExecutionContext, fields: list[str]) -> None:
        """Ask for what only the browser knows; it answers with :meth:`hear_browser`."""
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
                [hash_of_view(samples) if samples is not None else None, events.state_part(ctx, "refreshed")],
                [bool(events.state_part(ctx, "of_view")), state.n_changed, state.lacks_colors],
                [events.state_part(ctx, name) for name in events.CHOSEN],
                events.deciding(ctx),
                content.version if content is not None and self._shows_decisions(ctx) else None,
            )
            if shown == events.state_part(ctx, "shown") and not always:
                return
            schema = self._schema(ctx, state)
        except AgreementInputError as error:
            shown, schema = hash_of(str(error)), message_schema(str(error), _ADVICE, self.method_to_uri)
        except Exception as error:
            logger.exception("The agreement panel cannot be shown")
            text = f"This cannot be shown: {error}"
            shown, schema = hash_of(text), message_schema(text, _ADVICE, self.method_to_uri)
        events.note(ctx, "shown", shown)
        ctx.ops.show_panel_output(schema)
        known = {each["path"] for each in events.deciding(ctx).get("colours") or ()}
        if self._shows_decisions(ctx) and (always or not known.issuperset(fields)):
            self._ask_browser(ctx, fields)

    def _shows_decisions(self, ctx: foo.ExecutionContext) -> bool:
        return self.follows_samples or events.state_part(ctx, "tab") == DECIDE_TAB

    def _panel_state(self, ctx: foo.ExecutionContext, *, follow: bool = False) -> PanelState:
        """The run to show; ``follow``: a run that was computed meanwhile takes the place of the one that is shown."""
        try:
            dataset = ctx.dataset
        except fo.DatasetNotFoundError:
            return WITHOUT_DATASET
        state = self._runs(ctx, dataset, events.state_part(ctx, "run_key"))
        known = events.state_part(ctx, "known")
        if not follow:
            return state
        newest = state.keys[0] if known is not None and state.keys and state.keys[0] not in known else None
        if newest is not None and state.run_key != newest:
            state = self._runs(ctx, dataset, newest)
        # the first run that is shown counts as chosen: the App tells us so in any case
        if newest is not None or events.state_part(ctx, "run_key") is None:
            ctx.panel.set_state("run_key", state.run_key)
        if state.keys != known:
            ctx.panel.set_state("known", state.keys)
        return state

    def _runs(self, ctx: foo.ExecutionContext, dataset: Any, wanted: str | None) -> PanelState:
        """The runs of the dataset, looked up once for an event, and again if it, or somebody else, stores something."""
        return events.looked_up_once(ctx, ctx.params.get(_CONTENT), wanted, lambda: panel_state_of(dataset, wanted))

    def _require_run(self, ctx: foo.ExecutionContext) -> PanelState:
        """The panel state, if it has a completed run that is still the run on the screen."""
        state = self._panel_state(ctx)
        if state.problem is not None:
            raise AgreementInputError(state.problem)
        if events.state_part(ctx, "run_key") not in (None, state.run_key):
            raise AgreementInputError(state.notes[0])
        return state

    def _schema(self, ctx: foo.ExecutionContext, state: PanelState) -> types.Property:
        """Schema of the run, or of the reason why there is none."""
        raise NotImplementedError

    def _shown(self, ctx: foo.ExecutionContext, state: PanelState) -> Shown:
        refreshed = events.state_part(ctx, "refreshed") or 0
        return cached_shown(ctx, state.run_key or "", state.results_id, described_samples(ctx), refreshed)

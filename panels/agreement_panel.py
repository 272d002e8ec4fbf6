"""The panel "Annotator agreement": events in, schema and requests out."""

from __future__ import annotations

import logging
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement.errors import AgreementInputError
from ..dataset_io.fiftyone_private import is_generated, serialized_stages, view_from_stages
from ..dataset_io.views.agreement_view import shows_any
from .drill_down import sample_behind, samples_behind
from .layout import DRILL_DOWN_TITLE, drill_down_title, message_schema, panel_schema
from .model_cache import cached_view_model, hash_of, hash_of_view
from .panel_state import WITHOUT_DATASET, PanelState, panel_state_of
from .view_model import ViewModel

logger = logging.getLogger(__name__)

_ADVICE = "Refresh the panel; if that does not help, compute the run again with “overwrite”."


class AgreementPanel(foo.Panel):
    """Shows how far the annotators agree, and opens the samples and labels behind every number.

    The state that the App keeps: ``run_key`` and ``of_view`` as chosen, ``before`` (stages of the user's view before
    the first drill-down), ``drill_down`` and ``drill_down_view`` (title of a drill-down, and the hash of its view),
    ``refreshed`` (how often the user refreshed) and ``shown`` (hash of the schema that the App shows).
    """

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

    def execute(self, ctx: foo.ExecutionContext) -> Any:
        """Handle an event, then update the panel; errors become notifications, never tracebacks."""
        method = ctx.params.get("__method__")
        if method in (None, "on_startup"):
            return self.on_startup(ctx)
        ctx.event_args = ctx.params.get("event_args", {})
        try:
            getattr(self, method)(ctx)
        except AgreementInputError as error:
            ctx.ops.notify(str(error), variant="error")
        except Exception as error:
            logger.exception("The agreement panel failed in %s", method)
            ctx.ops.notify(f"This did not work: {error}", variant="error")
        return self._show(ctx, always=method == "on_load")

    def on_load(self, ctx: foo.ExecutionContext) -> None:
        """Show the panel."""
        ctx.panel.set_data(DRILL_DOWN_TITLE, drill_down_title(_state(ctx, "drill_down")))

    def on_change_dataset(self, ctx: foo.ExecutionContext) -> None:
        """Reset the choices that belong to another dataset."""
        ctx.panel.set_state({"run_key": None, "of_view": False})
        _set_drill_down(ctx, None)

    def on_change_view(self, ctx: foo.ExecutionContext) -> None:
        """Nothing to do: numbers of the view are updated after each event."""

    def choose_run(self, ctx: foo.ExecutionContext) -> None:
        """Show another run."""
        value = ctx.params.get("value")
        if value and value != _state(ctx, "run_key"):
            ctx.panel.set_state("run_key", value)

    def choose_samples(self, ctx: foo.ExecutionContext) -> None:
        """Show the numbers of the whole run, or only of the samples in the view."""
        value = bool(ctx.params.get("value"))
        if value != bool(_state(ctx, "of_view")):
            ctx.panel.set_state("of_view", value)

    def refresh(self, ctx: foo.ExecutionContext) -> None:
        """Reload everything."""
        ctx.panel.set_state("refreshed", (_state(ctx, "refreshed") or 0) + 1)

    def compute(self, ctx: foo.ExecutionContext) -> None:
        """Open the form that computes agreement."""
        ctx.prompt(f"{names.PLUGIN_NAME}/{names.COMPUTE_AGREEMENT}")

    # ---- drill-downs ----

    def drill_down(self, ctx: foo.ExecutionContext) -> None:
        """Show the samples and labels behind a click."""
        state = self._require_run(ctx)
        samples = _samples(ctx) or ctx.dataset
        if is_generated(samples):
            samples = ctx.dataset
        title, view = samples_behind(
            samples, state.run_key or "", state.field_key or "", self._model(ctx, state), ctx.params
        )
        # counting all samples may take seconds, and the App does it anyway
        if not shows_any(view):
            ctx.ops.notify(f"{title}: none are left", variant="warning")
            return
        before = _before(ctx) if _in_drill_down(ctx) else serialized_stages(ctx.view)
        _set_drill_down(ctx, title, before, hash_of_view(view))
        ctx.ops.set_view(view)

    def open_sample(self, ctx: foo.ExecutionContext) -> None:
        """Open a sample of the table."""
        state = self._require_run(ctx)
        sample_id = sample_behind(self._model(ctx, state), ctx.params)
        if not len(ctx.dataset.select(sample_id)):
            raise AgreementInputError(f"The sample {sample_id} was deleted")
        ctx.ops.open_sample(id=sample_id)

    def back(self, ctx: foo.ExecutionContext) -> None:
        """Return to the view that the user had before the first drill-down."""
        before = _before(ctx)
        _set_drill_down(ctx, None)
        if before:
            ctx.ops.set_view(view_from_stages(ctx.dataset, before))
        else:
            ctx.ops.clear_view()

    # ---- what is shown ----

    def render(self, ctx: foo.ExecutionContext) -> types.Property:
        """The schema of the panel."""
        return self._schema(ctx, self._panel_state(ctx))

    def _show(self, ctx: foo.ExecutionContext, *, always: bool) -> None:
        """Send the schema, unless the App already has it."""
        try:
            state = self._panel_state(ctx)
            samples = _samples(ctx) if state.problem is None else None
            shown = hash_of(
                [state.keys, state.run_key, state.problem, state.notes, state.results_id],
                [hash_of_view(samples) if samples is not None else None, _state(ctx, "refreshed")],
                bool(_state(ctx, "of_view")),
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
        ctx.panel.set_state("shown", shown)
        ctx.ops.show_panel_output(schema)

    def _panel_state(self, ctx: foo.ExecutionContext) -> PanelState:
        try:
            dataset = ctx.dataset
        except fo.DatasetNotFoundError:
            return WITHOUT_DATASET
        return panel_state_of(dataset, _state(ctx, "run_key"))

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

    def _model(self, ctx: foo.ExecutionContext, state: PanelState) -> ViewModel:
        refreshed = _state(ctx, "refreshed") or 0
        return cached_view_model(ctx, state.run_key or "", state.results_id, _samples(ctx), refreshed)


def _state(ctx: foo.ExecutionContext, name: str) -> Any:
    return (ctx.panel_state or {}).get(name)


def _set_drill_down(
    ctx: foo.ExecutionContext, title: str | None, before: list[dict[str, Any]] | None = None, shown: str | None = None
) -> None:
    ctx.panel.set_state({"drill_down": title, "before": before, "drill_down_view": shown})
    ctx.panel.set_data(DRILL_DOWN_TITLE, drill_down_title(title))


def _in_drill_down(ctx: foo.ExecutionContext) -> bool:
    """Whether the App still shows the view that a drill-down opened."""
    return _state(ctx, "drill_down") is not None and hash_of_view(ctx.view) == _state(ctx, "drill_down_view")


def _before(ctx: foo.ExecutionContext) -> list[dict[str, Any]]:
    return _state(ctx, "before") or []


def _samples(ctx: foo.ExecutionContext) -> SampleCollection | None:
    """View that the numbers describe (None: whole run). Views opened by a click do not count."""
    if not _state(ctx, "of_view") or ctx.view is None:
        return None
    return view_from_stages(ctx.dataset, _before(ctx)) if _in_drill_down(ctx) else ctx.view

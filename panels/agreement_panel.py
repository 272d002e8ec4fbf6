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
from ..dataset_io.views import shows_any
from .board import board_of, fingerprint, view_print
from .doors import opened, sample_of
from .layout import DOOR_TITLE, door_title, message_schema, panel_schema
from .situation import WITHOUT_DATASET, Situation, situation_of

logger = logging.getLogger(__name__)

_ADVICE = "Refresh the panel; if that does not help, compute the run again with “overwrite”."


class AgreementPanel(foo.Panel):
    """Shows how far the annotators agree, and leads to the samples and labels behind every number.

    The state that the App keeps: ``run_key`` and ``of_view`` as chosen, ``before`` (stages of the view that the user
    had before the first door), ``door`` and ``door_print`` (what a door shows, and what tells its view from others),
    ``refreshed`` (how often the user asked for what is new) and ``shown`` (what tells the schema that the App has).
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
        """Handle an event, then show what changed; nothing that goes wrong reaches the App as a traceback."""
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
        """Show what there is."""
        ctx.panel.set_data(DOOR_TITLE, door_title(_state(ctx, "door")))

    def on_change_dataset(self, ctx: foo.ExecutionContext) -> None:
        """Forget what concerned another dataset."""
        ctx.panel.set_state({"run_key": None, "of_view": False})
        _set_door(ctx, None)

    def on_change_view(self, ctx: foo.ExecutionContext) -> None:
        """Follow the view, where the numbers are those of the view."""

    def choose_run(self, ctx: foo.ExecutionContext) -> None:
        """Show another run."""
        value = ctx.params.get("value")
        if value and value != _state(ctx, "run_key"):
            ctx.panel.set_state("run_key", value)

    def choose_samples(self, ctx: foo.ExecutionContext) -> None:
        """Show the numbers of the whole run, or of the samples in the view."""
        value = bool(ctx.params.get("value"))
        if value != bool(_state(ctx, "of_view")):
            ctx.panel.set_state("of_view", value)

    def refresh(self, ctx: foo.ExecutionContext) -> None:
        """Look again."""
        ctx.panel.set_state("refreshed", (_state(ctx, "refreshed") or 0) + 1)

    def compute(self, ctx: foo.ExecutionContext) -> None:
        """Open the form that computes agreement."""
        ctx.prompt(f"{names.PLUGIN_NAME}/{names.COMPUTE_AGREEMENT}")

    # ---- doors ----

    def open_door(self, ctx: foo.ExecutionContext) -> None:
        """Show the samples and labels behind what was clicked."""
        situation = self._require_run(ctx)
        board = self._board(ctx, situation)
        samples = _samples(ctx) or ctx.dataset
        if is_generated(samples):
            samples = ctx.dataset
        title, view = opened(samples, situation.run_key, situation.field_key, board, ctx.params)
        # counting all samples may take seconds, and the App does it anyway
        if not shows_any(view):
            ctx.ops.notify(f"{title}: there are none any more", variant="warning")
            return
        before = _before(ctx) if _in_door(ctx) else serialized_stages(ctx.view)
        _set_door(ctx, title, before, view_print(view))
        ctx.ops.set_view(view)

    def open_sample(self, ctx: foo.ExecutionContext) -> None:
        """Open a sample of the table."""
        situation = self._require_run(ctx)
        sample_id = sample_of(self._board(ctx, situation), ctx.params)
        if not len(ctx.dataset.select(sample_id)):
            raise AgreementInputError(f"The sample {sample_id} was deleted")
        ctx.ops.open_sample(id=sample_id)

    def back(self, ctx: foo.ExecutionContext) -> None:
        """Return to the view that the user had before the first door."""
        before = _before(ctx)
        _set_door(ctx, None)
        if before:
            ctx.ops.set_view(view_from_stages(ctx.dataset, before))
        else:
            ctx.ops.clear_view()

    # ---- what is shown ----

    def render(self, ctx: foo.ExecutionContext) -> types.Property:
        """The schema of the panel."""
        return self._schema(ctx, self._situation(ctx))

    def _show(self, ctx: foo.ExecutionContext, *, always: bool) -> None:
        """Send the schema, if the App has not got it."""
        try:
            situation = self._situation(ctx)
            samples = _samples(ctx) if situation.problem is None else None
            shown = fingerprint(
                [situation.keys, situation.run_key, situation.problem, situation.notes, situation.results_id],
                [view_print(samples) if samples is not None else None, _state(ctx, "refreshed")],
                bool(_state(ctx, "of_view")),
            )
            if shown == _state(ctx, "shown") and not always:
                return
            schema = self._schema(ctx, situation)
        except AgreementInputError as error:
            shown, schema = fingerprint(str(error)), message_schema(str(error), _ADVICE, self.method_to_uri)
        except Exception as error:
            logger.exception("The agreement panel cannot be shown")
            text = f"This cannot be shown: {error}"
            shown, schema = fingerprint(text), message_schema(text, _ADVICE, self.method_to_uri)
        ctx.panel.set_state("shown", shown)
        ctx.ops.show_panel_output(schema)

    def _situation(self, ctx: foo.ExecutionContext) -> Situation:
        try:
            dataset = ctx.dataset
        except fo.DatasetNotFoundError:
            return WITHOUT_DATASET
        return situation_of(dataset, _state(ctx, "run_key"))

    def _require_run(self, ctx: foo.ExecutionContext) -> Situation:
        """The situation, if there is a run to open doors of, and it is still the one that the user sees."""
        situation = self._situation(ctx)
        if situation.problem is not None:
            raise AgreementInputError(situation.problem)
        if _state(ctx, "run_key") not in (None, situation.run_key):
            raise AgreementInputError(situation.notes[0])
        return situation

    def _schema(self, ctx: foo.ExecutionContext, situation: Situation) -> types.Property:
        board = self._board(ctx, situation) if situation.problem is None else None
        return panel_schema(situation, board, self.method_to_uri, of_view=bool(_state(ctx, "of_view")))

    def _board(self, ctx: foo.ExecutionContext, situation: Situation) -> dict[str, Any]:
        refreshed = _state(ctx, "refreshed") or 0
        return board_of(ctx, situation.run_key, situation.results_id, _samples(ctx), refreshed)


def _state(ctx: foo.ExecutionContext, name: str) -> Any:
    return (ctx.panel_state or {}).get(name)


def _set_door(
    ctx: foo.ExecutionContext, door: str | None, before: list[dict[str, Any]] | None = None, shown: str | None = None
) -> None:
    ctx.panel.set_state({"door": door, "before": before, "door_print": shown})
    ctx.panel.set_data(DOOR_TITLE, door_title(door))


def _in_door(ctx: foo.ExecutionContext) -> bool:
    """Whether the App still shows what a door of the panel showed."""
    return _state(ctx, "door") is not None and view_print(ctx.view) == _state(ctx, "door_print")


def _before(ctx: foo.ExecutionContext) -> list[dict[str, Any]]:
    return _state(ctx, "before") or []


def _samples(ctx: foo.ExecutionContext) -> SampleCollection | None:
    """The view that the numbers are of; None for the whole run. What a door shows is no view of the user."""
    if not _state(ctx, "of_view") or ctx.view is None:
        return None
    return view_from_stages(ctx.dataset, _before(ctx)) if _in_door(ctx) else ctx.view

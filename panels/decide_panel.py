"""Panel "Decide" beside an open sample, for adjudication: its disputed objects, one button for each version."""

from __future__ import annotations

from typing import Any, ClassVar

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement.settings.errors import AgreementInputError
from ..dataset_io.database.fiftyone_private import is_generated
from ..dataset_io.record.run_labels import open_run_labels
from .agreement_panel import AgreementPanel
from .events import deciding, keep
from .items import Item
from .layout import beside_schema
from .panel_state import PanelState
from .tab_decide import beside_items, next_sample


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
        chosen = _open_sample_state(ctx)
        if chosen != deciding(ctx):
            keep(ctx, chosen)

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
    """Decide state of the open sample; objects of another one cannot be gone back to."""
    chosen, sample = deciding(ctx), _open_sample(ctx)
    return chosen if chosen.get("sample") == sample else {**chosen, "sample": sample, "at": None, "past": []}


def _open_sample(ctx: foo.ExecutionContext) -> str | None:
    """Id of the sample that is open, also where the App shows patches of it."""
    current: Any = ctx.current_sample
    if current is not None and ctx.view is not None and is_generated(ctx.view):
        return next(iter(ctx.view.select(current).values("sample_id")), None)
    return None if current is None else str(current)

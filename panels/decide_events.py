"""Events of adjudication in a panel: filter, decide, edit, undo."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import fiftyone.operators as foo

from ..agreement.settings.errors import AgreementInputError
from ..dataset_io.app.label_schemas import end_editing
from . import tab_decide
from .drawing import DECIDER
from .drill_down import go_back, is_behind, show_view
from .events import deciding, keep, note, state_part
from .panel_state import unusable_parts
from .run_panel import ASK_BROWSER, RunPanel

_ID = re.compile("[0-9a-f]{24}")


def _seeking(what: str) -> Callable[[RunPanel, foo.ExecutionContext], None]:
    """The event of looking for objects with another verdict, annotator, class or number of annotators to decide on."""

    def seek(panel: RunPanel, ctx: foo.ExecutionContext) -> None:
        value = ctx.params.get("value")
        if what == "votes" and str(value).isdigit():
            value = int(value)
        chosen = None if value == tab_decide.ALL else value
        if value and not unusable_parts({"decide": {what: chosen}}) and deciding(ctx).get(what) != chosen:
            leave_form(ctx)
            keep(ctx, {**deciding(ctx), "skipped": False, "at": None, what: chosen})

    return seek


class DecideEvents(RunPanel):
    """The events in which somebody decides."""

    def start_deciding(self, ctx: foo.ExecutionContext) -> None:
        """Take the name that the user typed, which the browser keeps."""
        typed = state_part(ctx, DECIDER)
        if not isinstance(typed, str) or not typed.strip():
            raise AgreementInputError("Type your name first: it is stored with every decision")
        ctx.panel.set_state({"decide": {**deciding(ctx), "by": typed.strip()}, DECIDER: ""})
        ctx.trigger(ASK_BROWSER, {"name": typed.strip()})

    def hear_browser(self, ctx: foo.ExecutionContext) -> None:
        """Take the name that the browser kept, and the colours of the annotators' fields in its grid."""
        chosen, name = deciding(ctx), ctx.params.get("name")
        by = chosen.get("by") or (name.strip() or None if isinstance(name, str) else None)
        colours = ctx.params.get("colours") if isinstance(ctx.params.get("colours"), list) else []
        known = [each for each in colours if isinstance(each, dict) and isinstance(each.get("path"), str)]
        keep(ctx, {**chosen, "by": by, "colours": known})

    def ask_name(self, ctx: foo.ExecutionContext) -> None:
        """Ask who decides, again."""
        chosen = deciding(ctx)
        keep(ctx, {**chosen, "by": None, "colours": chosen.get("colours") or []})

    def show_filters(self, ctx: foo.ExecutionContext) -> None:
        """Show, or hide, the filters of objects."""
        chosen = deciding(ctx)
        keep(ctx, {**chosen, "filtering": not chosen.get("filtering")})

    seek_verdict, seek_annotator, seek_label, seek_votes = map(_seeking, ("verdict", "annotator", "label", "votes"))

    def seek_skipped(self, ctx: foo.ExecutionContext) -> None:
        """Go through the skipped objects."""
        keep(ctx, {**deciding(ctx), "skipped": True, "at": None})

    def decide_object(self, ctx: foo.ExecutionContext) -> None:
        """Decide on the object that is shown, and show the next one."""
        _require_object(ctx)
        leave_form(ctx)
        problem = tab_decide.decide_on(ctx.dataset, str(self._require_run(ctx).run_key), deciding(ctx), ctx.params)
        if problem is not None:
            ctx.ops.notify(problem, variant="warning")
        _go_on(ctx, tab_decide.after_decision(deciding(ctx), ctx.params))

    def previous_object(self, ctx: foo.ExecutionContext) -> None:
        """Show the object before again."""
        leave_form(ctx)
        _go_on(ctx, tab_decide.one_back(deciding(ctx)))

    def undo_decision(self, ctx: foo.ExecutionContext) -> None:
        """Take back what the user decided last, and show that object again."""
        leave_form(ctx)
        undone = tab_decide.undo_last(ctx.dataset, str(self._require_run(ctx).run_key), deciding(ctx))
        if undone is None:
            ctx.ops.notify("There is nothing to undo", variant="warning")
        else:
            _go_on(ctx, undone)

    def edit_object(self, ctx: foo.ExecutionContext) -> None:
        """Open FiftyOne's own form on what is decided to be right of the object; recorded before the next event."""
        _require_object(ctx)
        state, chosen = self._require_run(ctx), deciding(ctx)
        found = tab_decide.edit_on(
            ctx.dataset, str(state.run_key), self._shown(ctx, state).class_names, chosen, ctx.params
        )
        if isinstance(found, str):
            ctx.ops.notify(found, variant="warning")
            keep(ctx, tab_decide.after_decision(chosen, ctx.params))
            return
        keep(ctx, tab_decide.while_editing(ctx.dataset, chosen, ctx.params, found, ctx.active_fields or []))
        show_view(ctx, "The label that you edit", found.view)

    def finish_editing(self, ctx: foo.ExecutionContext) -> None:
        """Show the next object after a label was edited; the same one if nothing was."""
        _require_object(ctx)
        leave_form(ctx)
        if tab_decide.is_decided(ctx.dataset, str(self._require_run(ctx).run_key), ctx.params):
            keep(ctx, tab_decide.after_decision(deciding(ctx), ctx.params))
        else:
            ctx.ops.notify("Nothing was changed in the form, so nothing is decided", variant="warning")

    def count_decisions(self, ctx: foo.ExecutionContext) -> None:
        """Count how right everybody was."""
        found = tab_decide.counted_decisions(ctx.dataset, str(self._require_run(ctx).run_key))
        keep(ctx, {**deciding(ctx), "counted": found})


def _go_on(ctx: foo.ExecutionContext, chosen: dict[str, Any]) -> None:
    """Show the next object, or one before; the buttons carry the way that was gone, which the App is not told."""
    if (state_part(ctx, "decide") or {}).get("at"):
        keep(ctx, chosen)
    else:
        ctx.params[tab_decide.WAY] = tab_decide.way_of(chosen)
        note(ctx, tab_decide.WAY, ctx.params[tab_decide.WAY])


def _require_object(ctx: foo.ExecutionContext) -> None:
    """Check that a button named an object."""
    document = ctx.params.get("document")
    if not isinstance(document, str) or not _ID.fullmatch(document):
        raise AgreementInputError(f"`document` must be the id of what holds the object, got {document!r}")


def open_form(ctx: foo.ExecutionContext) -> None:
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


def leave_form(ctx: foo.ExecutionContext) -> bool:
    """End the editing of a label, and restore the view before it; False if that was not left."""
    editing = deciding(ctx).get("editing")
    if editing is None:
        return False
    end_editing(ctx.dataset)
    keep(ctx, tab_decide.after_editing(deciding(ctx)))
    goes_back = is_behind(ctx)
    if goes_back:
        ctx.ops.set_active_fields(editing["active"])
        go_back(ctx)
    return goes_back

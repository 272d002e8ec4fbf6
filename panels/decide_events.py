"""Events of adjudication in a panel: filter, decide, edit, undo."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

import fiftyone as fo
import fiftyone.operators as foo

from .. import names
from ..agreement.settings.errors import AgreementInputError
from ..dataset_io import record_own_labels, report_decisions
from ..dataset_io.app.label_schemas import end_editing
from ..dataset_io.database.fiftyone_private import reload_samples
from ..dataset_io.decide.decision_units import CHANGED, DECIDED, OPEN, SKIPPED
from ..dataset_io.decide.gold import Gold
from ..dataset_io.decide.next_object import ShownObject, close_unedited, decide_seen, edit_object, shown_object
from ..dataset_io.record.run_labels import RunLabels, open_run_labels
from ..dataset_io.record.sample_index import stamps_of
from ..dataset_io.results.load import MOST_DECIDED
from .drawing import DECIDER
from .drill_down import go_back, is_behind, show_view
from .panel_state import OBJECT_ID, unusable_parts
from .run_panel import ASK_BROWSER, RunPanel, deciding, put, state_part
from .tab_decide import ALL

#: objects that one can go back to, and samples that are watched for edits, at most
_MOST_BACK, _MOST_WATCHED = 50, 10
#: the App has stored an edit after this time, in seconds
_SAVED_SECONDS = 5.0


def _seeking(what: str) -> Callable[[RunPanel, foo.ExecutionContext], None]:
    """The event that sets a filter of objects: verdict, annotator, class (``label``) or number of ``votes``."""

    def seek(panel: RunPanel, ctx: foo.ExecutionContext) -> None:
        value = ctx.params.get("value")
        if what == "votes" and str(value).isdecimal():
            value = int(value)
        chosen = None if value == ALL else value
        if value and not unusable_parts({"decide": {what: chosen}}) and deciding(ctx).get(what) != chosen:
            leave_form(ctx)
            put(ctx, decide={**deciding(ctx), "skipped": False, "at": None, what: chosen})

    return seek


class DecideEvents(RunPanel):
    """A panel with the events of adjudication."""

    def start_deciding(self, ctx: foo.ExecutionContext) -> None:
        """Take the name that the user typed, which the browser keeps."""
        typed = state_part(ctx, DECIDER)
        if not isinstance(typed, str) or not typed.strip():
            raise AgreementInputError("Type your name first: it is stored with every decision")
        put(ctx, decide={**deciding(ctx), "by": typed.strip()}, decider="")
        ctx.trigger(ASK_BROWSER, {"name": typed.strip()})

    def hear_browser(self, ctx: foo.ExecutionContext) -> None:
        """Take the name that the browser kept, and the colours of the annotators' fields in its grid.

        The state may have another one: that of somebody from whose browser, or workspace, it comes.
        """
        chosen, by = deciding(ctx), _heard_name(ctx)
        colours = ctx.params.get("colours") if isinstance(ctx.params.get("colours"), list) else []
        known = [each for each in colours if isinstance(each, dict) and isinstance(each.get("path"), str)]
        put(ctx, decide={**chosen, "by": by, "colours": known})

    def ask_name(self, ctx: foo.ExecutionContext) -> None:
        """Forget the name of the person who decides, so that the panel asks for it."""
        chosen = deciding(ctx)
        put(ctx, decide={**chosen, "by": None, "colours": chosen.get("colours") or []})

    def show_filters(self, ctx: foo.ExecutionContext) -> None:
        """Show, or hide, the filters of objects."""
        chosen = deciding(ctx)
        put(ctx, decide={**chosen, "filtering": not chosen.get("filtering")})

    seek_verdict, seek_annotator, seek_label, seek_votes = map(_seeking, ("verdict", "annotator", "label", "votes"))

    def seek_skipped(self, ctx: foo.ExecutionContext) -> None:
        """Go through the skipped objects."""
        put(ctx, decide={**deciding(ctx), "skipped": True, "at": None})

    def decide_object(self, ctx: foo.ExecutionContext) -> None:
        """Decide on the object that is shown, as the button says, and show the next one.

        The button names the decision that was shown with it: another one, which somebody made meanwhile, stays.
        """
        place, by = _object_of(ctx), _name_of(ctx)
        leave_form(ctx)
        labels, choice, seen = self._labels(ctx), ctx.params.get("choice"), ctx.params.get("decision")
        found = shown_object(labels, names.DEFAULT_GOLD_FIELD, *place)
        wanted = {"decided_by": by, "choice": choice, "annotator": ctx.params.get("annotator")}
        problem, meanwhile = None, "Somebody decided on this object meanwhile"
        if found is None:
            problem = "The labels of this object were deleted or added since the run"
        elif found.state in (CHANGED, DECIDED) and found.decision is not None and found.decision["id"] != seen:
            is_again = found.state == DECIDED and wanted.items() <= found.decision.items()  # as if pressed twice
            problem = None if is_again else meanwhile
        elif found.state != SKIPPED or choice != "skip":
            options = {"annotator": wanted["annotator"], "by": by, "seen": seen}
            done = decide_seen(labels, names.DEFAULT_GOLD_FIELD, found, choice, **options)
            if not done.n_decided:
                problem = meanwhile if done.n_before else "This version cannot be taken; it is gone"
        if problem is not None:
            ctx.ops.notify(problem, variant="warning")
        _go_on(ctx, _after_decision(deciding(ctx), place))

    def previous_object(self, ctx: foo.ExecutionContext) -> None:
        """Show the object before again."""
        leave_form(ctx)
        past = list(deciding(ctx).get("past") or [])
        _go_on(ctx, stepped(deciding(ctx), at=past.pop() if past else None, past=past))

    def undo_decision(self, ctx: foo.ExecutionContext) -> None:
        """Take back the decision that the button names, and show its object again."""
        leave_form(ctx)
        run_key, chosen, step = str(self._require_run(ctx).run_key), deciding(ctx), ctx.params.get("step")
        gold = None
        if isinstance(step, str) and Gold.left_in(ctx.dataset, names.DEFAULT_GOLD_FIELD) is not None:
            gold = Gold.open(ctx.dataset, names.DEFAULT_GOLD_FIELD)
        found = None if gold is None else gold.only_decision(step)
        if gold is None or not gold.undo(step):
            said = "There is nothing to undo" if step is None else "It was taken back, or decided again, meanwhile"
            ctx.ops.notify(said, variant="warning")
            _go_on(ctx, stepped(chosen))
            return
        reload_samples(ctx.dataset)
        past = chosen.get("past") or []
        at = None if found is None or found[1]["run_key"] != run_key else [found[0], found[1]["unit"]]
        if chosen.get("sample") and at not in past:  # the panel beside a sample shows no objects of other samples
            at = None
        _go_on(ctx, stepped(chosen, at=at, past=[each for each in past if each != at]))

    def edit_object(self, ctx: foo.ExecutionContext) -> None:
        """Show the label that is decided to be right, to edit it; edits are recorded before the next event.

        Its sample is watched for edits. The fields that the App shows are kept, to show them again afterwards.
        """
        place, by, state, chosen = _object_of(ctx), _name_of(ctx), self._require_run(ctx), deciding(ctx)
        again, classes = ctx.params.get("decision"), self._shown(ctx, state).class_names
        found = edit_object(
            self._labels(ctx), names.DEFAULT_GOLD_FIELD, *place, by=by, class_names=classes, again=again
        )
        if found is None:
            said = "The object is gone, or somebody decided meanwhile that there is none"
            ctx.ops.notify(said, variant="warning")
            put(ctx, decide=_after_decision(chosen, place))
            return
        editing = {"shown": found.shown_id, "opens": "view", "fields": found.fields, "step": found.step}
        editing["active"] = ctx.active_fields or []
        watched = {**(chosen.get("watched") or {}), **stamps_of(ctx.dataset, [found.sample_id])}
        watched = dict(list(watched.items())[-_MOST_WATCHED:])
        put(ctx, decide=stepped(chosen, at=list(place), editing=editing, editor=by, watched=watched))
        show_view(ctx, "The label that you edit", found.view)

    def finish_editing(self, ctx: foo.ExecutionContext) -> None:
        """Show the next object after a label was edited; the same one if nothing was changed."""
        place = _object_of(ctx)
        leave_form(ctx)
        found: ShownObject | None = shown_object(self._labels(ctx), names.DEFAULT_GOLD_FIELD, *place)
        if found is not None and found.state not in (OPEN, SKIPPED):
            put(ctx, decide=_after_decision(deciding(ctx), place))
        else:
            ctx.ops.notify("Nothing was changed in the form, so nothing is decided", variant="warning")

    def count_decisions(self, ctx: foo.ExecutionContext) -> None:
        """Compute the accuracy of all annotators; of very many decisions without intervals, which take long."""
        many = Gold.open(ctx.dataset, names.DEFAULT_GOLD_FIELD).has_more_than(MOST_DECIDED)
        report = report_decisions(ctx.dataset, str(self._require_run(ctx).run_key), resamples=0 if many else None)
        put(ctx, decide={**deciding(ctx), "counted": dataclasses.asdict(report)})

    def _record_edits(self, ctx: foo.ExecutionContext) -> None:
        """Record what was edited in the samples that the user opened to edit, and close the forms.

        Edits wait while the run has no numbers, as it is computed again, and while nobody has said a name.
        """
        chosen = deciding(ctx)
        watched, left = chosen.get("watched") or {}, chosen.get("left") or []
        if not watched:
            return
        state, by = self._panel_state(ctx), chosen.get("editor") or chosen.get("by")
        if not by or (state.problem is not None and state_part(ctx, "run_key") in state.keys):
            return
        try:
            run_key = str(self._require_run(ctx).run_key)
            if Gold.left_in(ctx.dataset, names.DEFAULT_GOLD_FIELD) is None:  # everything was taken back
                put(ctx, decide={**chosen, "left": [], "watched": {}})
                return
            closed = [each for each in left if each[1] < time.time() - _SAVED_SECONDS]
            for step, _ in closed:
                close_unedited(ctx.dataset, names.DEFAULT_GOLD_FIELD, step)
            if closed:
                chosen = stepped(chosen, left=[each for each in left if each not in closed])
            stamps = stamps_of(ctx.dataset, list(watched))
            changed = [each for each, stamp in stamps.items() if stamp != watched[each]]
            if changed:
                record_own_labels(ctx.dataset.select(changed), run_key, by=by)
                chosen = stepped(chosen, watched={each: stamps.get(each, watched[each]) for each in watched})
        except AgreementInputError:  # the run, or the decisions, are gone; the user may still see the label
            with contextlib.suppress(fo.DatasetNotFoundError):
                _end_form(ctx)
            chosen = {**deciding(ctx), "watched": {}, "editing": None}
        put(ctx, decide=chosen)

    def _labels(self, ctx: foo.ExecutionContext) -> RunLabels:
        return open_run_labels(ctx.dataset, str(self._require_run(ctx).run_key))


def stepped(chosen: Mapping[str, Any], **changed: Any) -> dict[str, Any]:
    """The state of Decide after another step, which is counted (``n``), so that the panel is drawn anew."""
    return {**chosen, **changed, "n": int(chosen.get("n") or 0) + 1}


def _after_decision(chosen: Mapping[str, Any], place: tuple[str, str]) -> dict[str, Any]:
    """The state of Decide after a decision: the next object, with a way back to this one."""
    past = [*(each for each in chosen.get("past") or () if each != [*place]), [*place]]
    return stepped(chosen, at=None, past=past[-_MOST_BACK:])


def _go_on(ctx: foo.ExecutionContext, chosen: dict[str, Any]) -> None:
    """Show the next object, or one before; the App is told of it only if the one shown was chosen (``at``)."""
    put(ctx, quietly=not deciding(ctx).get("at"), decide=chosen)


def _heard_name(ctx: foo.ExecutionContext) -> str | None:
    """The name that the browser sent, None if nobody said one there; that in the state if the browser stores none."""
    name = ctx.params.get("name", deciding(ctx).get("by"))
    return name.strip() or None if isinstance(name, str) else None


def _name_of(ctx: foo.ExecutionContext) -> str:
    """Name of the person who decides: of the one in whose browser the button was pressed, whom the panel shows then."""
    chosen, by = deciding(ctx), _heard_name(ctx)
    if by != chosen.get("by"):
        put(ctx, decide={**chosen, "by": by})
    if by is None:
        raise AgreementInputError("Say your name first: it is stored with every decision")
    if by != (chosen.get("by") or by):
        ctx.ops.notify(f"You decide as {by}, the name that this browser keeps")
    return by


def _object_of(ctx: foo.ExecutionContext) -> tuple[str, str]:
    """The document and the unit of the object that a button names."""
    document = ctx.params.get("document")
    if not isinstance(document, str) or not OBJECT_ID.fullmatch(document):
        raise AgreementInputError(f"`document` must be the id of what holds the object, got {document!r}")
    return document, str(ctx.params.get("unit"))


def open_form(ctx: foo.ExecutionContext) -> None:
    """Show the field of the label that is to be edited, and its form when the user has opened it.

    The user must open the sample: if we open it, the App lets its labels be edited only if it showed their field
    before. ``ctx.ops.open_sample`` has no mode, so the operator is triggered by name.
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
    put(ctx, decide={**deciding(ctx), "editing": {**editing, "opens": opens}})


def leave_form(ctx: foo.ExecutionContext) -> bool:
    """End the editing of a label, and restore the view before it; returns whether a view was restored."""
    goes_back = _end_form(ctx) and is_behind(ctx)
    if goes_back:
        go_back(ctx)
    return goes_back


def _end_form(ctx: foo.ExecutionContext) -> bool:
    """End the editing of a label, whose view stays; returns whether there was one."""
    chosen = deciding(ctx)
    editing = chosen.get("editing")
    if editing is None:
        return False
    end_editing(ctx.dataset)
    # an edit may still be on its way to the database
    left = [] if editing.get("step") is None else [[editing["step"], time.time()]]
    put(ctx, decide={**chosen, "editing": None, "left": [*(chosen.get("left") or []), *left]})
    if is_behind(ctx):
        ctx.ops.set_active_fields(editing["active"])
    return True

"""The forms that show labels or disputed objects of a run, save its views, or write one label for every object."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

from fiftyone.core.collections import SampleCollection

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io import add_units, agreement_patches, resolve_units, save_agreement_views, view_agreement
from ..dataset_io.app.settings import color_names
from ..dataset_io.database.fiftyone_private import is_generated, serialized_stages
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.units.units_field import (
    DISPUTED,
    DerivedLabels,
    check_can_derive,
    check_units,
    check_verdicts,
    derived_record,
    has_units,
)
from ..dataset_io.views.view_request import OF_MODEL, OF_REFERENCE, check_request, options_without
from .form import Filled, Form
from .inputs import Choice, FormField, Notice, Number, Several, Switch, slider

#: the choice of a dropdown for no condition
_ANY = "any"
#: seconds for which the title of a view that a form showed is stored for the panel
_TOLD_SECONDS = 24 * 3600


def _view_fields(form: Filled) -> Iterator[FormField]:
    annotators, without = form.labels.annotators, options_without(form.labels)
    models = form.labels.config.models if form.labels.family.has_objects else ()
    if "verdict" not in without:
        verdicts = dict.fromkeys((*form.labels.family.verdicts, *(OF_MODEL if models else ())))
        yield Choice("verdict", "Verdict", "Labels with this verdict", values=(_ANY, *verdicts))
    hint = "One: the labels of this annotator; two: where these two disagree"
    yield Several("annotators", "Annotators", hint, values=annotators)
    if "missed_by" not in without and len(annotators) > 2:
        hint = "Objects of other annotators that this annotator missed"
        yield Choice("missed_by", "Missed by", hint, values=(_ANY, *annotators))
    if "classes" not in without:
        yield Several("classes", "Classes", "The class of a label, or of another label of the same object")
    if "confusion" not in without:
        hint = "Two classes of one object; if annotators are chosen, the first one gave the first class"
        yield Several("confusion", "Confused classes", hint)
    if form.labels.config.reference is not None and "reference" not in without:
        hint = "What the reference says of the labels; missed: its labels that an annotator did not draw"
        yield Choice("reference", "Against the reference", hint, values=(_ANY, *OF_REFERENCE))
    if models:
        hint = "The labels of this model; extra: those that nobody drew; missed: labels that the model does not have"
        yield Choice("model", "Model", hint, values=(_ANY, *models))
    if "votes" not in without:
        yield Number("least_votes", "Minimum number of votes", least=1, is_whole=True)
        yield Number("most_votes", "Maximum number of votes", least=1, is_whole=True)
    yield Number("min_score", "Lowest score of samples", least=0.0, most=1.0)
    yield Number("max_score", "Highest score of samples", least=0.0, most=1.0)
    yield from form.within_view()
    check_request(open_run_labels(form.samples, form.run_key), _conditions(form.params))


def _conditions(params: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``run.view`` from a form; empty inputs are no conditions."""
    wanted = (
        *("verdict", "annotators", "missed_by", "classes", "confusion"),
        *("reference", "model", "min_score", "max_score"),
    )
    options = {name: params[name] for name in wanted if params.get(name) not in (None, "", [], _ANY)}
    votes = params.get("least_votes"), params.get("most_votes")
    return options if votes == (None, None) else {**options, "votes": votes}


def _show(form: Filled, title: str, view: SampleCollection) -> None:
    """Show a view; its title and the view before it are stored for the panel, which shows them and a way back."""
    before, shown = serialized_stages(form.ctx.view), serialized_stages(view, with_ids=False)
    told = json.dumps({"title": title, "shown": shown, "before": before})
    form.ctx.store(names.AGREEMENT_PANEL).set(names.SHOWN_BY_FORM, told, ttl=_TOLD_SECONDS)
    form.ctx.ops.set_view(view)


def _view(form: Filled) -> dict[str, Any]:
    view = view_agreement(form.samples, form.run_key, **_conditions(form.params))
    n_samples = len(view)
    if n_samples:
        _show(form, "Labels found by their agreement", view)
    else:
        form.ctx.ops.notify("There is nothing to show: no label or sample meets all conditions", variant="warning")
    return {"n_samples": n_samples}


VIEW = Form(
    name=names.VIEW_AGREEMENT,
    label="Find labels by annotator agreement",
    sentence="Show who disagrees about what: labels by verdict, annotators, class, votes or score",
    icon="filter_alt",
    submit="Show",
    run="The run to view",
    fields=_view_fields,
    execute=_view,
    risk="low",
)


def _save(form: Filled) -> dict[str, Any]:
    saved = save_agreement_views(form.dataset, form.run_key)
    form.tell(f"Saved {', '.join(repr(name) for name in saved)}")
    return {"saved": saved}


SAVE_VIEWS = Form(
    name=names.SAVE_AGREEMENT_VIEWS,
    label="Save annotator agreement views",
    sentence="Save the usual views of an agreement run: lowest score, class conflicts, missed, lone",
    icon="bookmark_add",
    run="The run whose views are saved; they are removed with it",
    execute=_save,
)


def _patch_fields(form: Filled) -> Iterator[FormField]:
    hint = "Objects with one of these verdicts; none for all disputed objects"
    yield Several("verdict", "Verdicts", hint, values=(*DISPUTED, "agreed"))
    yield Number("max_units", "At most so many", "The worst ones", least=1, is_whole=True)
    if not is_generated(form.ctx.view):
        yield from form.within_view()
    try:
        check_units(form.labels)
    except AgreementInputError:
        if not form.labels.family.has_objects:
            raise
        hint = "The run has no labels of objects yet: one for every object, removed with the run"
        yield Switch("make_units", "Write the objects first", hint, default=True)
        if not form.params.get("make_units", True):
            raise
    check_verdicts(form.get("verdict"))


def _show_patches(form: Filled) -> dict[str, Any]:
    ctx, run_key = form.ctx, form.run_key
    if form.get("make_units") and not has_units(form.labels):
        add_units(form.dataset, run_key)
        ctx.ops.reload_dataset()
    samples = form.dataset if is_generated(ctx.view) else form.samples
    view = agreement_patches(samples, run_key, verdict=form.get("verdict"), max_units=form.params.get("max_units"))
    n_units = len(view)
    if n_units:
        _show(form, "Disputed objects, the worst first", view)
        colors = color_names(open_run_labels(form.dataset, run_key))
        if colors:
            legend = ", ".join(f"{name} {color}" for name, color in colors.items())
            ctx.ops.notify(f"Who drew what: {legend}", variant="info")
    else:
        ctx.ops.notify("There is nothing to show: no object has such a verdict", variant="warning")
    return {"n_units": n_units}


PATCHES = Form(
    name=names.AGREEMENT_PATCHES,
    label="Show disputed objects",
    sentence="One patch for every object that annotators disagree about, the worst first",
    icon="grid_view",
    run="The run whose disputed objects are shown",
    fields=_patch_fields,
    execute=_show_patches,
)


_SHAPES = {
    "medoid": "The shape that is most similar to the others (medoid)",
    "vote": "The pixels that at least half of the annotators drew",
}

_VOTES = {"majority": "More than half of the assigned annotators", "share": "A share of the assigned annotators"}


def _fields(
    suffix: str, called: str, more: Callable[[Filled], Iterator[FormField]]
) -> Callable[[Filled], Iterator[FormField]]:
    """The inputs of a form that writes one label for every object into a field with this suffix, and ``more``."""

    def fields(form: Filled) -> Iterator[FormField]:
        labels = form.labels
        if labels.family.has_objects and labels.kinds[0].comparable == "shapes":
            yield Choice("shapes", "Masks and polygons", values=_SHAPES)
        yield from more(form)
        if derived_record(labels.run, suffix) is not None:
            yield Switch("overwrite", "Overwrite", "Replace what was written before")
        check_can_derive(labels, suffix, called, overwrite=form.get("overwrite", False))

    return fields


def _told(form: Filled, derived: DerivedLabels) -> dict[str, Any]:
    """Notify the user of written and left-out labels; returns the numbers as the result."""
    form.tell(derived.told(), variant="warning" if derived.n_left_out or derived.n_changed else "success")
    return dataclasses.asdict(derived)


ADD_UNITS = Form(
    name=names.ADD_AGREEMENT_UNITS,
    label="Write one label for every object",
    sentence="Write one label for every object that the annotators drew, with its verdict and votes",
    icon="join_inner",
    run="The run whose objects get a label each",
    fields=_fields(names.UNITS_SUFFIX, "run.objects.write", lambda form: iter(())),
    execute=lambda form: _told(
        form, add_units(form.dataset, form.run_key, **form.given("shapes", "overwrite"), progress=form.progress)
    ),
    delegated=True,
)


def _is_share(form: Filled) -> bool:
    """True if objects need the votes of a share of the annotators (chosen, or implied by a given quorum)."""
    return bool(form.get("votes", "share" if "quorum" in form.params else "majority") == "share")


def _vote_fields(form: Filled) -> Iterator[FormField]:
    yield Choice("votes", "Votes that an object needs", values=_VOTES)
    if _is_share(form):
        yield slider("quorum", "Quorum", "Least share of annotators")
    yield Switch("keep_ties", "Keep ties", "Also objects on whose class the votes are equal")
    kept = "The annotators' own labels are not touched"
    written = "a new field gets the objects that enough of the assigned annotators drew"
    yield Notice("kept", f"{kept}; {written}")


def _resolve(form: Filled) -> dict[str, Any]:
    made = resolve_units(
        form.dataset,
        form.run_key,
        **form.given("shapes", "overwrite"),
        quorum=form.params.get("quorum", 0.5) if _is_share(form) else "majority",
        ties="keep" if form.params.get("keep_ties", False) else "leave_out",
        progress=form.progress,
    )
    return _told(form, made)


RESOLVE = Form(
    name=names.RESOLVE_UNITS,
    label="Make consensus labels",
    sentence="Write the consensus of the annotators into a new field: objects and classes by vote",
    icon="how_to_vote",
    run="The run whose objects are decided by vote",
    fields=_fields(names.CONSENSUS_SUFFIX, "run.objects.consensus", _vote_fields),
    execute=_resolve,
    delegated=True,
)

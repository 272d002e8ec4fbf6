"""The operators for disputed objects and labels: show them one by one, tag them, send them to be annotated again."""

from __future__ import annotations

from typing import Any, get_args

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io import add_units, agreement_patches, annotate_disputed, tag_agreement_labels
from ..dataset_io.app.settings import color_names
from ..dataset_io.database.fiftyone_private import is_generated
from ..dataset_io.record.run_labels import RunLabels, open_run_labels
from ..dataset_io.units.annotate import check_anno_key, check_backend, configured_backends, disputed_view
from ..dataset_io.units.label_tags import DEFAULT_TAG, TagTarget
from ..dataset_io.units.patches import DISPUTED, check_units, check_verdicts, has_units
from .base import AgreementOperator, add_choice, add_several, add_switch, chosen_run
from .selection import (
    add_within_view,
    chosen_labels,
    chosen_samples,
    describe_choice,
    is_chosen,
    samples_within,
    shows_part,
)


class AgreementPatches(AgreementOperator, function=agreement_patches):
    """Shows every disputed object as a patch, with the label of every annotator."""

    operator_name = names.AGREEMENT_PATCHES
    label = "Show disputed objects"
    description = "One patch for every object that annotators disagree about, the worst first"
    icon = "grid_view"
    submit = "Show"
    run_text = "The run whose disputed objects are shown"

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        description = "Objects with one of these verdicts; none for all disputed objects"
        add_several(inputs, "verdict", "Verdicts", description, (*DISPUTED, "agreed"))
        inputs.int("max_units", label="At most so many", description="The worst ones", min=1)
        if _shows_samples(ctx):
            add_within_view(inputs)
        self._offer_objects(inputs, ctx)
        check_verdicts(ctx.params.get("verdict") or None)

    @staticmethod
    def _offer_objects(inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        """Offer to write the labels of objects first, if the run has none.

        Raises:
            AgreementInputError: if there are none and the user declines
        """
        labels = open_run_labels(ctx.dataset, chosen_run(ctx))
        try:
            check_units(labels)
        except AgreementInputError:
            if not labels.family.has_objects:
                raise
            description = "The run has no labels of objects yet: one for every object, removed with the run"
            add_switch(inputs, "make_units", "Write the objects first", description, default=True)
            if not ctx.params.get("make_units", True):
                raise

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        run_key = chosen_run(ctx)
        if ctx.params.get("make_units") and not has_units(open_run_labels(ctx.dataset, run_key)):
            add_units(ctx.dataset, run_key)
            ctx.ops.reload_dataset()
        verdict, max_units = ctx.params.get("verdict") or None, ctx.params.get("max_units")
        samples = samples_within(ctx) if _shows_samples(ctx) else ctx.dataset
        view = agreement_patches(samples, run_key, verdict=verdict, max_units=max_units)
        n_units = len(view)
        if n_units:
            ctx.ops.set_view(view)
            colors = color_names(open_run_labels(ctx.dataset, run_key))
            if colors:
                legend = ", ".join(f"{name} {color}" for name, color in colors.items())
                ctx.ops.notify(f"Who drew what: {legend}", variant="info")
        else:
            ctx.ops.notify("There is nothing to show: no object has such a verdict", variant="warning")
        return {"n_units": n_units}


class TagAgreementLabels(AgreementOperator, function=tag_agreement_labels):
    """Tags the annotators' own labels, or samples, in the dataset."""

    operator_name = names.TAG_AGREEMENT_LABELS
    label = "Tag annotators' labels"
    description = "Tag, or untag, the annotators' own labels that are selected or shown, or their samples"
    icon = "local_offer"
    submit = "Apply"
    run_text = "The run whose labels are tagged"

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        inputs.str("tag", label="Tag", default=DEFAULT_TAG, required=True)
        add_choice(inputs, "on", "On", get_args(TagTarget), default="labels", as_radio_buttons=True)
        labels = open_run_labels(ctx.dataset, chosen_run(ctx))
        _add_annotators(inputs, labels)
        add_switch(inputs, "remove", "Remove the tag")
        inputs.view("target", types.Notice(label=f"This concerns {describe_choice(ctx, labels)}"))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        on, remove = ctx.params.get("on", "labels"), ctx.params.get("remove") or False
        labels = open_run_labels(ctx.dataset, chosen_run(ctx))
        tag = ctx.params.get("tag", DEFAULT_TAG)
        found = tag_agreement_labels(
            chosen_samples(ctx),
            labels.run_key,
            tag=tag,
            annotators=ctx.params.get("annotators") or None,
            on=on,
            selected=chosen_labels(ctx, labels),
            remove=remove,
        )
        ctx.ops.reload_samples()
        done = "Removed the tag from" if remove else "Tagged"
        ctx.ops.notify(f"{done} {found} {on} ({tag!r})", variant="success" if found else "warning")
        return {"n": found}


class AnnotateDisputed(AgreementOperator, function=annotate_disputed):
    """Sends disputed labels to be annotated again, through FiftyOne's annotation API."""

    operator_name = names.ANNOTATE_DISPUTED
    label = "Annotate disputed labels again"
    description = "Send disputed labels to the annotation backend that is configured in FiftyOne"
    icon = "forward_to_inbox"
    submit = "Send"
    run_text = "The run whose disputed labels are sent"
    can_be_delegated = True

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        add_choice(inputs, "backend", "Backend", configured_backends(), default=check_backend(None, {}))
        inputs.str(
            "anno_key",
            label="Annotation key",
            description="FiftyOne's name of the annotation run; you need it to load the result",
            default=_free_key(ctx),
            required=True,
        )
        if ctx.params.get("anno_key"):
            check_anno_key(ctx.dataset, ctx.params["anno_key"])
        labels = open_run_labels(ctx.dataset, chosen_run(ctx))
        _add_annotators(inputs, labels)
        sent = f"This sends the disputed labels among {describe_choice(ctx, labels)}"
        inputs.view("target", types.Notice(label=sent))
        if is_chosen(ctx):  # searching all labels takes too long for a form
            annotators = ctx.params.get("annotators") or None
            disputed_view(chosen_samples(ctx), labels.run_key, annotators, chosen_labels(ctx, labels))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        anno_key = ctx.params.get("anno_key") or _free_key(ctx)
        labels = open_run_labels(ctx.dataset, chosen_run(ctx))
        annotate_disputed(
            chosen_samples(ctx),
            labels.run_key,
            anno_key,
            backend=ctx.params.get("backend"),
            annotators=ctx.params.get("annotators") or None,
            selected=chosen_labels(ctx, labels),
        )
        if not ctx.delegated:
            ctx.ops.notify(f"Sent; load the result with dataset.load_annotations({anno_key!r})", variant="success")
        return {"anno_key": anno_key}


def _shows_samples(ctx: foo.ExecutionContext) -> bool:
    """Whether the App shows a part of the samples; not patches, frames or clips."""
    return shows_part(ctx) and not is_generated(ctx.view)


def _add_annotators(inputs: types.Object, labels: RunLabels) -> None:
    """Ask for some of the annotators of a run."""
    description = "Only labels of these annotators; none for all"
    add_several(inputs, "annotators", "Annotators", description, labels.annotators)


def _free_key(ctx: foo.ExecutionContext) -> str:
    """An unused name for the annotation run: ``disputed``, ``disputed_2`` …"""
    taken = set(ctx.dataset.list_annotation_runs())
    key, number = "disputed", 2
    while key in taken:
        key, number = f"disputed_{number}", number + 1
    return key

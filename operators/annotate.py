"""The operator that sends disputed labels to be annotated again."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io import annotate_disputed
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.units.annotate import check_anno_key, check_backend, configured_backends, disputed_view
from .made_form import chosen_run, show_problem
from .run_choice import run_choice
from .selection import add_annotators_input, chosen_labels, chosen_samples, describe_choice, is_chosen


class AnnotateDisputed(foo.Operator):
    """Hands disputed labels over to FiftyOne's annotation API."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.ANNOTATE_DISPUTED,
            label="Annotate disputed labels again",
            description="Send disputed labels to the annotation backend that is configured in FiftyOne",
            icon="forward_to_inbox",
            dynamic=True,
            allow_immediate_execution=True,
            allow_delegated_execution=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        prompt = types.PromptView(label="Annotate disputed labels again", submit_button_label="Send")
        if run_choice(inputs, ctx, description="The run whose disputed labels are sent"):
            try:
                default = check_backend(None, {})
                backends = types.DropdownView()
                for name in configured_backends():
                    backends.add_choice(name, label=name)
                inputs.enum("backend", configured_backends(), label="Backend", default=default, view=backends)
                inputs.str(
                    "anno_key",
                    label="Annotation key",
                    description="FiftyOne's name of the annotation run; load what comes back by it",
                    default=_free_key(ctx),
                    required=True,
                )
                if ctx.params.get("anno_key"):
                    check_anno_key(ctx.dataset, ctx.params["anno_key"])
                labels = open_run_labels(ctx.dataset, chosen_run(ctx))
                add_annotators_input(inputs, labels, "Only labels of these annotators; none for all")
                inputs.view("target", types.Notice(label=f"This sends the disputed of {describe_choice(ctx, labels)}"))
                if is_chosen(ctx):  # looking through all labels takes too long for a form
                    annotators = ctx.params.get("annotators") or None
                    disputed_view(chosen_samples(ctx), labels.run_key, annotators, chosen_labels(ctx, labels))
            except AgreementInputError as error:
                show_problem(inputs, error)
        return types.Property(inputs, view=prompt)

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
            ctx.ops.notify(f"Sent; load what comes back with dataset.load_annotations({anno_key!r})", variant="success")
        return {"anno_key": anno_key}

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, **options: Any) -> Any:
        """Send labels, from Python; see :func:`~annotator_agreement.annotate_disputed` for the options."""
        return annotate_disputed(samples, run_key, **options)


def _free_key(ctx: foo.ExecutionContext) -> str:
    """A name for the annotation run that none has: ``disputed``, ``disputed_2`` …"""
    taken = set(ctx.dataset.list_annotation_runs())
    key, number = "disputed", 2
    while key in taken:
        key, number = f"disputed_{number}", number + 1
    return key

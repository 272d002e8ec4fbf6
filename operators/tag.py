"""The operator that tags the annotators' own labels, also from a view of patches."""

from __future__ import annotations

from typing import Any, get_args

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement import AgreementInputError
from ..dataset_io import tag_agreement_labels
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.units.label_tags import DEFAULT_TAG, TagTarget
from .made_form import chosen_run, show_problem
from .run_choice import run_choice
from .selection import add_annotators_input, chosen_labels, chosen_samples, describe_choice


class TagAgreementLabels(foo.Operator):
    """Tags labels of annotators, or samples, where they are in the dataset."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.TAG_AGREEMENT_LABELS,
            label="Tag annotators' labels",
            description="Tag, or untag, the annotators' own labels that are selected or shown, or their samples",
            icon="local_offer",
            dynamic=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        prompt = types.PromptView(label="Tag annotators' labels", submit_button_label="Apply")
        if run_choice(inputs, ctx, description="The run whose labels are tagged"):
            inputs.str("tag", label="Tag", default=DEFAULT_TAG, required=True)
            targets = types.RadioGroup()
            for value in get_args(TagTarget):
                targets.add_choice(value, label=value)
            inputs.enum("on", list(get_args(TagTarget)), label="On", default="labels", view=targets)
            try:
                labels = open_run_labels(ctx.dataset, chosen_run(ctx))
                add_annotators_input(inputs, labels, "Only labels of these annotators; none for all")
                inputs.bool("remove", label="Remove the tag", default=False, view=types.SwitchView())
                inputs.view("target", types.Notice(label=f"This concerns {describe_choice(ctx, labels)}"))
            except AgreementInputError as error:
                show_problem(inputs, error)
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        on, remove = ctx.params.get("on", "labels"), bool(ctx.params.get("remove", False))
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

    def __call__(self, samples: SampleCollection, run_key: str = names.DEFAULT_RUN_KEY, **options: Any) -> int:
        """Tag, from Python; see :func:`~annotator_agreement.tag_agreement_labels` for the options."""
        return tag_agreement_labels(samples, run_key, **options)

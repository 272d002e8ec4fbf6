"""The operator that compares two runs."""

from __future__ import annotations

from typing import Any

import fiftyone.operators as foo
from fiftyone.core.collections import SampleCollection
from fiftyone.operators import types

from .. import names
from ..agreement.comparison import AgreementComparison
from ..charts.comparison import comparison_markdown
from ..dataset_io import compare_agreement
from ..dataset_io.record.run_config import COMPLETED, read_config
from ..dataset_io.record.runs import list_agreements


class CompareAgreement(foo.Operator):
    """Shows what changed from one run to another, over the samples that both have."""

    @property
    def config(self) -> foo.OperatorConfig:
        return foo.OperatorConfig(
            name=names.COMPARE_AGREEMENT,
            label="Compare annotator agreement",
            description="What changed from one agreement run to another, with intervals, and on which samples",
            icon="compare_arrows",
            dynamic=True,
        )

    def resolve_input(self, ctx: foo.ExecutionContext) -> types.Property:
        inputs = types.Object()
        prompt = types.PromptView(label="Compare annotator agreement", submit_button_label="Compare")
        families = _families(ctx)
        first = [key for key, family in families.items() if list(families.values()).count(family) > 1]
        if not first:
            warning = types.Warning(
                label="This dataset has no two completed agreement runs on labels of one kind",
                description="Compute agreement again under another run key: after labels were corrected, or with "
                "another option",
            )
            inputs.view("no_runs", warning).invalid = True
            return types.Property(inputs, view=prompt)
        key_a = _choice(inputs, ctx, "run_key", "From", "The first run: before the change", first)
        second = [key for key in first if key != key_a and families[key] == families[key_a]]
        _choice(inputs, ctx, "other_run_key", "To", "The run after it: what became of the numbers", second)
        return types.Property(inputs, view=prompt)

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        comparison = compare_agreement(ctx.dataset, ctx.params["run_key"], ctx.params["other_run_key"])
        return {"summary": comparison_markdown(comparison), "comparison": comparison.to_dict()}

    def resolve_output(self, ctx: foo.ExecutionContext) -> types.Property:
        outputs = types.Object()
        outputs.str("summary", view=types.MarkdownView())
        return types.Property(outputs, view=types.View(label="Annotator agreement, compared"))

    def __call__(
        self, samples: SampleCollection, run_key: str, other_run_key: str, **options: Any
    ) -> AgreementComparison:
        """Compare two runs, from Python."""
        return compare_agreement(samples, run_key, other_run_key, **options)


def _families(ctx: foo.ExecutionContext) -> dict[str, tuple[str, bool]]:
    """The family of label types of every completed run, and whether it is on frames; the oldest run first."""
    if ctx.dataset is None:
        return {}
    keys = sorted(list_agreements(ctx.dataset), key=lambda key: (ctx.dataset.get_run_info(key).timestamp, key))
    configs = {key: read_config(ctx.dataset, key) for key in keys}
    return {
        key: (config["family"], config["options"]["fields"][0].startswith(names.FRAMES_PREFIX))
        for key, config in configs.items()
        if config.get("status") == COMPLETED and "family" in config
    }


def _choice(
    inputs: types.Object, ctx: foo.ExecutionContext, name: str, label: str, description: str, keys: list[str]
) -> str:
    """Add the choice of a run; returns the one that is chosen."""
    choices = types.DropdownView()
    for key in keys:
        choices.add_choice(key, label=key)
    inputs.enum(name, keys, label=label, description=description, default=keys[0], required=True, view=choices)
    chosen = ctx.params.get(name)
    return chosen if chosen in keys else keys[0]

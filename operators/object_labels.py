"""The operators that write one label for every object: for all objects, or for objects with enough votes."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import fiftyone.operators as foo
from fiftyone.operators import types

from .. import names
from ..dataset_io import add_units, resolve_units
from ..dataset_io.record.run_labels import open_run_labels
from ..dataset_io.units.derived_fields import DerivedLabels, check_can_derive, derived_record
from .base import AgreementOperator, add_choice, add_slider, add_switch, chosen_run, progress_of, tell

_SHAPES = {
    "medoid": "The shape that is most similar to the others (medoid)",
    "vote": "The pixels that at least half of the annotators drew",
}

_VOTES = {
    "majority": "More than half of the assigned annotators",
    "share": "A share of the assigned annotators",
}


class _WritesObjects(AgreementOperator):
    """The common base of both operators."""

    can_be_delegated = True
    suffix: ClassVar[str]  #: ending of the name of the written field
    function: ClassVar[str]  #: name of the called function, for messages

    def add_inputs(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        run_key = chosen_run(ctx)
        labels = open_run_labels(ctx.dataset, run_key)
        if labels.family.has_objects and labels.kinds[0].comparable == "shapes":
            add_choice(inputs, "shapes", "Masks and polygons", _SHAPES)
        self.add_more(inputs, ctx)
        if derived_record(labels.run, self.suffix) is not None:
            add_switch(inputs, "overwrite", "Overwrite", "Replace what was written before")
        check_can_derive(labels, self.suffix, self.function, overwrite=ctx.params.get("overwrite") or False)

    def add_more(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        """Add the inputs of this operator only."""


class AddAgreementUnits(_WritesObjects, function=add_units):
    """Writes one label for every object that the annotators drew."""

    operator_name = names.ADD_AGREEMENT_UNITS
    label = "Write one label for every object"
    description = "Write one label for every object that the annotators drew, with its verdict and votes"
    icon = "join_inner"
    submit = "Write"
    run_text = "The run whose objects get a label each"
    suffix = names.UNITS_SUFFIX
    function = "add_units"

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        return _told(ctx, add_units(ctx.dataset, **_options(ctx), progress=progress_of(ctx)))


class ResolveUnits(_WritesObjects, function=resolve_units):
    """Writes the consensus of the annotators as a new label field."""

    operator_name = names.RESOLVE_UNITS
    label = "Make consensus labels"
    description = "Write the consensus of the annotators into a new field: objects and classes by vote"
    icon = "how_to_vote"
    submit = "Make"
    run_text = "The run whose objects are decided by vote"
    suffix = names.CONSENSUS_SUFFIX
    function = "resolve_units"

    def add_more(self, inputs: types.Object, ctx: foo.ExecutionContext) -> None:
        add_choice(inputs, "votes", "Votes that an object needs", _VOTES)
        if _is_share(ctx):
            add_slider(inputs, "quorum", "Quorum", "Least share of annotators")
        add_switch(inputs, "keep_ties", "Keep ties", "Also objects on whose class the votes are equal")
        kept = "The annotators' own labels are not touched"
        written = "a new field gets the objects that enough of the assigned annotators drew"
        inputs.view("kept", types.Notice(label=f"{kept}; {written}"))

    def execute(self, ctx: foo.ExecutionContext) -> dict[str, Any]:
        options = {
            **_options(ctx),
            "quorum": ctx.params.get("quorum", 0.5) if _is_share(ctx) else "majority",
            "ties": "keep" if ctx.params.get("keep_ties", False) else "leave_out",
        }
        made = resolve_units(ctx.dataset, **options, progress=progress_of(ctx))
        return _told(ctx, made)


def _is_share(ctx: foo.ExecutionContext) -> bool:
    """Whether objects need the votes of a share of the annotators (chosen, or implied by a given quorum)."""
    votes: str = ctx.params.get("votes") or ("share" if "quorum" in ctx.params else "majority")
    return votes == "share"


def _options(ctx: foo.ExecutionContext) -> dict[str, Any]:
    """The arguments from the form."""
    return {
        "run_key": chosen_run(ctx),
        "shapes": ctx.params.get("shapes") or "medoid",
        "overwrite": ctx.params.get("overwrite") or False,
    }


def _told(ctx: foo.ExecutionContext, derived: DerivedLabels) -> dict[str, Any]:
    """Tell the user what was written and left out; returns the same as a result."""
    told = [f"Wrote {derived.n_labels} labels into {derived.field}"]
    if derived.n_below_quorum:
        told.append(f"{derived.n_below_quorum} objects have too few votes")
    if derived.n_tied:
        told.append(f"{derived.n_tied} objects were left out: several classes have the most votes")
    if derived.n_left_out:
        told.append(f"{derived.n_left_out} objects were left out: labels changed since the run, or have no pixels")
    if derived.n_changed:
        told.append(f"{derived.n_changed} samples were left out: somebody was editing them")
    tell(ctx, "; ".join(told), variant="warning" if derived.n_left_out or derived.n_changed else "success")
    return dataclasses.asdict(derived)

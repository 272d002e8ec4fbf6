"""The forms that write one label for every object: for all objects, or for objects with enough votes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from .. import names
from ..dataset_io import add_units, resolve_units
from ..dataset_io.units.derived_fields import DerivedLabels, check_can_derive, derived_record
from .form import Filled, Form
from .inputs import Choice, FormField, Notice, Slider, Switch

_SHAPES = {
    "medoid": "The shape that is most similar to the others (medoid)",
    "vote": "The pixels that at least half of the annotators drew",
}

_VOTES = {
    "majority": "More than half of the assigned annotators",
    "share": "A share of the assigned annotators",
}


def _fields(
    suffix: str, function: str, more: Callable[[Filled], Iterator[FormField]]
) -> Callable[[Filled], Iterator[FormField]]:
    """The inputs of both forms, and those of one of them; the field that is written ends with a suffix."""

    def fields(form: Filled) -> Iterator[FormField]:
        labels = form.labels
        if labels.family.has_objects and labels.kinds[0].comparable == "shapes":
            yield Choice("shapes", "Masks and polygons", values=_SHAPES)
        yield from more(form)
        if derived_record(labels.run, suffix) is not None:
            yield Switch("overwrite", "Overwrite", "Replace what was written before")
        check_can_derive(labels, suffix, function, overwrite=form.get("overwrite", False))

    return fields


def _told(form: Filled, derived: DerivedLabels) -> dict[str, Any]:
    """Notify the user of written and left-out labels; returns the numbers as the result."""
    told = [f"Wrote {derived.n_labels} labels into {derived.field}"]
    if derived.n_below_quorum:
        told.append(f"{derived.n_below_quorum} objects have too few votes")
    if derived.n_tied:
        told.append(f"{derived.n_tied} objects were left out: several classes have the most votes")
    if derived.n_left_out:
        told.append(f"{derived.n_left_out} objects were left out: labels changed since the run, or have no pixels")
    if derived.n_changed:
        told.append(f"{derived.n_changed} samples were left out: somebody was editing them")
    form.tell("; ".join(told), variant="warning" if derived.n_left_out or derived.n_changed else "success")
    return dataclasses.asdict(derived)


def _add_units(form: Filled) -> dict[str, Any]:
    options = form.given("shapes", "overwrite")
    return _told(form, add_units(form.dataset, form.run_key, **options, progress=form.progress))


ADD_UNITS = Form(
    name=names.ADD_AGREEMENT_UNITS,
    label="Write one label for every object",
    sentence="Write one label for every object that the annotators drew, with its verdict and votes",
    icon="join_inner",
    submit="Write",
    run="The run whose objects get a label each",
    function=add_units,
    fields=_fields(names.UNITS_SUFFIX, "add_units", lambda form: iter(())),
    execute=_add_units,
    delegated=True,
)


def _is_share(form: Filled) -> bool:
    """True if objects need the votes of a share of the annotators (chosen, or implied by a given quorum)."""
    return bool(form.get("votes", "share" if "quorum" in form.params else "majority") == "share")


def _vote_fields(form: Filled) -> Iterator[FormField]:
    yield Choice("votes", "Votes that an object needs", values=_VOTES)
    if _is_share(form):
        yield Slider("quorum", "Quorum", "Least share of annotators")
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
    submit="Make",
    run="The run whose objects are decided by vote",
    function=resolve_units,
    fields=_fields(names.CONSENSUS_SUFFIX, "resolve_units", _vote_fields),
    execute=_resolve,
    delegated=True,
)

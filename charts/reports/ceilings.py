"""Human ceiling (annotators measured as detectors) in a sentence, as text and as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...agreement.settings.arguments import one_of, without_numpy
from ..text.sections import Note, Part, Section
from ..text.tables import Column, table
from ..text.words import ends_of, shown_number, shown_share
from .dataframes import flat, frame_of

if TYPE_CHECKING:
    from ...agreement.ceiling.ceiling import Ceiling

_UNDEFINED = {
    "one_annotator": "There is no ceiling: no image has labels of two annotators who were asked about it.",
    "no_objects": "There is no ceiling: nobody drew an object on an image about which two annotators were asked.",
}
_NO_AREAS = (
    "No numbers by size: they need labels with an area, and the sizes of all images; dataset.compute_metadata() finds "
    "them."
)
_CONSTANT = (
    "All labels have one score and the order in which they are stored, on which the number depends: without intervals."
)
#: rows of a table of pairs in the text
_MOST_PAIRS = 20
_TABLES = ("summary", "classes", "areas", "pairs", "model")


def _value(value: float | None) -> str:
    return shown_number(value, 2)


def ceiling_sentence(ceiling: Ceiling) -> str:
    """The ceiling in one sentence."""
    if ceiling.undefined is not None:
        return _UNDEFINED[ceiling.undefined]
    ends = ends_of(ceiling.intervals.get("map"), _value)
    best = f"{_value(ceiling.map)} {ends}".rstrip()
    said = f"Annotators reach mAP {best} against each other: what a model can be expected to reach on these labels."
    model = ceiling.model
    if model is None:
        return said
    if model.map is None:
        return f"{said} {model.name} has no mAP."
    said += f" {model.name} has mAP {_value(model.map)}, {shown_share(model.share)} of that"
    more = "; its confidence, which annotators do not give, puts its doubtful labels last"
    return f"{said}{more if model.share is not None and model.share > 1 else ''}."


def ceiling_sections(ceiling: Ceiling) -> list[Section]:
    """The ceiling with its tables."""
    parts: list[Part] = [ceiling_sentence(ceiling)]
    if ceiling.undefined is None:
        model = ceiling.model
        of_model = [] if model is None else [Column(model.name, "model", _value)]
        number = Column("mAP", "map", _value, interval=True)
        at_half = Column("mAP at .50", "map_50", _value, interval=True)
        parts.append(
            f"mAP at .50 is {_value(ceiling.map_50)}, at .75 {_value(ceiling.map_75)}, by {ceiling.measure}, on "
            f"{ceiling.n_samples:,} images with two or more annotators."
        )
        parts += [Note(text) for told, text in ((ceiling.order == "constant", _CONSTANT),
                                                (ceiling.no_areas, _NO_AREAS)) if told]  # fmt: skip
        labels = Column("labels", "n_labels")
        if ceiling.areas:
            parts.append(table([Column("size", "name"), number, *of_model, labels], ceiling.areas))
        parts.append(table([Column("class", "name"), number, at_half, *of_model, labels], ceiling.classes))
        pairs = [*([] if model is None else model.pairs), *ceiling.pairs]
        who = [Column("reference", "reference"), Column("as a detector", "detector")]
        parts.append(table([*who, number, at_half, Column("images", "n_samples")], pairs[:_MOST_PAIRS]))
        if len(pairs) > _MOST_PAIRS:
            parts.append(f"{len(pairs) - _MOST_PAIRS:,} more pairs: to_dataframe('pairs').")
    return [Section(f"The ceiling of a model on run '{ceiling.run_key}'", parts, is_first=True)]


def ceiling_frame(ceiling: Ceiling, name: str) -> pd.DataFrame:
    """A table of the ceiling; undefined numbers are nan."""
    name = one_of("table", without_numpy(name), _TABLES)
    rows: list[Any] = [ceiling]
    if name == "model":
        rows = [] if ceiling.model is None else ceiling.model.pairs
    elif name != "summary":
        rows = getattr(ceiling, name)
    return frame_of([flat(entry) for entry in rows])

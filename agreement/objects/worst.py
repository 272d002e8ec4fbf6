"""The samples of which one number is worst, as a report lists them."""

from __future__ import annotations

from ..report import Describe
from .additive import Worst
from .summaries import Sample


def described(worst: Worst, describe: Describe, *, largest: bool = False) -> list[Sample]:
    """Where the samples are, and the value of each.

    Args:
        worst: the samples with the lowest values
        describe: says where a sample is
        largest: whether the values are those of the largest numbers, with the opposite sign
    """
    values = (-worst.value if largest else worst.value).tolist()
    entries = describe(worst.row.tolist())
    return [{**entry, "value": value} for entry, value in zip(entries, values, strict=True)]

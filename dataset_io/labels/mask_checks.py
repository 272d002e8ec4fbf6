"""Check semantic masks before anything is written; decodes only the masks that it must."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...agreement.settings.config import AgreementConfig
from ...agreement.settings.errors import AgreementInputError, shown
from .mask_reading import (
    DifferentSizesError,
    MaskShape,
    MissingMaskError,
    MixedColoursError,
    PhotographError,
    StoredMask,
    UnusableMaskError,
    mask_shape,
)

#: order in which different errors are reported
_ORDER = (MissingMaskError, UnusableMaskError, MixedColoursError, DifferentSizesError, PhotographError)


def check_masks(samples: Iterable[tuple[str, Mapping[str, StoredMask]]], config: AgreementConfig) -> bool | None:
    """Refuse masks that cannot be compared; returns whether they are in colour (None without masks).

    Args:
        samples: title and masks, by field, of every sample
        config: the options; ``invalid="skip"`` leaves out unusable masks, and all masks of samples whose masks do not
            match; but either all masks of the dataset must be in colour, or none
    """
    problems: list[tuple[str, UnusableMaskError]] = []
    first: dict[bool, tuple[str, str]] = {}
    for title, masks in samples:
        found = {field: _shape_of(stored) for field, stored in masks.items()}
        problems += [(title, error) for error in found.values() if isinstance(error, UnusableMaskError)]
        shapes = {field: shape for field, shape in found.items() if isinstance(shape, MaskShape)}
        try:
            check_same_shape(shapes)
        except UnusableMaskError as error:
            problems.append((title, error))
            continue
        for field, shape in shapes.items():
            first.setdefault(shape.is_rgb, (title, field))
    if problems and config.invalid == "error":
        raise masks_error(problems)
    if len(first) > 1:
        (title, field), (other_title, other_field) = first[True], first[False]
        raise AgreementInputError(
            f"{MixedColoursError.rule}, got colours in {field!r} on sample {title} and none in {other_field!r} on "
            f"sample {other_title}; convert them with fiftyone.utils.labels.transform_segmentations()"
        )
    return next(iter(first), None)


def _shape_of(stored: StoredMask) -> MaskShape | UnusableMaskError:
    try:
        return mask_shape(stored)
    except UnusableMaskError as error:
        return error


def check_same_shape(shapes: Mapping[str, MaskShape], is_rgb: bool | None = None) -> None:
    """Raise :class:`UnusableMaskError` unless the masks of a sample can be compared with each other.

    Args:
        shapes: size and kind of the masks, by field
        is_rgb: whether all masks of the run are in colour; None if unknown
    """
    expected = {is_rgb} - {None}
    if len({shape.is_rgb for shape in shapes.values()} | expected) > 1:
        raise MixedColoursError(shown(f"{name}{'' if shape.is_rgb else ' not'}" for name, shape in shapes.items()))
    if len({(shape.height, shape.width) for shape in shapes.values()}) > 1:
        raise DifferentSizesError(shown(f"{name} {shape.width} x {shape.height}" for name, shape in shapes.items()))


def masks_error(problems: Sequence[tuple[str, UnusableMaskError]]) -> AgreementInputError:
    """The error for masks that cannot be compared: ``(sample, what is wrong)``."""
    kind = next(kind for kind in _ORDER if any(type(error) is kind for _, error in problems))
    found = [(title, error) for title, error in problems if type(error) is kind]
    return AgreementInputError(
        f"{kind.rule}, got {len(found)} that do not (first: {found[0][1]}), on samples "
        f"{shown(dict.fromkeys(title for title, _ in found))}; correct them, or leave these masks out with "
        'invalid="skip"'
    )

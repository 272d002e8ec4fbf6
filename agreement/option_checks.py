"""Checks of single options: what is allowed, and in which form it is kept."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import AgreementInputError, shown

#: name of an attribute or field that MongoDB can hold
ATTRIBUTE = re.compile(r"[^.$\x00][^.\x00]*")
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, numbers.Real) and math.isfinite(value)


def _share_or_auto(option: str, value: Any) -> float | str:
    if isinstance(value, str) and value == "auto":
        return value
    if not _is_number(value) or not 0 < value <= 1:
        raise AgreementInputError(f'`{option}` must be in (0, 1], got {value!r}; "auto" finds it from the data')
    return float(value)


def _at_least_0(option: str, value: Any) -> float:
    if not _is_number(value) or value < 0:
        raise AgreementInputError(f"`{option}` must be a number of at least 0, got {value!r}")
    return float(value)


def _whole_up_to(limit: int) -> Callable[[str, Any], int]:
    """The check of whole numbers from 0 to a limit; floats are accepted, since forms give them."""

    def check(option: str, value: Any) -> int:
        if not _is_number(value) or value != int(value) or not 0 <= value <= limit:
            raise AgreementInputError(f"`{option}` must be a whole number from 0 to {limit:,}, got {value!r}")
        return int(value)

    return check


def _positive_or_none(option: str, value: Any) -> float | None:
    if value is None:
        return None
    if not _is_number(value) or value <= 0:
        raise AgreementInputError(f"`{option}` must be a number above 0, or None, got {value!r}")
    return float(value)


def _true_or_false(option: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise AgreementInputError(f"`{option}` must be True or False, got {value!r}")
    return value


def _pillow_or_none(option: str, value: Any) -> str | None:
    if value not in (None, "pillow"):
        raise AgreementInputError(f'`{option}` must be "pillow" or None, got {value!r}')
    return None if value is None else str(value)


def _name_or_none(option: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or not ATTRIBUTE.fullmatch(value)):
        raise AgreementInputError(f"`{option}` must be the name of an attribute, or None, got {value!r}")
    return value


def _folder_or_none(option: str, value: Any) -> str | None:
    if value is not None and (not isinstance(value, str | os.PathLike) or not str(value)):
        raise AgreementInputError(f"`{option}` must be a folder, or None, got {value!r}")
    return None if value is None else os.path.abspath(os.path.expanduser(value))


def _sigmas(option: str, value: Any) -> str | float | tuple[float, ...] | None:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or value == "coco":
        return None if value is None else "coco"
    if _is_number(value) and value > 0:
        return float(value)
    if isinstance(value, list | tuple) and value and all(_is_number(sigma) and sigma > 0 for sigma in value):
        return tuple(float(sigma) for sigma in value)
    raise AgreementInputError(f'`{option}` must be "coco", a number above 0, or a list of these, got {value!r}')


def _categories(option: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise AgreementInputError(f"`{option}` must be a list of classes in ascending order, got {value!r}")
    classes = tuple(value_name(entry) for entry in value)
    repeated = sorted({name for name in classes if classes.count(name) > 1})
    if repeated:
        raise AgreementInputError(f"`{option}` must be different classes, got {shown(repeated)} more than once")
    return classes


def _attributes(option: str, value: Any) -> tuple[str, ...]:
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, Sequence) or not all(
        isinstance(name, str) and ATTRIBUTE.fullmatch(name) for name in entries
    ):
        raise AgreementInputError(f"`{option}` must be names of attributes, got {value!r}")
    repeated = sorted({name for name in entries if entries.count(name) > 1})
    if repeated:
        raise AgreementInputError(f"`{option}` must be different attributes, got {shown(repeated)} more than once")
    return tuple(entries)


def _aliases(option: str, value: Any) -> dict[str, str]:
    """Names and the names that they are read as; none of the latter is replaced in turn."""
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and name for entry in value.items() for name in entry
    ):
        raise AgreementInputError(f"`{option}` must map class names to class names, got {value!r}")
    aliases = {name: meant for name, meant in sorted(value.items()) if name != meant}
    chained = sorted(name for name, meant in aliases.items() if meant in aliases)
    if chained:
        name = chained[0]
        raise AgreementInputError(
            f"`{option}` must map every name to the final one, got {name!r} for {aliases[name]!r}, which stands for "
            f"{aliases[aliases[name]]!r} itself"
        )
    return aliases


def value_name(value: object) -> str:
    """A value as text; 1 and 1.0, which the database takes for the same, are the same."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def mask_value(value: Any) -> int | None:
    """A value of a semantic mask: an integer, or a colour ``#rrggbb`` as the integer it stands for; None if neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Integral) and 0 <= int(value) < 2**63:  # what masks and the database can hold
        return int(value)
    if isinstance(value, str) and _COLOR.fullmatch(value):
        return int(value[1:], 16)
    return None


def _background(option: str, value: Any) -> int | str | None:
    if value is None or value == "auto":
        return None if value is None else "auto"
    number = mask_value(value)
    if number is None:
        raise AgreementInputError(f'`{option}` must be a mask value, "auto" or None, got {value!r}')
    return number


def _mask_values(option: str, value: Any) -> tuple[int, ...]:
    values = [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
    found = [mask_value(entry) for entry in values]
    if None in found:
        raise AgreementInputError(
            f"`{option}` must be mask values (integers of at least 0, or colours like '#ff0000'), got {value!r}"
        )
    return tuple(sorted({number for number in found if number is not None}))


#: the check of every option that is not a choice between names
OPTION_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "iou": _share_or_auto,
    "rasterize": _pillow_or_none,
    "line_tolerance": _positive_or_none,
    "crowd_attribute": _name_or_none,
    "attributes": _attributes,
    "aliases": _aliases,
    "sigmas": _sigmas,
    "categories": _categories,
    "tolerance": _at_least_0,
    "background": _background,
    "ignore_values": _mask_values,
    "boundaries": _true_or_false,
    "boundary_tolerance": _at_least_0,
    "boundary_width": _positive_or_none,
    "disagreement_map": _true_or_false,
    "map_folder": _folder_or_none,
    "rematch": _true_or_false,
    "sensitivity": _true_or_false,
    "resamples": _whole_up_to(100_000),
    "seed": _whole_up_to(2**53),
}

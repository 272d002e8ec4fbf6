"""The meaning of the values of masks: background, ignored values, and names of classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.numeric.arrays import BoolArray, IntArray
from ..settings.config import AgreementConfig
from ..settings.errors import AgreementInputError, shown
from ..settings.options import mask_value

#: names that make the value 0 the background
BACKGROUND_NAMES = frozenset({"background", "bg", "unlabeled", "unlabelled", "void", "none"})
#: names that make another value the background if 0 is a class
_CERTAIN_NAMES = frozenset({"background", "bg"})


def are_classes(values: IntArray, background: int | None) -> BoolArray:
    """True for values that are classes, not the background."""
    return np.ones(len(values), np.bool_) if background is None else values != background


@dataclass(frozen=True, slots=True)
class MaskValues:
    """The meaning of the values of all masks of a run."""

    background: int | None  #: value of the background; None if there is none
    ignored: tuple[int, ...]  #: values that mean "do not judge"
    names: dict[int, str]  #: names of classes by value; no two values have the same

    def name(self, value: int, *, is_rgb: bool) -> str:
        """Name of a class; without a name its value or colour."""
        unnamed = f"#{value:06x}" if is_rgb else str(value)
        return self.names.get(value, unnamed)

    def to_dict(self) -> dict[str, Any]:
        """The meaning as JSON values."""
        names = {str(value): name for value, name in self.names.items()}
        return {"background": self.background, "ignored": list(self.ignored), "names": names}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> MaskValues:
        """Rebuild from a dictionary that contains the entries of :meth:`to_dict`."""
        names = {int(value): name for value, name in values["names"].items()}
        return cls(values["background"], tuple(values["ignored"]), names)


def mask_values(config: AgreementConfig, targets: Mapping[str, Mapping[int | str, str]]) -> MaskValues:
    """The meaning of mask values, from the options and from the mask targets of the dataset.

    With ``background="auto"`` the value 0 is background unless a mask target gives it a name that is not in
    ``BACKGROUND_NAMES`` (ignoring case). Then 0 is a class, and the background is the value named *background* or *bg*;
    if there is no such value, or several, there is no background. Values that mask targets give one name are different
    classes, which are told apart by the value: ``road (3)`` and ``road (7)``.

    Args:
        targets: mask targets of every field that has some

    Raises:
        AgreementInputError: if a value has different names in different fields
    """
    found: dict[int, dict[str, str]] = {}
    shown_values: dict[int, int | str] = {}
    for field, names in targets.items():
        for key, name in names.items():
            # MongoDB stores integer keys as text
            value = int(key) if isinstance(key, str) and key.isdigit() else mask_value(key)
            if value is not None and name is not None:
                found.setdefault(value, {})[field] = str(name)
                shown_values.setdefault(value, key)
    for value, by_field in found.items():
        if len({_plain(name) for name in by_field.values()}) > 1:
            raise AgreementInputError(
                "Mask targets of the fields must not contradict each other, got for the value "
                f"{value}: {shown(f'{name!r} in {field!r}' for field, name in sorted(by_field.items()))}; give a value "
                "the same name everywhere in dataset.mask_targets"
            )
    named = {value: min(by_field.values()).strip() for value, by_field in sorted(found.items())}
    if config.background != "auto":
        background = mask_value(config.background)
    elif _plain(named.get(0, "background")) in BACKGROUND_NAMES:
        background = 0
    else:
        certain = [value for value, name in named.items() if _plain(name) in _CERTAIN_NAMES]
        background = certain[0] if len(certain) == 1 else None
    n_values = Counter(named.values())
    told_apart = {
        value: f"{name} ({shown_values[value]})" if n_values[name] > 1 else name for value, name in named.items()
    }
    return MaskValues(background, config.ignore_values, told_apart)


def _plain(name: str) -> str:
    return name.strip().lower()

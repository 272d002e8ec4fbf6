"""Areas and shared areas of every class in semantic masks, and the meaning of the values of masks.

Confusions between classes are not kept; they would take several times the memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray
from ..settings.config import AgreementConfig
from ..settings.errors import AgreementInputError, shown
from ..settings.options import mask_value

#: points ``(G, 2)`` by which masks of different images are compared, shares of width and height: a lattice by the
#: golden ratio, even along rows, columns and diagonals, so that thin lines are met as often as they should
POINTS: FloatArray = (0.5 + np.arange(896)[:, None] * [1.0, 896 * 0.6180339887498949]) / 896.0 % 1.0
POINTS.setflags(write=False)


@dataclass(frozen=True, slots=True)
class SampleMasks:
    """The masks of one sample with at least two annotators, counted."""

    annotators: tuple[int, ...]  #: indices of the ``M`` annotators with a mask, ascending
    values: IntArray  #: shape ``(K,)``, used values, ascending
    areas: IntArray  #: shape ``(M, K)``, pixels of every value in every mask
    #: shape ``(P, K)``, pixels of every value in both masks of every pair, in the order (0, 1), (0, 2) … (M - 2, M - 1)
    shared: IntArray
    n_ignored: int  #: pixels left out because somebody gave them an ignored value
    #: shape ``(P, 3)``, the boundary numbers of every pair, nan where undefined; None if not requested
    boundaries: FloatArray | None
    #: shape ``(M, G)``, values at ``POINTS``, by their place in ``values``; ``K`` where pixels are ignored
    at_points: NDArray[np.int16]


def are_classes(values: IntArray, background: int | None) -> BoolArray:
    """True for values that are classes, not the background."""
    return np.ones(len(values), np.bool_) if background is None else values != background


@dataclass(frozen=True, slots=True)
class MaskCounts:
    """Counts of the masks of ``S`` samples, in sample order; a sample is rated if two annotators have a mask."""

    assigned: BoolArray  #: shape ``(S, R)``, annotators with a compared mask
    n_values: IntArray  #: shape ``(S,)``, different values of every sample
    n_ignored: IntArray  #: shape ``(S,)``, pixels left out because somebody gave them an ignored value
    values: IntArray  #: shape ``(V,)``, the values, ascending in every sample
    areas: IntArray  #: areas of all samples in one column, mask by mask
    shared: IntArray  #: shared areas of all samples in one column, pair by pair
    #: shape ``(Q, 3)``, boundary numbers of the pairs of annotators of every sample; None if not requested
    boundaries: FloatArray | None
    #: shape ``(M, G)``, the same of all compared masks, sample by sample
    at_points: NDArray[Any] | None = None

    @classmethod
    def of(cls, samples: Sequence[SampleMasks | None], assigned: BoolArray) -> MaskCounts:
        """The counts of samples; None where fewer than two have a mask."""
        rated = [sample for sample in samples if sample is not None]
        n_values, n_ignored = np.zeros((2, len(samples)), np.int64)
        rows = [k for k, sample in enumerate(samples) if sample is not None]
        n_values[rows] = [len(sample.values) for sample in rated]
        n_ignored[rows] = [sample.n_ignored for sample in rated]
        boundaries = [sample.boundaries for sample in rated if sample.boundaries is not None]
        none = np.empty(0, np.int64)
        return cls(
            assigned=assigned,
            n_values=n_values,
            n_ignored=n_ignored,
            values=np.concatenate([none, *(sample.values for sample in rated)]),
            areas=np.concatenate([none, *(sample.areas.ravel() for sample in rated)]),
            shared=np.concatenate([none, *(sample.shared.ravel() for sample in rated)]),
            boundaries=np.concatenate(boundaries) if boundaries else None,
            at_points=np.concatenate([np.empty((0, len(POINTS)), np.int16), *(sample.at_points for sample in rated)]),
        )

    @property
    def sample(self) -> IntArray:
        """The sample of every row of ``values``, shape ``(V,)``."""
        return np.repeat(np.arange(len(self.n_values)), self.n_values)

    @property
    def n_masks(self) -> IntArray:
        """Masks that were compared in every sample, shape ``(S,)``."""
        n = self.assigned.sum(axis=1)
        return np.where(n >= 2, n, 0)

    @property
    def n_pairs(self) -> IntArray:
        """Pairs of annotators of every sample, shape ``(S,)``."""
        n = self.n_masks
        pairs: IntArray = n * (n - 1) // 2
        return pairs

    def without_empty(self, background: int | None) -> MaskCounts:
        """The counts as if nobody had a mask where all masks are only background."""
        n_classes = np.bincount(self.sample[are_classes(self.values, background)], minlength=len(self.n_values))
        kept = (n_classes > 0) | (self.n_values == 0)
        if kept.all():
            return self
        return MaskCounts(
            assigned=self.assigned & kept[:, None],
            n_values=self.n_values * kept,
            n_ignored=self.n_ignored * kept,
            values=self.values[np.repeat(kept, self.n_values)],
            areas=self.areas[np.repeat(kept, self.n_values * self.n_masks)],
            shared=self.shared[np.repeat(kept, self.n_values * self.n_pairs)],
            boundaries=None if self.boundaries is None else self.boundaries[np.repeat(kept, self.n_pairs)],
        )


#: names that make the value 0 the background
BACKGROUND_NAMES = frozenset({"background", "bg", "unlabeled", "unlabelled", "void", "none"})
#: names that make another value the background if 0 is a class
_CERTAIN_NAMES = frozenset({"background", "bg"})


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

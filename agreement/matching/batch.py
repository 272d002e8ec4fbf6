"""The objects of a batch of samples as columns."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...metrics.geometry.objects import Geometry, Objects
from ...metrics.numeric.arrays import BoolArray, FloatArray, IntArray, ranges

#: track of an object without a track
NO_TRACK = int(np.iinfo(np.int64).min)


@dataclass(frozen=True, slots=True)
class Batch:
    """The objects of a batch of samples, and the assigned annotators."""

    objects: Objects  #: ``N`` objects, sorted by sample, annotator, label id; categories from 1
    geometry: Geometry  #: geometry of every object
    assigned: BoolArray  #: shape ``(S, R)``, whether an annotator was assigned to a sample
    crowd: BoolArray | None = None  #: shape ``(N,)``, objects that are crowd regions; None if there are none
    #: shape ``(N,)``, track of every object, its number within the video and annotator, ``NO_TRACK`` without one; None
    #: if the samples are no frames
    track: IntArray | None = None
    #: for every compared attribute the codes of its values, shape ``(N,)``; 0 where not given
    attributes: tuple[IntArray, ...] = ()
    #: for every compared attribute the number of each code; nan where the value is not a number
    attribute_numbers: tuple[FloatArray, ...] = ()
    #: shape ``(S, 2)``, width and height of the images, nan where unknown; None if not needed
    size_px: FloatArray | None = None
    #: shape ``(S, R)``, who would be assigned if a null label list had the other meaning; None: the same
    otherwise: BoolArray | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.assigned)

    def take(self, samples: IntArray) -> Batch:
        """The batch of the samples at some rows, in that order."""
        n_objects = np.bincount(self.objects.sample, minlength=self.n_samples)
        rows = ranges((np.cumsum(n_objects) - n_objects)[samples], n_objects[samples])
        known = {name: getattr(self, name) for name in ("assigned", "otherwise", "size_px")}
        kept: dict[str, Any] = {name: None if column is None else column[samples] for name, column in known.items()}
        return dataclasses.replace(self._with(rows, np.repeat(np.arange(len(samples)), n_objects[samples])), **kept)

    def of_first(self, n: int) -> Batch:
        """The batch of the first annotators alone; those behind them are the roles of a run."""
        return dataclasses.replace(self.among(self.objects.annotator < n), assigned=self.assigned[:, :n])

    def among(self, rows: BoolArray) -> Batch:
        """The batch with all samples, but only the objects in a mask ``(N,)``."""
        return self._with(rows, self.objects.sample[rows])

    def _with(self, rows: IntArray | BoolArray, sample: IntArray) -> Batch:
        """The batch with some of the objects, and the sample of each of them."""
        return dataclasses.replace(
            self,
            objects=Objects(sample, self.objects.annotator[rows], self.objects.category[rows]),
            geometry=self.geometry.take(rows),
            crowd=None if self.crowd is None else self.crowd[rows],
            track=None if self.track is None else self.track[rows],
            attributes=tuple(codes[rows] for codes in self.attributes),
        )

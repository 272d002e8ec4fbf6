"""Agreement on keypoints: object keypoint similarity (OKS) or circles for positions, and which points are labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..numeric.arrays import BoolArray, FloatArray, IntArray
from .boxes import Boxes
from .objects import Geometry, IntersectionOf, Objects, Overlaps, dice_from_iou, find_overlaps

#: the published σ of COCO's 17 points: nose, eyes, ears, shoulders, elbows, wrists, hips, knees, ankles
COCO_SIGMAS: FloatArray = np.array([0.026, *np.repeat([0.025, 0.035, 0.079, 0.072, 0.062, 0.107, 0.087, 0.089], 2)])
COCO_SIGMAS.setflags(write=False)

#: σ of points without a published value
DEFAULT_SIGMA = 0.05

#: the shorter side of an object counts as at least this share of the longer one
_LEAST_ASPECT = 0.1

#: pairs with a similarity below this do not overlap
_LEAST_SIMILARITY = 1e-12

#: pairs of points that are compared at once (about 100 bytes each)
_MAX_POINTS_AT_ONCE = 50_000


def check_points(points_xy: FloatArray, name: str = "points_xy") -> FloatArray:
    """Return the points as float64, both coordinates nan where a point is not labelled.

    Raises:
        ValueError: if the array is not ``(_, _, 2)`` or has an infinite value
    """
    points = np.asarray(points_xy, dtype=np.float64)
    if points.ndim != 3 or points.shape[2] != 2:
        raise ValueError(f"`{name}` must have the shape (N, L, 2), got {points.shape}")
    if np.isinf(points).any():
        raise ValueError(f"`{name}` must be finite or nan, got {points[np.isinf(points).any(axis=2)][0].tolist()}")
    return np.where(np.isnan(points).any(axis=2, keepdims=True), np.nan, points)


def _check_sigmas(sigmas: FloatArray | float, n_points: int) -> FloatArray:
    """σ of every point, shape ``(L,)``."""
    values = np.asarray(sigmas, dtype=np.float64)
    if values.shape not in ((), (n_points,)):
        raise ValueError(f"`sigmas` must be one number or have the shape ({n_points},), got {values.shape}")
    unusable = ~(np.isfinite(values) & (values > 0))
    if unusable.any():
        raise ValueError(f"`sigmas` must be finite and > 0, got {values[unusable].flat[0]!s}")
    return np.broadcast_to(values, (n_points,))


def _check_pairs(points_a: FloatArray, points_b: FloatArray) -> tuple[FloatArray, FloatArray]:
    a, b = check_points(points_a, "points_a"), check_points(points_b, "points_b")
    if a.shape != b.shape:
        raise ValueError(f"`points_a` and `points_b` must have the same shape, got {a.shape} and {b.shape}")
    return a, b


def _labelled(points: FloatArray) -> BoolArray:
    present: BoolArray = ~np.isnan(points[..., 0])
    return present


def _corners(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Min and max coordinates of the labelled points of every object, both ``(N, 2)``; infinite without points."""
    present = _labelled(points)[..., None]
    low = np.where(present, points, np.inf).min(axis=1, initial=np.inf)
    return low, np.where(present, points, -np.inf).max(axis=1, initial=-np.inf)


def _area(points: FloatArray) -> FloatArray:
    low, high = _corners(points)
    with np.errstate(over="ignore"):  # extreme coordinates may overflow
        sides = np.maximum(high - low, 0.0)  # of the box around the labelled points; 0 without points
        longer = sides.max(axis=1)
        area: FloatArray = longer * np.maximum(sides.min(axis=1), _LEAST_ASPECT * longer)
    return area


def _mean_where(kept: BoolArray, values: FloatArray) -> FloatArray:
    """Mean of the kept values of every row; nan for a row without any."""
    n = kept.sum(axis=1)
    total = np.where(kept, values, 0.0).sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _similarity(a: FloatArray, b: FloatArray, area: FloatArray, sigmas: FloatArray) -> FloatArray:
    """Mean similarity of the points that both labelled; ``area`` is the mean area of the two objects, ``(P,)``."""
    with np.errstate(over="ignore"):
        x, y = a[..., 0] - b[..., 0], a[..., 1] - b[..., 1]
        squared: FloatArray = x * x + y * y
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # objects without extent
        near = np.exp(-squared / (2.0 * area[:, None] * (2.0 * sigmas) ** 2))
    return _mean_where(~np.isnan(squared), np.where(squared == 0.0, 1.0, near))


def object_scale(points_xy: FloatArray) -> FloatArray:
    """Squared scale ``s²`` of every object: the area of the box around its labelled points, in square pixels.

    The shorter side of the box counts as at least a tenth of the longer side, so that points on one line have an
    extent. A single point has scale 0. COCO uses the area of the object's segment instead, which keypoints do not have
    and which is about half as large.

    Args:
        points_xy: shape ``(N, L, 2)``, in pixels; nan where a point is not labelled

    Returns:
        shape ``(N,)``

    Undefined:
        nan for an object without a labelled point

    Raises:
        ValueError: if the array is not ``(_, _, 2)`` or has an infinite value

    Example:
        >>> object_scale(np.array([[[0, 0], [40, 10], [20, 5]], [[7, 0], [7, 40], [np.nan, np.nan]]]))
        array([400., 160.])
    """
    points = check_points(points_xy)
    return np.where(_labelled(points).any(axis=1), _area(points), np.nan)


def oks(points_a: FloatArray, points_b: FloatArray, sigmas: FloatArray | float = DEFAULT_SIGMA) -> FloatArray:
    """Object keypoint similarity of two annotators, row by row.

    The mean, over the points that both labelled, of ``exp(-d² / (2 s² k²))``, where ``d`` is the distance of the two
    points, ``k = 2 σ``, and ``s²`` the mean of :func:`object_scale` of the two objects. It measures position only;
    :func:`visibility_agreement` covers points that only one annotator labelled. Symmetric. Two single points have no
    scale: the OKS is 1 if they are equal, else 0.

    Args:
        points_a: shape ``(P, L, 2)``, in pixels (relative coordinates distort distances); nan where a point is not
            labelled
        points_b: same shape, the same points in the same order
        sigmas: σ of every point ``(L,)``, or one for all; a larger σ tolerates larger distances

    Returns:
        shape ``(P,)``, in [0, 1]

    Undefined:
        nan where no point is labelled by both, and where distances and scale both overflow

    Raises:
        ValueError: if an array has the wrong shape or an infinite value, or a σ is not > 0

    Example:
        >>> a, b = np.array([[[0, 0], [40, 10.0]]]), np.array([[[0, 0], [40, 12.0]]])
        >>> oks(a, b, 0.05).round(4)
        array([0.8174])

    References:
        M. Ruggero Ronchi and P. Perona, "Benchmarking and Error Diagnosis in Multi-Instance Pose Estimation", ICCV
        2017; symmetric in place of a ground truth's segment area
    """
    a, b = _check_pairs(points_a, points_b)
    return _similarity(a, b, _area(a) / 2.0 + _area(b) / 2.0, _check_sigmas(sigmas, a.shape[1]))


def circle_iou(distance: FloatArray, radius: FloatArray | float) -> FloatArray:
    """Intersection over union of two circles of one radius, by the distance of their centres.

    Args:
        distance: any shape, in the unit of the radius
        radius: > 0, one for all or of each

    Returns:
        the shape of ``distance``, in [0, 1]; 0 from two radii on

    Undefined:
        never; nan for a distance that is nan

    Example:
        >>> circle_iou(np.array([0.0, 10.0, 20.0]), 10.0).round(4)
        array([1.   , 0.243, 0.   ])
    """
    half = np.minimum(distance / (2.0 * radius), 1.0)
    shared = (np.arccos(half) - half * np.sqrt(1.0 - half * half)) * 2.0 / np.pi  # of the area of one circle
    iou: FloatArray = shared / (2.0 - shared)
    return iou


def visibility_agreement(points_a: FloatArray, points_b: FloatArray) -> FloatArray:
    """Number of points labelled by both annotators / labelled by at least one, row by row.

    Args:
        points_a: shape ``(P, L, 2)``; nan where a point is not labelled
        points_b: same shape, the same points in the same order

    Returns:
        shape ``(P,)``, in [0, 1]

    Undefined:
        nan where neither annotator labelled a point

    Raises:
        ValueError: if an array is not ``(_, _, 2)`` or has an infinite value, or the shapes differ

    Example:
        >>> a = np.array([[[0, 0], [40, 10], [np.nan, np.nan]]])
        >>> visibility_agreement(a, np.array([[[3, 2], [np.nan, np.nan], [5, 5]]])).round(4)
        array([0.3333])
    """
    a, b = (_labelled(points) for points in _check_pairs(points_a, points_b))
    return _mean_where(a | b, (a & b).astype(np.float64))


@dataclass(frozen=True, slots=True)
class Keypoints(Geometry):
    """Keypoints of objects, as a geometry that can be matched.

    Points have no area. Two objects with the OKS ``s`` count as two objects of area 1 that share the area
    ``2 s / (1 + s)``: their IoU is ``s``, their Dice coefficient is the shared area. Pairs without a common point, or
    with an OKS below 1e-12, do not overlap. With radii ``s`` is the mean, over the points that both labelled, of the
    IoU of circles around them; of single points it is this IoU.

    Attributes:
        points_xy: shape ``(N, L, 2)``, in pixels; nan where a point is not labelled, and as padding of objects with
            fewer than ``L`` points
        sigmas: σ of every point ``(L,)``, or one for all; see :func:`oks`
        radius: shape ``(N,)``, of the circles around the points of every object, in pixels, the same for all of one
            image; None: they are compared by OKS
    """

    points_xy: FloatArray
    sigmas: FloatArray | float = DEFAULT_SIGMA
    radius: FloatArray | None = None

    def __post_init__(self) -> None:
        check_points(self.points_xy)
        _check_sigmas(self.sigmas, self.points_xy.shape[1])

    def __len__(self) -> int:
        return len(self.points_xy)

    @property
    def area(self) -> FloatArray:
        """Squared scale of every object, see :func:`object_scale`; or the area of its circles."""
        if self.radius is None:
            return object_scale(self.points_xy)
        circles: FloatArray = np.pi * self.radius**2 * _labelled(self.points_xy).sum(axis=1)
        return circles

    @property
    def without_extent(self) -> BoolArray:
        """Objects with a single labelled point, or several in one place."""
        none: BoolArray = self.area == 0.0
        return none

    def places(self) -> dict[str, FloatArray]:
        return {"points_xy": self.points_xy}

    def visibility(self, i: IntArray, j: IntArray) -> FloatArray:
        """See :func:`visibility_agreement`."""
        return visibility_agreement(self.points_xy[i], self.points_xy[j])

    def in_another_order(self, objects: Objects, alone: BoolArray) -> BoolArray:
        """See :class:`Geometry`. Both objects have the same class and number of points, their boxes have an IoU of at
        least 0.5, and the best order brings the points at least four times as near."""
        n_points, found = _labelled(self.points_xy).sum(axis=1), np.zeros(len(self), np.bool_)
        rows = np.flatnonzero(alone & (n_points > 1))
        few = Objects(objects.sample[rows], objects.annotator[rows], objects.category[rows])
        near = Boxes(self.boxes_xyxy()[rows]).overlaps(few)
        i, j = (rows[column[near.iou >= 0.5]] for column in (near.i, near.j))
        alike = (objects.category[i] == objects.category[j]) & (n_points[i] == n_points[j])
        for a, b in zip(i[alike].tolist(), j[alike].tolist(), strict=True):
            own, other = (self.points_xy[k][_labelled(self.points_xy[k])] for k in (a, b))
            apart = np.hypot(*np.moveaxis(own[:, None] - other, -1, 0))
            if 4.0 * apart[linear_sum_assignment(apart)].sum() <= np.trace(apart) > 0:
                found[[a, b]] = True
        return found

    def boxes_xyxy(self) -> FloatArray:
        """Box around the labelled points of every object; nan without points."""
        boxes = np.concatenate(_corners(check_points(self.points_xy)), axis=1)
        return np.where(np.isfinite(boxes), boxes, np.nan)

    def take(self, rows: IntArray | BoolArray) -> Keypoints:
        return Keypoints(self.points_xy[rows], self.sigmas, None if self.radius is None else self.radius[rows])

    def joined(self, others: Sequence[Keypoints]) -> Keypoints:
        """These objects, followed by others, padded to the greatest number of points.

        Raises:
            ValueError: if the objects have different σ
        """
        parts = [self, *others]
        for other in others:
            if not np.array_equal(self.sigmas, other.sigmas):
                raise ValueError(f"Joined keypoints must have the same `sigmas`, got {self.sigmas} and {other.sigmas}")
        longest = max(part.points_xy.shape[1] for part in parts)
        padded = [
            np.pad(part.points_xy, ((0, 0), (0, longest - part.points_xy.shape[1]), (0, 0)), constant_values=np.nan)
            for part in parts
        ]
        radii = [part.radius for part in parts if part.radius is not None]
        return Keypoints(np.concatenate(padded), self.sigmas, np.concatenate(radii) if radii else None)

    def overlaps(self, objects: Objects) -> Overlaps:
        """The overlapping pairs of objects of different annotators on the same sample.

        Raises:
            ValueError: if there are not as many objects as keypoints
        """
        if len(objects) != len(self):
            raise ValueError(f"`objects` must have the length {len(self)}, got {len(objects)}")
        bounds = None
        if self.radius is not None:
            bounds = np.nan_to_num(self.boxes_xyxy()) + self.radius[:, None] * [-1.0, -1.0, 1.0, 1.0]
        return find_overlaps(objects, np.ones(len(self)), self._intersection_of(), bounds)

    def intersection_of(self, i: IntArray, j: IntArray) -> FloatArray:
        """Areas shared by the objects of two index columns; every object has area 1."""
        return self._intersection_of()(i, j)

    def _intersection_of(self) -> IntersectionOf:
        points = check_points(self.points_xy)
        area = _area(points)
        n_points = points.shape[1]
        sigmas = _check_sigmas(self.sigmas, n_points)
        step = max(1, _MAX_POINTS_AT_ONCE // max(n_points, 1))

        def intersection_of(i: IntArray, j: IntArray) -> FloatArray:
            similarity = np.empty(len(i))
            for start in range(0, len(i), step):
                a, b = i[start : start + step], j[start : start + step]
                if self.radius is None:
                    found = _similarity(points[a], points[b], area[a] / 2.0 + area[b] / 2.0, sigmas)
                else:
                    apart = circle_iou(np.hypot(*np.moveaxis(points[a] - points[b], -1, 0)), self.radius[a, None])
                    found = _mean_where(~np.isnan(apart), apart)
                similarity[start : start + step] = found
            return np.where(similarity >= _LEAST_SIMILARITY, dice_from_iou(similarity), 0.0)

        return intersection_of

"""``DecisionReport``: how many disputed objects are decided, and accuracy of annotators and consensus against that."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...metrics.bootstrap.draws import hstack
from ...metrics.numeric.arrays import IntArray, sums_by
from ..statistics.estimates import Fields, estimates
from ..statistics.numbers import Numbers, ratio
from ..statistics.presentation import ShowsItself, shown_as
from ..statistics.report import WithIntervals

if TYPE_CHECKING:
    from pandas import DataFrame

#: class code where there is no object, or where the annotator did not draw it
NOTHING = -1
#: class code of the majority where there is none
NO_MAJORITY = -2

#: instead of the name of an annotator, for objects that a rule decided
BY_RULE = "decided by a rule"

_VALUES = ("precision", "recall", "class_errors")


@dataclass(frozen=True, slots=True)
class ClassDecided(WithIntervals):
    """Accuracy of an annotator on one class; numbers as in :class:`AnnotatorDecided`.

    Recall is a share of the objects of this class, and precision a share of the labels with this class.
    """

    name: str
    n_objects: int  #: objects that have this class
    n_labels: int  #: labels to which the annotator gave this class
    precision: float | None
    recall: float | None
    class_errors: float | None


@dataclass(frozen=True, slots=True)
class AnnotatorDecided(WithIntervals):
    """Accuracy of an annotator on the decided objects of the samples to which they were assigned."""

    name: str
    n_right: int  #: objects that they drew with the right class
    n_wrong_class: int  #: objects that they drew with another class
    n_missed: int  #: objects that they did not draw
    n_too_many: int  #: labels that are decided to be no object
    precision: float | None  #: share of their labels that are of an object, of any class
    recall: float | None  #: share of the objects that they drew
    class_errors: float | None  #: of the objects that they drew, the share with another class
    classes: list[ClassDecided] = dataclasses.field(default_factory=list)


@dataclass(frozen=True, slots=True, repr=False)
class DecisionReport(ShowsItself):
    """Adjudication report: coverage of the decisions, and accuracy of annotators and consensus."""

    shown_by: ClassVar[str] = "decisions"

    run_key: str
    field: str  #: the field of decisions
    unit: str  #: what is decided: an object, a tag, or an image (its class, number or mask)
    n_objects: int  #: objects of the run
    n_disputed: int  #: how many of these are disputed
    n_decided: int  #: objects that were decided, skipped ones not included
    n_disputed_decided: int  #: how many of these are disputed
    n_samples: int  #: images (frames) of the run
    n_samples_decided: int  #: how many of these have decisions, not only skipped objects
    n_skipped: int  #: objects that were left for later
    #: objects with a decision on other labels than they have now, in no other number: labels were edited, added or
    #: deleted since, or the run that was decided on matched them otherwise, or had other annotators
    n_changed: int
    #: objects of two assigned annotators or more, decided by hand, and not applied to labels, on which the majority was
    #: right: more than half of the assigned annotators drew it, and most of these gave it the right class (numbers: the
    #: median is right); or more than half did not draw it, and it is no object; None without a consensus (masks)
    n_consensus_right: int | None
    n_consensus_wrong: int | None  #: such objects on which the majority was wrong
    n_no_majority: int | None  #: such objects without a majority: half drew it, or several classes lead
    annotators: list[AnnotatorDecided] = dataclasses.field(default_factory=list)
    #: decided objects whose labels were changed to the decision; such a label counts for no annotator
    n_applied: int = 0
    n_undrawn: int = 0  #: objects that no annotator drew, but whoever decided: missed by all who were assigned
    n_by_rule: int = 0  #: objects that a rule decided, which is no evidence of who was right
    #: counts of all annotators together on these objects, without shares; None if a rule decided nothing
    by_rule: AnnotatorDecided | None = None

    def __repr__(self) -> str:
        decided = f"{self.n_disputed_decided:,} of {self.n_disputed:,} disputed {self.unit}s decided"
        return f"<{type(self).__name__} of {self.run_key!r}: {decided}; print_report() says more>"

    def to_dataframe(self) -> DataFrame:
        """One row for every annotator, and one for the rule if there is one; undefined numbers are nan."""
        return shown_as("decisions_frame", self)

    @property
    def rows(self) -> list[AnnotatorDecided]:
        """The entries of the annotators, and that of objects that a rule decided, if there are any."""
        return [*self.annotators, *([] if self.by_rule is None else [self.by_rule])]

    @property
    def share_decided(self) -> float | None:
        """Share of the disputed objects that were decided."""
        return self.n_disputed_decided / self.n_disputed if self.n_disputed else None

    @property
    def share_consensus_right(self) -> float | None:
        """``n_consensus_right / (n_consensus_right + n_consensus_wrong)``; None where undefined."""
        n_judged = (self.n_consensus_right or 0) + (self.n_consensus_wrong or 0)
        return self.n_consensus_right / n_judged if self.n_consensus_right is not None and n_judged else None

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-serialisable values."""
        shares = {"share_decided": self.share_decided, "share_consensus_right": self.share_consensus_right}
        return {**dataclasses.asdict(self), **shares}


@dataclass(frozen=True, slots=True)
class Judged:
    """A row for every decided object and every annotator assigned to its sample."""

    sample: IntArray  #: shape ``(N,)``, sample (or video, or group): the unit of resampling
    annotator: IntArray  #: shape ``(N,)``
    right: IntArray  #: shape ``(N,)``, code of the class that the object has, or :data:`NOTHING`
    given: IntArray  #: shape ``(N,)``, code of the class that the annotator gave or :data:`NOTHING`


def annotators_decided(
    judged: Judged, annotators: Sequence[str], class_names: Sequence[str], *, resamples: int, seed: int
) -> list[AnnotatorDecided]:
    """Accuracy of every annotator against the decisions, with intervals by resampling samples.

    Args:
        class_names: name of every class code; empty for no numbers by class
        resamples: number of resamples; 0 for no intervals
    """
    n_samples, numbers = int(judged.sample.max(initial=-1)) + 1, list[Numbers]()
    answers: list[tuple[IntArray, IntArray, list[int]]] = []
    for k, name in enumerate(annotators):
        own = judged.annotator == k
        sample, right, given = judged.sample[own], judged.right[own], judged.given[own]
        # the classes that objects have, or that were given, by name
        used: list[int] = np.unique(np.concatenate([right, given])).tolist() if class_names else []
        codes = sorted((code for code in used if code >= 0), key=class_names.__getitem__)
        answers.append((right, given, codes))
        for code in (None, *codes):
            of_object = right != NOTHING if code is None else right == code
            of_label = given >= 0 if code is None else given == code
            drawn = of_object & (given >= 0)
            # labels, labels of an object, objects, objects drawn, objects drawn with another class
            rows = (of_label, of_label & (right != NOTHING), of_object, drawn, drawn & (right != given))
            columns = np.column_stack([sums_by(sample, each.astype(np.int64), n_samples) for each in rows])
            owner = (name,) if code is None else (name, class_names[code])
            numbers.append(
                Numbers(
                    tuple((*owner, value) for value in _VALUES),
                    hstack([columns.astype(np.float64)]),
                    lambda sums: ratio(sums[..., [1, 3, 4]], sums[..., [0, 2, 3]]),
                    basis=np.array([0, 2, 3]),
                )
            )
    # rank of every sample by its content, so that resamples do not depend on the order of samples
    contents = [each.rows.toarray() for each in numbers]
    ranks = np.argsort(np.lexsort(np.hstack(contents).T[::-1])) if numbers else np.empty(0, np.int64)
    fields = Fields(estimates(numbers, ranks, resamples=resamples, seed=seed))
    found = []
    for name, (right, given, codes) in zip(annotators, answers, strict=True):
        classes = [
            ClassDecided(
                name=class_names[code],
                n_objects=int((right == code).sum()),
                n_labels=int((given == code).sum()),
                **fields.of(name, class_names[code]),
            )
            for code in codes
        ]
        classes.sort(key=lambda entry: (-entry.n_objects, entry.name))
        found.append(AnnotatorDecided(name=name, **_counts(right, given), classes=classes, **fields.of(name)))
    return found


def decided_by_rule(judged: Judged) -> AnnotatorDecided | None:
    """Counts of all annotators on the objects that a rule decided; None if there are none."""
    if not len(judged.right):
        return None
    counts = _counts(judged.right, judged.given)
    return AnnotatorDecided(name=BY_RULE, **counts, precision=None, recall=None, class_errors=None)


def _counts(right: IntArray, given: IntArray) -> dict[str, Any]:
    """Number of right and of wrong answers of each kind, by field of :class:`AnnotatorDecided`."""
    drew, there = given >= 0, right != NOTHING
    found = {
        "n_right": there & (right == given),
        "n_wrong_class": there & drew & (right != given),
        "n_missed": there & (given == NOTHING),
        "n_too_many": drew & ~there,
    }
    return {name: int(each.sum()) for name, each in found.items()}

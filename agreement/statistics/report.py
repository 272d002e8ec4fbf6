"""``AgreementReport``, the base class of the reports of all label types; their common parts; ``ReportContext``."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TextIO, TypeVar

import numpy as np

from ... import names
from ...metrics.numeric.arrays import BoolArray, IntArray
from ..evidence.hypotheses import Finding
from ..settings.arguments import Public, print_to, true_or_false
from ..settings.config import AgreementConfig
from ..settings.errors import AgreementInputError
from ..settings.no_labels import AnnotatorLists, OtherReading
from .main_numbers import MainNumber
from .presentation import shown_as
from .role_reports import RoleReport
from .values import Coefficients as Coefficients
from .values import Interval as Interval
from .values import OfOne as OfOne
from .values import OfPair as OfPair
from .values import WithIntervals as WithIntervals
from .values import mean_defined as mean_defined
from .values import number as number
from .values import numbers_for_json as numbers_for_json
from .values import read as read

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure

R = TypeVar("R", bound="AgreementReport")

#: gives ``id`` and ``filepath`` of samples by their rows in the records
Describe = Callable[[Sequence[int]], list[dict[str, Any]]]


class SampleReader(Protocol):
    """Reads the stored tables of a run, and computes others on request."""

    def read(self, table: str) -> DataFrame:
        """A table: ``"samples"``, ``"labels"``, ``"units"``, or of objects ``"thresholds"``, ``"rules"``,
        ``"best_matches"``."""

    def n_changed(self) -> int | None:
        """Number of samples changed since the run; None if unknown."""

    @property
    def sensitivity(self) -> Any:
        """Other thresholds and rules, a :class:`~..objects.sensitivity.Sensitivity`; computed when it is asked for."""

    def decisions(self) -> Any:
        """Adjudication report on the objects, a :class:`~..disputes.judged.DecisionReport`; None without decisions.

        If more samples (frames) have decisions than can be read at once, this limit as a number.
        """


@dataclass(frozen=True, slots=True)
class AlphaSummary:
    """Krippendorff's alpha. Undefined values are None; ``undefined`` counts the samples by reason.

    ``mean`` is over the samples whose own alpha is defined; None for label types without it. The columns
    and the formula of ``pooled``, and with them its interval, have the key ``alpha.pooled`` in ``objects/headline.py``,
    and in ``report.py`` of the other families.
    """

    pooled: float | None
    mean: float | None
    n_defined: int
    undefined: dict[str, int]
    percent_agreement: float | None
    n_units: int


@dataclass(frozen=True, slots=True)
class ImageAlpha:
    """Krippendorff's alpha with whole images as units and 1 - score as distance, ``1 - observed / expected``.

    ``observed`` is the mean distance of two annotations of one image, each weighted as in Krippendorff's alpha;
    ``expected`` that of annotations of different images (of ``n_expected`` pairs). ``sigma`` is the share of observed
    distances below the 5 % quantile of the expected ones; ``ks`` the most by which their cumulative share exceeds
    that of the expected ones. Units are the ``n_images`` of two annotators or more, those that all left empty too. None
    where undefined: without two such images, and where all annotations of different images are equal.
    """

    value: float | None
    observed: float | None
    expected: float | None
    sigma: float | None
    ks: float | None
    n_images: int
    n_expected: int


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """Mean of the scores of the ``n`` scored samples, None without one.

    ``of_meetings`` is the mean over meetings (a sample and two annotators), as the scores of annotators and pairs are:
    a sample counts as often as two annotators met on it. Rankings compare with it.
    """

    mean: float | None
    n: int
    of_meetings: float | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts of a run beside its numbers: counts of what was read, coverage, versions.

    ``n_videos`` is the number of videos if the samples are frames; else None. ``n_groups`` is the number of groups of a
    grouped dataset if some have several samples; else None. ``n_of`` is the number of samples of the
    whole run if the report covers a part of it; else None. ``chosen_by`` is the run whose results chose the samples, if
    they are such a view. ``filtered`` names the annotators whose labels the view of the run filters while it leaves
    those of others as they are. ``lists`` counts the label lists of every annotator. ``unread`` has, by annotator, the
    images on which some of their labels could not be read when they were imported. Of a report on a part,
    ``n_changed``, ``n_repeated``, ``unread`` and ``seconds`` are those of the whole run, and ``n_invalid`` leaves out
    fields that hold no labels at all.
    """

    n_changed: int = 0
    n_invalid: int = 0
    n_unknown: int = 0
    n_repeated: int = 0
    coverage: str = "given"
    n_added_assignments: int = 0
    seconds: float | None = None
    n_videos: int | None = None
    n_groups: int | None = None
    n_of: int | None = None
    chosen_by: str | None = None
    filtered: list[str] = dataclasses.field(default_factory=list)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    lists: list[AnnotatorLists] = dataclasses.field(default_factory=list)
    unread: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReportContext:
    """Inputs of a report in addition to the records of its samples."""

    config: AgreementConfig  #: the options of the run
    annotators: Sequence[str]  #: name of every annotator, in the order of the records
    class_names: Sequence[str]  #: name of every category code
    label_types: Sequence[str]  #: label types of the fields, for display
    run: RunFacts  #: counts of what was read, coverage, versions
    measure: str = "IoU"  #: name of the similarity of two objects
    worst_samples: list[dict[str, Any]] = dataclasses.field(default_factory=list)  #: the samples with the lowest scores
    #: for every compared attribute, the value of every code
    attribute_values: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    #: additional values for the family's report, as JSON
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    #: shape ``(S,)``, video or group of every sample (resampled as a whole); None without videos and groups
    clusters: IntArray | None = None
    #: names of the codes after those of ``class_names``: classes that a role gave, but no annotator
    role_class_names: Sequence[str] = ()
    describe: Describe = lambda rows: [{"id": str(row), "filepath": None} for row in rows]  #: describes samples

    @property
    def names_of_codes(self) -> list[str]:
        """Name of every class code, also of those that only roles gave."""
        return [*self.class_names, *self.role_class_names]

    def of_samples(self, chosen: BoolArray, annotators: Sequence[str] | None = None) -> ReportContext:
        """The context of the samples in a mask ``(S,)``, and of some annotators; None: of all."""
        rows, describe = np.flatnonzero(chosen), self.describe
        return dataclasses.replace(
            self,
            annotators=self.annotators if annotators is None else annotators,
            clusters=None if self.clusters is None else self.clusters[chosen],
            describe=lambda wanted: describe(rows[wanted].tolist()),
        )

    def to_stored(self) -> dict[str, Any]:
        """The parts of the context that the report does not contain, as JSON values."""
        return {
            "annotators": list(self.annotators),
            "class_names": list(self.class_names),
            "measure": self.measure,
            "attribute_values": {name: list(values) for name, values in self.attribute_values.items()},
            "details": dict(self.details),
            "role_class_names": list(self.role_class_names),
        }

    @classmethod
    def from_stored(cls, values: Mapping[str, Any], report: AgreementReport) -> ReportContext:
        """Rebuild the context from a report and :meth:`to_stored`."""
        return cls(
            config=AgreementConfig.from_dict(report.config),
            label_types=report.label_types,
            run=report.run,
            **values,
        )


@functools.cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _fields_of(part: Any) -> dict[str, Any]:
    """Entries of a part of a report in JSON."""
    kind: Any = type(part)
    return {name: getattr(part, name) for name in _field_names(kind)}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgreementReport(Public):
    """Report on the agreement of annotators; each family of label types adds its own numbers.

    Undefined numbers are None. ``print_report()`` prints the report, ``to_dict()`` returns it as JSON values; a
    notebook shows its first sections.
    """

    family: ClassVar[str]
    #: whether labels of several annotators are matched into physical objects
    has_objects: ClassVar[bool] = False
    #: numbers shown in the headline, the three questions, the comparison of runs and on the cards of the panel
    main_numbers: ClassVar[tuple[MainNumber, ...]] = ()

    run_key: str
    config: dict[str, Any]
    label_types: list[str]
    n_samples: int
    n_rated: int
    n_units: int
    n_objects: int
    score: ScoreSummary
    alpha: AlphaSummary
    worst_samples: list[dict[str, Any]]
    run: RunFacts
    #: intervals of the headline numbers, by path: ``alpha.pooled``, ``score.mean`` and so on
    intervals: dict[str, Interval] = dataclasses.field(default_factory=dict)
    #: share of rated samples on which nothing is disputed, including samples that everybody left empty
    share_full_agreement: float | None = None
    #: alpha with whole images as units; None for label types whose ``alpha`` has these units
    image_alpha: ImageAlpha | None = None
    #: the main numbers if null label lists meant the opposite; None if the same annotators would be assigned
    other_reading: OtherReading | None = None
    #: the samples that would change most if they were fixed: ``{id, filepath, score, n_units, n_disputed, share,
    #: reason}``, on videos also ``frame_number``; ``share`` is that of the cost of all disputes
    look_first: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: what must be known before any number is read, in sentences
    warnings: list[str] = dataclasses.field(default_factory=list)
    #: differences that tests confirm, the greatest first; of ``n_tested`` hypotheses
    findings: list[Finding] = dataclasses.field(default_factory=list)
    n_tested: int = 0
    #: every annotator against the reference; None without one
    reference: RoleReport | None = None
    #: every model against every annotator
    models: list[RoleReport] = dataclasses.field(default_factory=list)
    schema_version: int = names.SCHEMA_VERSION
    #: None for a report that was not loaded from a dataset
    samples: SampleReader | None = dataclasses.field(default=None, compare=False, repr=False)

    if TYPE_CHECKING:  # fields of every family, with entries of its own class

        @property
        def pairs(self) -> list[Any]:
            """An entry for every two annotators."""

        @property
        def annotators(self) -> list[Any]:
            """An entry for every annotator."""

    @property
    def measure(self) -> str:
        """Name of the similarity by which the extents of two objects are compared."""
        return "IoU"

    @property
    def roles_beside_one(self) -> list[RoleReport]:
        """Reference and models of a run with a single annotator, who has no agreement; empty with several."""
        roles = [role for role in (self.reference, *self.models) if role is not None]
        return roles if len(self.annotators) == 1 else []

    def __repr__(self) -> str:
        values = (
            (each.card.format(measure=self.measure), each.form == "share", each.value(self))
            for each in self.main_numbers
            if each.card and not each.below and not each.is_judged
        )
        numbers = ", ".join(
            f"{name} {'undefined' if value is None else f'{100 * value:.1f} %' if is_share else f'{value:.3f}'}"
            for name, is_share, value in values
        )
        what = "samples" if self.run.n_videos is None else "frames"
        rated = f"{self.n_rated:,} of {self.n_samples:,} {what} rated"
        if roles := self.roles_beside_one:
            compared = (f"{role.n_samples:,} of {self.n_samples:,} {what} compared with {role.name}" for role in roles)
            numbers, rated = f"{self.annotators[0].name} alone", " and ".join(compared)
        return f"<{type(self).__name__} {self.run_key!r}: {numbers}, {rated}; print_report() says more>"

    def _repr_html_(self) -> str:
        shown: str = shown_as("report_html", self)
        return shown

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON-serialisable values."""
        values: dict[str, Any] = json.loads(self.to_json())
        return values

    def to_json(self) -> str:
        """The report as JSON text in one line; reports of hundreds of annotators have millions of values."""
        values = {name: value for name, value in _fields_of(self).items() if name != "samples"}
        return json.dumps({"family": self.family, **values}, default=_fields_of)

    @classmethod
    def from_dict(cls: type[R], values: Mapping[str, Any]) -> R:
        """Rebuild a report from :meth:`to_dict`."""
        report: R = read(cls, {name: value for name, value in values.items() if name != "family"})
        return report

    def print_report(self, full: bool = False, file: TextIO | None = None) -> None:
        """Print the report as aligned text.

        Args:
            full: all sections, not only the most important ones
            file: output file, standard output by default
        """
        print_to(file, shown_as("report_text", self, full=true_or_false("full", full)))

    def to_dataframe(self, table: str = "summary") -> DataFrame:
        """A table of the report as a pandas DataFrame; undefined numbers are nan.

        Intervals are in columns next to their numbers (``alpha``, ``alpha_low``, ``alpha_high``); every entry of a
        dictionary has its own column (``verdicts.agreed``).

        Args:
            table: ``"summary"`` (the main numbers), ``"pairs"``, ``"annotators"``, ``"samples"``, ``"labels"`` and
                ``"units"`` (read from the stored records), ``"intervals"``, ``"worst_samples"``, and the
                tables of the label type: ``"classes"``, ``"confusion"`` and so on; of objects ``"thresholds"``,
                ``"rules"`` and ``"best_matches"``, which are computed when they are asked for

        Raises:
            AgreementInputError: if there is no such table; the message lists the tables
        """
        return shown_as("report_frame", self, table)

    def labels(self) -> DataFrame:
        """All labels that were compared, one row each, sorted by sample, from the stored records.

        Columns: ``sample_id`` (on videos also ``frame_number``), ``unit`` (the object, tag, class of a mask, or sample
        that the label belongs to; for objects the match id that stands on the labels), ``annotator``, ``field``, with
        a reference or models ``role`` (annotator, reference or model) and ``reference`` (its outcome for the label),
        ``label_id`` (plain values have none), ``label`` (class, tag, text or number), ``verdict``, ``iou`` (objects:
        mean with the other labels of the object, nan without others) and ``area`` (objects: share of the image; masks:
        pixels). A mask has a row for every class on it. Crowd regions, and labels within them, have the verdict
        ``crowd`` and no unit; a tag that its annotator gave before has neither. Labels that were left out, as they
        cannot be compared, have no row. Nothing has a verdict on samples with one annotator. Labels and units have
        ``sample_id``, ``frame_number`` and ``unit`` in common.

        Raises:
            AgreementInputError: if the report was not loaded from a dataset
        """
        return self.to_dataframe("labels")

    def units(self) -> DataFrame:
        """All objects (tags, classes of masks, rated samples), one row each, sorted by sample, from the stored records.

        Columns: ``sample_id`` (on videos also ``frame_number``), ``unit`` (as in :meth:`labels`), ``labels`` (classes),
        ``drawn_by`` and ``missed_by`` (annotators) as lists, ``votes`` (annotators who drew it),
        ``assigned`` (annotators who should have), ``verdict`` (None where only one annotator was asked), ``iou`` (mean
        over its labels; nan for one) and ``cost`` (1 for every two annotators of whom only one drew it, 2 for every two
        who gave it different classes; samples: 1 - score, summed over pairs of annotators; classes of masks: 1 - mean
        IoU).

        Raises:
            AgreementInputError: if the report was not loaded from a dataset
        """
        return self.to_dataframe("units")

    def plot_pairs(self, value: str | None = None) -> Figure:
        """Heatmap of the agreement of every two annotators, sorted so that similar annotators are neighbours.

        Args:
            value: ``"alpha"``, ``"score"``, ``"kappa"``, ``"f1"``, ``"mean_iou"`` (objects), ``"accuracy"`` (pixels),
                ``"same_tags"`` (tags); by default the first that the label type has

        Raises:
            AgreementInputError: if no pair has that number
        """
        return shown_as("plot_pairs", self, value)

    def plot_confusion(self, pair: tuple[str, str] | None = None, top: int = 20) -> Figure:
        """Confusion matrix of the classes, the largest confusions first.

        Args:
            pair: two annotators, rows are the classes of the first; by default all pairs, counted symmetrically
            top: maximum number of classes

        Raises:
            AgreementInputError: if nobody confused two classes
        """
        return shown_as("plot_confusion", self, pair, top)

    def plot_classes(self, top: int = 30) -> Figure:
        """Agreement on every class with 95 % intervals, lowest first; only the most frequent if there are many classes.

        Raises:
            AgreementInputError: if no class has a defined agreement
        """
        return shown_as("plot_classes", self, top)

    def plot_annotators(self) -> Figure:
        """Share of missed objects and of contradicted labels for every annotator; of more than 12, score and labels.

        Raises:
            AgreementInputError: if nothing was missed or contradicted
        """
        return shown_as("plot_annotators", self)

    def plot_votes(self) -> Figure:
        """Histogram of the number of annotators who drew an object.

        Raises:
            AgreementInputError: if there are no objects
        """
        return shown_as("plot_votes", self)

    def plot_iou(self) -> Figure:
        """Histogram of the IoU of two labels of one object.

        Raises:
            AgreementInputError: if no object was drawn by two annotators
        """
        return shown_as("plot_iou", self)

    def plot_scores(self, samples: DataFrame) -> Figure:
        """Histogram of the scores of the samples.

        Args:
            samples: the samples of the run, as ``run.samples()`` gives them

        Raises:
            AgreementInputError: if no sample has a score
        """
        if "score" not in list(getattr(samples, "columns", ())):
            raise AgreementInputError(
                f"`samples` must be the table that run.samples() gives, got {type(samples).__name__}"
            )
        return shown_as("plot_scores", self, samples["score"].to_numpy())

    def plot_thresholds(self) -> Figure:
        """Alpha, score, F1 and the number of objects over the matching threshold; computed when it is asked for.

        Raises:
            AgreementInputError: if the report was not loaded from a dataset, objects are matched without a threshold,
                or the labels cannot be read again
        """
        return shown_as("plot_thresholds", self)

    def plot_models(self, model: str | None = None) -> Figure:
        """F1 of a model with the annotators beside that of annotators left out, by size and class, with intervals.

        Args:
            model: one of ``models`` of the run; by default the first

        Raises:
            AgreementInputError: if there is no such model, or it shares no image with two annotators
        """
        return shown_as("plot_models", self, model)

    def plot_bias(self) -> Figure:
        """Mean offset of every annotator's boxes from the median box of the objects, with 95 % intervals.

        Raises:
            AgreementInputError: if there are no boxes to compare
        """
        return shown_as("plot_bias", self)

"""``AgreementParts``: the main numbers of a run by parts of its samples, or of several runs (``trend_of``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..settings.arguments import repeated
from ..settings.errors import AgreementInputError, did_you_mean
from ..statistics.main_numbers import COMPARED, MainNumber
from ..statistics.presentation import ShowsItself, shown_as
from ..statistics.report import AgreementReport, Interval

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure


#: most numbers in a table of parts
MOST_SHOWN = 4


@dataclass(frozen=True, slots=True)
class PartNumber:
    """A number of a part, and its difference to that of all other samples.

    Undefined numbers are None. ``low`` and ``high`` are the 95 % interval of the difference; if the number
    ``stands_out``, it is wider to allow for the selection (Benjamini and Yekutieli 2005), as for findings.
    """

    value: float | None
    interval: Interval | None  #: 95 % interval, as in a report on these samples
    rest: float | None = None  #: the number of all other samples
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None  #: None if it was not tested
    stands_out: bool = False  #: whether the test rejects, at a false discovery rate of 5 % over all tests


@dataclass(frozen=True, slots=True)
class DataPart:
    """A part of the samples of a run (``by()``), or a run (``trend()``)."""

    name: str
    n_samples: int  #: samples (frames) of the run
    n_rated: int  #: samples with two or more annotators: the numbers are of these
    n_objects: int  #: labels on rated samples
    numbers: dict[str, PartNumber]  #: by key, such as ``"score.mean"``

    @property
    def intervals(self) -> dict[str, Interval]:
        """The intervals of the numbers, by key."""
        return {key: each.interval for key, each in self.numbers.items() if each.interval is not None}

    def with_intervals(self, known: Mapping[str, Interval]) -> DataPart:
        """A copy with these intervals, by key of the number."""
        numbers = {key: dataclasses.replace(each, interval=known.get(key)) for key, each in self.numbers.items()}
        return dataclasses.replace(self, numbers=numbers)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AgreementParts(ShowsItself):
    """The main numbers of a run by parts of its samples (:meth:`AgreementRun.by`), or of several runs (``trend()``).

    A sample with several values (tags, labels) is in several parts. A part is compared with all samples that are not in
    it. Numbers that are no function of sums over samples (alpha of images, which compares different images) are left
    out.
    """

    shown_by: ClassVar[str] = "parts"

    by: str  #: what divides the samples
    run_key: str | None  #: None: the parts are runs
    family: str
    what: str  #: ``"images"`` or ``"frames"``
    measure: str  #: name of the similarity of two objects
    whole: DataPart  #: all samples
    parts: list[DataPart]
    ordered: bool = False  #: whether the parts have an order, as numbers and dates do
    n_merged: int = 0  #: number of rare values that are one part together
    n_tested: int = 0  #: differences that were tested
    main_numbers: tuple[MainNumber, ...] = ()  #: titles and meaning of the numbers
    #: its ``view(part)`` is a view of the samples of a part, by number; None if the parts are runs
    samples: Any = dataclasses.field(default=None, compare=False)

    has_objects: ClassVar[bool] = False

    @property
    def numbers(self) -> list[MainNumber]:
        """The numbers that any part has."""
        known = {key for part in self.parts for key, each in part.numbers.items() if each.value is not None}
        return [each for each in self.main_numbers if each.key in known and each.concerns(self.measure)]

    @property
    def shown(self) -> list[MainNumber]:
        """The numbers that tables show."""
        return [each for each in self.numbers if each.group != COMPARED][:MOST_SHOWN]

    @property
    def findings(self) -> list[tuple[DataPart, MainNumber, PartNumber]]:
        """Parts whose numbers stand out: first numbers that tables show, then the greatest difference first."""
        found = [
            (part, number, part.numbers[number.key])
            for part in self.parts
            for number in self.numbers
            if number.key in part.numbers and part.numbers[number.key].stands_out
        ]
        in_tables = self.shown
        return sorted(
            found, key=lambda each: (each[1] not in in_tables, -round(abs(each[2].difference or 0.0), 9), each[0].name)
        )

    @property
    def rated(self) -> list[DataPart]:
        """The parts with an image that two annotators rated; all if the parts are runs."""
        return [part for part in self.parts if part.n_rated or self.run_key is None]

    def view(self, name: str) -> Any:
        """A view of the samples of a part.

        Args:
            name: name of the part, as in the table

        Raises:
            AgreementInputError: if there is no such part, or the parts are runs
        """
        names = [part.name for part in self.parts]
        if self.samples is None:
            raise AgreementInputError("The parts must be of one run to have a view, got several runs; load one of them")
        if name not in names:
            raise AgreementInputError(f"There is no part {name!r} by {self.by}{did_you_mean(str(name), names)}")
        return self.samples.view(names.index(name))

    def __repr__(self) -> str:
        of = "" if self.run_key is None else f" of {self.run_key!r}"
        return f"<{type(self).__name__}{of} by {self.by}: {len(self.parts)} parts; print_report() says more>"

    def to_dict(self) -> dict[str, Any]:
        """The parts as JSON-serialisable values."""
        plain = {name: getattr(self, name) for name in ("by", "run_key", "family", "what", "measure", "ordered")}
        plain |= {"n_merged": self.n_merged, "n_tested": self.n_tested}
        parts: list[Mapping[str, Any]] = [dataclasses.asdict(part) for part in (self.whole, *self.parts)]
        return {**plain, "whole": parts[0], "parts": parts[1:]}

    def to_dataframe(self) -> DataFrame:
        """A row for every part and number: value, interval, value elsewhere, difference; undefined numbers are nan."""
        return shown_as("parts_frame", self)

    def plot(self, number: str | None = None) -> Figure:
        """A number of every part with 95 % intervals.

        Args:
            number: its key (``"score.mean"``, ``"alpha.pooled"``); None: that of the table's first column
        """
        return shown_as("plot_parts", self, number)


def trend_of(names: Sequence[str], reports: Sequence[AgreementReport]) -> AgreementParts:
    """The main numbers of several runs on labels of one kind, each run as a part.

    Args:
        names: a name for each run
        reports: their reports, in order

    Raises:
        AgreementInputError: if there are no two runs, or they are not on labels of one kind
    """
    if len(reports) < 2:
        raise AgreementInputError(f"`runs` must be two runs or more, got {len(reports)}")
    kinds = [
        report.family + (f" at the level {level}" if (level := getattr(report, "level", None)) else "")
        + (f" compared by {report.measure}" if report.has_objects else "")
        for report in reports
    ]  # fmt: skip
    if len(set(kinds)) > 1:
        raise AgreementInputError(f"`runs` must be on labels of one kind, got {' and '.join(dict.fromkeys(kinds))}")
    twice = repeated(names)
    if twice:
        raise AgreementInputError(f"`names` must be different, got {twice[0]!r} more than once; give `names`")
    parts = [
        DataPart(
            name,
            n_samples=report.n_samples,
            n_rated=report.n_rated,
            n_objects=report.n_objects,
            numbers={
                number.key: PartNumber(number.value(report), report.intervals.get(number.key))
                for number in report.main_numbers
            },
        )
        for name, report in zip(names, reports, strict=True)
    ]
    first = reports[0]
    return AgreementParts(
        by="run",
        run_key=None,
        family=first.family,
        what="images" if first.run.n_videos is None else "frames",
        measure=first.measure,
        whole=DataPart("all", 0, 0, 0, {}),
        parts=parts,
        ordered=True,
        main_numbers=first.main_numbers,
    )

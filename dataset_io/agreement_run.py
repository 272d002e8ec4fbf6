"""A run as an object: its report, tables and views, its objects and decisions, and the files of annotators."""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TextIO, TypeVar, overload

import fiftyone as fo
from fiftyone.core.collections import SampleCollection
from fiftyone.core.view import DatasetView

from .. import names
from ..agreement.families.comparison import AgreementComparison
from ..agreement.parts.result import AgreementParts, trend_of
from ..agreement.settings.arguments import check_call, takes_arrays, texts_of
from ..agreement.settings.errors import AgreementInputError, did_you_mean
from ..agreement.settings.options import OPTIONS, TOGETHER, flat_options
from ..agreement.statistics.report import AgreementReport
from .annotation_files.exporting import export_annotations
from .annotation_files.importing import import_annotations
from .app.settings import configure_agreement_app
from .decide.against import decided_against, report_decisions
from .decide.apply import apply_decisions, undo_applied
from .decide.decide import decide
from .decide.made_decisions import delete_decisions, list_decisions, undo_decisions
from .decide.own_labels import record_own_labels
from .jobs.compute import compute_agreement
from .jobs.delete import delete_agreement
from .jobs.rename import rename_agreement
from .jobs.split_join import join_annotators, split_annotators
from .jobs.update import update_agreement
from .record.fields import fields_marked
from .record.run import Run, dataset_of, list_agreements
from .results.anonymous import anonymous_report
from .results.check import check_agreement
from .results.compare import compare_agreement
from .results.decided_labels import export_decided
from .results.decided_list import export_decided_against
from .results.export import export_agreement
from .results.load import agreement_on, agreement_samples, agreement_times, changed_since, load_agreement
from .results.measure_ceiling import agreement_ceiling
from .results.parts import OpenParts, open_parts
from .run.work_through import Progress
from .units.annotate import annotate_disputed
from .units.label_tags import tag_agreement_labels
from .units.patches import agreement_patches
from .units.resolve import resolve_units
from .units.units_field import add_units
from .views.agreement_view import view_agreement
from .views.saved_views import save_agreement_views

if TYPE_CHECKING:
    from pandas import DataFrame

P = ParamSpec("P")
R = TypeVar("R")

_SELF = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)


class _Method(Generic[P, R]):
    """A function of samples and the key of a run, as a method of the run.

    ``help(run)`` shows the first sentence of the function's docstring, ``help(run.view)`` all of it.

    Args:
        function: the function
        whole: whether it concerns all samples of a run, whatever the view
    """

    n_given = 2  #: number of arguments that the run gives

    def __init__(self, function: Callable[Concatenate[Any, str, P], R], *, whole: bool = False) -> None:
        self.function: Callable[..., R] = function
        self.whole = whole

    def __set_name__(self, owner: type[_Methods], name: str) -> None:
        self.name, self.place = name, f"{owner._said}.{name}"

    @overload
    def __get__(self, found: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...

    @overload
    def __get__(self, found: _Methods, owner: type) -> Callable[P, R]: ...

    def __get__(self, found: _Methods | None, owner: type) -> Any:
        given, signature = _split(self.function, self.n_given)

        def method(*arguments: Any, **options: Any) -> R:
            if found is None and not (arguments and isinstance(arguments[0], owner)):
                got = type(arguments[0]).__name__ if arguments else "none"
                raise AgreementInputError(
                    f"{self.place}() must be called on a run, as load(dataset) gives it, got {got}"
                )
            run, *others = arguments if found is None else (found, *arguments)
            check_call(self.place, signature, others, options)
            return self.function(*run._given(self.whole, self.place)[: self.n_given], *others, **options)

        text = documented(self.function, given)
        method.__doc__ = text if found is not None else text.partition("\n\n")[0]
        parameters = [*([_SELF] if found is None else []), *signature.parameters.values()]
        method.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        method.__name__, method.__qualname__ = self.name, f"{owner.__name__}.{self.name}"
        return method


class _DatasetMethod(_Method[P, R]):
    """As :class:`_Method`, of a function of samples that takes no run."""

    n_given = 1

    def __init__(self, function: Callable[Concatenate[Any, P], R], *, whole: bool = False) -> None:
        super().__init__(function, whole=whole)  # type: ignore[arg-type]


def _split(function: Callable[..., Any], n_given: int) -> tuple[list[str], inspect.Signature]:
    """The names of the first arguments of a function, and its signature without them."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    return [each.name for each in parameters[:n_given]], signature.replace(parameters=parameters[n_given:])


def documented(function: Callable[..., Any], left_out: list[str]) -> str:
    """The docstring of a function without some of its arguments; functions are named as methods of a run."""
    text = inspect.cleandoc(function.__doc__ or "")
    for name in left_out:
        text = re.sub(rf"^    {name}: .*\n?(?:     .*\n?)*", "", text, flags=re.MULTILINE)
    text = re.sub(r"^Args:\n(?=\n|\Z)\n?", "", text, flags=re.MULTILINE)
    return re.sub(r":func:`(\w+)`", lambda found: f"``{names.REPLACED_BY.get(found[1], found[1])}``", text)


class _Methods:
    """Base of the objects whose methods act on a run."""

    _said = ""  #: how users call it

    def _given(self, whole: bool, place: str) -> tuple[SampleCollection, str]:
        """The samples and the key that a method gives to its function."""
        raise NotImplementedError

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in vars(cls) if not name.startswith("_")]


class _Part(_Methods):
    """Some of the methods of a run, under a name of their own."""

    def __init__(self, run: AgreementRun) -> None:
        self._run = run

    def _given(self, whole: bool, place: str) -> tuple[SampleCollection, str]:
        return self._run._given(whole, place)

    def __repr__(self) -> str:
        return f"<{self._said} of {self._run.key!r}: {', '.join(self._names())}>"


class RunObjects(_Part):
    """The objects that the labels of a run show: fields with one label each, patches, tags."""

    _said = "run.objects"

    write = _Method(add_units, whole=True)
    consensus = _Method(resolve_units, whole=True)
    patches = _Method(agreement_patches)
    tag = _Method(tag_agreement_labels)
    annotate = _Method(annotate_disputed)  # type: ignore[arg-type]  # it passes other options on


class RunDecisions(_Part):
    """Decisions on the objects of a run: which version is right. They outlive the run, as they hang on the labels."""

    _said = "run.decisions"

    decide = _Method(decide)
    list = _DatasetMethod(list_decisions)
    undo = _DatasetMethod(undo_decisions, whole=True)
    delete = _DatasetMethod(delete_decisions, whole=True)
    apply = _Method(apply_decisions)
    undo_applied = _DatasetMethod(undo_applied, whole=True)
    record_own = _Method(record_own_labels)
    report = _Method(report_decisions)
    export = _DatasetMethod(export_decided)

    @takes_arrays
    def against(self, annotator: str, *, gold: str = names.DEFAULT_GOLD_FIELD) -> DatasetView:
        """A view of what somebody, not a rule, decided against an annotator, beside what is right."""
        samples, key = self._given(False, "against")
        return decided_against(samples, annotator, key, gold=gold)

    @takes_arrays
    def export_against(
        self,
        annotator: str,
        path: str | os.PathLike[str] = "decided_against.html",
        *,
        gold: str = names.DEFAULT_GOLD_FIELD,
        overwrite: bool = False,
    ) -> Path:
        """Write what was decided against an annotator as a page (``.html``) or a table (``.csv``)."""
        samples, key = self._given(False, "export_against")
        return export_decided_against(samples, annotator, key, path, gold=gold, overwrite=overwrite)


class AgreementRun(_Methods):
    """A run of annotator agreement: its results, and the actions on it.

    What is no name of the run is looked up in its report: ``run.score.mean``, ``run.plot_pairs()``,
    ``run.to_dataframe("classes")``. ``help(run.view)`` describes the arguments of a method.

    Attributes:
        dataset: the dataset
        key: key of the run, with which all its fields begin
        objects: the objects that the labels show: ``write``, ``consensus``, ``patches``, ``tag``, ``annotate``
        decisions: decisions on these objects: ``decide``, ``list``, ``undo``, ``delete``, ``apply``, ``undo_applied``,
            ``record_own``, ``report``, ``against``, ``export_against``, ``export``
    """

    _said = "run"

    def __init__(self, dataset: SampleCollection, key: str, report: AgreementReport | None = None) -> None:
        """Give a run by its key; ``compute()`` and ``load()`` do it."""
        run = Run(dataset, key)
        self.dataset, self.key = run.dataset, run.key
        self._view: SampleCollection | None = None
        self._resamples: int | None = None
        self._parts: OpenParts | None = None
        self._report = report
        self.objects, self.decisions = RunObjects(self), RunDecisions(self)

    def _given(self, whole: bool, place: str) -> tuple[SampleCollection, str]:
        if whole and self._view is not None:
            raise AgreementInputError(f"{place}() must be called on the whole run, got a part of it; leave out on(…)")
        return (self.dataset if self._view is None else self._view), self.key

    def _refuse_other(self, option: str, what: str, dataset: fo.Dataset) -> None:
        if dataset.name != self.dataset.name:
            raise AgreementInputError(
                f"`{option}` must be {what} of {self.dataset.name!r}, got one of {dataset.name!r}"
            )

    # ---- what it found ----

    @property
    def report(self) -> AgreementReport:
        """The report; read when it is first asked for."""
        if self._report is None:
            samples, key = self._given(False, "report")
            whole = self._view is None
            self._report = (
                load_agreement(samples, key) if whole else agreement_on(samples, key, resamples=self._resamples)
            )
        return self._report

    def print_report(
        self, full: bool = False, file: TextIO | None = None, *, anonymous: bool | str | os.PathLike[str] = False
    ) -> None:
        """Print the report as text: the most important sections, or all of them (``full``).

        ``anonymous`` replaces the names of annotators by letters; a path is that of a key file, as of ``export()``.
        """
        report = self.report if anonymous is False else anonymous_report(self.report, anonymous)[0]
        report.print_report(full, file)

    def labels(self) -> DataFrame:
        """All labels that were read, a row each; ``help(run.report.labels)`` describes the columns."""
        return self.report.labels()

    def units(self) -> DataFrame:
        """All objects (tags, classes of masks, samples), a row each; ``help(run.report.units)`` says more."""
        return self.report.units()

    @takes_arrays
    def by(
        self,
        field: str | None = None,
        *,
        views: Sequence[str | SampleCollection] | None = None,
        scenario: str | None = None,
        bins: int | Sequence[float] | None = None,
        equal: bool = False,
        by_date: str | None = None,
    ) -> AgreementParts:
        """The main numbers for each part of the samples, and which parts differ from the others by test.

        From the stored records: no label is compared again. A sample with several values (tags, labels) is in several
        parts. Of many values the 50 most frequent are parts, and the others one together; samples without a value are
        the part ``(none)``.

        Args:
            field: a field of samples (texts, switches, numbers, dates, ``"tags"``, classes of the image), or an
                attribute of the labels of the run (``"occluded"``, ``"label"``, or the whole path of one field): the
                part of a value are then the images that have a label with it
            views: saved views by name, or views, as parts; instead of ``field``
            scenario: name of a scenario of FiftyOne's model evaluation; instead of ``field``
            bins: of numbers: in how many parts with equally many images, or the limits between the parts; None: five,
                or a part for each value, if these are few whole numbers
            equal: whether the bins are equally wide instead
            by_date: of dates: ``"day"``, ``"week"``, ``"month"`` or ``"year"`` (UTC); None: the finest with at most 31
                parts

        Raises:
            AgreementInputError: if there is no such field, view or scenario, or a run wrote the field: its numbers
                would choose the parts
        """
        if self._parts is None:
            self._parts = open_parts(*self._given(False, "run.by"))
        return self._parts.by(field, views=views, scenario=scenario, bins=bins, equal=equal, by_date=by_date)

    samples = _Method(agreement_samples)
    times = _Method(agreement_times)
    ceiling = _Method(agreement_ceiling)
    view = _Method(view_agreement)

    @takes_arrays
    def on(self, view: SampleCollection, *, resamples: int | None = None) -> AgreementRun:
        """The part of the run on the samples of a view: its report, tables, views, decisions.

        Labels that were edited since, or that the view hides, make no difference to the report: it comes from the
        stored records, and has all that the report on the whole has, as a run on the view would find it. Only how long
        the run took, and how many samples it left out as they were changed meanwhile or repeated, are of the whole.

        Args:
            view: a view of the dataset; samples that the run did not see are left out
            resamples: number of resamples for the intervals; None for the number in the run, 0 for no intervals
        """
        self._given(True, "run.on")
        self._refuse_other("view", "a view", dataset_of(view))
        part = AgreementRun(self.dataset, self.key)
        part._view, part._resamples = view, resamples
        return part

    @takes_arrays
    def compare(
        self, before: str | AgreementRun | None = None, *, resamples: int = 1000, seed: int = 51
    ) -> AgreementComparison:
        """Compare with another run, over the samples that both have: what changed from that run to this one.

        Args:
            before: the other run, or its key; None: this run as it was before its last update
            resamples: how often the samples are resampled for the intervals of the differences; 0 for none
            seed: seed of the random numbers
        """
        samples, key = self._given(False, "compare")
        other = before.key if isinstance(before, AgreementRun) else before
        if isinstance(before, AgreementRun):
            self._refuse_other("before", "a run", before.dataset)
            if before._view is not None:
                raise AgreementInputError(
                    "`before` must be a whole run, got a part of one; compare a part with run.on(…).compare()"
                )
        keys = (key, None) if other is None else (other, key)
        return compare_agreement(samples, *keys, resamples=resamples, seed=seed)

    changed = _Method(changed_since, whole=True)
    check = _Method(check_agreement)

    # ---- what can be done with it ----

    @takes_arrays
    def update(self, *, workers: int = 1, executor: Executor | None = None, progress: Progress = None) -> AgreementRun:
        """Compute again where samples were edited, added or deleted since; ``compare()`` then says what it changed."""
        self._parts = None
        engine: dict[str, Any] = {"workers": workers, "executor": executor}
        self._report = update_agreement(*self._given(True, "run.update"), **engine, progress=progress)
        return self

    @takes_arrays
    def rename(self, new_key: str) -> AgreementRun:
        """Rename the run and its fields."""
        rename_agreement(*self._given(True, "run.rename"), new_key)
        self.key, self._report, self._parts = new_key, None, None
        return self

    def delete(self) -> None:
        """Delete the run and everything that it wrote, in any state of the run."""
        delete_agreement(*self._given(True, "run.delete"))
        self._report = None

    export = _Method(export_agreement, whole=True)
    save_views = _Method(save_agreement_views, whole=True)
    app = _Method(configure_agreement_app, whole=True)

    # ---- how it shows itself ----

    def __repr__(self) -> str:
        try:
            return repr(self.report).replace(type(self.report).__name__, "AgreementRun", 1)
        except ValueError as error:  # ours, or FiftyOne's of a deleted dataset
            return f"<AgreementRun {self.key!r}: {error}>"

    def _repr_html_(self) -> str | None:
        try:
            return self.report._repr_html_()
        except ValueError:
            return None  # a notebook shows the text

    def __dir__(self) -> list[str]:
        of_report = [name for name in dir(AgreementReport) if name.startswith(("plot_", "to_"))]
        return sorted([*self._names(), "dataset", "decisions", "key", "objects", *of_report])

    if not TYPE_CHECKING:  # for type checkers it would have every name

        def __getattr__(self, name: str) -> Any:
            if not name.startswith("_") and hasattr(self.report, name):
                return getattr(self.report, name)
            hint = did_you_mean(name, dir(self))
            raise AttributeError(f"An AgreementRun has no attribute {name!r}, nor has its report{hint}")


@takes_arrays
def trend(runs: Sequence[AgreementRun], names: Sequence[str] | None = None) -> AgreementParts:
    """The main numbers of several runs in their order, with intervals: rounds of a project, versions of a guideline.

    Args:
        runs: runs on labels of one kind, also of several datasets
        names: a name for each; None: the keys of the runs, with the names of their datasets if they are of several

    Raises:
        AgreementInputError: if there are no two runs, they are not on labels of one kind, or have one name
    """
    if not isinstance(runs, Sequence) or not all(isinstance(run, AgreementRun) for run in runs):
        raise AgreementInputError(f'`runs` must be a list of runs, such as [aa.load(dataset, "v1"), …], got {runs!r}')
    several = len({run.dataset.name for run in runs}) > 1
    found = [f"{run.dataset.name}: {run.key}" if several else run.key for run in runs]
    if names is not None:
        found = texts_of("names", names)
        if len(found) != len(runs):
            raise AgreementInputError(f"`names` must be as many as `runs`, {len(runs)}, got {len(found)}")
    return trend_of(found, [run.report for run in runs])


@takes_arrays
def load(dataset: fo.Dataset | SampleCollection, run_key: str = names.DEFAULT_RUN_KEY) -> AgreementRun:
    """A run of a dataset, in any state; its results are read on demand.

    Args:
        dataset: the dataset, or a view of it
        run_key: key of the run

    Raises:
        AgreementInputError: if nothing of such a run exists
    """
    run = Run(dataset, run_key)
    if not fields_marked(run.dataset, run.key):  # else ``delete()`` removes what is left of it
        run.require()
    return AgreementRun(run.dataset, run.key)


def compute(samples: SampleCollection, fields: str | Sequence[str], *others: Any, **options: Any) -> AgreementRun:
    """As :func:`compute_agreement`; its signature and docstring are put together below."""
    check_call("compute", _EVERY_OPTION, (samples, fields, *others), options)
    report = compute_agreement(samples, fields, **flat_options(options))
    return AgreementRun(dataset_of(samples), report.run_key, report)


def _give_options_to_compute() -> inspect.Signature:
    """Write signature and docstring of ``compute()``, options of one kind of labels together; returns what it takes."""
    grouped = [name for together in TOGETHER.values() for name in together]
    signature = inspect.signature(compute_agreement)
    taken = dict(signature.parameters)
    kind, annotation = inspect.Parameter.KEYWORD_ONLY, "Mapping[str, Any] | None"
    taken |= {name: inspect.Parameter(name, kind, default=None, annotation=annotation) for name in TOGETHER}
    told = [each for name, each in taken.items() if name not in grouped]
    compute.__signature__ = signature.replace(parameters=told, return_annotation="AgreementRun")  # type: ignore[attr-defined]
    entries = ""
    for argument, together in TOGETHER.items():
        described = "; ".join(f"``{name}``: {OPTIONS[name].sentence}" for name in together)
        entry = (
            f"{argument}: a mapping with options of {argument} alone, such as ``dict({together[0]}=…)``. {described}"
        )
        entries += textwrap.indent(textwrap.fill(entry, 112, subsequent_indent="    "), "    ") + "\n"
    text = documented(compute_agreement, grouped)
    compute.__doc__ = text.replace("\nReturns:\n    the report", f"{entries}\nReturns:\n    the run")
    return signature.replace(parameters=list(taken.values()))


class files:
    """Label files of annotators, and fields of all or of each of them."""

    load = staticmethod(import_annotations)
    save = staticmethod(export_annotations)
    split = staticmethod(split_annotators)
    join = staticmethod(join_annotators)


list_runs = list_agreements


_EVERY_OPTION = _give_options_to_compute()
